// A recording of several days whose locates are others each day: what outlives a day is its
// symbol's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded.hpp"
#include "sim/market/market.hpp"
#include "sim/orders/ledger.hpp"

namespace tickpath::sim {
namespace {

using ::testing::IsEmpty;

// Books what is reported, as the gateway does.
struct Booking final : ReportSink {
  std::vector<Report> reports;
  Ledger ledger{16};
  void on_report(const Report& report) noexcept override {
    reports.push_back(report);
    ledger.apply(report);
  }
};
struct Outlet final : FeedOutlet {
  std::vector<Bytes> messages;
  void publish(std::span<const std::byte> message) noexcept override {
    messages.emplace_back(message.begin(), message.end());
  }
  std::string types() const {
    std::string text;
    for (const Bytes& message : messages) text += static_cast<char>(message.front());
    return text;
  }
};

// Day 1: locate 1 is AAAA, 2 is BBBB. Day 2: the other way round.
class LocatesByDay : public ::testing::Test {
 protected:
  static constexpr Party kAlice{0, 5};

  void record(const std::vector<Bytes>& messages) {
    for (const Bytes& message : messages) market_.apply(message);
  }
  void day_1() { record({system_event('O'), directory(1, "AAAA"), directory(2, "BBBB")}); }
  void day_2() {
    record({system_event('C'), system_event('O'), directory(1, "BBBB"), directory(2, "AAAA")});
  }
  std::uint32_t at(const char* symbol) const { return market_.symbols().find(symbol); }
  void buy(std::uint64_t id, const char* symbol, std::uint32_t shares, std::int64_t price,
           TimeInForce time = TimeInForce::kGoodTillCancel) {
    (void)sink_.ledger.reserve(kAlice, at(symbol));
    matcher_.enter({.order_id = id,
                    .price = {price},
                    .locate = at(symbol),
                    .shares = shares,
                    .party = kAlice,
                    .time_in_force = time});
  }
  void cancel(std::uint64_t id, std::uint64_t target, const char* symbol) {
    matcher_.cancel(
        {.order_id = id, .target_order_id = target, .locate = at(symbol), .party = kAlice});
  }
  const Report& last() const { return sink_.reports.back(); }
  std::int64_t position(std::string_view symbol) const {
    std::int64_t sum = 0;
    for (const LedgerRow& row : sink_.ledger.rows())
      if (market_.symbols().name(row.locate) == symbol) sum += row.position_shares;
    return sum;
  }

  Booking sink_;
  Matcher matcher_{{.book = {.orders_max = 1024, .levels_max = 1024},
                    .live_orders_max = 64,
                    .order_ids_max = 1024},
                   sink_};
  Market market_{matcher_};
};

TEST_F(LocatesByDay, AnOrderGoodTillCancelledIsInItsSymbolOnTheNextDay) {
  day_1();
  buy(1, "AAAA", 100, 9'0000);
  day_2();
  record({add(1, "BBBB", 1, Side::kSell, 60, 5'0000)});
  EXPECT_EQ(matcher_.counters().fills.get(), 0u);
  record({add(2, "AAAA", 2, Side::kSell, 30, 9'0000)});
  EXPECT_EQ(last().kind, ReportKind::kFill);
  EXPECT_EQ(market_.symbols().name(last().locate), "AAAA");
  cancel(2, 1, "BBBB");
  EXPECT_EQ(last().reason, Reason::kMismatch);
  cancel(3, 1, "AAAA");
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
  EXPECT_THAT(check_conservation(matcher_, sink_.ledger), IsEmpty());
}

TEST_F(LocatesByDay, TheLedgerIsBySymbol) {
  day_1();
  record({add(1, "AAAA", 1, Side::kSell, 10, 9'0000), add(2, "BBBB", 2, Side::kSell, 20, 5'0000)});
  buy(1, "AAAA", 10, 9'0000);
  buy(2, "BBBB", 20, 5'0000);
  day_2();
  record({add(2, "AAAA", 3, Side::kSell, 40, 9'0000), executed(2, 3, 5)});
  buy(3, "AAAA", 30, 9'0000);
  EXPECT_EQ(position("AAAA"), 40);
  EXPECT_EQ(position("BBBB"), 20);
  EXPECT_EQ(matcher_.last_price(static_cast<Locate>(at("BBBB"))), 0u) << "nothing traded today";
  EXPECT_THAT(check_conservation(matcher_, sink_.ledger), IsEmpty());
}

TEST_F(LocatesByDay, ASymbolThatIsNotThereTodayTakesCancelsAloneAndIsBackWhenItIs) {
  day_1();
  buy(1, "AAAA", 100, 9'0000);
  record({system_event('E'), system_event('C'), system_event('O'), directory(1, "CCCC"),
          add(1, "CCCC", 1, Side::kSell, 60, 5'0000)});
  buy(2, "AAAA", 100, 9'0000);
  EXPECT_EQ(last().reason, Reason::kUnknownSymbol);
  matcher_.replace({.order_id = 3,
                    .target_order_id = 1,
                    .price = {9'0000},
                    .locate = at("AAAA"),
                    .shares = 50,
                    .party = kAlice});
  EXPECT_EQ(last().reason, Reason::kNotTrading);
  buy(4, "CCCC", 60, 5'0000);
  EXPECT_EQ(last().kind, ReportKind::kFill) << "the new symbol is no part of the old one";
  EXPECT_EQ(position("AAAA"), 0);
  record({system_event('C'), system_event('O'), directory(7, "AAAA"),
          add(7, "AAAA", 2, Side::kSell, 100, 8'0000)});
  EXPECT_EQ(position("AAAA"), 100);
  EXPECT_EQ(position("CCCC"), 60);
  EXPECT_THAT(check_conservation(matcher_, sink_.ledger), IsEmpty());
}

TEST_F(LocatesByDay, TheFeedHasOurOrdersUnderTheLocateOfItsDay) {
  Outlet outlet;
  market_.publish_to(outlet);
  day_1();
  buy(1, "AAAA", 100, 9'0000);
  day_2();
  EXPECT_EQ(outlet.types(), "SRRADSSRRA");
  const auto back = itch::decode_as<itch::AddOrder>(outlet.messages.back().data());
  EXPECT_EQ(back.header.stock_locate, 2u);
  EXPECT_EQ(back.stock.view(), "AAAA");
  const auto gone = itch::decode_as<itch::OrderDelete>(outlet.messages[4].data());
  EXPECT_EQ(gone.header.stock_locate, 1u);
}

TEST_F(LocatesByDay, AHaltByHandIsOfTheSymbol) {
  day_1();
  day_2();
  market_.set_trading_state("AAAA", itch::StockTradingAction::kHalted);
  buy(1, "AAAA", 100, 9'0000);
  EXPECT_EQ(last().reason, Reason::kNotTrading);
  buy(2, "BBBB", 100, 9'0000);
  EXPECT_EQ(last().kind, ReportKind::kAccepted);
  record({system_event('C'), system_event('O'), directory(1, "BBBB")});
  market_.set_trading_state("AAAA", itch::StockTradingAction::kTrading);
  EXPECT_EQ(market_.counters().unknown_by_hand.get(), 1u) << "it is not there today";
}

TEST_F(LocatesByDay, ALocateThatIsGivenAnewWithinTheDayIsTheNewSymbols) {
  day_1();
  buy(1, "AAAA", 100, 9'0000, TimeInForce::kDay);
  record({directory(1, "CCCC"), add(1, "CCCC", 1, Side::kSell, 60, 5'0000)});
  EXPECT_EQ(matcher_.counters().fills.get(), 0u);
  cancel(2, 1, "AAAA");
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
}

TEST(Symbols, KeepTheirNumbersHoweverManyComeAndGo) {
  Symbols symbols;
  for (int day = 0; day < 3; ++day) {
    for (std::uint32_t i = 0; i < 30'000; ++i) {
      const std::string name = "S" + std::to_string(i + 10'000u * static_cast<std::uint32_t>(day));
      EXPECT_TRUE(symbols.learn(static_cast<book::Locate>(i + 1), itch::Stock(name)));
      const book::Locate instrument = symbols.instrument_of(static_cast<book::Locate>(i + 1));
      ASSERT_EQ(symbols.name(instrument), name);
      ASSERT_EQ(symbols.find(name), instrument);
      ASSERT_EQ(symbols.locate_of(instrument), i + 1);
    }
    symbols.begin_day();
  }
  EXPECT_EQ(symbols.size(), 50'000u);
  EXPECT_EQ(symbols.locate_of(symbols.find("S0")), wire::kNoInstrument);
}

}  // namespace
}  // namespace tickpath::sim
