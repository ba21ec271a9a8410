// What the run directories of one run hold: traces, and what was traded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/control/long_names.hpp"
#include "common/control/summary.hpp"
#include "common/trace/reader.hpp"
#include "tools/cli/trades.hpp"

namespace tickpath::cli {

struct VenueTrades {
  std::uint8_t venue = 0;  // 0: the only one
  Trades trades;
};

// What the runs of these directories have come to; of those going on, what they have traded.
struct RunResults {
  std::vector<control::Summary> summaries;
  control::LongNames names;
  std::vector<VenueTrades> venues;
};

// Paths that are no directories are passed over. Throws Error for a file that is damaged;
// SystemError.
RunResults results_in(const std::vector<std::string>& paths);

// In the order of their names; a directory stands for the *.trace files in it. Empty: there are
// none. Throws Error as TraceFile.
std::vector<trace::TraceFile> trace_files_in(const std::vector<std::string>& paths);

}  // namespace tickpath::cli
