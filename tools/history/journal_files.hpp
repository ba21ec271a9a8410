// The records of oeg's journal, over the files of its day.
#pragma once

#include <functional>
#include <string>

#include "oeg/journal_record.hpp"

namespace tickpath::history {

// `journal`: the segment in use (run/oeg.journal); those before it of the same day are read as
// well, oldest first. Those of an entry that has no end are left out. May be read while oeg writes.
// Throws Error for a file that is no journal of this version, or one that has not begun;
// SystemError.
using RecordVisitor = std::function<void(const oeg::JournalRecord& record)>;
void for_each_record(const std::string& journal, const RecordVisitor& visit);
// All of them as they are stored, for who puts entries together himself (oeg/journal_entry.hpp).
void for_each_stored_record(const std::string& journal, const RecordVisitor& visit);

}  // namespace tickpath::history
