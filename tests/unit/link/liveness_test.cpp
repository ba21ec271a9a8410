#include <gtest/gtest.h>

#include "common/link/heartbeat.hpp"

namespace tickpath::link {
namespace {

constexpr HeartbeatOptions kOptions{
    .interval_ns = 1'000, .suspect_after_ns = 10'000, .dead_after_ns = 50'000};

// A READ that is answered at once.
Liveness look(LivenessScore& score, std::uint64_t counter, std::uint64_t now) {
  return score.observe(counter, now, now);
}

TEST(LivenessScore, KnowsNothingUntilTheCounterMoves) {
  LivenessScore score(kOptions);
  score.restart(0);
  EXPECT_EQ(look(score, 7, 1'000), Liveness::kUnknown);
  EXPECT_EQ(look(score, 8, 2'000), Liveness::kAlive);
}

TEST(LivenessScore, SuspectsAndThenDeclaresDeadAtTheConfiguredTimes) {
  LivenessScore score(kOptions);
  score.restart(0);
  std::uint64_t now = 0;
  look(score, 1, now += 1'000);
  look(score, 2, now += 1'000);
  const std::uint64_t last_beat = now;
  Liveness state = Liveness::kAlive;
  while (state == Liveness::kAlive) state = look(score, 2, now += 1'000);
  EXPECT_EQ(state, Liveness::kSuspect);
  EXPECT_EQ(now - last_beat, kOptions.suspect_after_ns);
  while (state == Liveness::kSuspect) state = look(score, 2, now += 1'000);
  EXPECT_EQ(state, Liveness::kDead);
  EXPECT_EQ(now - last_beat, kOptions.dead_after_ns);
}

TEST(LivenessScore, DeclaresDeadAPeerThatNeverBeat) {
  LivenessScore score(kOptions);
  score.restart(0);
  Liveness state = Liveness::kUnknown;
  for (std::uint64_t now = 1'000; now <= 60'000; now += 1'000) state = look(score, 0, now);
  EXPECT_EQ(state, Liveness::kDead);
}

TEST(LivenessScore, CountsNoSilenceForAReadThatWasAskedForBeforeItsOwnStall) {
  LivenessScore score(kOptions);
  score.restart(0);
  look(score, 1, 1'000);
  look(score, 2, 2'000);
  // Asked for at 3'000, then the reader slept for twenty times the death sentence.
  EXPECT_EQ(score.observe(2, 3'000, 1'002'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 1'000u);
  EXPECT_EQ(score.observe(900, 1'002'000, 1'003'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 0u);
}

// The whole machine stood still: the first look after it may come before the peer could beat.
TEST(LivenessScore, DoesNotCondemnByASingleLookAfterAStopOfTheMachine) {
  LivenessScore score(kOptions);
  score.restart(0);
  look(score, 1, 1'000);
  look(score, 2, 2'000);
  EXPECT_EQ(look(score, 2, 1'002'000), Liveness::kSuspect);
  EXPECT_EQ(score.silent_ns(), kOptions.dead_after_ns / 2);
  EXPECT_EQ(score.late(), 1u);
  EXPECT_EQ(look(score, 3, 1'003'000), Liveness::kAlive);
}

TEST(LivenessScore, FindsADeadPeerByTwoLooksWhenTheReaderKeepsStalling) {
  LivenessScore score(kOptions);
  score.restart(0);
  look(score, 1, 1'000);
  look(score, 2, 2'000);
  EXPECT_EQ(look(score, 2, 502'000), Liveness::kSuspect);
  EXPECT_EQ(look(score, 2, 1'002'000), Liveness::kDead);
}

TEST(LivenessScore, HasThePatienceThatThePeerAsksFor) {
  LivenessScore score(kOptions);
  score.restart(0);
  score.set_patience(200'000);
  look(score, 1, 1'000);
  look(score, 2, 2'000);
  std::uint64_t now = 2'000;
  Liveness state = Liveness::kAlive;
  while (state != Liveness::kDead && now < 1'000'000) state = look(score, 2, now += 1'000);
  EXPECT_EQ(now, 202'000u);
}

TEST(LivenessScore, ComesBackToLife) {
  LivenessScore score(kOptions);
  score.restart(0);
  look(score, 1, 1'000);
  score.fail();
  EXPECT_EQ(score.state(), Liveness::kDead);
  EXPECT_EQ(look(score, 2, 2'000), Liveness::kAlive);
}

TEST(LivenessScore, SurvivesAClockThatStandsStill) {
  LivenessScore score(kOptions);
  score.restart(5'000);
  look(score, 1, 5'000);
  for (int i = 0; i < 1'000; ++i) look(score, 1, 5'000);
  EXPECT_EQ(score.silent_ns(), 0u);
}

}  // namespace
}  // namespace tickpath::link
