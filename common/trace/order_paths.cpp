#include "common/trace/order_paths.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

namespace tickpath::trace {
namespace {

constexpr std::size_t kArrival = place(Hop::kMdhRx);

std::span<const TraceFile> some(std::span<const TraceFile> files) {
  if (files.empty()) throw Error("no trace files to read");
  return files;
}

}  // namespace

OrderLatencies::OrderLatencies(std::span<const TraceFile> files, Hop from, Hop to)
    : clocks_(some(files)), joined_(files, clocks_), arrivals_(arrivals()) {
  if (!is_known(from) || place(from) >= place(to))
    throw Error("a latency is from a hop to a later one");
  for (const auto& [id, order] : joined_.orders()) {
    if (order.trace_id == 0) continue;
    if (const auto ns = joined_.elapsed_ns(order, place(from), place(to)))
      all_.push_back(latency(id, order, *ns));
  }
  std::ranges::sort(all_, [](const OrderLatency& a, const OrderLatency& b) {
    return std::tuple(-a.ns, a.order_id) < std::tuple(-b.ns, b.order_id);
  });
}

std::vector<double> OrderLatencies::arrivals() const {
  std::vector<double> times;
  joined_.for_each_tick([&](const TickTimes& tick) {
    if (tick.has(kArrival)) times.push_back(tick.at[kArrival]);
  });
  std::ranges::sort(times);
  return times;
}

OrderLatency OrderLatencies::latency(std::uint64_t id, const OrderTimes& order,
                                     std::int64_t ns) const {
  OrderLatency result{.order_id = id, .trace_id = order.trace_id, .ns = ns};
  if (!order.has(Hop::kMdhRx)) return result;
  const double at = order[Hop::kMdhRx];
  const double rate = clocks_.ticks_per_ns(joined_.host_of(order.file[kArrival]));
  const auto first = std::ranges::lower_bound(arrivals_, at - kBurstNs * rate);
  result.burst = static_cast<std::uint64_t>(std::ranges::upper_bound(arrivals_, at) - first);
  result.since_start_s = (at - arrivals_.front()) / rate * 1e-9;
  return result;
}

// Each time is rounded once, so that the parts sum up to the whole.
std::vector<PathMark> OrderLatencies::path(std::uint64_t order_id) const {
  const auto found = joined_.orders().find(order_id);
  std::vector<PathMark> marks;
  std::size_t before = 0;
  for (std::size_t row = 1; found != joined_.orders().end() && row < kHopCount; ++row) {
    if (!found->second.StampedHops::has(row)) continue;
    PathMark mark{.hop = kHops[row].hop};
    if (!marks.empty()) {
      const auto took = joined_.elapsed_ns(found->second, before, row);
      mark.measured = took.has_value();
      mark.at_ns = joined_.elapsed_ns(found->second, place(marks.front().hop), row)
                       .value_or(marks.back().at_ns + took.value_or(0));
      mark.took_ns = mark.measured ? mark.at_ns - marks.back().at_ns : 0;
    }
    marks.push_back(mark);
    before = row;
  }
  if (marks.empty())
    throw Error("no stamp of order " + std::to_string(order_id) +
                " is in these files (`tickpath trace --worst 10` lists some)");
  return marks;
}

}  // namespace tickpath::trace
