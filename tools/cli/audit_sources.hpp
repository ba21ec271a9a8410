// What a program's summary says, against the files that it was counted into. One line a rule.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/conservation.hpp"

namespace tickpath::cli {

// oeg against its order journal, which is read as by a restart, and the list of its exceptions
// beside it.
std::vector<Conservation::Line> journal_lines(const std::string& journal,
                                              const std::string& exceptions,
                                              const control::Summary& oeg);

// sim against the rows and sums of its <name>.ledger.json.
std::vector<Conservation::Line> ledger_lines(const std::string& ledger,
                                             const control::Summary& sim);

// sim's recording against what its ledger says of the messages that it read. Reads all of these.
Conservation::Line recording_line(const std::string& ledger, const control::Summary& sim);

}  // namespace tickpath::cli
