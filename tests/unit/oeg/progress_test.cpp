#include "oeg/progress.hpp"

#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

constexpr std::uint64_t kStepMaxNs = 100;

TEST(Progress, WhoGetsOnIsNotIdleThoughNeverSeenAtTheEnd) {
  Progress progress(kStepMaxNs);
  progress.restart(1000);
  for (std::uint64_t turn = 1; turn <= 50; ++turn) {
    progress.see(turn, false, 1000 + 10 * turn);
    EXPECT_EQ(progress.idle_ns(), 0u);
  }
  progress.see(50, false, 1550);
  progress.see(50, false, 1600);
  EXPECT_EQ(progress.idle_ns(), 100u);
  progress.see(51, false, 1610);
  EXPECT_EQ(progress.idle_ns(), 0u);
}

TEST(Progress, WhoHasNothingToDoIsNotIdle) {
  Progress progress(kStepMaxNs);
  progress.restart(1000);
  progress.see(0, false, 1050);
  progress.see(0, true, 9000);
  EXPECT_EQ(progress.idle_ns(), 0u);
  progress.see(0, false, 9070);
  EXPECT_EQ(progress.idle_ns(), 70u);
}

TEST(Progress, ALookerThatSleptHasSeenLittle) {
  Progress progress(kStepMaxNs);
  progress.restart(1000);
  progress.see(0, false, 1'000'000);
  EXPECT_EQ(progress.idle_ns(), kStepMaxNs);
}

}  // namespace
}  // namespace tickpath::oeg
