// The latencies of a run's orders in the order of time, hop by hop: what two runs are compared by.
// Tools only; one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "common/trace/reader.hpp"

namespace tickpath::trace {

// Stands for an order that lacks one of the two stamps.
inline constexpr std::int64_t kNoLatency = std::numeric_limits<std::int64_t>::min();

struct LatencyRow {
  std::string name;  // "tick-to-order", or "mdh.rx -> mdh.book"
  Hop from = Hop::kNone;
  Hop to = Hop::kNone;
  // An element an order, nanoseconds, or kNoLatency. Below zero where the receiver was quicker
  // (hop.hpp).
  std::vector<std::int64_t> ns;
};

struct LatencySeries {
  // The first row is from tick to order. A row for each two neighbouring hops follows.
  std::vector<LatencyRow> rows;
  double ticks_per_s = 0;  // that reached an mdh; 0: fewer than two did
  std::size_t orders() const noexcept { return rows.empty() ? 0 : rows.front().ns.size(); }
};

// Requests that a tick caused, by the time of their ticks. tick-to-order begins at mdh.rx where the
// kernel stamped nothing. Throws Error: there are no files.
LatencySeries latency_series(std::span<const TraceFile> files);

}  // namespace tickpath::trace
