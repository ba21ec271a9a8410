#include "mdh/sequencer.hpp"

#include <gtest/gtest.h>

namespace tickpath::mdh {
namespace {

using Kind = Verdict::Kind;

itch::mold::PacketHeader packet(std::uint64_t sequence, std::uint16_t count,
                                const char* session = "DAY1") {
  return {itch::mold::Session(session), sequence, count};
}

TEST(Sequencer, DeliversWhatComesInOrder) {
  Sequencer sequencer;
  const Verdict first = sequencer.accept(packet(1, 3));
  EXPECT_EQ(first.kind, Kind::kDeliver);
  EXPECT_TRUE(first.new_session);
  EXPECT_EQ(first.missed, 0u);
  const Verdict second = sequencer.accept(packet(4, 2));
  EXPECT_EQ(second.kind, Kind::kDeliver);
  EXPECT_FALSE(second.new_session);
  EXPECT_EQ(sequencer.expected(), 6u);
}

TEST(Sequencer, TellsExactlyWhatIsMissing) {
  Sequencer sequencer;
  (void)sequencer.accept(packet(1, 3));
  const Verdict verdict = sequencer.accept(packet(10, 1));
  EXPECT_EQ(verdict.kind, Kind::kDeliver);
  EXPECT_EQ(verdict.missed_from, 4u);
  EXPECT_EQ(verdict.missed, 6u);
  EXPECT_EQ(sequencer.expected(), 11u);
}

TEST(Sequencer, CountsWhatWasSentBeforeItJoinedAsMissing) {
  Sequencer sequencer;
  const Verdict verdict = sequencer.accept(packet(1'000, 1));
  EXPECT_EQ(verdict.missed_from, 1u);
  EXPECT_EQ(verdict.missed, 999u);
}

TEST(Sequencer, DropsWhatItHasSeenAndKeepsTheNewPartOfAPacket) {
  Sequencer sequencer;
  (void)sequencer.accept(packet(1, 5));
  EXPECT_EQ(sequencer.accept(packet(1, 5)).kind, Kind::kDuplicate);
  EXPECT_EQ(sequencer.accept(packet(2, 2)).kind, Kind::kDuplicate);
  const Verdict overlap = sequencer.accept(packet(4, 5));
  EXPECT_EQ(overlap.kind, Kind::kDeliver);
  EXPECT_EQ(overlap.skip, 2u);
  EXPECT_EQ(sequencer.expected(), 9u);
}

TEST(Sequencer, LearnsOfALostTailFromHeartbeatAndEnd) {
  Sequencer sequencer;
  (void)sequencer.accept(packet(1, 1));
  EXPECT_EQ(sequencer.accept(packet(2, 0)).kind, Kind::kNothing);
  const Verdict heartbeat = sequencer.accept(packet(5, 0));
  EXPECT_EQ(heartbeat.kind, Kind::kNothing);
  EXPECT_EQ(heartbeat.missed, 3u);
  const Verdict end = sequencer.accept(packet(7, itch::mold::kEndOfSessionCount));
  EXPECT_EQ(end.kind, Kind::kEndOfSession);
  EXPECT_EQ(end.missed, 2u);
}

TEST(Sequencer, StartsAgainWithANewSession) {
  Sequencer sequencer;
  (void)sequencer.accept(packet(1, 100));
  const Verdict verdict = sequencer.accept(packet(1, 2, "DAY2"));
  EXPECT_EQ(verdict.kind, Kind::kDeliver);
  EXPECT_TRUE(verdict.new_session);
  EXPECT_EQ(verdict.missed, 0u);
  EXPECT_EQ(sequencer.expected(), 3u);
}

TEST(Sequencer, RefusesSequenceNumbersThatNoSenderGives) {
  Sequencer sequencer;
  (void)sequencer.accept(packet(1, 1));
  EXPECT_EQ(sequencer.accept(packet(0, 1, "DAY2")).kind, Kind::kMalformed);
  EXPECT_EQ(sequencer.accept(packet(~std::uint64_t{0}, 1, "DAY2")).kind, Kind::kMalformed);
  EXPECT_EQ(sequencer.accept(packet(2, 1)).kind, Kind::kDeliver) << "nothing changed";
}

}  // namespace
}  // namespace tickpath::mdh
