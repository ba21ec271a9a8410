// The latency of each order of a run, the slowest first, and the way of single orders, hop by hop.
// Tools only; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/trace/joined.hpp"

namespace tickpath::trace {

// How long one request that a tick caused took from one hop to another.
struct OrderLatency {
  std::uint64_t order_id = 0;
  std::uint64_t trace_id = 0;  // of the tick that caused it
  std::int64_t ns = 0;         // below zero where the receiver was quicker (hop.hpp)
  double since_start_s = 0;    // of the run's first packet at an mdh to this one's tick
  std::uint64_t burst = 0;     // messages at an mdh within kBurstNs before the tick, and the tick
  // How much later than scheduled sim sent the tick: what a stall of the sender's hides from a
  // latency that begins behind it. 0 where no schedule is known.
  std::int64_t late_ns = 0;
};
inline constexpr std::int64_t kBurstNs = 1'000'000;

// Where a request, or the tick that caused it, was at one hop.
struct PathMark {
  Hop hop = Hop::kNone;
  std::int64_t at_ns = 0;    // since the path's first mark
  std::int64_t took_ns = 0;  // since the mark before: these sum up to at_ns of the last one
  // False: the clock offset between this host and that of the mark before was not measured. Then
  // took_ns is 0.
  bool measured = true;
};

class OrderLatencies {
 public:
  // files: outlive this. Throws Error: there are none, or `from` is no hop before `to`.
  OrderLatencies(std::span<const TraceFile> files, Hop from, Hop to);

  // Requests that a tick caused and that have both stamps. The slowest comes first; of equal ones
  // the lower id.
  std::span<const OrderLatency> all() const noexcept { return all_; }
  // Every hop at which it was stamped, in their order, whether or not it is one of all(). Throws
  // Error: it has no stamp.
  std::vector<PathMark> path(std::uint64_t order_id) const;
  // A sim among the files replayed by a schedule, and its stamps are there.
  bool scheduled() const noexcept { return !due_.empty(); }
  // Messages that had reached an mdh so long after the run's first one.
  std::uint64_t arrived_by(double since_start_s) const;
  // When the last one had, since the first one; 0: there is none, or one.
  double last_arrival_s() const;
  // CLOCK_REALTIME at since_start_s = 0. 0: no program of the host that times are of has read it.
  std::int64_t start_realtime_ns() const noexcept { return start_realtime_ns_; }

 private:
  OrderLatency latency(std::uint64_t id, const OrderTimes& order, std::int64_t ns) const;
  std::vector<double> arrivals() const;
  void find_start(std::span<const TraceFile> files);
  void read_due(std::span<const TraceFile> files);
  std::int64_t late_ns(const OrderTimes& order) const;

  HostClocks clocks_;
  Joined joined_;
  std::vector<double> arrivals_;  // of messages at mdhs, ascending
  double ticks_per_s_ = 1;        // of arrivals_
  std::int64_t start_realtime_ns_ = 0;
  // By tick, when its messages were due: of each session that the feed's numbers began again with.
  std::unordered_map<std::uint64_t, std::vector<double>> due_;
  std::vector<OrderLatency> all_;
};

}  // namespace tickpath::trace
