// MarketClock: the feed's time of day for the machine's time.
#include "tools/report/market_clock.hpp"

#include <gtest/gtest.h>

namespace tickpath::report {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kWall = 1'780'000'000 * kSecond;  // as CLOCK_REALTIME is today
constexpr std::int64_t kOpen = 34'200 * kSecond;         // 09:30

MarketClock::Known known(double wall_s, double market_s) {
  return {kWall + static_cast<std::int64_t>(wall_s * 1e9),
          kOpen + static_cast<std::int64_t>(market_s * 1e9)};
}
std::int64_t wall(double seconds) { return known(seconds, 0).realtime_ns; }

TEST(MarketClock, TimePassesEvenlyBetweenWhatIsKnownAndBesideIt) {
  const MarketClock clock({known(10, 100), known(0, 0)}, kWall);  // in any order; ten times as fast
  EXPECT_TRUE(clock.is_market_time());
  EXPECT_NEAR(clock.at(wall(5)), 34'250, 1e-3);
  EXPECT_NEAR(clock.at(wall(-1)), 34'190, 1e-3);
  EXPECT_NEAR(clock.at(wall(11)), 34'310, 1e-3);
  EXPECT_NEAR(static_cast<double>(clock.realtime_ns(34'250) - wall(5)), 0, 1e4);
}

TEST(MarketClock, APauseOfTheReplayTakesNoTimeOfTheMarket) {
  const MarketClock clock({known(0, 0), known(1, 1), known(4, 1.001), known(5, 2.001)}, kWall);
  EXPECT_NEAR(clock.at(wall(2.5)), 34'201.0005, 1e-4);
  EXPECT_NEAR(clock.at(wall(4.5)), 34'201.501, 1e-4);
}

// oeg stood still for 30 ms, and read what had queued up within a microsecond.
TEST(MarketClock, AProgramThatWasLateDoesNotBendTime) {
  std::vector<MarketClock::Known> all;
  for (int ms = 0; ms < 500; ++ms) {
    const bool stalled = ms >= 200 && ms < 230;
    all.push_back(known(stalled ? 0.230 + (ms - 200) * 1e-7 : ms * 1e-3, ms * 1e-3));
  }
  const MarketClock clock(all, kWall);
  for (double s = 0; s < 0.49; s += 0.01)
    EXPECT_NEAR(static_cast<double>(clock.realtime_ns(34'200 + s) - wall(s)), 0, 2e6) << s;
}

TEST(MarketClock, WhatFallsALittleIsLeftOutAndAMidnightGoesOn) {
  const MarketClock clock({known(0, 10), known(1, 9), known(2, 12)}, kWall);
  EXPECT_NEAR(clock.at(wall(1)), 34'211, 1e-3) << "as oeg's view of the feed was late by a message";
  const MarketClock days({{kWall, 86'000 * kSecond}, {wall(500), 100 * kSecond}}, kWall);
  EXPECT_NEAR(days.at(wall(500)), 86'500, 1e-3);
}

TEST(MarketClock, WithoutTimesOfTheMarketItIsSecondsOfTheRun) {
  const MarketClock clock({known(3, 100)}, kWall);
  EXPECT_FALSE(clock.is_market_time());
  EXPECT_NEAR(clock.at(wall(7)), 7, 1e-9);
  EXPECT_EQ(clock.realtime_ns(7), wall(7));
}

}  // namespace
}  // namespace tickpath::report
