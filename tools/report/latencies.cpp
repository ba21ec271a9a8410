#include "tools/report/latencies.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "common/trace/report.hpp"
#include "common/wire/order_id.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::report {
namespace {

using nlohmann::ordered_json;
using trace::OrderLatencies;
using trace::OrderLatency;
using trace::PathMark;

std::int64_t realtime_of(const OrderLatencies& latencies, double since_start_s) {
  return latencies.start_realtime_ns() + std::llround(since_start_s * 1e9);
}

std::size_t row_of(std::int64_t ns) {
  constexpr int kRows = kRowsPerDecade * kDecades;
  if (ns <= 0) return 0;
  const double row = (std::log10(static_cast<double>(ns)) - kLowestDecade) * kRowsPerDecade;
  return static_cast<std::size_t>(std::clamp(static_cast<int>(row), 0, kRows - 1));
}

// Mean time of each part from one hop to another, of these orders.
ordered_json parts_of(const OrderLatencies& latencies, std::span<const OrderLatency> orders,
                      trace::Hop from, trace::Hop to) {
  std::map<std::size_t, double> sums;  // by place of the hop at the part's end
  for (const OrderLatency& order : orders)
    for (const PathMark& mark : latencies.path(order.order_id)) {
      const std::size_t at = trace::place(mark.hop);
      if (at <= trace::place(from) || at > trace::place(to)) continue;
      sums[at] += static_cast<double>(mark.took_ns);
    }
  ordered_json parts = ordered_json::array();
  for (const auto& [place, sum] : sums)
    parts.push_back({{"hop", trace::kHops[place].name},
                     {"ns", std::llround(sum / static_cast<double>(orders.size()))}});
  return parts;
}

double mean_of(std::span<const OrderLatency> orders) {
  double sum = 0;
  for (const OrderLatency& order : orders) sum += static_cast<double>(order.ns);
  return sum / static_cast<double>(orders.size());
}

ordered_json marks_of(const std::vector<PathMark>& path) {
  ordered_json marks = ordered_json::array();
  for (const PathMark& mark : path)
    marks.push_back({{"hop", trace::info(mark.hop).name},
                     {"at", mark.at_ns},
                     {"took", mark.measured ? ordered_json(mark.took_ns) : ordered_json()}});
  return marks;
}

}  // namespace

ordered_json percentiles_json(const trace::Interval& interval) {
  const auto& sorted = interval.sorted_ns;
  if (sorted.empty()) return nullptr;
  const double decades = std::max(1.0, std::log10(static_cast<double>(sorted.size())));
  constexpr int kSteps = 400;
  ordered_json points = ordered_json::array();
  for (int step = 0; step <= kSteps; ++step) {
    const double percent = 100 - 100 * std::pow(10, -decades * step / kSteps);
    points.push_back(ordered_json::array({percent, trace::percentile(sorted, percent)}));
  }
  points.push_back(ordered_json::array({100, sorted.back()}));
  const trace::Distribution& d = interval.distribution;
  return {{"name", interval.name},
          {"from", trace::info(interval.from).name},
          {"to", trace::info(interval.to).name},
          {"count", d.count},
          {"p50_ns", d.p50},
          {"p90_ns", d.p90},
          {"p99_ns", d.p99},
          {"p999_ns", d.p999},
          {"max_ns", d.max},
          {"points", std::move(points)}};
}

ordered_json heat_json(const OrderLatencies& latencies, const MarketClock& clock, TimeSpan span) {
  const double width = std::max(span.last - span.first, 1e-6) / kHeatColumns;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> cells;
  for (const OrderLatency& each : latencies.all()) {
    const double at = clock.at(realtime_of(latencies, each.since_start_s));
    const double column = std::clamp((at - span.first) / width, 0.0, kHeatColumns - 1.0);
    ++cells[{static_cast<std::size_t>(column), row_of(each.ns)}];
  }
  ordered_json flat = ordered_json::array();
  for (const auto& [cell, count] : cells)
    for (const std::uint64_t value : {std::uint64_t{cell.first}, std::uint64_t{cell.second}, count})
      flat.push_back(value);
  const auto since_start = [&](std::size_t column) {
    const std::int64_t at = clock.realtime_ns(span.first + width * static_cast<double>(column));
    return static_cast<double>(at - latencies.start_realtime_ns()) * 1e-9;
  };
  ordered_json rate = ordered_json::array();
  double begin = since_start(0);
  for (std::size_t column = 0; column < kHeatColumns; ++column) {
    const double end = since_start(column + 1);
    const auto messages = static_cast<double>(latencies.arrived_by(end) -
                                              (column == 0 ? 0 : latencies.arrived_by(begin)));
    rate.push_back(end > begin ? std::llround(messages / (end - begin)) : 0);
    begin = end;
  }
  return {{"columns", kHeatColumns},
          {"rows", kRowsPerDecade * kDecades},
          {"rows_per_decade", kRowsPerDecade},
          {"lowest_decade", kLowestDecade},
          {"orders", latencies.all().size()},
          {"cells", std::move(flat)},
          {"rate", std::move(rate)}};
}

ordered_json bars_json(const OrderLatencies& latencies, trace::Hop from, trace::Hop to) {
  ordered_json bars = ordered_json::array();
  const auto all = latencies.all();
  if (all.empty()) return bars;
  for (const double percent : {50.0, 99.0, 99.9}) {
    // all() begins with the slowest.
    const auto count = static_cast<double>(all.size());
    const auto rank = static_cast<std::size_t>(std::max(std::ceil(percent / 100 * count), 1.0));
    const std::size_t middle = all.size() - std::min(rank, all.size());
    const std::size_t beside = std::min({kNeighboursMax, all.size() / 500, middle});
    const std::size_t first = middle - beside;
    const std::size_t last = std::min(middle + beside, all.size() - 1);
    const auto orders = all.subspan(first, last - first + 1);
    bars.push_back({{"percent", percent},
                    {"ns", all[middle].ns},
                    {"orders", orders.size()},
                    {"mean_ns", std::llround(mean_of(orders))},
                    {"parts", parts_of(latencies, orders, from, to)}});
  }
  return bars;
}

ordered_json worst_json(const OrderLatencies& latencies, const cli::TradedOrders& traded,
                        const MarketClock& clock) {
  ordered_json worst = ordered_json::array();
  const auto all = latencies.all();
  for (const OrderLatency& each : all.first(std::min(all.size(), kWorstOrders))) {
    const cli::TradedOrders::Found* const own = traded.find(each.order_id);
    const auto* const found = own != nullptr ? own : traded.changed_by(each.order_id);
    ordered_json fills = ordered_json::array();
    if (found != nullptr)
      for (const cli::TradedFill* fill : found->fills)
        fills.push_back(
            {{"text", cli::fill_text(*fill)}, {"after_ns", fill->time_ns - found->order->sent_ns}});
    worst.push_back({{"id", std::to_string(each.order_id)},
                     {"ns", each.ns},
                     {"at", clock.at(realtime_of(latencies, each.since_start_s))},
                     {"tick", cli::tick_text(each.trace_id)},
                     {"burst", each.burst},
                     {"changes", own == nullptr},
                     {"order", found == nullptr ? "" : std::to_string(found->order->id)},
                     {"text", found == nullptr ? "" : cli::order_text(*found->order)},
                     {"symbol", found == nullptr ? "" : found->order->symbol},
                     {"strategy", std::to_string(wire::OrderId::strategy(each.order_id))},
                     {"fills", std::move(fills)},
                     {"marks", marks_of(latencies.path(each.order_id))}});
  }
  return worst;
}

ordered_json hops_json(const trace::Analysis& analysis) {
  ordered_json hops = ordered_json::array();
  for (const trace::Interval& each : analysis.hops) {
    const trace::Distribution& d = each.distribution;
    if (d.count == 0) continue;
    hops.push_back({{"name", each.name},
                    {"population", each.population},
                    {"count", d.count},
                    {"p50", d.p50},
                    {"p99", d.p99},
                    {"p999", d.p999},
                    {"max", d.max},
                    {"error_ns", each.error_ns}});
  }
  return hops;
}

}  // namespace tickpath::report
