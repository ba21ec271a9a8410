// What `tickpath books` says of the records of oeg's journal.
#include "tools/cli/journal_audit.hpp"

#include <gtest/gtest.h>

namespace tickpath::cli {
namespace {

using oeg::EntryPart;

oeg::JournalRecord record_of(std::uint64_t sequence, std::uint8_t part) {
  oeg::JournalRecord record{};
  record.sequence = sequence;
  record.part = part;
  return record;
}

// A correction of a fill is two records. The journal changes its segment between any two, and only
// the last segments are kept.
TEST(JournalAudit, look_takes_an_entry_that_began_in_a_segment_that_is_gone) {
  oeg::JournalState state({.orders_max = 16, .positions_max = 16, .instruments_max = 16});
  state.entries.restore({record_of(1, EntryPart::kMore)});
  JournalAudit audit(nullptr, nullptr);
  audit.look(record_of(2, EntryPart::kContinues | EntryPart::kEndsOnly), state);
  EXPECT_TRUE(audit.line("oeg").holds) << audit.line("oeg").figures;
}

TEST(JournalAudit, look_names_an_entry_without_a_beginning) {
  oeg::JournalState state({.orders_max = 16, .positions_max = 16, .instruments_max = 16});
  JournalAudit audit(nullptr, nullptr);
  audit.look(record_of(2, EntryPart::kContinues | EntryPart::kEndsOnly), state);
  EXPECT_FALSE(audit.line("oeg").holds);
  EXPECT_NE(audit.line("oeg").figures.find("record 2, part"), std::string::npos);
}

}  // namespace
}  // namespace tickpath::cli
