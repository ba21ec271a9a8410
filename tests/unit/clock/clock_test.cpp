#include "common/clock/clock.hpp"

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"

namespace tickpath::clock {
namespace {

TEST(TickConverter, ConvertsBothWaysWithinATick) {
  const TickConverter converter(2'596'000'000);
  EXPECT_NEAR(static_cast<double>(converter.to_ns({2'596'000'000})), 1e9, 1);
  for (const std::uint64_t ns : {1ull, 999ull, 1'000'000ull, 86'400'000'000'000ull}) {
    const auto back = converter.to_ns(converter.from_ns(ns));
    EXPECT_LE(ns - back, 1 + ns / 1'000'000'000) << ns;
  }
}

TEST(Clock, PairsTscAndRealtimeCloseTogether) {
  const Pair pair = read_pair();
  const TickConverter converter;
  EXPECT_GT(pair.realtime_ns, 0);
  EXPECT_LE(pair.tsc.value, tsc_now().value);
  EXPECT_LT(converter.to_ns({pair.width_ticks}), 1'000'000u);
}

TEST(Clock, TscRateAgreesWithTheRealtimeClock) {
  // Pairs are read together, so that losing the CPU in between does not matter.
  const Pair first = read_pair();
  while (realtime_ns() - first.realtime_ns < 50'000'000) cpu_relax();
  const Pair second = read_pair();
  const auto measured = static_cast<double>(TickConverter().to_ns(second.tsc - first.tsc));
  const auto elapsed = static_cast<double>(second.realtime_ns - first.realtime_ns);
  EXPECT_NEAR(measured / elapsed, 1.0, 0.01);
}

}  // namespace
}  // namespace tickpath::clock
