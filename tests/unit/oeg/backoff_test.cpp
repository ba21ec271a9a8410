#include "oeg/backoff.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

TEST(Backoff, DoublesUpToItsBoundAndBeginsAnewAfterASuccess) {
  Backoff backoff(100, 1000, 7);
  for (const std::int64_t longest : {100, 200, 400, 800, 1000, 1000}) {
    const std::int64_t pause = backoff.next();
    EXPECT_GE(pause, longest / 2);
    EXPECT_LE(pause, longest);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), 100);
}

TEST(Backoff, PausesOfSeveralDoNotMeet) {
  std::set<std::int64_t> pauses;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Backoff backoff(1'000'000'000, 30'000'000'000, seed);
    backoff.next();
    pauses.insert(backoff.next());
  }
  EXPECT_GE(pauses.size(), 19u);
}

TEST(Backoff, TakesABoundBelowTheFirstPauseForThat) {
  Backoff backoff(500, 100, 7);
  for (int i = 0; i < 3; ++i) EXPECT_GE(backoff.next(), 250);
}

}  // namespace
}  // namespace tickpath::oeg
