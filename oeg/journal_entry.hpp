// Entries of the order journal, made of its records. Every reader of records goes through this.
//
// A message of the venue may change several things: a correction takes one execution back and books
// another. Each change is a record. The records of a message are one entry, and nothing else is
// recorded between them. A process that dies between two of them leaves an entry without an end.
// The venue's message was not counted then, so the venue sends it again, and it is recorded as a
// whole. The records without an end never count: the next record does not continue them.
#pragma once

#include <utility>
#include <vector>

#include "oeg/journal_record.hpp"

namespace tickpath::oeg {

class JournalEntries {
 public:
  // Calls give(const JournalRecord&) for the records of an entry once its last one is taken.
  template <class Give>
  void take(const JournalRecord& record, Give&& give) {
    if ((record.part & EntryPart::kContinues) == 0) unfinished_.clear();
    if ((record.part & EntryPart::kMore) != 0) return unfinished_.push_back(record);
    for (const JournalRecord& before : unfinished_) give(before);
    unfinished_.clear();
    if ((record.part & EntryPart::kEndsOnly) == 0) give(record);
  }
  // Records of the newest entry, while its last one has not been taken.
  const std::vector<JournalRecord>& unfinished() const noexcept { return unfinished_; }
  void restore(std::vector<JournalRecord> unfinished) { unfinished_ = std::move(unfinished); }

 private:
  std::vector<JournalRecord> unfinished_;
};

}  // namespace tickpath::oeg
