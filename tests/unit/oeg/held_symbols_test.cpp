// Symbols that are held because of an exception: which orders are refused, what strategies hear.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

TEST(HeldSymbols, HoldsASymbolUntilItsExceptionIsCleared) {
  GatewayFixture f;
  f.options.stop_on_exception = true;
  f.start();
  EXPECT_EQ(f.request(f.limit_order(1)), trading::RejectReason::kNone);
  f.accept(f.id(1));
  f.report(fix::ExecType::kPartialFill, 999, 1, 1, 1, 1'000'000);  // of no order
  EXPECT_EQ(f.request(f.limit_order(2)), trading::RejectReason::kException);
  EXPECT_EQ(f.request(f.replace(3, f.id(1), 1'000'000, 50)), trading::RejectReason::kException);
  EXPECT_EQ(f.request(f.cancel(4, f.id(1))), trading::RejectReason::kNone);
  f.gateway->held_symbols().release(fix::Symbol::from("AAPL"));
  EXPECT_EQ(f.request(f.limit_order(5)), trading::RejectReason::kNone);
}

// So that the router leaves the venue out for it, instead of meeting refusals.
TEST(HeldSymbols, TellsEachStrategyWhichSymbolsAreHeldAndWhenTheyAreNot) {
  GatewayFixture f;
  f.options.stop_on_exception = true;
  f.start();
  using Told = std::vector<std::pair<std::uint32_t, trading::RejectReason>>;
  const auto told = [&] {
    f.strategies.reports.clear();
    f.turn_to_the_end();
    Told told;
    for (const wire::OrderReport& report : f.strategies.reports)
      if (report.kind == wire::ReportKind::kHeld)
        told.emplace_back(report.instrument_id, report.reason);
    return told;
  };
  constexpr auto kNone = trading::RejectReason::kNone;
  EXPECT_EQ(told(), Told{}) << "none is held";
  const std::uint32_t apple = f.gateway->instruments().id_of("AAPL");
  ASSERT_NE(apple, wire::kNoInstrument);
  f.gateway->held_symbols().hold(fix::Symbol::from("AAPL"));
  const Told one{{wire::kNoInstrument, kNone}, {apple, trading::RejectReason::kException}};
  f.strategies.credits = 0;
  EXPECT_EQ(told(), Told{});
  EXPECT_TRUE(f.gateway->reports_wait());
  f.strategies.credits = 1;
  EXPECT_EQ(told().size(), 1u) << "the rest waits for credits";
  f.strategies.credits = 1'000;
  EXPECT_EQ(told(), Told(one.begin() + 1, one.end()));
  EXPECT_FALSE(f.gateway->reports_wait());
  f.gateway->held_symbols().hold(fix::Symbol::from("AAPL"));
  EXPECT_EQ(told(), Told{}) << "it is held already";
  f.gateway->begin_positions(0);
  EXPECT_EQ(told(), one) << "another connection";
  f.gateway->held_symbols().release(fix::Symbol::from("AAPL"));
  EXPECT_EQ(told(), Told{}) << "an exception is open yet";
  f.gateway->held_symbols().release(fix::Symbol::from("AAPL"));
  EXPECT_EQ(told(), Told({{wire::kNoInstrument, kNone}}));
}

TEST(HeldSymbols, HoldsASymbolHoweverManyExceptionsOthersHave) {
  GatewayFixture f;
  f.options.stop_on_exception = true;
  f.start();
  const auto hold = [&](const std::string& name) {
    f.gateway->held_symbols().hold(fix::Symbol::from(name));
  };
  const auto release = [&](const std::string& name) {
    f.gateway->held_symbols().release(fix::Symbol::from(name));
  };
  for (int i = 0; i < 5'000; ++i) hold("MSFT");
  hold("AAPL");
  hold("AAPL");
  EXPECT_EQ(f.request(f.limit_order(1)), trading::RejectReason::kException);
  release("AAPL");
  EXPECT_EQ(f.request(f.limit_order(2)), trading::RejectReason::kException) << "one is open";
  release("AAPL");
  EXPECT_EQ(f.request(f.limit_order(3)), trading::RejectReason::kNone);
  for (int i = 0; i < 5'000; ++i) release("MSFT");
  // More symbols than there is room for: none is let through for that.
  for (int i = 0; i < 4'100; ++i) hold("S" + std::to_string(i));
  EXPECT_EQ(f.request(f.limit_order(4)), trading::RejectReason::kException);
  for (int i = 4'096; i < 4'100; ++i) release("S" + std::to_string(i));
  EXPECT_EQ(f.request(f.limit_order(5)), trading::RejectReason::kNone);
}

}  // namespace
}  // namespace tickpath::oeg
