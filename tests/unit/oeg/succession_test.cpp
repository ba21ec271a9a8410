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
  leader.on_offer_taken(*leader.offer());
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

// ---- a hand-over

struct Pairing {
  Succession leader = paired_leader();
  Succession standby{2};
  Pairing() { standby.on_offer(leader.word(), 1); }
};

// Each asks the witness, which holds `word`.
void ask(Succession& one, Leadership& word) {
  const Succession::Change change = *one.wanted();
  const Leadership found = word;
  if (found == change.expected) word = change.desired;
  one.on_answer(change, found);
}

TEST(Succession, WhoIsHandedThePlaceAsksForTheWordAndLeads) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.hand_over();
  ask(pair.leader, word);
  EXPECT_EQ(pair.leader.role(), Succession::Role::kOutsider);
  pair.standby.on_handed_over(pair.leader.word());
  EXPECT_FALSE(pair.standby.may_act(true)) << "the other one may be asking for it again";
  ask(pair.standby, word);
  EXPECT_TRUE(pair.standby.may_act(false));
  pair.leader.take_back();
  ask(pair.leader, word);
  EXPECT_TRUE(pair.leader.other_came_first());
  EXPECT_FALSE(pair.leader.may_act(true));
}

TEST(Succession, APlaceThatWasHandedToOneThatDiesIsTakenBack) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.hand_over();
  ask(pair.leader, word);
  pair.standby.begin_again();  // it has not read that it is to lead
  EXPECT_EQ(pair.standby.role(), Succession::Role::kOutsider);
  pair.leader.begin_again();
  ASSERT_TRUE(pair.leader.may_take_back());
  EXPECT_FALSE(pair.leader.wanted()) << "not before it has waited for its successor";
  pair.leader.take_back();
  ask(pair.leader, word);
  EXPECT_TRUE(pair.leader.may_act(false));
}

TEST(Succession, WhoHandsOverToOneThatHasClaimedThePlaceDoesNotTakeItBack) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.hand_over();
  pair.standby.on_leader_lost();
  ask(pair.standby, word);
  ask(pair.leader, word);
  EXPECT_EQ(pair.leader.role(), Succession::Role::kOutsider);
  EXPECT_FALSE(pair.leader.may_take_back());
}

TEST(Succession, AClaimThatComesAfterTheHandOverIsMadeOnceMore) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.hand_over();
  pair.standby.on_leader_lost();
  ask(pair.leader, word);
  ask(pair.standby, word);
  EXPECT_FALSE(pair.standby.may_act(true));
  ask(pair.standby, word);
  EXPECT_TRUE(pair.standby.may_act(false));
}

// The witness died before it had saved that word.
TEST(Succession, AfterAStartOfTheHostWhoLedAloneDoesNotJoinByAWordThatIsOlderThanItsOwn) {
  Pairing pair;
  Leadership word = pair.leader.word();
  const Leadership saved = word;
  pair.standby.on_leader_lost();
  ask(pair.standby, word);
  EXPECT_FALSE(pair.standby.begin_after_boot(saved, 2));
  EXPECT_FALSE(pair.standby.begin_after_boot({}, 2));
  EXPECT_EQ(pair.standby.role(), Succession::Role::kLeader);
  EXPECT_TRUE(pair.standby.begin_after_boot(word, 2));
  // The witness has forgotten even the pair, so the leader may have led alone since.
  EXPECT_TRUE(pair.leader.begin_after_boot({}, 2));
  EXPECT_EQ(pair.leader.role(), Succession::Role::kOutsider);
  EXPECT_TRUE(pair.leader.superseded()) << "what it would renounce it does not know";
}

// The life that is over may have given it the place, and so may the one that remembers less.
TEST(Succession, WhoMayHaveLedByAWordThatTheWitnessForgotDoesNotSayThatItRenounces) {
  Pairing pair;
  pair.standby.renounce();
  pair.standby.look_back_after_boot(pair.leader.word());
  EXPECT_FALSE(pair.standby.superseded());
  pair.standby.look_back_after_boot({});
  EXPECT_TRUE(pair.standby.superseded());
  ASSERT_TRUE(pair.leader.begin_after_boot({pair.leader.word().epoch - 1, 1, true}, 2));
  EXPECT_TRUE(pair.leader.superseded());
  pair.leader.on_peer_renounced();
  EXPECT_FALSE(pair.leader.superseded()) << "it leads, and decides";
}

// Whose answer was lost with it.
TEST(Succession, ALaterLifeOfTheWitnessThatHoldsWhatWasAskedForHasGrantedIt) {
  Succession leader = paired_leader();
  leader.on_standby_lost();
  ASSERT_TRUE(leader.wanted());
  const Succession::Change asked = *leader.wanted();
  (void)leader.enrol(2, asked.expected);
  EXPECT_TRUE(leader.blocked()) << "that life may have forgotten what it gave";
  (void)leader.enrol(2, asked.desired);
  EXPECT_TRUE(leader.may_act(false));
  EXPECT_EQ(leader.word(), asked.desired);
}

// The standby may have had the place from the life that is over, which had not saved that.
TEST(Succession, AfterAStartOfTheHostAPairsLeaderIsServedOnlyByTheLifeOfTheWitnessThatItKnew) {
  for (const std::uint64_t life : {1u, 2u}) {
    Succession leader = paired_leader();
    ASSERT_TRUE(leader.begin_after_boot(leader.word(), life));
    EXPECT_TRUE(leader.blocked());
    EXPECT_EQ(leader.serves(life), life == 1);
  }
}

// Two witnesses may hold the same word of a pair, and each may have given the place away. One whose
// word is older than the pair has forgotten what it gave.
TEST(Succession, AfterAStartOfTheHostAPairsLeaderIsServedByNoWitnessThatMayHaveForgotten) {
  const Succession leader = paired_leader();
  const std::uint32_t epoch = leader.word().epoch;
  for (const auto& [found, life] : {std::pair(leader.word(), std::uint64_t{0}),
                                    std::pair(Leadership{epoch - 1, 1, true}, std::uint64_t{2})}) {
    Succession after = leader;
    ASSERT_TRUE(after.begin_after_boot(found, life));
    EXPECT_TRUE(after.blocked());
    EXPECT_FALSE(after.wanted());
    EXPECT_FALSE(after.enrol(2, found));
    after.on_peer_renounced();
    EXPECT_TRUE(after.may_act(false));
  }
}

// The standby may know of the new life of the witness, or not. So neither life decides.
TEST(Succession, ALeaderThatLosesItsStandbyDuringAMoveIsServedByNoWitness) {
  Succession leader = paired_leader();
  ASSERT_TRUE(leader.move(2, {}));
  leader.on_answer(*leader.wanted(), {});
  leader.on_move_told();
  leader.on_standby_lost();
  ASSERT_TRUE(leader.blocked());
  EXPECT_FALSE(leader.serves(1));
  EXPECT_FALSE(leader.serves(2));
}

// Its copy of the journal may have lost what the former leader's has.
TEST(Succession, WhoIsHandedThePlaceAndLosesItsPowerJoins) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.hand_over();
  ask(pair.leader, word);
  pair.standby.on_handed_over(word);
  pair.standby.begin_after_boot(word, 1);
  EXPECT_EQ(pair.standby.role(), Succession::Role::kOutsider);
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

// 2 has confirmed the offer, and life 1 of the witness was asked for the pair.
Succession leader_that_offered() {
  Succession leader(1);
  leader.found();
  (void)leader.enrol(1, {1, 1, true});
  leader.on_offer_taken(*leader.offer());
  return leader;
}

// The witness dies before it answers: else the standby would ask a life that is gone, and could
// never take over.
TEST(Succession, APairWhoseWitnessDiesBeforeItAnswersComesIntoForceAtItsNextLife) {
  for (const Leadership saved : {Leadership{1, 1, true}, Leadership{2, 1, false}, Leadership{}}) {
    Succession leader = leader_that_offered();
    ASSERT_TRUE(leader.move(2, saved));
    EXPECT_EQ(leader.wanted()->desired, (Leadership{2, 1, false}));
    leader.on_answer(*leader.wanted(), saved);
    EXPECT_TRUE(leader.needs_confirmation());
    leader.on_move_told();
    leader.on_move_confirmed();
    EXPECT_EQ(leader.word(), (Leadership{2, 1, false}));
    EXPECT_EQ(leader.witness(), 2u);
    EXPECT_TRUE(leader.needs_confirmation());
    EXPECT_TRUE(leader.may_act(true));
    EXPECT_FALSE(leader.may_act(false));
  }
}

TEST(Succession, AnOfferThatTheNextLifeDoesNotTakeIsAskedForWhereItWas) {
  Succession leader = leader_that_offered();
  const Succession::Change first = *leader.wanted();
  ASSERT_TRUE(leader.move(2, {}));
  leader.on_answer(*leader.wanted(), {1, 1, true});  // changed by somebody meanwhile
  ASSERT_TRUE(leader.wanted().has_value());
  EXPECT_EQ(*leader.wanted(), first);
  EXPECT_FALSE(leader.move(2, {3, 2, true})) << "the standby leads there";
}

// --------------------------------------------- one that waits for a word, and asks who leads

TEST(Succession, WhoWaitsForAWordHasLostItToWhoLeadsInALaterEpoch) {
  EXPECT_TRUE(Succession::is_lost({3, 1, false}, {4, 1, false}));
  EXPECT_TRUE(Succession::is_lost({3, 1, false}, {4, 2, true}));
  EXPECT_FALSE(Succession::is_lost({3, 2, false}, {3, 1, true})) << "it was handed the place";
  EXPECT_FALSE(Succession::is_lost({3, 2, true}, {2, 1, true}));
  EXPECT_FALSE(Succession::is_lost({4, 2, true}, {3, 1, false})) << "it does not know yet";
}

// The standby has read the offer {3, 1, pair}; its leader has not heard of that, and trades alone.
TEST(Succession, AnOfferThatWasTakenBackIsNoWordToWaitFor) {
  EXPECT_TRUE(Succession::is_lost({3, 1, false}, {2, 1, true}));
  EXPECT_TRUE(Succession::is_lost({3, 1, false}, {3, 1, true})) << "it was started since";
  EXPECT_FALSE(Succession::is_lost({3, 1, false}, {2, 1, false}))
      << "the witness may have heard of the offer";
}

// Its leader may renounce, and then nobody else has everything. Or it goes on, and says so.
TEST(Succession, AStandbyWhoseOfferTheWitnessHasNotHeardOfKeepsItsClaim) {
  Succession standby(2);
  standby.on_offer({3, 1, false}, 9);
  standby.on_leader_lost();
  const Succession::Change claim = *standby.wanted();
  standby.on_answer(claim, {2, 1, true});
  ASSERT_EQ(standby.role(), Succession::Role::kClaimant);
  EXPECT_EQ(standby.wanted(), claim) << "it asks again: the offer may be on its way";
  EXPECT_FALSE(standby.may_act(true));
  Succession after_renunciation = standby;
  after_renunciation.on_peer_renounced();
  EXPECT_EQ(after_renunciation.word(), (Leadership{4, 2, true}));
  standby.on_answer(claim, {4, 1, true});
  EXPECT_TRUE(standby.other_came_first()) << "it leads, or has given that up: it is asked";
  EXPECT_TRUE(Succession::is_lost(standby.word(), {4, 1, true}));
}

// The witness granted it, and 2 never heard of that. Nobody but 1 may lead.
TEST(Succession, AClaimThatItsOwnerHasGivenUpDoesNotEndTheOtherOnes) {
  Pairing pair;
  Leadership word = pair.leader.word();
  pair.leader.on_standby_lost();
  pair.standby.on_leader_lost();
  word = pair.standby.wanted()->desired;
  pair.standby.renounce();
  EXPECT_EQ(pair.standby.renounced(), word);
  ask(pair.leader, word);
  ASSERT_EQ(pair.leader.role(), Succession::Role::kLeader);
  EXPECT_FALSE(pair.leader.may_act(true));
  pair.leader.on_peer_renounced(pair.standby.renounced());
  EXPECT_TRUE(pair.leader.may_act(false));
  EXPECT_GT(pair.leader.word().epoch, word.epoch);
}

// After a start of its host 1 asks for an epoch far above the next one.
TEST(Succession, WhomTheOtherOneLeavesThePlaceLeadsAboveAllThatThatOneHasAskedFor) {
  Pairing pair;
  pair.standby.on_leader_lost();
  ASSERT_TRUE(pair.leader.begin_after_boot(pair.leader.word(), 1));
  const Leadership granted = pair.leader.wanted()->desired;
  pair.leader.renounce();
  pair.standby.on_peer_renounced(pair.leader.renounced());
  pair.standby.on_word(granted);
  EXPECT_TRUE(pair.standby.may_act(false));
  EXPECT_GT(pair.standby.word().epoch, granted.epoch);
}

TEST(Succession, OfTwoThatWaitTheOneWhoseBooksAreWholeLeads) {
  Pairing pair;
  pair.standby.on_leader_lost();
  EXPECT_FALSE(Succession::gives_way(1, pair.leader.books_may_be_cut(), false));
  EXPECT_TRUE(Succession::gives_way(2, pair.standby.books_may_be_cut(), false));
  ASSERT_TRUE(pair.leader.begin_after_boot(pair.leader.word(), 2));
  EXPECT_TRUE(pair.leader.books_may_be_cut());
  EXPECT_TRUE(Succession::gives_way(1, pair.leader.books_may_be_cut(), false));
  EXPECT_FALSE(Succession::gives_way(2, pair.standby.books_may_be_cut(), true));
  EXPECT_FALSE(Succession::gives_way(1, pair.leader.books_may_be_cut(), true))
      << "as without a start of a host: place 2 does";
  pair.leader.on_peer_renounced();
  EXPECT_FALSE(pair.leader.books_may_be_cut());
}

// A copy of its host, started beside it, has asked for that.
TEST(Succession, ALaterWordOfItsOwnPlaceEndsALeadership) {
  Succession leader = paired_leader();
  leader.on_word({leader.word().epoch + 1, 1, true});
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
  EXPECT_TRUE(leader.superseded()) << "what it would renounce it does not know";
  leader.on_offer({9, 2, false}, 1);
  EXPECT_FALSE(leader.superseded());
}

// ------------------------------------------------------- a memory that is not the newest

Succession lone_leader(std::uint8_t self, std::uint32_t epoch) {
  Succession leader(self);
  leader.found({epoch - 1, 1, true});
  return leader;
}

TEST(Succession, WhoLedAloneLeadsAgainWhereTheWitnessKnowsOfNobodyLater) {
  for (const Leadership found : {Leadership{}, Leadership{4, 1, true}, Leadership{3, 2, true}}) {
    Succession leader = lone_leader(1, 4);
    leader.begin_again(found);
    EXPECT_EQ(leader.role(), Succession::Role::kLeader);
    EXPECT_EQ(leader.word(), (Leadership{5, 1, true}));
  }
}

TEST(Succession, WhoLedAloneJoinsWhereAnyoneHasLedSince) {
  // Its own place, too: then its file is a copy from before, and its journal may be as old.
  for (const Leadership found : {Leadership{6, 2, true}, Leadership{5, 2, true},
                                 Leadership{6, 2, false}, Leadership{6, 1, true}}) {
    Succession leader = lone_leader(1, 4);
    leader.begin_again(found);
    EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
    EXPECT_EQ(leader.word(), found);
    EXPECT_FALSE(leader.wanted().has_value());
  }
}

// The witness may have decided, and its answer been lost with the process.
TEST(Succession, WhatItHadAskedForItselfIsNoLaterLeader) {
  Succession leader = paired_leader();
  leader.on_standby_lost();
  const Succession::Change change = *leader.wanted();
  leader.begin_again(change.desired);
  ASSERT_TRUE(leader.wanted().has_value());
  leader.on_answer(*leader.wanted(), change.desired);
  EXPECT_EQ(leader.word(), change.desired);
  EXPECT_TRUE(leader.may_act(false));
}

TEST(Succession, ALeaderWritesItsWordOverAnOlderOneAndNotOverALaterOne) {
  Succession leader = lone_leader(1, 4);
  ASSERT_TRUE(leader.enrol(1, {3, 2, true}));
  EXPECT_EQ(leader.wanted()->desired, (Leadership{5, 1, true}));
  leader = lone_leader(1, 4);
  EXPECT_FALSE(leader.enrol(1, {5, 2, true}));
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
  // The other one wrote its word while this one asked.
  leader = lone_leader(1, 4);
  ASSERT_TRUE(leader.enrol(1, {}));
  leader.on_answer(*leader.wanted(), {5, 2, true});
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
}

// Its standby waits for the word, and its own journal may have lost its end.
TEST(Succession, AfterAStartOfTheHostAStandbyThatWaitsHasAllUnlessItsLeaderHasLedAloneSince) {
  const Succession leader = paired_leader();
  const Leadership pair = leader.word();
  EXPECT_TRUE(leader.other_is_whole(pair, pair));
  EXPECT_TRUE(leader.other_is_whole({}, pair));
  EXPECT_FALSE(leader.other_is_whole({pair.epoch + 1, 1, true}, pair)) << "led alone since";
  Succession alone = lone_leader(1, 7);
  (void)alone.enrol(1, {7, 1, true});
  EXPECT_FALSE(alone.other_is_whole({7, 1, true}, {6, 1, false}));
  EXPECT_TRUE(alone.other_is_whole({7, 1, true}, {8, 1, false}))
      << "the offer did not reach the disk";
  (void)alone.offer();
  EXPECT_TRUE(alone.other_is_whole({7, 1, true}, {8, 1, false}));
  alone.on_standby_lost();
  EXPECT_FALSE(alone.other_is_whole({7, 1, true}, {8, 1, false})) << "it took that back";
}

// The answer is lost, and another witness is asked next.
TEST(Succession, AnEnrolmentWithoutAnAnswerIsKnownForItsOwn) {
  Succession leader = lone_leader(1, 7);
  (void)leader.enrol(1, {7, 1, true});
  ASSERT_TRUE(leader.enrol(2, {}));
  const Leadership asked = leader.wanted()->desired;
  (void)leader.enrol(1, {7, 1, true});
  leader.on_word(asked);
  EXPECT_EQ(leader.role(), Succession::Role::kLeader);
  Succession later = leader;
  later.begin_again(asked);
  EXPECT_EQ(later.role(), Succession::Role::kLeader);
  EXPECT_GT(leader.offer()->epoch, asked.epoch);
}

// 2 claimed, renounced, and its claim stands at the witness still.
TEST(Succession, AClaimThatWasGivenUpIsNoLaterLeader) {
  Succession leader = paired_leader();
  const Leadership claim{leader.word().epoch + 1, 2, true};
  leader.on_peer_renounced();
  leader.on_word(claim);
  ASSERT_EQ(leader.role(), Succession::Role::kLeader);
  ASSERT_TRUE(leader.enrol(1, claim));
  EXPECT_GT(leader.wanted()->desired.epoch, claim.epoch);
}

TEST(Succession, ALeaderThatReadsALaterWordOfTheOtherOneLeadsNoMore) {
  Succession leader = paired_leader();
  const std::uint32_t epoch = leader.word().epoch;
  for (const Leadership found :
       {Leadership{}, Leadership{epoch, 1, false}, Leadership{epoch - 1, 2, true}})
    leader.on_word(found);
  EXPECT_EQ(leader.role(), Succession::Role::kLeader);
  leader.on_word({epoch + 1, 2, true});
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
  EXPECT_FALSE(leader.may_act(true));
}

TEST(Succession, AfterAStartOfTheHostOnlyWhoLeadsByTheWitnessesWordAsksToGoOn) {
  Succession leader = lone_leader(1, 4);
  leader.begin_after_boot({4, 1, true}, 9);
  EXPECT_TRUE(leader.blocked()) << "it has to have the word first";
  EXPECT_EQ(leader.wanted()->expected, (Leadership{4, 1, true}));
  EXPECT_EQ(leader.wanted()->witness, 9u);
  EXPECT_GT(leader.wanted()->desired.epoch, 10u) << "it may have led in epochs that it forgot";
  leader.begin_again(Leadership{4, 1, true});
  EXPECT_TRUE(leader.blocked()) << "also in its next life";
  leader.on_answer(*leader.wanted(), {4, 1, true});
  EXPECT_TRUE(leader.may_act(false));
  for (const Leadership found :
       {Leadership{5, 2, true}, Leadership{4, 2, false}, Leadership{5, 1, true}}) {
    leader = lone_leader(1, 4);
    EXPECT_TRUE(leader.begin_after_boot(found, 9));
    EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
  }
  Succession standby(2);
  standby.on_offer({4, 1, false}, 9);
  standby.begin_after_boot({4, 2, true}, 9);
  EXPECT_EQ(standby.role(), Succession::Role::kOutsider);
}

// The life of the witness that it asked is gone.
TEST(Succession, WhoLedAloneMayAskAnyLifeOfTheWitnessAfterAStartOfTheHost) {
  Succession leader = lone_leader(1, 4);
  ASSERT_TRUE(leader.begin_after_boot({4, 1, true}, 9));
  ASSERT_TRUE(leader.blocked());
  EXPECT_TRUE(leader.enrol(10, {4, 1, true}));
  ASSERT_TRUE(leader.wanted());
  EXPECT_EQ(leader.wanted()->witness, 10u);
  leader.on_answer(*leader.wanted(), {4, 1, true});
  EXPECT_TRUE(leader.may_act(false));
}

TEST(Succession, AMemoryThatLacksALeadershipOfItsOwnIsFromBefore) {
  Succession standby(2);
  standby.on_offer({3, 1, false}, 9);
  EXPECT_TRUE(standby.is_from_before({4, 2, true}));
  EXPECT_FALSE(standby.is_from_before({4, 1, true})) << "the other one's";
  EXPECT_FALSE(standby.is_from_before({3, 1, false}));
  EXPECT_FALSE(standby.is_from_before({4, 2, false})) << "handed over by the other one";
  EXPECT_TRUE(standby.is_from_before({5, 2, false})) << "it led alone in 4";
  standby.on_leader_lost();
  EXPECT_FALSE(standby.is_from_before({4, 2, true})) << "it has asked for it";
  standby.renounce();
  EXPECT_FALSE(standby.is_from_before({4, 2, true})) << "the answer may have been lost";
  EXPECT_TRUE(standby.is_from_before({5, 2, true}));
}

// The copy was made before the joiner had confirmed the offer.
TEST(Succession, ACopyOfWhoOfferedDoesNotLeadOnceThePairIsThere) {
  Succession leader = lone_leader(2, 7);
  (void)leader.enrol(9, {7, 2, true});
  ASSERT_TRUE(leader.offer());
  EXPECT_FALSE(leader.is_from_before({7, 2, true}));
  EXPECT_TRUE(leader.is_from_before({8, 2, false}));
  Succession again = leader;
  again.begin_again(wire::Leadership{7, 2, true});
  EXPECT_TRUE(again.may_act(false)) << "the offer was never made";
  leader.begin_again(wire::Leadership{8, 2, false});
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
}

// Its last offer was of a higher epoch than the word by which the other one leads.
TEST(Succession, AfterAStartOfTheHostTheOtherOneMayLeadBeforeTheAnswer) {
  Succession leader = lone_leader(1, 4);
  (void)leader.enrol(1, {4, 1, true});
  ASSERT_TRUE(leader.offer());
  leader.begin_after_boot({4, 1, true}, 9);
  ASSERT_GT(leader.wanted()->desired.epoch, 5u);
  leader.on_answer(*leader.wanted(), {5, 2, true});
  EXPECT_EQ(leader.role(), Succession::Role::kOutsider);
  EXPECT_FALSE(leader.blocked());
}

// The witness came back with the word of before those.
TEST(Succession, AfterAStartOfTheHostWhomTheOtherOneLeavesThePlaceLeadsInANewEpoch) {
  Succession leader = lone_leader(1, 5);
  (void)leader.enrol(1, {5, 1, true});
  const std::optional<Leadership> offered = leader.offer();
  ASSERT_TRUE(offered);
  leader.on_offer_taken(*offered);
  ASSERT_TRUE(leader.begin_after_boot({3, 1, false}, 2));
  ASSERT_TRUE(leader.blocked());
  leader.on_peer_renounced();
  EXPECT_EQ(leader.role(), Succession::Role::kLeader);
  EXPECT_GT(leader.word().epoch, offered->epoch);
}

TEST(Succession, WhomAPersonMakesLeaderLeadsAboveAllThatIsKnown) {
  Succession outsider(2);
  outsider.on_offer({4, 1, false}, 9);
  outsider.renounce();
  outsider.found({7, 1, true});
  EXPECT_EQ(outsider.word(), (Leadership{8, 2, true}));
  EXPECT_TRUE(outsider.may_act(false));
}

}  // namespace
}  // namespace tickpath::oeg
