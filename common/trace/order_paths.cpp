#include "common/trace/order_paths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace tickpath::trace {
namespace {

constexpr std::size_t kArrival = place(Hop::kMdhRx);

}  // namespace

OrderLatencies::OrderLatencies(std::span<const TraceFile> files, Hop from, Hop to)
    : clocks_(files), joined_(files, clocks_), arrivals_(arrivals()) {
  require_later(from, to);
  find_start(files);
  read_due(files);
  for (const auto& [id, order] : joined_.orders()) {
    if (order.trace_id == 0) continue;
    if (const auto ns = joined_.elapsed_ns(order, place(from), place(to)))
      all_.push_back(latency(id, order, *ns));
  }
  std::ranges::sort(all_, [](const OrderLatency& a, const OrderLatency& b) {
    return std::tuple(-a.ns, a.order_id) < std::tuple(-b.ns, b.order_id);
  });
}

void OrderLatencies::read_due(std::span<const TraceFile> files) {
  for (const auto& [id, order] : joined_.orders())
    if (order.trace_id != 0) due_[order.trace_id];
  for (const TraceFile& file : files) {
    const std::size_t host = clocks_.index_of(file);
    file.for_each([&](const Record& record) {
      if (static_cast<Hop>(record.key >> 56) != Hop::kTickDue) return;
      const auto found = due_.find(with_venue(file, record.key & kIdMask));
      if (found != due_.end())
        found->second.push_back(clocks_.to_reference(host, static_cast<double>(record.time)));
    });
  }
  std::erase_if(due_, [](const auto& tick) { return tick.second.empty(); });
}

// The newest that is not after the packet left.
std::int64_t OrderLatencies::late_ns(const OrderTimes& order) const {
  const auto found = due_.find(order.trace_id);
  if (found == due_.end() || !order.has(Hop::kSimSent)) return 0;
  const double sent = order[Hop::kSimSent];
  const double rate = clocks_.ticks_per_ns(joined_.host_of(order.file[place(Hop::kSimSent)]));
  double late = 0;
  bool known = false;
  for (const double due : found->second) {
    if (due > sent || (known && sent - due > late)) continue;
    late = sent - due;
    known = true;
  }
  return std::llround(late / rate);
}

std::vector<double> OrderLatencies::arrivals() const {
  std::vector<double> times;
  joined_.for_each_tick([&](const TickTimes& tick) {
    if (tick.has(kArrival)) times.push_back(tick.at[kArrival]);
  });
  std::ranges::sort(times);
  return times;
}

// The start lies on the time of a reference host; the nearest reading of one of its programs dates
// it.
void OrderLatencies::find_start(std::span<const TraceFile> files) {
  if (arrivals_.empty()) return;
  double nearest = std::numeric_limits<double>::max();
  for (const TraceFile& file : files) {
    const std::size_t host = clocks_.index_of(file);
    if (clocks_.hosts()[host].reference != host) continue;
    const double rate = clocks_.ticks_per_ns(host);
    ticks_per_s_ = rate * 1e9;
    for (const SyncPoint& point : file.sync_points()) {
      const double away = arrivals_.front() - static_cast<double>(point.tsc);
      if (std::abs(away) >= nearest) continue;
      nearest = std::abs(away);
      start_realtime_ns_ = point.realtime_ns + std::llround(away / rate);
    }
  }
}

std::uint64_t OrderLatencies::arrived_by(double since_start_s) const {
  if (arrivals_.empty()) return 0;
  const double at = arrivals_.front() + since_start_s * ticks_per_s_;
  return static_cast<std::uint64_t>(std::ranges::upper_bound(arrivals_, at) - arrivals_.begin());
}

double OrderLatencies::last_arrival_s() const {
  return arrivals_.empty() ? 0 : (arrivals_.back() - arrivals_.front()) / ticks_per_s_;
}

OrderLatency OrderLatencies::latency(std::uint64_t id, const OrderTimes& order,
                                     std::int64_t ns) const {
  OrderLatency result{
      .order_id = id, .trace_id = order.trace_id, .ns = ns, .late_ns = late_ns(order)};
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
  if (found == joined_.orders().end() || !found->second.stamped())
    throw Error("no stamp of order " + std::to_string(order_id) +
                " is in these files (`tickpath trace --worst 10` lists some)");
  const OrderTimes& order = found->second;
  std::vector<PathMark> marks;
  for (std::size_t row = 1; row < kHopCount; ++row) {
    if (!order.has(row)) continue;
    PathMark mark{.hop = kHops[row].hop};
    if (!marks.empty()) {
      const PathMark& before = marks.back();
      const auto took = joined_.elapsed_ns(order, place(before.hop), row);
      const auto at = joined_.elapsed_ns(order, place(marks.front().hop), row);
      mark.measured = took.has_value();
      mark.at_ns = at.value_or(before.at_ns + took.value_or(0));
      mark.took_ns = mark.measured ? mark.at_ns - before.at_ns : 0;
    }
    marks.push_back(mark);
  }
  return marks;
}

}  // namespace tickpath::trace
