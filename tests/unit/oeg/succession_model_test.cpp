// The rules of succession against every order of events (succession_model.hpp).
#include "tests/unit/oeg/succession_model.hpp"

#include <iostream>

#include <gtest/gtest.h>

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

// The next two models check that at most one oeg leads. They send no order.
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

// A test that cannot fail proves nothing: each rule left out is found.
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

TEST(SuccessionMutant, AMemoryThatWasPutBackAndIsTrustedIsFound) {
  const Model::Result result = explore(
      {.orders = 0, .logons = 0, .crashes = 1, .joins = 1, .copies = 1}, Mutant::kMemoryTrusted);
  EXPECT_NE(result.violation, "");
}

INSTANTIATE_TEST_SUITE_P(Rules, SuccessionMutants,
                         testing::Values(Mutant::kNoFence, Mutant::kLeadBeforeDrain,
                                         Mutant::kActUnconfirmed, Mutant::kWitnessNotAsked,
                                         Mutant::kLeaderNotAsking, Mutant::kEpochNotChecked,
                                         Mutant::kMoveUntold));

}  // namespace
}  // namespace tickpath::oeg
