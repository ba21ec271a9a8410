#include "oeg/progress.hpp"

#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

TEST(Progress, WhoGetsOnIsNotIdleThoughNeverSeenAtTheEnd) {
  Progress progress;
  progress.restart(1000);
  for (std::uint64_t turn = 1; turn <= 50; ++turn) {
    progress.see(turn, false, 1000 + 10 * turn);
    EXPECT_EQ(progress.idle_ns(1000 + 10 * turn), 0u);
  }
  progress.see(50, false, 1800);
  EXPECT_EQ(progress.idle_ns(1800), 300u);
}

TEST(Progress, WhoHasNothingToDoIsNotIdle) {
  Progress progress;
  progress.restart(1000);
  progress.see(0, true, 9000);
  EXPECT_EQ(progress.idle_ns(9000), 0u);
  progress.see(0, false, 9100);
  EXPECT_EQ(progress.idle_ns(9100), 100u);
}

}  // namespace
}  // namespace tickpath::oeg
