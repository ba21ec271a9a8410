#include <gtest/gtest.h>

#include "common/link/heartbeat.hpp"

namespace tickpath::link {
namespace {

constexpr HeartbeatOptions kOptions{
    .interval_ns = 1'000, .suspect_after_ns = 10'000, .dead_after_ns = 50'000};

TEST(LivenessScore, KnowsNothingUntilTheCounterMoves) {
  LivenessScore score(kOptions);
  score.restart(0);
  EXPECT_EQ(score.observe(7, 1'000), Liveness::kUnknown);
  EXPECT_EQ(score.observe(8, 2'000), Liveness::kAlive);
}

TEST(LivenessScore, SuspectsAndThenDeclaresDeadAtTheConfiguredTimes) {
  LivenessScore score(kOptions);
  score.restart(0);
  std::uint64_t now = 0;
  score.observe(1, now += 1'000);
  score.observe(2, now += 1'000);
  const std::uint64_t last_beat = now;
  Liveness state = Liveness::kAlive;
  while (state == Liveness::kAlive) state = score.observe(2, now += 1'000);
  EXPECT_EQ(state, Liveness::kSuspect);
  EXPECT_EQ(now - last_beat, kOptions.suspect_after_ns);
  while (state == Liveness::kSuspect) state = score.observe(2, now += 1'000);
  EXPECT_EQ(state, Liveness::kDead);
  EXPECT_EQ(now - last_beat, kOptions.dead_after_ns);
}

TEST(LivenessScore, DeclaresDeadAPeerThatNeverBeat) {
  LivenessScore score(kOptions);
  score.restart(0);
  Liveness state = Liveness::kUnknown;
  for (std::uint64_t now = 1'000; now <= 60'000; now += 1'000) state = score.observe(0, now);
  EXPECT_EQ(state, Liveness::kDead);
}

TEST(LivenessScore, DoesNotBlameThePeerForTheReadersOwnStall) {
  LivenessScore score(kOptions);
  score.restart(0);
  score.observe(1, 1'000);
  score.observe(2, 2'000);
  // The reader slept for twenty times the death sentence; the first READ after it was under way
  // before the stall and shows the old value.
  EXPECT_EQ(score.observe(2, 1'002'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 2 * kOptions.interval_ns);
  EXPECT_EQ(score.late(), 1u);
  EXPECT_EQ(score.observe(900, 1'003'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 0u);
}

TEST(LivenessScore, StillFindsADeadPeerWhenTheReaderKeepsStalling) {
  LivenessScore score(kOptions);
  score.restart(0);
  score.observe(1, 1'000);
  score.observe(2, 2'000);
  std::uint64_t now = 2'000;
  Liveness state = Liveness::kAlive;
  int evaluations = 0;
  while (state != Liveness::kDead && evaluations < 1'000) {
    state = score.observe(2, now += 500'000);
    ++evaluations;
  }
  EXPECT_EQ(evaluations, 25);  // two intervals each
}

TEST(LivenessScore, ComesBackToLife) {
  LivenessScore score(kOptions);
  score.restart(0);
  score.observe(1, 1'000);
  score.fail();
  EXPECT_EQ(score.state(), Liveness::kDead);
  EXPECT_EQ(score.observe(2, 2'000), Liveness::kAlive);
}

TEST(LivenessScore, SurvivesAClockThatStandsStill) {
  LivenessScore score(kOptions);
  score.restart(5'000);
  score.observe(1, 5'000);
  for (int i = 0; i < 1'000; ++i) score.observe(1, 5'000);
  EXPECT_EQ(score.silent_ns(), 0u);
}

}  // namespace
}  // namespace tickpath::link
