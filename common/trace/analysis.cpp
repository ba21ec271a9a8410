#include "common/trace/analysis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/trace/joined.hpp"

namespace tickpath::trace {
namespace {

void finish(Interval& interval) {
  std::sort(interval.sorted_ns.begin(), interval.sorted_ns.end());
  interval.distribution = summarise(interval.sorted_ns);
}

// Adds the time between two stamps, or counts why it cannot be told.
template <class Stamps>
void add_sample(const Joined& joined, const Stamps& stamps, Interval& interval) {
  const std::size_t from = place(interval.from);
  const std::size_t to = place(interval.to);
  if (std::isnan(stamps.at[to] - stamps.at[from])) return;
  const auto elapsed = joined.elapsed_ns(stamps, from, to);
  if (!elapsed) {
    ++interval.unmeasured;
    return;
  }
  const std::size_t first = joined.host_of(stamps.file[from]);
  const std::size_t second = joined.host_of(stamps.file[to]);
  if (first != second) {
    const double error = joined.clocks().error_ns(first, stamps.at[from], second, stamps.at[to]);
    interval.error_ns = std::max(interval.error_ns, static_cast<std::int64_t>(std::ceil(error)));
    ++interval.crossing;
  }
  interval.sorted_ns.push_back(*elapsed);
}

// sent: those alone that went to the venue.
Interval over_orders(const Joined& joined, std::string name, Hop from, Hop to,
                     std::string population, bool sent = false) {
  Interval interval{std::move(name), from, to, std::move(population), {}, {}};
  for (const auto& [id, order] : joined.orders())
    if (!sent || order.has(Hop::kOegSent)) add_sample(joined, order, interval);
  finish(interval);
  return interval;
}

// By the venue of the tick, where there are several; the order may have gone to another one.
void add_venues(const Joined& joined, const std::string& led, Analysis& result) {
  if (joined.feeds().size() < 2) return;
  for (const auto& [venue, feed] : joined.feeds()) {
    Interval interval{"tick-to-order, venue " + std::to_string(venue),
                      Hop::kMdhKernelRx,
                      Hop::kOegSent,
                      led,
                      {},
                      {}};
    for (const auto& [id, order] : joined.orders())
      if (order.trace_id != 0 && venue_of_tick(order.trace_id) == venue)
        add_sample(joined, order, interval);
    finish(interval);
    result.headline.push_back(std::move(interval));
  }
}

Interval over_ticks(const Joined& joined, std::string name, Hop from, Hop to) {
  Interval interval{std::move(name), from, to, "all ticks", {}, {}};
  std::size_t ticks = 0;
  for (const auto& [venue, feed] : joined.feeds())
    for (const Ticks& session : feed) ticks += session.room();
  interval.sorted_ns.reserve(ticks);  // grown, it would be there twice
  joined.for_each_tick([&](const TickTimes& tick) { add_sample(joined, tick, interval); });
  finish(interval);
  return interval;
}

std::string hop_name(Hop from, Hop to) {
  return std::string(info(from).name) + " -> " + std::string(info(to).name);
}

void add_hops(const Joined& joined, const std::array<bool, kHopCount>& present, Analysis& result) {
  Hop from = Hop::kNone;
  for (std::size_t row = 1; row < kHopCount; ++row) {
    const Hop to = kHops[row].hop;
    if (!present[row]) continue;
    if (from != Hop::kNone) {
      if (is_tick_hop(to)) {
        result.hops.push_back(over_ticks(joined, hop_name(from, to), from, to));
      } else {
        const bool first = is_tick_hop(from);
        result.hops.push_back(over_orders(joined, hop_name(from, to), from, to,
                                          first ? "ticks that led to orders" : "orders"));
      }
    }
    // A day of ticks has gigabytes of them, and nobody looks at a hop's again.
    if (!result.hops.empty()) result.hops.back().sorted_ns = {};
    from = to;
  }
}

void count_orders(const Joined& joined, Analysis& result) {
  std::array<std::uint64_t, kHopCount> missing{};
  double start = std::numeric_limits<double>::max();
  joined.for_each_tick([&](const TickTimes& tick) {
    const double at = tick.at[place(Hop::kMdhRx)];
    if (!std::isnan(at)) start = std::min(start, at);
  });
  for (const auto& [id, order] : joined.orders()) {
    if (!order.has(Hop::kOegSent)) continue;
    ++result.requests_sent;
    if (order.trace_id == 0) {
      ++result.orders_untriggered;
      continue;
    }
    bool complete = true;
    for (std::size_t row = 1; row < kHopCount; ++row) {
      if (order.has(kHops[row].hop) || kHops[row].optional) continue;
      complete = false;
      ++missing[row];
    }
    if (complete) ++result.orders_complete;
    const std::size_t mdh = joined.host_of(order.file[place(Hop::kMdhKernelRx)]);
    if (const auto took =
            joined.elapsed_ns(order, place(Hop::kMdhKernelRx), place(Hop::kOegSent))) {
      const double since =
          (order[Hop::kMdhKernelRx] - start) / joined.clocks().ticks_per_ns(mdh) * 1e-9;
      result.orders.push_back({id, order.trace_id, since, *took});
    }
  }
  for (std::size_t row = 1; row < kHopCount; ++row)
    if (missing[row] != 0) result.missing.emplace_back(kHops[row].hop, missing[row]);
  std::sort(result.orders.begin(), result.orders.end(),
            [](const auto& a, const auto& b) { return a.since_start_s < b.since_start_s; });
}

std::array<bool, kHopCount> hops_present(const Joined& joined) {
  std::array<bool, kHopCount> present{};
  joined.for_each_tick([&](const TickTimes& tick) {
    for (std::size_t row = 1; row < kTickHopCount; ++row) present[row] |= !std::isnan(tick.at[row]);
  });
  for (const auto& [id, order] : joined.orders())
    for (std::size_t row = kTickHopCount; row < kHopCount; ++row)
      present[row] |= !std::isnan(order.at[row]);
  return present;
}

Environment environment_of(const TraceFile& file) {
  const FileHeader& header = file.header();
  const auto text = [](const char* field, std::size_t size) {
    return std::string(field, strnlen(field, size));
  };
  Environment environment;
  environment.host = text(header.host_name, sizeof(header.host_name));
  environment.program = text(header.program, sizeof(header.program));
  environment.provider = text(header.provider, sizeof(header.provider));
  environment.wait_mode = text(header.wait_mode, sizeof(header.wait_mode));
  environment.cores = text(header.cores, sizeof(header.cores));
  environment.path = file.path();
  environment.overwritten = file.overwritten();
  file.for_each([&](const Record& record) { environment.stamps += record.key != 0 ? 1 : 0; });
  return environment;
}

}  // namespace

std::int64_t percentile(std::span<const std::int64_t> sorted, double percent) {
  if (sorted.empty()) return 0;
  // The small step back keeps 99.9 % of 1,000 at rank 999 in spite of binary fractions.
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()) - 1e-6);
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

Distribution summarise(std::span<const std::int64_t> sorted) {
  Distribution result;
  if (sorted.empty()) return result;
  result.count = sorted.size();
  result.min = sorted.front();
  result.p50 = percentile(sorted, 50);
  result.p90 = percentile(sorted, 90);
  result.p99 = percentile(sorted, 99);
  result.p999 = percentile(sorted, 99.9);
  result.max = sorted.back();
  double sum = 0;
  for (const std::int64_t each : sorted) sum += static_cast<double>(each);
  result.mean = sum / static_cast<double>(sorted.size());
  return result;
}

Analysis analyse(std::span<const TraceFile> files) {
  Analysis result;
  const HostClocks clocks(files);
  result.hosts.assign(clocks.hosts().begin(), clocks.hosts().end());
  const Joined joined(files, clocks);
  for (const TraceFile& file : files) result.programs.push_back(environment_of(file));
  const auto present = hops_present(joined);
  joined.for_each_tick([&](const TickTimes& tick) { result.ticks += tick.stamped(); });
  result.requests = joined.orders().size();
  const std::string led = "ticks that led to orders";
  result.headline.push_back(
      over_orders(joined, "tick-to-order", Hop::kMdhKernelRx, Hop::kOegSent, led));
  result.headline.push_back(
      over_orders(joined, "tick-to-order, user space", Hop::kMdhRx, Hop::kOegSent, led));
  result.headline.push_back(
      over_orders(joined, "tick-to-risk-passed", Hop::kMdhRx, Hop::kOegRiskPassed, led));
  result.headline.push_back(
      over_orders(joined, "tick-to-order at the exchange", Hop::kSimSent, Hop::kSimOrderRx, led));
  result.headline.push_back(over_orders(joined, "order to report", Hop::kStrategyPosted,
                                        Hop::kStrategyReportSeen, "orders that were sent", true));
  add_venues(joined, led, result);
  add_hops(joined, present, result);
  count_orders(joined, result);
  return result;
}

std::vector<std::int64_t> samples(std::span<const TraceFile> files, Hop from, Hop to) {
  require_later(from, to);
  const HostClocks clocks(files);
  const Joined joined(files, clocks);
  Interval interval{hop_name(from, to), from, to, {}, {}, {}};
  std::vector<std::pair<double, std::int64_t>> timed;
  const auto add = [&](const auto& stamps) {
    const std::size_t before = interval.sorted_ns.size();
    add_sample(joined, stamps, interval);
    if (interval.sorted_ns.size() == before) return;
    timed.emplace_back(stamps.at[place(from)], interval.sorted_ns.back());
  };
  if (is_tick_hop(to))
    joined.for_each_tick(add);
  else
    for (const auto& [id, order] : joined.orders()) add(order);
  std::ranges::sort(timed);
  std::vector<std::int64_t> result;
  for (const auto& [time, ns] : timed) result.push_back(ns);
  return result;
}

}  // namespace tickpath::trace
