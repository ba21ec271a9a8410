#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "common/link/heartbeat.hpp"

namespace tickpath::link::liveness {
namespace {

constexpr HeartbeatOptions kOptions{
    .interval_ns = 1'000, .suspect_after_ns = 10'000, .dead_after_ns = 50'000};

class LivenessScore : public testing::Test {
 protected:
  LivenessScore() { score.restart(0); }
  // A READ that is answered at once.
  Liveness look(std::uint64_t counter, std::uint64_t now) {
    return score.observe(counter, now, now);
  }
  void see_two_beats() {
    look(1, 1'000);
    look(2, 2'000);
  }
  link::LivenessScore score{kOptions};
};

TEST_F(LivenessScore, KnowsNothingUntilTheCounterMoves) {
  EXPECT_EQ(look(7, 1'000), Liveness::kUnknown);
  EXPECT_EQ(look(8, 2'000), Liveness::kAlive);
}

TEST_F(LivenessScore, SuspectsAndThenDeclaresDeadAtTheConfiguredTimes) {
  std::uint64_t now = 0;
  look(1, now += 1'000);
  look(2, now += 1'000);
  const std::uint64_t last_beat = now;
  Liveness state = Liveness::kAlive;
  while (state == Liveness::kAlive) state = look(2, now += 1'000);
  EXPECT_EQ(state, Liveness::kSuspect);
  EXPECT_EQ(now - last_beat, kOptions.suspect_after_ns);
  while (state == Liveness::kSuspect) state = look(2, now += 1'000);
  EXPECT_EQ(state, Liveness::kDead);
  EXPECT_EQ(now - last_beat, kOptions.dead_after_ns);
}

TEST_F(LivenessScore, DeclaresDeadAPeerThatNeverBeat) {
  Liveness state = Liveness::kUnknown;
  for (std::uint64_t now = 1'000; now <= 60'000; now += 1'000) state = look(0, now);
  EXPECT_EQ(state, Liveness::kDead);
}

TEST_F(LivenessScore, CountsNoSilenceForAReadThatWasAskedForBeforeItsOwnStall) {
  see_two_beats();
  // Asked for at 3'000, then the reader slept for twenty times the death sentence.
  EXPECT_EQ(score.observe(2, 3'000, 1'002'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 1'000u);
  EXPECT_EQ(score.observe(900, 1'002'000, 1'003'000), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 0u);
}

// The whole machine stood still: the first look after it may come before the peer could beat.
TEST_F(LivenessScore, DoesNotCondemnByASingleLookAfterAStopOfTheMachine) {
  see_two_beats();
  EXPECT_EQ(look(2, 1'002'000), Liveness::kSuspect);
  EXPECT_EQ(score.silent_ns(), kOptions.dead_after_ns / 2);
  EXPECT_EQ(score.late(), 1u);
  EXPECT_EQ(look(3, 1'003'000), Liveness::kAlive);
}

TEST_F(LivenessScore, FindsADeadPeerByTwoLooksWhenTheReaderKeepsStalling) {
  see_two_beats();
  EXPECT_EQ(look(2, 502'000), Liveness::kSuspect);
  EXPECT_EQ(look(2, 1'002'000), Liveness::kDead);
}

TEST_F(LivenessScore, HasThePatienceThatThePeerAsksFor) {
  score.set_patience(200'000);
  see_two_beats();
  std::uint64_t now = 2'000;
  Liveness state = Liveness::kAlive;
  while (state != Liveness::kDead && now < 1'000'000) state = look(2, now += 1'000);
  EXPECT_EQ(now, 202'000u);
}

TEST_F(LivenessScore, ComesBackToLife) {
  look(1, 1'000);
  score.fail();
  EXPECT_EQ(score.state(), Liveness::kDead);
  EXPECT_EQ(look(2, 2'000), Liveness::kAlive);
}

TEST_F(LivenessScore, SurvivesAClockThatStandsStill) {
  score.restart(5'000);
  look(1, 5'000);
  for (int i = 0; i < 1'000; ++i) look(1, 5'000);
  EXPECT_EQ(score.silent_ns(), 0u);
}

// A host that vanished: the READ is never answered, and the reader goes on turning.
TEST_F(LivenessScore, DeclaresDeadAPeerWhoseAnswerStaysOut) {
  see_two_beats();
  const std::uint64_t asked = 3'000;
  std::uint64_t now = asked;
  Liveness state = Liveness::kAlive;
  while (state == Liveness::kAlive && now < 1'000'000) state = score.wait(asked, now += 100);
  EXPECT_EQ(state, Liveness::kSuspect);
  EXPECT_EQ(now, asked + kOptions.suspect_after_ns + 100) << "counted with the next look";
  while (state == Liveness::kSuspect && now < 1'000'000) state = score.wait(asked, now += 100);
  EXPECT_EQ(state, Liveness::kDead);
  EXPECT_EQ(now, asked + kOptions.dead_after_ns + 100);
}

TEST_F(LivenessScore, AddsAnOpenReadToTheSilenceThatWasProvenBefore) {
  see_two_beats();
  look(2, 22'000);
  EXPECT_EQ(score.silent_ns(), 20'000u);
  std::uint64_t now = 23'000;
  while (score.wait(23'000, now) != Liveness::kDead && now < 1'000'000) now += 1'000;
  EXPECT_EQ(now, 23'000 + kOptions.dead_after_ns - 20'000 + 1'000);
}

TEST_F(LivenessScore, TakesAnOpenReadsSilenceBackWhenItIsAnswered) {
  see_two_beats();
  std::uint64_t now = 3'000;
  for (; now < 43'000; now += 1'000) score.wait(3'000, now);
  EXPECT_EQ(score.state(), Liveness::kSuspect);
  EXPECT_EQ(score.observe(2, 3'000, now), Liveness::kSuspect) << "the counter has not moved";
  EXPECT_EQ(score.silent_ns(), 1'000u) << "but nothing after the asking is proven";
  EXPECT_EQ(score.observe(3, now, now + 1), Liveness::kAlive);
  EXPECT_EQ(score.silent_ns(), 0u);
}

// The answer lies there each time, and is polled after the look.
TEST_F(LivenessScore, CountsNothingForOpenReadsThroughItsOwnStalls) {
  see_two_beats();
  std::uint64_t now = 3'000;
  for (std::uint64_t beat = 3; beat < 100; ++beat) {
    const std::uint64_t asked = now;
    EXPECT_EQ(score.wait(asked, now += 5'000'000), Liveness::kAlive) << "stall " << beat;
    EXPECT_EQ(score.unanswered_ns(), 0u);
    EXPECT_EQ(score.observe(beat, asked, now += 1'000), Liveness::kAlive);
  }
}

// A thread that stalls and finds no answer afterwards either has counted little: it saw little.
TEST_F(LivenessScore, CountsALookAfterItsOwnStallForAThirdOfDeadAfterAtMost) {
  see_two_beats();
  score.wait(3'000, 5'000'000);
  EXPECT_EQ(score.wait(3'000, 5'000'100), Liveness::kSuspect);
  EXPECT_EQ(score.unanswered_ns(), kOptions.dead_after_ns / 3);
}

TEST_F(LivenessScore, GivesAPeerWithPatienceMoreTimeToAnswer) {
  score.set_patience(200'000);
  see_two_beats();
  std::uint64_t now = 3'000;
  while (score.wait(3'000, now) != Liveness::kDead && now < 1'000'000) now += 1'000;
  EXPECT_EQ(now, 204'000u);
}

// A peer that beats, seen over a network that loses one packet in a hundred each way: a READ whose
// request or answer was lost stays out until the device repeats it.
class LossyWatch {
 public:
  LossyWatch(unsigned seed, std::uint64_t repeat_ns) : random_(seed), repeat_ns_(repeat_ns) {
    score_.restart(0);
  }

  // How often the peer was declared dead by mistake.
  unsigned false_alarms(std::uint64_t duration_ns) {
    unsigned alarms = 0;
    for (std::uint64_t now = kLookNs; now <= duration_ns; now += kLookNs) {
      const bool was_dead = score_.state() == Liveness::kDead;
      turn(now);
      if (!was_dead && score_.state() == Liveness::kDead) ++alarms;
    }
    return alarms;
  }
  // From the moment at which nothing answers any more; nothing: never.
  std::optional<std::uint64_t> notices_after(std::uint64_t vanished_ns) {
    vanished_ns_ = vanished_ns;
    for (std::uint64_t now = kLookNs; now <= vanished_ns + 1'000'000'000; now += kLookNs) {
      turn(now);
      if (now > vanished_ns && score_.state() == Liveness::kDead) return now - vanished_ns;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kLookNs = 50'000, kBeatNs = 5'000'000, kRoundTripNs = 20'000;

  void turn(std::uint64_t now) {
    if (open_ && now >= answered_ns_) {
      open_ = false;
      score_.observe(answered_ns_ / kBeatNs, asked_ns_, now);
    }
    if (open_) {
      score_.wait(asked_ns_, now);
    } else if (now >= asked_ns_ + options_.interval_ns) {
      open_ = true;
      asked_ns_ = now;
      answered_ns_ = now + kRoundTripNs;
      while (lost()) answered_ns_ += repeat_ns_;
      if (answered_ns_ > vanished_ns_) answered_ns_ = ~std::uint64_t{0};
    }
  }
  bool lost() { return random_() % 100 == 0 || random_() % 100 == 0; }  // there, or back

  std::mt19937 random_;
  std::uint64_t repeat_ns_;
  std::uint64_t vanished_ns_ = ~std::uint64_t{0} - 1;
  HeartbeatOptions options_;
  link::LivenessScore score_{options_};
  bool open_ = false;
  std::uint64_t asked_ns_ = 0;
  std::uint64_t answered_ns_ = 0;
};

constexpr std::uint64_t kTenMinutesNs = 600'000'000'000;
// What rdma::VerbsOptions::peer_timeout_ns becomes: timeout 10.
constexpr std::uint64_t kDefaultRepeatNs = 4'096 << 10;

TEST_F(LivenessScore, GivesNoFalseAlarmInTenMinutesOfOnePercentLossBothWays) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(LossyWatch(seed, kDefaultRepeatNs).false_alarms(kTenMinutesNs), 0u)
        << "seed " << seed;
  }
  EXPECT_GT(LossyWatch(1, 40'000'000).false_alarms(kTenMinutesNs), 0u)
      << "where a repeat comes later than dead_after every loss is an alarm";
}

TEST_F(LivenessScore, NoticesAVanishedHostWithinFiftyMillisecondsAlsoUnderLoss) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    LossyWatch watch(seed, kDefaultRepeatNs);
    const std::optional<std::uint64_t> after = watch.notices_after(1'000'000'000 + seed * 137'000);
    ASSERT_TRUE(after) << "seed " << seed;
    EXPECT_LT(*after, 50'000'000u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tickpath::link::liveness
