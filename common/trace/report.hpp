// An analysis as a table, as JSON, as CSV and as pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/trace/analysis.hpp"

namespace tickpath::trace {

// "clean" or what a reader of the figures must know: overwritten stamps, missing hops.
std::string to_text(const Analysis& analysis);

// {"programs": [...], "headline": [row...], "hops": [row...], "orders": {...}}; a row is {"name",
// "from", "to", "population", "provider", "wait_mode", "count", "min_ns", "p50_ns", "p90_ns",
// "p99_ns", "p99.9_ns", "max_ns", "mean_ns", "clock_error_ns", "crossing_hosts", "unmeasured"};
// clock_error_ns: what the clock offset between hosts adds to a sample at most, 0 within one host.
std::string to_json(const Analysis& analysis);

// One header line, then a line a row; the columns are the JSON row's.
std::string to_csv(const Analysis& analysis);

// Pictures in SVG for a page that styles the classes grid, bar, tail and curve.
// A bar from p50 to p99 for each row, and a line on to p99.9.
std::string hops_picture(const std::vector<Interval>& rows);
// The percentile's scale opens up toward 100 %: -log10(1 - p), as HDR histograms are drawn. A
// sentence in its place where there is no sample.
std::string percentiles_picture(const Interval& row);
// Time of the run across, latency upward; at most 2,000 of them, which it says. Empty: none.
std::string scatter_picture(const std::vector<OrderSample>& orders);

// A duration in at most 8 characters, with three significant digits or whole nanoseconds.
std::string short_time(std::int64_t ns);

// Text as it may stand in a page, attributes included.
std::string html_escaped(std::string_view text);

// What the programs that carry the interval ran on: "shm", "yield", "cpu 0, cpu 1"; several
// different ones are joined by "/".
std::string providers(const Analysis& analysis);
std::string wait_modes(const Analysis& analysis);
std::string cores(const Analysis& analysis);

}  // namespace tickpath::trace
