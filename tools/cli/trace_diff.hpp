// What `tickpath trace --diff` and `--baseline` say: is a run slower than another one, where and by
// how much.
#pragma once

#include <string>

#include "common/trace/difference.hpp"
#include "tools/cli/traced_run.hpp"

namespace tickpath::cli {

enum class DiffFormat : std::uint8_t { kText, kJson, kCsv };

// JSON: {"verdict": "slower" | "quicker" | "no difference" | "too few orders", "slower_hops",
// "level", "tolerance", "knows_runs", "before": [{"name", "conditions", "cores", "orders", "drawn",
// "block"}], "now", "rows": [{"name", "from", "to", "count_before", "count_now", "percentiles":
// [{"percent", "before_ns", "now_ns", "low_ns", "high_ns", "change"}]}]}; low_ns and high_ns, of
// now - before, are null where there are too few orders. CSV: a line a percentile, with the same
// fields.
std::string diff_report(const trace::Difference& difference, std::span<const TracedRun> before,
                        std::span<const TracedRun> now, const trace::DifferenceOptions& options,
                        DiffFormat format);

}  // namespace tickpath::cli
