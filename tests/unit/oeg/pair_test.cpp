// Which oeg of a pair leads, and what the one that takes over has in its journal.
#include "tests/unit/oeg/pair_fixture.hpp"

namespace tickpath::oeg::paired {
namespace {

TEST_F(PairTest, WhatHasTakenEffectIsInTheJournalOfWhoTakesOver) {
  begin();
  ASSERT_TRUE(pair_stands());
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(replicated(*first_, orders_[i]));
  const wire::Leadership before = first_->pair().word();
  first_.reset();  // it is gone, and its connections with it
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().word(), (wire::Leadership{before.epoch + 1, 2, true}));
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
  EXPECT_EQ(second_->journal().size().get(), 4u);
  second_->recover();
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kLeading; }));
  JournalRecord next = orders_[4];
  EXPECT_TRUE(second_->pair().log().append(next));
  EXPECT_EQ(next.sequence, 5u);
  EXPECT_TRUE(second_->pair().log().may_act()) << "it leads alone, by the witness's word";
}

TEST_F(PairTest, AHungLeaderThatGoesOnActsOnNothing) {
  begin(1'000'000'000);
  ASSERT_TRUE(pair_stands());
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  stopped_ = 1;
  ASSERT_TRUE(takes_over(*second_));
  // The former leader goes on, and believes that it leads.
  JournalRecord late = orders_[1];
  ASSERT_EQ(first_->pair().stage(), Stage::kLeading);
  ASSERT_TRUE(first_->pair().log().append(late));
  EXPECT_FALSE(first_->pair().log().may_act());
  second_->recover();
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kLeading; }));
  EXPECT_FALSE(first_->pair().log().may_act());
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }));
  EXPECT_FALSE(first_->pair().log().may_act());
  EXPECT_EQ(second_->journal().size().get(), 1u) << "nothing of it was taken after the fence";
}

TEST_F(PairTest, TheFormerLeadersRightToTheLogIsTakenBack) {
  begin(1'000'000'000);
  ASSERT_TRUE(pair_stands());
  stopped_ = 1;
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().takeover().fence_result(), FenceResult::kNone) << "not yet";
  const FenceResult fence = second_->recover();
  EXPECT_EQ(fence, fabric_.device->info().revokes ? FenceResult::kRevoked : FenceResult::kLogAlone);
  EXPECT_EQ(second_->pair().takeover().fence_result(), fence);
}

TEST_F(PairTest, ByHandTheStandbyLeadsWithoutASuspicion) {
  begin();
  ASSERT_TRUE(pair_stands());
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  first_->pair().commands().hand_over();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().takeover().times().suspected_ns.get(), 0u);
  second_->recover();
  ASSERT_TRUE(turned_until([&] {
    return second_->pair().stage() == Stage::kLeading && first_->pair().stage() == Stage::kRetired;
  }));
  EXPECT_EQ(second_->journal().size().get(), 1u);
  JournalRecord late = orders_[1];
  (void)first_->pair().log().append(late);
  EXPECT_FALSE(first_->pair().log().may_act());
}

// Else the leader would wait for that witness, and act on no kill meanwhile.
TEST_F(PairTest, NothingIsHandedOverWhereTheWitnessDoesNotAnswer) {
  begin();
  ASSERT_TRUE(pair_stands());
  const wire::Leadership word = first_->pair().word();
  new_witness();  // nobody is connected to this one
  ASSERT_TRUE(turned_until([&] { return !first_->pair().witness().is_there(); }));
  first_->pair().commands().hand_over();
  const std::uint64_t until = now_ns() + 500'000'000;
  ASSERT_TRUE(turned_until([&] {
    EXPECT_FALSE(first_->pair().status().blocked());
    return now_ns() > until;
  }));
  EXPECT_TRUE(first_->pair().log().may_act());
  // Forgotten: a witness that comes back later hands nothing over.
  connect_witness(*first_);
  connect_witness(*second_);
  ASSERT_TRUE(turned_until([&] { return witness_->leadership() == word; }));
  EXPECT_EQ(first_->pair().word(), word);
  EXPECT_TRUE(first_->pair().status().has_standby());
}

TEST_F(PairTest, WithoutStandbyAndWitnessALeaderActsOnNothing) {
  begin();
  ASSERT_TRUE(pair_stands());
  new_witness();  // nobody is connected to this one
  ASSERT_TRUE(turned_until([&] { return !first_->pair().witness().is_there(); }));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().status().blocked(); }));
  JournalRecord record = orders_[0];
  ASSERT_TRUE(first_->pair().log().append(record));
  EXPECT_FALSE(first_->pair().log().may_act());
  EXPECT_FALSE(first_->pair().may_trade());
}

// Else two that wait for a life of the witness that is gone would wait for ever.
TEST_F(PairTest, ALeaderThatWaitsForTheWordOfAnotherLifeOfTheWitnessAsksItsPeer) {
  begin();
  ASSERT_TRUE(pair_stands());
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !first_->pair().witness().is_there(); }));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().status().blocked(); }));
  EXPECT_TRUE(first_->pair().status().waits_for_word());
  connect_witness(*first_);
  EXPECT_TRUE(first_->pair().status().blocked()) << "this life does not decide";
  EXPECT_TRUE(first_->pair().status().waits_for_word());
}

// The offer that it has read was taken back: its word will never be changed, by any witness.
TEST_F(PairTest, AStandbyThatWaitsForAWordInVainGivesItUpForALeaderThatNeedsNobody) {
  begin();
  ASSERT_TRUE(pair_stands());
  const std::uint32_t epoch = second_->pair().word().epoch;
  EXPECT_FALSE(second_->pair().other_leads({epoch + 1, 1, true})) << "it waits for nothing";
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  first_.reset();
  ASSERT_TRUE(turned_until([&] { return second_->pair().status().waits_for_word(); }));
  EXPECT_FALSE(second_->pair().other_leads({epoch - 1, 1, false})) << "its own answer is under way";
  EXPECT_TRUE(second_->pair().other_leads({epoch - 1, 1, true}));
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kRetired; }));
  EXPECT_FALSE(second_->pair().log().may_act());
}

// The standby claims by an offer that its leader never got to the witness.
TEST_F(PairTest, AClaimThatTheWitnessesAnswerLeavesAsItWasWaitsForTheOtherOne) {
  first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] { return witness_->leadership() == first_->pair().word(); }));
  const wire::Leadership held = witness_->leadership();
  first_.reset();
  Succession claimant(2);
  claimant.on_offer({held.epoch + 1, 1, false}, witness_->incarnation());
  claimant.on_leader_lost();
  second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, false, SideOptions{.rules = claimant});
  connect_witness(*second_);
  ASSERT_TRUE(turned_until([&] { return second_->pair().status().waits_for_word(); }));
  EXPECT_EQ(second_->pair().stage(), Stage::kFollowing);
  second_->pair().commands().peer_renounced({});
  ASSERT_TRUE(takes_over(*second_));
  second_->recover();
  ASSERT_TRUE(turned_until([&] {
    return second_->pair().log().may_act() && witness_->leadership() == second_->pair().word();
  }));
  EXPECT_GT(second_->pair().word().epoch, held.epoch + 1);
}

// Both the other one and the witness are lost.
TEST_F(PairTest, WhoWaitsForAWordLeadsByAPersons) {
  begin();
  ASSERT_TRUE(pair_stands());
  const std::uint32_t epoch = second_->pair().word().epoch;
  second_->pair().commands().found({epoch + 5, 1, false});
  second_->turn();
  EXPECT_EQ(second_->pair().word().epoch, epoch) << "its leader lives";
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  first_.reset();
  ASSERT_TRUE(turned_until([&] { return second_->pair().status().waits_for_word(); }));
  second_->pair().commands().found({epoch + 5, 1, false});
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().word(), (wire::Leadership{epoch + 6, 2, true}));
}

// The standby may have taken over, traded, and lost all memory of that.
TEST_F(PairTest, ANewcomerIsNoSignThatTheStandbyBeforeHasRenounced) {
  begin();
  ASSERT_TRUE(pair_stands());
  stopped_ = 2;
  const Folder elsewhere;
  PairSide newcomer(elsewhere, *fabric_.device, std::uint8_t{2}, false);
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !first_->pair().witness().is_there(); }));
  join(*first_, newcomer, false, Pair::kNewcomer);
  ASSERT_TRUE(turned_until([&] { return first_->pair().status().blocked(); }));
  EXPECT_FALSE(first_->pair().log().may_act());
}

// A process that was stopped has not waited. It may get to its witness in a moment.
TEST_F(PairTest, AWordIsWaitedForInVainHalfASecondAfterThatBegan) {
  constexpr std::uint64_t kMs = 1'000'000;
  begin();
  ASSERT_TRUE(pair_stands());
  EXPECT_FALSE(second_->pair().status().waits_in_vain(1000 * kMs));
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  first_.reset();
  ASSERT_TRUE(turned_until([&] { return second_->pair().status().waits_for_word(); }));
  EXPECT_FALSE(second_->pair().status().waits_in_vain(3000 * kMs));
  EXPECT_FALSE(second_->pair().status().waits_in_vain(3499 * kMs));
  EXPECT_TRUE(second_->pair().status().waits_in_vain(3500 * kMs));
}

TEST_F(PairTest, WithoutAStandbyTheLeaderGoesOnByTheWitnessesWord) {
  begin();
  ASSERT_TRUE(pair_stands());
  const std::uint32_t epoch = first_->pair().word().epoch;
  JournalRecord record = orders_[0];
  stopped_ = 2;  // so that it confirms, but does not follow
  ASSERT_TRUE(first_->pair().log().append(record));
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().word().epoch, epoch + 1);
  EXPECT_EQ(witness_->leadership(), first_->pair().word());
  EXPECT_TRUE(first_->pair().log().may_act());
  EXPECT_TRUE(first_->pair().may_trade());
}

TEST_F(PairTest, ALeaderThatGoesOnAloneActsOnceItsMemoryIsSynced) {
  begin();
  ASSERT_TRUE(pair_stands());
  first_->stop_syncing();
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_TRUE(first_->pair().waits_for_memory());
  EXPECT_FALSE(first_->pair().log().may_act());
  ASSERT_EQ(first_->memory().sync(), 0);
  first_->turn();
  EXPECT_FALSE(first_->pair().waits_for_memory());
  EXPECT_TRUE(first_->pair().log().may_act());
}

TEST_F(PairTest, ADiskThatDoesNotAnswerHoldsNothingBackForLong) {
  begin();
  ASSERT_TRUE(pair_stands());
  first_->stop_syncing();
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_FALSE(first_->pair().log().may_act());
  EXPECT_TRUE(turned_until([&] { return first_->pair().log().may_act(); })) << "after a second";
}

TEST_F(PairTest, AnotherLifeOfTheWitnessDecidesOnceTheStandbyKnowsIt) {
  begin();
  ASSERT_TRUE(pair_stands());
  const wire::Leadership word = first_->pair().word();
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !first_->pair().witness().is_there(); }));
  connect_witness(*first_);
  // The leader writes its word into the new memory, and tells its standby.
  ASSERT_TRUE(turned_until([&] {
    const std::optional<Succession> known = second_->memory().load();
    return known && known->witness() == witness_->incarnation();
  }));
  EXPECT_EQ(witness_->leadership(), word);
  EXPECT_EQ(first_->pair().word(), word);
  ASSERT_TRUE(replicated(*first_, orders_[0]));
  connect_witness(*second_);
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
}

TEST_F(PairTest, AWitnessThatNobodyWasToldOfDecidesNothing) {
  begin();
  ASSERT_TRUE(pair_stands());
  new_witness();
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  connect_witness(*second_);  // before the leader has seen it
  first_.reset();
  for (int i = 0; i < 200; ++i) {
    witness_->collect();
    second_->turn();
  }
  EXPECT_EQ(second_->pair().stage(), Stage::kFollowing);
  EXPECT_EQ(witness_->leadership().epoch, 0u);
}

TEST_F(PairTest, AWitnessThatRemembersDecidesNothingEitherBeforeTheStandbyIsTold) {
  begin();
  ASSERT_TRUE(pair_stands());
  const wire::Leadership word = first_->pair().word();
  new_witness(false);
  EXPECT_EQ(witness_->leadership(), word);
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  connect_witness(*second_);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] {
    const std::optional<Succession> known = second_->memory().load();
    return known && known->witness() == witness_->incarnation();
  }));
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(witness_->leadership(), (wire::Leadership{word.epoch + 1, 2, true}));
}

// A second host with the first one's place, say: who asks to join has renounced, and the leader
// that has gone on alone has not.
TEST_F(PairTest, WhoIsAskedForTheLeadAsksTheWitnessAllTheSameWhereItAnswers) {
  begin({.confirm_max_ns = kConfirmMax, .log_bytes = kSmallLog}, {.log_bytes = kSmallLog});
  ASSERT_TRUE(pair_stands());
  stopped_ = 2;
  for (std::size_t count = 0; recorded(*first_, count);) ++count;
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  stopped_ = 1;
  second_->pair().commands().peer_renounced({});
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() != Stage::kFollowing; }));
  EXPECT_EQ(second_->pair().stage(), Stage::kRetired);
  EXPECT_EQ(witness_->leadership(), first_->pair().word());
}

TEST_F(PairTest, WhereNoWitnessAnswersWhoIsAskedForTheLeadLeads) {
  begin();
  ASSERT_TRUE(pair_stands());
  const std::uint32_t epoch = second_->pair().word().epoch;
  new_witness();  // nobody is connected to this one
  ASSERT_TRUE(turned_until([&] { return !second_->pair().witness().is_there(); }));
  first_.reset();
  second_->pair().commands().peer_renounced({});
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->pair().word(), (wire::Leadership{epoch + 1, 2, true}));
}

// A copy of its file that was put back: it believes to lead alone, as the other one does.
TEST_F(PairTest, OfTwoThatLeadAloneTheOneWhoseWordIsOlderStepsDown) {
  first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] { return witness_->leadership() == first_->pair().word(); }));
  SideOptions later;
  later.lives = 5;
  second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, true, later);
  connect_witness(*second_);
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }))
      << "it looks at the word again and again";
  EXPECT_EQ(second_->pair().stage(), Stage::kLeading);
  EXPECT_TRUE(second_->pair().log().may_act());
  EXPECT_EQ(witness_->leadership(), second_->pair().word());
  // The first one starts again with its old memory.
  first_.reset();
  std::filesystem::remove(folder_ / "oeg1.pair");
  first_.emplace(folder_, *fabric_.device, std::uint8_t{1}, true);
  connect_witness(*first_);
  ASSERT_TRUE(turned_until([&] { return first_->pair().stage() == Stage::kRetired; }));
  EXPECT_EQ(second_->pair().stage(), Stage::kLeading);
}

TEST_F(PairTest, WhoComesAgainIsAStandbyAsBefore) {
  begin();
  ASSERT_TRUE(pair_stands());
  second_.reset();
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(replicated(*first_, orders_[i]));
  std::filesystem::remove(folder_ / "oeg2.pair");
  second_.emplace(folder_, *fabric_.device, std::uint8_t{2}, false);
  // In place of the snapshot that the control thread READs.
  for (std::size_t i = 0; i < 3; ++i) {
    JournalRecord record = orders_[i];
    ASSERT_TRUE(second_->journal().append(record));
  }
  connect_witness(*second_);
  join(*first_, *second_);
  ASSERT_TRUE(pair_stands());
  ASSERT_TRUE(replicated(*first_, orders_[3]));
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == 4; }));
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

TEST_F(PairTest, TheStandbyIsToldWhichExceptionsAPersonHasCleared) {
  begin();
  ASSERT_TRUE(pair_stands());
  const Exception exception{.id = 3, .realtime_ns = 5, .journal_sequence = 12, .symbol = "AAPL"};
  first_->pair().log().tell_cleared(cleared(exception, "anna"));
  ClearedException told;
  ASSERT_TRUE(turned_until([&] { return second_->pair().pop_cleared(told); }));
  EXPECT_EQ(told.journal_sequence, 12u);
  EXPECT_EQ(told.realtime_ns, 5);
  EXPECT_EQ(told.who(), "anna");
  EXPECT_FALSE(second_->pair().pop_cleared(told));
}

TEST_F(PairTest, OnlyWhoFoundsThePairBeginsItsBookAnew) {
  OegConfig config;
  config.journal.start = JournalStart::kFresh;
  PairOptions options;
  options.place = 2;
  options.file = folder_ / "oeg2.pair";
  PairStart start(options);
  EXPECT_EQ(start.journal_options(config).start, JournalStart::kAuto) << "it leads again";
  start.founds = true;
  EXPECT_EQ(start.journal_options(config).start, JournalStart::kFresh);
  start.founds = false;
  start.log = std::make_unique<link::ReplicatedLog>(*fabric_.device, kSmallLog, "oeg.log");
  EXPECT_EQ(start.journal_options(config).start, JournalStart::kResume);
}

// ------------------------------------------------------------- a log that is not taken

}  // namespace
}  // namespace tickpath::oeg::paired
