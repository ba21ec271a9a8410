#include "common/trace/latency_series.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/trace/joined.hpp"

namespace tickpath::trace {
namespace {

using TimedOrder = std::pair<double, const OrderTimes*>;

// When its tick reached mdh; else its first stamp.
double began_at(const OrderTimes& order) {
  if (order.has(Hop::kMdhRx)) return order[Hop::kMdhRx];
  for (std::size_t row = 1; row < kHopCount; ++row)
    if (order.has(row)) return order.at[row];
  return 0;
}

std::vector<TimedOrder> by_time(const Joined& joined) {
  std::vector<std::pair<double, std::uint64_t>> ids;
  for (const auto& [id, order] : joined.orders())
    if (order.trace_id != 0 && order.stamped()) ids.emplace_back(began_at(order), id);
  std::ranges::sort(ids);
  std::vector<TimedOrder> orders;
  for (const auto& [at, id] : ids) orders.emplace_back(at, &joined.orders().at(id));
  return orders;
}

LatencyRow row_of(const Joined& joined, std::span<const TimedOrder> orders, std::string name,
                  Hop from, Hop to) {
  LatencyRow row{std::move(name), from, to, {}};
  for (const auto& [at, order] : orders)
    row.ns.push_back(joined.elapsed_ns(*order, place(from), place(to)).value_or(kNoLatency));
  return row;
}

double ticks_per_s(const Joined& joined) {
  double first = std::numeric_limits<double>::max(), last = 0, rate = 1;
  std::uint64_t count = 0;
  joined.for_each_tick([&](const TickTimes& tick) {
    constexpr std::size_t kArrival = place(Hop::kMdhRx);
    if (!tick.has(kArrival)) return;
    first = std::min(first, tick.at[kArrival]);
    last = std::max(last, tick.at[kArrival]);
    rate = joined.clocks().ticks_per_ns(joined.host_of(tick.file[kArrival]));
    ++count;
  });
  return count < 2 || last <= first ? 0
                                    : static_cast<double>(count) / ((last - first) / rate) * 1e9;
}

}  // namespace

LatencySeries latency_series(std::span<const TraceFile> files) {
  const HostClocks clocks(files);
  const Joined joined(files, clocks);
  const std::vector<TimedOrder> orders = by_time(joined);
  std::array<bool, kHopCount> present{};
  for (const auto& [at, order] : orders)
    for (std::size_t row = 1; row < kHopCount; ++row) present[row] |= order->has(row);
  LatencySeries series;
  series.ticks_per_s = ticks_per_s(joined);
  const Hop begin = present[place(Hop::kMdhKernelRx)] ? Hop::kMdhKernelRx : Hop::kMdhRx;
  series.rows.push_back(row_of(joined, orders, "tick-to-order", begin, Hop::kOegSent));
  Hop from = Hop::kNone;
  for (std::size_t row = 1; row < kHopCount; ++row) {
    const Hop to = kHops[row].hop;
    if (!present[row]) continue;
    if (from != Hop::kNone)
      series.rows.push_back(
          row_of(joined, orders, std::string(info(from).name) + " -> " + std::string(info(to).name),
                 from, to));
    from = to;
  }
  return series;
}

}  // namespace tickpath::trace
