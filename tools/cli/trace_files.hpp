// Orders as files for other tools: percentiles (.hgrm) and interval logs (.hlog) for those of
// HdrHistogram, and a trace for Perfetto.
#pragma once

#include <string>

#include "tools/cli/trace_orders.hpp"

namespace tickpath::cli {

struct OrderFiles {
  std::string percentiles;  // NAME: NAME.raw.hgrm and NAME.corrected.hgrm are written; empty: none
  std::string log;          // a file; empty: none
  std::string perfetto;     // a file; empty: none
  bool all_ticks = false;   // trace::PerfettoOptions

  bool empty() const noexcept { return percentiles.empty() && log.empty() && perfetto.empty(); }
};

// Writes the files that are named, of the orders that the query's filter lets pass. "raw" is from
// the query's first hop on. "corrected" adds how much later than scheduled sim sent the tick; it is
// there where the traces hold the schedule. The log has a line a second and label, as
// HdrHistogram's HistogramLogWriter 1.3 has them: Tag=raw or Tag=corrected, begin and length in
// seconds, largest in milliseconds, compressed histogram. Returns what was written, a line a file.
// Throws Error as filtered(), SystemError naming the file.
std::string write_files(std::span<const trace::TraceFile> files, const OrderQuery& query,
                        const TradedOrders& traded, const OrderFiles& targets);

}  // namespace tickpath::cli
