// A standby or a joiner that takes nothing, or has no room, and what its log does meanwhile.
#include "tests/unit/oeg/pair_fixture.hpp"

namespace tickpath::oeg::paired {
namespace {

// Else the witness could hold a pair that the joiner never read of, and could not renounce.
TEST_F(PairTest, AJoinerThatDoesNotReadItsOfferIsNoStandby) {
  begin({.confirm_max_ns = kConfirmMax}, {}, false);
  ASSERT_TRUE(turned_until([&] {
    if (first_->pair().log().streams_from() != 0) second_->turn();
    return second_->pair().counters().entries_taken.get() != 0;
  }));
  ASSERT_TRUE(turned_until([&] { return first_->pair().status().has_standby(); }))
      << "it is offered";
  ASSERT_TRUE(replicated(*first_, orders_[0])) << "the transport confirms";
  EXPECT_TRUE(witness_->leadership().alone);
  ASSERT_TRUE(turned_until([&] { return !first_->pair().status().has_standby(); }));
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 1u);
  EXPECT_EQ(witness_->leadership(), first_->pair().word());
  EXPECT_TRUE(turned_until([&] { return first_->pair().log().may_act(); }));
}

TEST_F(PairTest, AStandbyThatTakesNothingIsGivenUpAfterConfirmMaxOfAFullLog) {
  begin({.confirm_max_ns = kConfirmMax, .log_bytes = kSmallLog}, {.log_bytes = kSmallLog});
  ASSERT_TRUE(pair_stands());
  stopped_ = 2;  // its heart is believed to beat
  std::size_t count = 0;
  while (recorded(*first_, count)) ++count;
  EXPECT_TRUE(first_->pair().log().may_act()) << "the transport confirms";
  EXPECT_TRUE(first_->pair().log().has_room_for_own_cancels()) << "a kill's cancels leave";
  EXPECT_FALSE(first_->pair().log().has_room());
  ASSERT_TRUE(turned_until([&] { return first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 1u);
  EXPECT_TRUE(recorded(*first_, count));
  EXPECT_TRUE(first_->pair().log().may_act());
}

TEST_F(PairTest, OfAFullLogCancelsAndReportsHaveAPartOfTheirOwn) {
  begin({.log_bytes = 1u << 20}, {.log_bytes = 1u << 20});
  ASSERT_TRUE(pair_stands());
  stopped_ = 2;
  const Pair& pair = first_->pair();
  std::array<std::size_t, 4> taken{};
  std::size_t count = 0;
  for (; pair.log().has_room_for_own_cancels() && count < 40'000; ++count) {
    JournalRecord record = orders_[count % orders_.size()];
    taken[0] += pair.log().has_room() ? 1 : 0;
    taken[1] += pair.log().has_room_for_changes() ? 1 : 0;
    taken[2] += pair.log().has_room_for_reports() ? 1 : 0;
    ++taken[3];
    if (count % 2048 == 0) first_->journal().maintain(0);
    ASSERT_TRUE(first_->pair().log().append(record));
    ASSERT_TRUE(first_->pair().log().may_act());
  }
  EXPECT_LT(taken[0], taken[1]);
  EXPECT_LT(taken[1], taken[2]);
  EXPECT_LT(taken[2], taken[3]);
}

TEST_F(PairTest, NothingWaitsForAJoinerWhoseLogIsFullItIsDropped) {
  begin({.log_bytes = kSmallLog}, {.log_bytes = kSmallLog}, false);
  ASSERT_TRUE(turned_until([&] { return first_->pair().log().streams_from() != 0; }));
  for (std::size_t count = 0; count < 1000; ++count) {
    ASSERT_TRUE(recorded(*first_, count)) << count;
    ASSERT_TRUE(first_->pair().log().may_act()) << count;
  }
  EXPECT_EQ(first_->pair().counters().log_full.get(), 1u);
  ASSERT_TRUE(turned_until([&] { return first_->pair().counters().standbys_lost.get() == 1; }));
  EXPECT_EQ(first_->pair().log().streams_from(), 0u);
  stopped_ = 0;  // it finds its connection ended, and is to join again
  ASSERT_TRUE(turned_until([&] { return second_->pair().stage() == Stage::kRetired; }));
}

TEST_F(PairTest, WhatIsRecordedWhileAJoinerStartsIsTakenIntoItsMemory) {
  begin({.log_bytes = kSmallLog}, {.log_bytes = kSmallLog}, false, true);
  ASSERT_TRUE(turned_until([&] { return first_->pair().log().streams_from() != 0; }));
  std::size_t count = 0;
  for (; count < 1000; ++count) {
    ASSERT_TRUE(recorded(*first_, count));
    bool turned = false;
    ASSERT_TRUE(turned_until([&] {
      return std::exchange(turned, true) && first_->pair().lag().bytes().get() < kSmallLog / 4;
    }));
  }
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 0u);
  EXPECT_EQ(second_->journal().size().get(), 0u) << "its datapath has not begun";
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == count; }));
  ASSERT_TRUE(pair_stands());
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

// Its datapath begins with more than it takes in a turn, and the leader records meanwhile what the
// log has no room for.
TEST_F(PairTest, WhatIsRecordedWhileAJoinerCatchesUpIsTakenIntoItsMemoryToo) {
  const SideOptions side{.log_bytes = kSmallLog, .journal_records = 1u << 14};
  begin(side, side, false, true);
  ASSERT_TRUE(turned_until([&] { return first_->pair().log().streams_from() != 0; }));
  std::size_t count = 0;
  const auto record = [&](std::size_t end) {  // in steps for which a standby's log has room
    while (count < end) {
      for (int i = 0; i < 25; ++i, ++count)
        if (!recorded(*first_, count)) return false;
      bool turned = false;
      if (!turned_until([&] {
            return std::exchange(turned, true) &&
                   first_->pair().lag().bytes().get() < kSmallLog / 16;
          }))
        return false;
    }
    return true;
  };
  ASSERT_TRUE(record(3000));
  for (int turn = 0; turn < 10; ++turn) {
    second_->turn();
    ASSERT_TRUE(record(count + 100)) << turn;
  }
  EXPECT_LT(second_->journal().size().get(), count) << "it has not caught up";
  EXPECT_FALSE(first_->pair().status().has_standby()) << "nor is it offered anything";
  stopped_ = 0;
  ASSERT_TRUE(turned_until([&] { return second_->journal().size().get() == count; }));
  ASSERT_TRUE(pair_stands());
  EXPECT_EQ(first_->pair().counters().standbys_lost.get(), 0u);
  EXPECT_EQ(second_->pair().counters().damaged.get(), 0u);
}

// More than the standby's segment has room for beside a full log. It has no next segment.
constexpr std::uint64_t kSegment = 8192;
constexpr std::uint64_t kLogRecords = 2048;
constexpr std::size_t kMore = kSegment - kLogRecords;

TEST_F(PairTest, AStandbyWithoutRoomInItsJournalGivesItselfUp) {
  begin({.journal_records = 2 * kSegment},
        {.confirm_max_ns = kConfirmMax, .journal_records = kSegment, .log_records = kLogRecords});
  ASSERT_TRUE(pair_stands());
  for (std::size_t count = 0; count < kMore; ++count) ASSERT_TRUE(recorded(*first_, count));
  ASSERT_TRUE(turned_until(
      [&] { return second_->pair().stage() == Stage::kRetired && first_->pair().word().alone; }));
  EXPECT_EQ(first_->pair().stage(), Stage::kLeading);
  EXPECT_EQ(first_->pair().word().leader, 1);
  EXPECT_TRUE(first_->pair().log().may_act());
}

TEST_F(PairTest, AStandbyWithoutRoomInItsJournalLeadsWithAllThatWasConfirmedWhenItMust) {
  begin({.journal_records = 2 * kSegment},
        {.journal_records = kSegment, .log_records = kLogRecords});
  ASSERT_TRUE(pair_stands());
  for (std::size_t count = 0; count < kMore; ++count) ASSERT_TRUE(recorded(*first_, count));
  ASSERT_TRUE(turned_until(
      [&] { return first_->pair().log().may_act() && second_->journal().left_to_follow() == 0; }));
  ASSERT_LT(second_->journal().size().get(), kMore);
  first_.reset();
  ASSERT_TRUE(takes_over(*second_));
  EXPECT_EQ(second_->journal().size().get(), kMore);
  second_->journal().catch_up();
  EXPECT_EQ(second_->journal().state().sequence, kMore);
  EXPECT_TRUE(second_->journal().has_room_for_reports()) << "of what becomes of the orders";
}

}  // namespace
}  // namespace tickpath::oeg::paired
