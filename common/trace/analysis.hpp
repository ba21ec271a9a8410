// From stamps to distributions: every tick joined with the orders that it caused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trace/hosts.hpp"
#include "common/trace/reader.hpp"

namespace tickpath::trace {

// Exact order statistics of a sample, nanoseconds. Percentiles are nearest-rank: the smallest
// sample that at least that share of the samples does not exceed.
struct Distribution {
  std::uint64_t count = 0;
  std::int64_t min = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t p999 = 0;
  std::int64_t max = 0;
  double mean = 0;
};
// sorted: ascending.
Distribution summarise(std::span<const std::int64_t> sorted);
std::int64_t percentile(std::span<const std::int64_t> sorted, double percent);

// One row of the table: the time from a hop to another.
struct Interval {
  std::string name;  // "tick-to-order", or "mdh.rx -> mdh.book"
  Hop from = Hop::kNone;
  Hop to = Hop::kNone;
  std::string population;  // "all ticks", "ticks that led to orders", "orders"
  Distribution distribution;
  std::vector<std::int64_t> sorted_ns;  // of the headline; empty for hops
  // Samples whose two stamps come from different hosts: how many, and the largest error that the
  // clock offset adds to one of them.
  std::uint64_t crossing = 0;
  std::int64_t error_ns = 0;
  // Not in the samples: stamps of hosts between which no clock offset was measured.
  std::uint64_t unmeasured = 0;
};

// One sample of tick-to-order, for the picture over time.
struct OrderSample {
  std::uint64_t order_id;
  std::uint64_t trace_id;
  double since_start_s;
  std::int64_t tick_to_order_ns;
};

struct Environment {  // of one program
  std::string program;
  std::string host;
  std::string provider;
  std::string wait_mode;
  std::string cores;
  std::string path;
  std::uint64_t stamps = 0;
  std::uint64_t overwritten = 0;
};

struct Analysis {
  std::vector<Environment> programs;
  std::vector<Host> hosts;         // one: no clock offset is in any figure
  std::vector<Interval> headline;  // tick-to-order, user-space tick-to-order, as sim sees it
  std::vector<Interval> hops;      // neighbour to neighbour, in order
  std::vector<OrderSample> orders;
  std::uint64_t ticks = 0;               // feed messages with at least one stamp
  std::uint64_t requests = 0;            // order ids with at least one stamp
  std::uint64_t requests_sent = 0;       // of these, with oeg.sent
  std::uint64_t orders_complete = 0;     // caused by a tick, sent, and stamped at every hop
  std::uint64_t orders_untriggered = 0;  // sent, but caused by a timer or a person
  // Sent requests caused by a tick that lack a hop, by hop.
  std::vector<std::pair<Hop, std::uint64_t>> missing;
};

// Files of several hosts are joined by the clock offsets that their programs measured (HostClocks);
// times of hosts without one are not subtracted. Throws Error when there are no files.
Analysis analyse(std::span<const TraceFile> files);

// Every sample between two hops, `from` before `to`, in the order of the first stamps: nanoseconds.
// Below zero where the receiver was quicker (hop.hpp). Throws Error as analyse(), and for hops the
// wrong way round.
std::vector<std::int64_t> samples(std::span<const TraceFile> files, Hop from, Hop to);

}  // namespace tickpath::trace
