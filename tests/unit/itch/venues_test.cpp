#include "common/feeds/generator/venues.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/generated_messages.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/market_auditor.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using testing::HasSubstr;

// By symbol: everybody's halts, and the first and last match price.
struct VenueDay {
  std::map<std::string, std::vector<std::uint64_t>> paused_ns;
  std::map<std::uint16_t, std::string> names;
  std::uint64_t adds = 0;
  std::uint64_t first_ns = 0, last_ns = 0;

  void operator()(const StockDirectory& m) { names[m.header.stock_locate] = m.stock.view(); }
  void operator()(const StockTradingAction& m) {
    if (m.trading_state == StockTradingAction::kPaused)
      paused_ns[std::string(m.stock.view())].push_back(m.header.timestamp);
  }
  void operator()(const AddOrder&) { ++adds; }
  void operator()(const auto&) noexcept {}
};

class VenueSeeds : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, VenueSeeds, testing::Range<std::uint64_t>(1, 5));

// Each venue's day is one that a market of one venue could have, too.
TEST_P(VenueSeeds, WriteAPossibleMarketEach) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto count = static_cast<std::uint32_t>(2 + (seed - 1) * 2);
  const GeneratorOptions all{
      .symbols = static_cast<std::uint32_t>(3 * seed), .messages = 60'000, .seed = seed};
  const VenueMarket market = market_of(all, count);
  std::uint64_t messages = 0;
  for (std::uint32_t venue = 0; venue < count; ++venue) {
    const GeneratorOptions options = options_of_venue(all, market, venue);
    Generator generator(options);
    test::Auditor auditor;
    RecordedMessage message;
    std::uint64_t last_ns = options.start_ns;
    while (!testing::Test::HasFailure() && generator.next(message) == ReadStatus::kMessage) {
      ++messages;
      EXPECT_EQ(decode(message.bytes, auditor), DecodeStatus::kOk);
      EXPECT_GE(message.timestamp_ns, last_ns);
      last_ns = message.timestamp_ns;
    }
    EXPECT_EQ(auditor.events(), "OSQMEC");
    EXPECT_EQ(auditor.stocks(), options.symbols);
    EXPECT_EQ(auditor.quoted(), options.symbols);
    EXPECT_NEAR(static_cast<double>(last_ns - options.start_ns) / market.day_ns, 1.0, 1e-6);
  }
  EXPECT_EQ(messages, all.messages) << "of all venues together";
}

TEST(Venues, GiveTheSameBytesWhicheverIsGeneratedFirst) {
  const GeneratorOptions all{.symbols = 5, .messages = 20'000, .seed = 9};
  const VenueMarket market = market_of(all, 2);
  const auto second = test_support::generate_framed(options_of_venue(all, market, 1));
  const auto first = test_support::generate_framed(options_of_venue(all, market, 0));
  EXPECT_TRUE(first == test_support::generate_framed(options_of_venue(all, market, 0)));
  EXPECT_TRUE(second == test_support::generate_framed(options_of_venue(all, market, 1)));
  EXPECT_FALSE(first == second);
  GeneratorOptions other = all;
  other.seed = 10;
  const VenueMarket others = market_of(other, 2);
  EXPECT_FALSE(first == test_support::generate_framed(options_of_venue(other, others, 0)));
}

// Numbers of symbols and orders are each venue's own; symbols and halts are everybody's.
TEST(Venues, NumberSymbolsOnTheirOwnAndHaltTogether) {
  GeneratorOptions all{.symbols = 4, .messages = 40'000, .seed = 3};
  all.halts = 3;
  const VenueMarket market = market_of(all, 2);
  std::array<VenueDay, 2> days;
  for (std::uint32_t venue = 0; venue < 2; ++venue) {
    Generator generator(options_of_venue(all, market, venue));
    RecordedMessage message;
    while (generator.next(message) == ReadStatus::kMessage)
      EXPECT_EQ(decode(message.bytes, days[venue]), DecodeStatus::kOk);
  }
  EXPECT_EQ(days[0].names[1], "ZAAA");
  EXPECT_EQ(days[1].names[2], "ZAAA");
  EXPECT_EQ(days[1].names.size(), 4U);
  EXPECT_EQ(days[0].paused_ns, days[1].paused_ns);
  std::size_t halts = 0;
  for (const auto& [symbol, times] : days[0].paused_ns) halts += times.size();
  EXPECT_EQ(halts, 3U);
  EXPECT_NEAR(static_cast<double>(days[0].adds) / static_cast<double>(days[1].adds), 1.5, 0.2)
      << "60 and 40 of a hundred";
}

TEST(Venues, RefuseSharesAndLagsOutsideTheirRange) {
  const GeneratorOptions all;
  const auto error_of = [](auto call) { return test_support::error_of<RecordingError>(call); };
  EXPECT_THAT(error_of([&] { market_of(all, 1); }), HasSubstr("there are 1, they go from 2 to 8"));
  EXPECT_THAT(error_of([&] { market_of(all, 9); }), HasSubstr("there are 9"));
  VenueMarket market = market_of(all, 2);
  EXPECT_THAT(error_of([&] {
                set_shares(market, all, {1, 2, 3}, {});
              }),
              HasSubstr("3 shares of the volume for 2 venues"));
  EXPECT_THAT(error_of([&] { set_shares(market, all, {1, 0}, {}); }), HasSubstr("above 0"));
  EXPECT_THAT(error_of([&] { set_shares(market, all, {1, 1}, {1, -1}); }), HasSubstr("below 0"));
  EXPECT_THAT(error_of([&] { set_shares(market, all, {1, 1}, {0, 0}); }), HasSubstr("are all 0"));
  market.lag_ns = -1;
  EXPECT_THAT(error_of([&] { options_of_venue(all, market, 0); }), HasSubstr("lag"));
  // A share too small for the frame of a day.
  set_shares(market, all, {1, 1e-6}, {});
  market.lag_ns = 0;
  EXPECT_THAT(error_of([&] { Generator generator(options_of_venue(all, market, 1)); }),
              HasSubstr("messages is 1, 100 symbols need"));
}

}  // namespace
}  // namespace tickpath::itch
