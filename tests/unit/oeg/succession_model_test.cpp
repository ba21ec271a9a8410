// The rules of succession against every order of events (succession_model.hpp).
#include "tests/unit/oeg/succession_model.hpp"

#include <iostream>

#include <gmock/gmock.h>

namespace tickpath::oeg {
namespace {

using namespace model;  // NOLINT(google-build-using-namespace)

Model::Result explore(const Budget& budget, Mutant mutant = Mutant::kNone) {
  return Model(budget, mutant).run();
}

// Sound, the whole of it seen, and no dead end.
void expect_sound(const Budget& budget) {
  const Model::Result result = explore(budget);
  EXPECT_EQ(result.violation, "");
  EXPECT_LT(result.worlds, kWorldsMax) << "not all of it was seen";
  EXPECT_TRUE(result.took_over_and_traded);
  testing::Test::RecordProperty("worlds", static_cast<int>(result.worlds));
}

TEST(SuccessionModel, AnySuspicionAtAnyTime) { expect_sound({.orders = 2, .joins = 0}); }

TEST(SuccessionModel, AProgramDies) { expect_sound({.orders = 1, .crashes = 1, .joins = 0}); }

TEST(SuccessionModel, TheOldLeaderComesBackAndJoins) {
  const Model::Result result = explore({.orders = 1, .joins = 1});
  EXPECT_EQ(result.violation, "");
  EXPECT_TRUE(result.took_over_and_traded);
  EXPECT_TRUE(result.paired_again);
}

TEST(SuccessionModel, TheWitnessForgets) {
  expect_sound({.orders = 1, .witness_lives = 2, .joins = 0});
}

// No message is needed: these are about who leads.
void expect_one_leader(const Budget& budget) {
  const Model::Result result = explore(budget);
  EXPECT_EQ(result.violation, "");
  EXPECT_LT(result.worlds, kWorldsMax) << "not all of it was seen";
}

// The witness forgets, and one of the pair has lost its memory: it founds no pair beside the other.
TEST(SuccessionModel, AMemoryIsLost) {
  expect_one_leader(
      {.orders = 0, .logons = 0, .crashes = 1, .witness_lives = 2, .joins = 0, .losses = 1});
}

TEST(SuccessionModel, WhoHasLostItsMemoryJoins) {
  expect_one_leader(
      {.orders = 0, .logons = 0, .crashes = 1, .witness_lives = 2, .joins = 1, .losses = 1});
}

TEST(SuccessionModel, ACopyOfAMemoryIsPutBack) {
  expect_one_leader({.orders = 0, .logons = 0, .crashes = 1, .joins = 0, .copies = 1});
}

// The leader turns to the other one whenever it likes, and back.
TEST(SuccessionModel, TwoWitnesses) {
  expect_sound({.orders = 1, .witness_lives = 2, .witnesses = 2, .moves = 2, .joins = 0});
}

TEST(SuccessionModel, ACutAndAnAnswerThatIsLost) {
  expect_sound({.orders = 1, .cuts = 1, .lost_answers = 1, .joins = 0});
}

TEST(SuccessionModel, LeadershipIsHandedOver) {
  expect_sound({.orders = 1, .lost_answers = 1, .joins = 0, .hand_overs = 1});
}

// Also to one that dies before it has read that.
TEST(SuccessionModel, AProgramDiesWhileLeadershipIsHandedOver) {
  expect_one_leader(
      {.orders = 0, .logons = 0, .crashes = 1, .joins = 1, .hand_overs = 1, .epoch_max = 7});
}

TEST(SuccessionModel, TheWitnessForgetsWhileLeadershipIsHandedOver) {
  expect_one_leader({.orders = 0, .logons = 0, .witness_lives = 2, .joins = 1, .hand_overs = 1});
}

TEST(SuccessionModel, TheWitnessForgetsAndAConnectionIsCut) {
  expect_one_leader({.orders = 0, .logons = 0, .cuts = 1, .witness_lives = 2, .joins = 1});
}

// ---- a pair that begins, and joins

TEST(SuccessionModel, APairIsFoundedAndTrades) {
  const Model::Result result = explore({.orders = 1, .joins = 1, .from_nothing = true});
  EXPECT_EQ(result.violation, "");
  EXPECT_LT(result.worlds, kWorldsMax) << "not all of it was seen";
  EXPECT_TRUE(result.founded);
}

TEST(SuccessionModel, AProgramDiesWhileAPairIsFounded) {
  expect_one_leader({.orders = 0, .logons = 0, .crashes = 1, .joins = 1, .from_nothing = true});
}

TEST(SuccessionModel, AProgramDiesWhileOneJoins) {
  expect_one_leader({.orders = 0, .logons = 0, .crashes = 1, .joins = 1});
}

TEST(SuccessionModel, AConnectionIsCutWhileOneJoins) {
  expect_one_leader({.orders = 0, .logons = 0, .cuts = 1, .joins = 1});
}

TEST(SuccessionModel, TheWitnessForgetsWhileOneJoins) {
  expect_one_leader({.orders = 0, .logons = 0, .witness_lives = 2, .joins = 1});
}

// ---- one that takes nothing

TEST(SuccessionModel, AStandbyOrJoinerThatHangsWithAFullLogIsGivenUp) {
  expect_sound({.orders = 2, .joins = 0, .hangs = 1, .log_room = 1});
  expect_one_leader({.orders = 1, .logons = 1, .joins = 1, .hangs = 1, .log_room = 1});
}

// Minutes and gigabytes: by hand, with --gtest_also_run_disabled_tests.
TEST(SuccessionModel, DISABLED_LargerWorlds) {
  for (const Budget& budget :
       {Budget{.orders = 2, .crashes = 1, .joins = 1},
        Budget{.orders = 1, .crashes = 2, .joins = 1},
        Budget{.orders = 1, .cuts = 1, .lost_answers = 1, .joins = 1},
        Budget{.orders = 1, .witness_lives = 2, .joins = 1},
        Budget{.orders = 1, .witness_lives = 2, .witnesses = 2, .moves = 2, .joins = 1},
        Budget{.orders = 1, .crashes = 1, .witness_lives = 2, .joins = 1},
        Budget{.orders = 1, .lost_answers = 1, .joins = 1, .hand_overs = 1},
        Budget{.orders = 1, .crashes = 1, .joins = 1, .hand_overs = 1},
        Budget{.orders = 0, .crashes = 1, .joins = 1, .copies = 1},
        Budget{.orders = 0, .crashes = 2, .joins = 1, .losses = 2}}) {
    const Model::Result result = explore(budget);
    std::cout << result.worlds << " worlds\n";
    EXPECT_EQ(result.violation, "");
  }
}

// A test that cannot fail proves nothing. Each broken rule must be found.
class SuccessionMutants : public testing::TestWithParam<Mutant> {};

TEST_P(SuccessionMutants, AreFound) {
  const Model::Result result = explore({.orders = 1, .witness_lives = 2, .joins = 1}, GetParam());
  EXPECT_NE(result.violation, "");
  EXPECT_LT(result.worlds, kWorldsMax);
}

// Each needs a fault that the others do not.
TEST(SuccessionMutant, AFoundingBesideALeaderIsFound) {
  const Model::Result result =
      explore({.orders = 0, .logons = 0, .crashes = 1, .witness_lives = 2, .joins = 0, .losses = 1},
              Mutant::kFoundUnasked);
  EXPECT_NE(result.violation, "");
}

TEST(SuccessionMutant, ARenunciationByWhoHasLostItsMemoryIsFound) {
  const Model::Result result =
      explore({.orders = 1, .crashes = 1, .witness_lives = 2, .joins = 1, .losses = 1},
              Mutant::kNewcomerRenounces);
  EXPECT_THAT(result.violation, testing::HasSubstr("does not know an order"));
}

TEST(SuccessionMutant, AMemoryThatWasPutBackAndIsTrustedIsFound) {
  const Model::Result result = explore(
      {.orders = 0, .logons = 0, .crashes = 1, .joins = 1, .copies = 1}, Mutant::kMemoryTrusted);
  EXPECT_NE(result.violation, "");
}

TEST(SuccessionMutant, AStandbyThatIsHandedThePlaceAndDoesNotAskIsFound) {
  const Model::Result result =
      explore({.orders = 0, .logons = 0, .joins = 0, .hand_overs = 1}, Mutant::kHandedOverLeads);
  EXPECT_THAT(result.violation, testing::HasSubstr("two lead alone"));
}

TEST(SuccessionMutant, AFullLogThatIsWaitedForIsFound) {
  const Model::Result result =
      explore({.orders = 2, .joins = 0, .hangs = 1, .log_room = 1}, Mutant::kFullLogWaits);
  EXPECT_THAT(result.violation, testing::HasSubstr("nobody leads"));
}

TEST(SuccessionMutant, AJoinerThatIsWaitedForIsFound) {
  const Model::Result result = explore(
      {.orders = 1, .logons = 1, .joins = 1, .hangs = 1, .log_room = 1}, Mutant::kJoinerWaits);
  EXPECT_THAT(result.violation, testing::HasSubstr("nobody leads"));
}

INSTANTIATE_TEST_SUITE_P(Rules, SuccessionMutants,
                         testing::Values(Mutant::kNoFence, Mutant::kLeadBeforeDrain,
                                         Mutant::kActUnconfirmed, Mutant::kWitnessNotAsked,
                                         Mutant::kLeaderNotAsking, Mutant::kEpochNotChecked,
                                         Mutant::kMoveUntold));

}  // namespace
}  // namespace tickpath::oeg
