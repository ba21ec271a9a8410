// What a program's summary says, against the files that it was counted into. One line a rule.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/cli/conservation.hpp"
#include "tools/cli/session_messages.hpp"

namespace tickpath::cli {

// oeg against its order journal, its list of exceptions, and the FIX messages that the records
// stand for. The journal is read as by a restart. own, venue: of both sides of its session;
// nullptr: not at hand.
std::vector<Conservation::Line> journal_lines(const std::string& journal,
                                              const std::string& exceptions,
                                              const control::Summary& oeg,
                                              const SessionMessages* own,
                                              const SessionMessages* venue);

// Both sides of a session have the same numbers, and every message. venue: as above.
std::vector<Conservation::Line> session_lines(const std::string& oeg, const SessionMessages& own,
                                              const SessionMessages* venue);

// sim against the rows and sums of its <name>.ledger.json. sessions: CompIDs that its FIX stores
// are for; empty: not at hand.
std::vector<Conservation::Line> ledger_lines(const std::string& ledger, const control::Summary& sim,
                                             const std::set<std::string>& sessions);

// sim's recording against what its ledger says of the messages that it read. Reads all of these.
Conservation::Line recording_line(const std::string& ledger, const control::Summary& sim);

}  // namespace tickpath::cli
