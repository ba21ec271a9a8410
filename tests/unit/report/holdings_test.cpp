// curves_json(), instruments_json(): P&L is cash and shares at their price, less fees.
#include "tools/report/holdings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tickpath::report {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecondNs = 1'000'000'000;
const Grid kGrid{.first = 0, .step = 1, .points = 5};

cli::TradedFill fill(double at_s, Side side, std::uint32_t shares, std::uint32_t price) {
  return {.time_ns = static_cast<std::int64_t>(at_s * kSecondNs),
          .order_id = 7,
          .symbol = "ZAAA",
          .strategy = 3,
          .side = side,
          .shares = shares,
          .price = {.price = price}};
}

std::vector<cli::VenueTrades> trades(std::vector<cli::TradedFill> fills) {
  std::vector<cli::VenueTrades> venues(1);
  venues[0].trades.fills = std::move(fills);
  return venues;
}

const MarketClock kClock({}, 0);  // seconds of the run

TEST(Holdings, AreValuedByThePriceOfTheirTime) {
  // 100 bought at 10.00 for a fee of 0.50, of which 40 are sold at 11.00.
  auto venues = trades({fill(1.5, Side::kBuy, 100, 100'000), fill(3.5, Side::kSell, 40, 110'000)});
  venues[0].trades.fills[0].fee = 500'000;
  const PricePaths paths{{{0, "ZAAA"}, {9, 10, 10.5, 10.5, 12}}};
  const json curves = curves_json(venues, kClock, kGrid, paths);
  ASSERT_EQ(curves["strategies"].size(), 1u);
  EXPECT_EQ(curves["strategies"][0]["pnl"], (json{0.0, 0.0, 49.5, 49.5, 159.5}))
      << "at the end -1000 + 440 + 60 x 12 - 0.50";
  EXPECT_EQ(curves["strategies"][0]["net"], (json{0.0, 0.0, 1050.0, 1050.0, 720.0}));
}

TEST(Holdings, WithoutAPriceAreWorthWhatTheLastFillWas) {
  auto venues = trades({fill(0.5, Side::kBuy, 100, 100'000), fill(9, Side::kSell, 50, 120'000)});
  const json curves = curves_json(venues, kClock, kGrid, {});
  EXPECT_EQ(curves["strategies"][0]["pnl"], (json{0.0, 0.0, 0.0, 0.0, 200.0}))
      << "what is behind the grid counts at its end";
}

TEST(Holdings, OfTwoVenuesEachHasItsOwnPrice) {
  auto venues = trades({fill(0.5, Side::kBuy, 100, 100'000)});
  venues[0].venue = 1;
  venues.push_back({2, {}});
  venues[1].trades.fills = {fill(0.5, Side::kSell, 100, 110'000)};
  const PricePaths paths{{{1, "ZAAA"}, {10, 10, 10, 10, 10}}, {{2, "ZAAA"}, {11, 11, 11, 11, 12}}};
  const json curves = curves_json(venues, kClock, kGrid, paths);
  EXPECT_EQ(curves["strategies"][0]["pnl"], (json{0.0, 0.0, 0.0, 0.0, -100.0}));
  const json instruments = instruments_json(venues, kClock, kGrid, paths);
  ASSERT_EQ(instruments.size(), 2u);
  EXPECT_EQ(instruments[1]["symbol"], "ZAAA at venue 2");
  EXPECT_EQ(traded_listings(venues), (std::set<Listing>{{1, "ZAAA"}, {2, "ZAAA"}}));
}

TEST(Holdings, ACancelledFillIsTakenBack) {
  auto venues = trades({fill(0.5, Side::kBuy, 100, 100'000), fill(1.5, Side::kBuy, 100, 100'000)});
  venues[0].trades.fills[1].kind = wire::ReportKind::kFillCanceled;
  const json curves = curves_json(venues, kClock, kGrid, {});
  EXPECT_EQ(curves["strategies"][0]["gross"], (json{0.0, 1000.0, 0.0, 0.0, 0.0}));
  const json instruments = instruments_json(venues, kClock, kGrid, {});
  EXPECT_EQ(instruments[0]["fills"].size(), 1u);
  EXPECT_EQ(instruments[0]["held"].back()[2], 0);
}

TEST(Holdings, OfManyFillsEvenlySpreadOnesAreShownAndAllAreCounted) {
  std::vector<cli::TradedFill> many;
  for (std::size_t i = 0; i < 3 * kPointsOfOne; ++i)
    many.push_back(fill(static_cast<double>(i) * 1e-3, Side::kBuy, 1, 100'000));
  const json instruments = instruments_json(trades(std::move(many)), kClock, kGrid, {});
  EXPECT_EQ(instruments[0]["fills_all"], 3 * kPointsOfOne);
  ASSERT_EQ(instruments[0]["fills"].size(), kPointsOfOne);
  EXPECT_EQ(instruments[0]["fills"][0][0], 0.0);
  EXPECT_NEAR(instruments[0]["fills"].back()[0].get<double>(), 2.999, 1e-6);
}

}  // namespace
}  // namespace tickpath::report
