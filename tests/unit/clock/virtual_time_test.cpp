#include "common/clock/virtual_time.hpp"

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::clock {
namespace {

TEST(VirtualTime, EveryClockShowsItAndMovesByHandOnly) {
  VirtualTime time;
  const TscTicks begin = tsc_now();
  EXPECT_EQ(begin.value, VirtualTime::kStartNs);
  EXPECT_EQ(tsc_now(), begin);
  EXPECT_EQ(tsc_hz(), 1'000'000'000u);
  time.advance_to(VirtualTime::kStartNs + 1'500);
  EXPECT_EQ((tsc_now() - begin).value, 1'500u);
  EXPECT_EQ(monotonic_ns(), static_cast<std::int64_t>(VirtualTime::kStartNs) + 1'500);
  EXPECT_EQ(realtime_ns(), 946'684'800'000'001'500);
  const Pair pair = read_pair();
  EXPECT_EQ(pair.tsc, tsc_now());
  EXPECT_EQ(pair.realtime_ns, realtime_ns());
  EXPECT_EQ(TickConverter().to_ns({12'345}), 12'345u);
}

TEST(VirtualTime, LeavesTheRealClocksBehindWhenItEnds) {
  const std::uint64_t hz = tsc_hz();
  {
    const VirtualTime time;
    EXPECT_TRUE(is_virtual());
  }
  EXPECT_FALSE(is_virtual());
  EXPECT_EQ(tsc_hz(), hz);
  const TscTicks before = tsc_now();
  const std::int64_t real = realtime_ns();
  EXPECT_GT(real, 1'600'000'000'000'000'000);
  while (tsc_now() == before) cpu_relax();
  EXPECT_GT(tsc_now(), before);
}

TEST(VirtualTimeDeathTest, NeverGoesBackwards) {
  VirtualTime time;
  EXPECT_DEATH(time.advance_to(VirtualTime::kStartNs - 1), "time goes forward");
}

}  // namespace
}  // namespace tickpath::clock
