// The list of exceptions of a standby: what its leader's person has cleared is cleared here.
#include <gtest/gtest.h>

#include "oeg/exceptions.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::oeg {
namespace {

ExceptionNote note_of_record(std::uint64_t sequence) {
  ExceptionNote note;
  note.journal_sequence = sequence;
  note.realtime_ns = static_cast<std::int64_t>(1000 + sequence);
  note.symbol = fix::Symbol::from("AAPL");
  return note;
}

TEST(ExceptionListOfAStandby, ClearsWhatTheLeaderHasClearedByItsRecordWhateverItsNumber) {
  const test_support::Folder folder;
  ExceptionList leader(folder / "leader");
  ExceptionList standby(folder / "standby");
  (void)leader.add(note_of_record(7));
  const Exception there = leader.add(note_of_record(8));
  (void)standby.add(note_of_record(8));
  (void)standby.add(note_of_record(7));
  EXPECT_TRUE(standby.clear(cleared(there, "anna")));
  ASSERT_EQ(standby.open().size(), 1u);
  EXPECT_EQ(standby.open()[0].journal_sequence, 7u);
  EXPECT_TRUE(standby.clear(cleared(there, "anna"))) << "once more is no more";
  EXPECT_EQ(ExceptionList(folder / "standby").open().size(), 1u);
}

TEST(ExceptionListOfAStandby, WaitsWithWhatIsNotListedYet) {
  const test_support::Folder folder;
  ExceptionList leader(folder / "leader");
  ExceptionList standby(folder / "standby", 1);
  const Exception first = leader.add(note_of_record(7));
  const Exception second = leader.add(note_of_record(8));
  EXPECT_FALSE(standby.clear(cleared(first, "anna")));
  (void)standby.add(note_of_record(7));
  (void)standby.add(note_of_record(8));
  EXPECT_FALSE(standby.clear(cleared(second, "anna"))) << "it waits in the file";
  EXPECT_TRUE(standby.clear(cleared(first, "anna")));
  EXPECT_TRUE(standby.clear(cleared(second, "anna")));
}

}  // namespace
}  // namespace tickpath::oeg
