// Single steps of the rules of succession that the model, which asks once, does not take.
#include "oeg/succession.hpp"

#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

using wire::Leadership;

// 1 leads, 2 stands by, in the word of the witness's life 1.
Succession paired_leader() {
  Succession leader(1);
  leader.found();
  (void)leader.enrol(1, {1, 1, true});
  leader.on_offer_confirmed(*leader.offer());
  leader.on_answer(*leader.wanted(), {1, 1, true});
  return leader;
}

// Whoever looks again before the standby is told must not begin anew, or the move never ends: then
// the leader is stuck when its standby dies.
TEST(Succession, AMoveThatHoldsIsNotBegunAgain) {
  Succession leader = paired_leader();
  const Leadership word = leader.word();
  ASSERT_FALSE(word.alone);
  ASSERT_TRUE(leader.move(2, {}));
  const Succession::Change change = *leader.wanted();
  EXPECT_EQ(change.witness, 2u);
  leader.on_answer(change, {});
  ASSERT_TRUE(leader.moved());
  EXPECT_FALSE(leader.move(2, word));
  ASSERT_TRUE(leader.moved());
  leader.on_move_told();
  leader.on_move_confirmed();
  EXPECT_EQ(leader.witness(), 2u);
  leader.on_standby_lost();
  ASSERT_TRUE(leader.wanted().has_value());
  EXPECT_EQ(leader.wanted()->witness, 2u);
}

// The witness dies once more before the standby knew of the life that held the word.
TEST(Succession, AMoveGoesOnToANewerLifeOfTheWitness) {
  Succession leader = paired_leader();
  ASSERT_TRUE(leader.move(2, {}));
  leader.on_answer(*leader.wanted(), {});
  ASSERT_TRUE(leader.moved());
  ASSERT_TRUE(leader.move(3, {}));
  EXPECT_FALSE(leader.moved());
  EXPECT_EQ(leader.wanted()->witness, 3u);
}

}  // namespace
}  // namespace tickpath::oeg
