#include "tools/cli/trace_orders.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/report.hpp"
#include "common/wire/names.hpp"
#include "common/wire/order_id.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

using nlohmann::ordered_json;
using trace::OrderLatency;
using trace::PathMark;

constexpr std::int64_t kLateShownNs = 1'000;
constexpr int kBarColumns = 36;  // of a waterfall: the whole path

// One order that was asked for.
struct Shown {
  OrderLatency latency;
  std::size_t rank = 0;  // from 1, the slowest; 0: it lacks one of the two stamps
  std::vector<PathMark> path;
};

using Latencies = std::vector<OrderLatency>;

std::vector<Shown> chosen(const trace::OrderLatencies& latencies, const Latencies& all,
                          const OrderQuery& query) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < std::min<std::size_t>(query.worst, all.size()); ++i)
    shown.push_back({all[i], i + 1, latencies.path(all[i].order_id)});
  for (const std::uint64_t id : query.orders) {
    const auto found = std::ranges::find(all, id, &OrderLatency::order_id);
    Shown one{{.order_id = id}, 0, latencies.path(id)};
    if (found != all.end()) {
      one.latency = *found;
      one.rank = static_cast<std::size_t>(found - all.begin()) + 1;
    }
    shown.push_back(std::move(one));
  }
  return shown;
}

// From where a part begins to where it ends; one column at least.
std::string bar(const PathMark& mark, std::int64_t first_ns, std::int64_t whole_ns) {
  if (whole_ns <= 0) return {};
  const auto column = [&](std::int64_t ns) {
    const double share = static_cast<double>(ns - first_ns) / static_cast<double>(whole_ns);
    return std::clamp(static_cast<int>(std::lround(share * kBarColumns)), 0, kBarColumns);
  };
  const int begin = std::min(column(mark.at_ns - mark.took_ns), kBarColumns - 1);
  const int end = std::max(column(mark.at_ns), begin + 1);
  return std::string(static_cast<std::size_t>(begin), ' ') +
         std::string(static_cast<std::size_t>(end - begin), '#');
}

void add_path(std::string& text, const std::vector<PathMark>& path) {
  const auto [first, last] = std::ranges::minmax(path, {}, &PathMark::at_ns);
  text += formatted("  %-21s %9s %9s\n", "hop", "at", "took");
  for (const PathMark& mark : path) {
    const std::string took = &mark == &path.front() ? ""
                             : mark.measured        ? trace::short_time(mark.took_ns)
                                                    : "?";
    const std::string drawn = &mark == &path.front() || !mark.measured
                                  ? ""
                                  : bar(mark, first.at_ns, last.at_ns - first.at_ns);
    std::string line =
        formatted("  %-21s %9s %9s %s", std::string(info(mark.hop).name).c_str(),
                  trace::short_time(mark.at_ns).c_str(), took.c_str(), drawn.c_str());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (std::ranges::any_of(path, [](const PathMark& mark) { return !mark.measured; }))
    text += "  ?: the clocks of these two hosts were not compared\n";
}

std::string fills_text(const TradedOrders::Found& found) {
  std::string text;
  for (const TradedFill* fill : found.fills)
    text += "  " + fill_text(*fill) + ", " +
            trace::short_time(fill->time_ns - found.order->sent_ns) + " after oeg took the order\n";
  return text;
}

std::string worst_text(const std::vector<Shown>& shown, std::size_t all, const OrderQuery& query,
                       const TradedOrders& traded) {
  std::string text;
  for (const Shown& each : shown) {
    const TradedOrders::Found* const found = traded.find(each.latency.order_id);
    text += (text.empty() ? "order " : "\norder ") + std::to_string(each.latency.order_id);
    if (found != nullptr) text += ", " + order_text(*found->order);
    text += "\n";
    if (each.rank == 0) {
      text += "  it lacks a stamp of " + between(query) + ", or no tick caused it\n";
    } else {
      text += "  " + between(query) + ": " + trace::short_time(each.latency.ns) + ", number " +
              grouped(each.rank) + " of " + grouped(all) + ", the slowest first; caused by tick " +
              tick_text(each.latency.trace_id) + "\n";
      text +=
          formatted("  %.6f s into the run; %s %s reached mdh in the millisecond up to its tick\n",
                    each.latency.since_start_s, grouped(each.latency.burst).c_str(),
                    each.latency.burst == 1 ? "message" : "messages");
      if (each.latency.late_ns > kLateShownNs)
        text += "  sim sent its tick " + trace::short_time(each.latency.late_ns) +
                " later than scheduled\n";
    }
    add_path(text, each.path);
    if (found != nullptr) text += fills_text(*found);
  }
  return text;
}

std::string worst_json(const std::vector<Shown>& shown, std::size_t all, const OrderQuery& query,
                       const TradedOrders& traded) {
  ordered_json root = ordered_json::array();
  for (const Shown& each : shown) {
    const bool ranked = each.rank != 0;
    ordered_json one{{"order_id", each.latency.order_id},
                     {"tick", each.latency.trace_id},
                     {"rank", ranked ? ordered_json(each.rank) : ordered_json()},
                     {"of", all},
                     {"from", info(query.from).name},
                     {"to", info(query.to).name},
                     {"ns", ranked ? ordered_json(each.latency.ns) : ordered_json()},
                     {"burst", each.latency.burst},
                     {"late_ns", each.latency.late_ns},
                     {"since_start_s", each.latency.since_start_s}};
    const TradedOrders::Found* const found = traded.find(each.latency.order_id);
    one["order"] = found == nullptr ? ordered_json() : ordered_json(order_text(*found->order));
    one["fills"] = ordered_json::array();
    if (found != nullptr)
      for (const TradedFill* fill : found->fills) one["fills"].push_back(fill_text(*fill));
    for (const PathMark& mark : each.path)
      one["hops"].push_back(
          {{"hop", info(mark.hop).name},
           {"at_ns", mark.at_ns},
           {"took_ns", mark.measured ? ordered_json(mark.took_ns) : ordered_json()}});
    root.push_back(std::move(one));
  }
  return root.dump(2) + "\n";
}

// -------------------------------------------------------------------------------------- filters

template <class Value>
bool is_any_of(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

const char* side_name(Side side) { return side == Side::kBuy ? "buy" : "sell"; }

bool passes(const OrderFilter& filter, const OrderLatency& each, const TradedOrders::Found* found) {
  if (!is_any_of(filter.strategies, unsigned{wire::OrderId::strategy(each.order_id)})) return false;
  if (filter.since_s && each.since_start_s < *filter.since_s) return false;
  if (filter.until_s && each.since_start_s >= *filter.until_s) return false;
  if (!filter.needs_journal()) return true;
  if (found == nullptr) return false;
  const TradedOrder& order = *found->order;
  return is_any_of(filter.instruments, order.symbol) &&
         (filter.side.empty() || filter.side == side_name(order.side)) &&
         is_any_of(filter.types, std::string(name(order.type)));
}

// As it was typed.
std::string text_of(const OrderFilter& filter) {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    text += (text.empty() ? "" : " ") + std::string(option) + " " + value;
  };
  for (const std::string& each : filter.instruments) add("--instrument", each);
  for (const unsigned each : filter.strategies) add("--strategy", std::to_string(each));
  if (!filter.side.empty()) add("--side", filter.side);
  for (const std::string& each : filter.types) add("--type", each);
  if (filter.since_s) add("--since", formatted("%g", *filter.since_s));
  if (filter.until_s) add("--until", formatted("%g", *filter.until_s));
  return text;
}

// ------------------------------------------------------------------------------------ by group

// A width of time that gives some twenty rows at most.
double time_step(double whole_s) {
  for (const double step : {1.0, 10.0, 60.0, 600.0, 3600.0})
    if (whole_s / step <= 20) return step;
  return 86'400;
}

// Rows stand in the order of the numbers that their groups are of, else of their names.
struct Group {
  double number = 0;
  std::string name;
  auto operator<=>(const Group&) const = default;
};
struct GroupRow {
  std::string name;
  trace::Distribution distribution;
};

Group burst_group(std::uint64_t messages) {
  if (messages < 10) return {1, "1 to 9 a millisecond"};
  if (messages < 100) return {10, "10 to 99"};
  return messages < 1'000 ? Group{100, "100 to 999"} : Group{1'000, "1,000 and more"};
}

Group group_of(const OrderLatency& each, const TradedOrders::Found* found, const std::string& by,
               double step_s) {
  if (by == "burst") return burst_group(each.burst);
  if (by == "strategy") {
    const unsigned strategy = wire::OrderId::strategy(each.order_id);
    return {static_cast<double>(strategy), std::to_string(strategy)};
  }
  if (by == "time") {
    const double begin = std::floor(each.since_start_s / step_s) * step_s;
    return {begin, formatted("from %.0f s on", begin)};
  }
  if (found == nullptr) return {1, "changes, cancels"};
  const TradedOrder& order = *found->order;
  if (by == "instrument") return {0, order.symbol};
  if (by == "side") return {0, side_name(order.side)};
  if (by == "type") return {0, std::string(name(order.type))};
  if (by == "tif") return {0, std::string(name(order.time_in_force))};
  return {0, std::to_string(found->venue)};
}

std::vector<GroupRow> grouped_by(const Latencies& latencies, const std::string& by,
                                 const TradedOrders& traded) {
  if (by != "burst" && by != "strategy" && by != "time" && traded.empty())
    throw Error("--by " + by + " needs what oeg's journal says: name the run directory");
  double whole_s = 0;
  for (const OrderLatency& each : latencies) whole_s = std::max(whole_s, each.since_start_s);
  const double step_s = time_step(whole_s);
  std::map<Group, std::vector<std::int64_t>> groups;
  for (const OrderLatency& each : latencies)
    groups[group_of(each, traded.find(each.order_id), by, step_s)].push_back(each.ns);
  std::vector<GroupRow> rows;
  for (auto& [group, ns] : groups) {
    std::ranges::reverse(ns);  // they came with the slowest first
    rows.push_back({group.name, trace::summarise(ns)});
  }
  return rows;
}

// The columns behind a group's name and count.
struct Figure {
  const char* name;
  std::int64_t trace::Distribution::*value;
};
constexpr Figure kFigures[] = {{"p50", &trace::Distribution::p50},
                               {"p90", &trace::Distribution::p90},
                               {"p99", &trace::Distribution::p99},
                               {"p99.9", &trace::Distribution::p999},
                               {"max", &trace::Distribution::max}};

std::string groups_text(const std::vector<GroupRow>& rows, const OrderQuery& query) {
  std::string text =
      between(query) + ", by " + query.by + "\n" + formatted("%-21s %7s", "", "count");
  for (const Figure& figure : kFigures) text += formatted(" %9s", figure.name);
  text += "\n";
  for (const auto& [name, distribution] : rows) {
    text +=
        formatted("%-21s %7llu", name.c_str(), static_cast<unsigned long long>(distribution.count));
    for (const Figure& figure : kFigures)
      text += formatted(" %9s", trace::short_time(distribution.*figure.value).c_str());
    text += "\n";
  }
  return text;
}

std::string groups_json(const std::vector<GroupRow>& rows) {
  ordered_json root = ordered_json::array();
  for (const auto& [name, distribution] : rows) {
    ordered_json row{{"group", name}, {"count", distribution.count}};
    for (const Figure& figure : kFigures)
      row[std::string(figure.name) + "_ns"] = distribution.*figure.value;
    root.push_back(std::move(row));
  }
  return root.dump(2) + "\n";
}

std::string groups_csv(const std::vector<GroupRow>& rows) {
  std::string text = "group,count";
  for (const Figure& figure : kFigures) text += std::string(",") + figure.name + "_ns";
  text += "\n";
  for (const auto& [name, distribution] : rows) {
    text += "\"" + name + "\"," + std::to_string(distribution.count);
    for (const Figure& figure : kFigures) text += "," + std::to_string(distribution.*figure.value);
    text += "\n";
  }
  return text;
}

}  // namespace

void TradedOrders::add(std::uint8_t venue, const Trades& trades) {
  for (const TradedOrder& order : trades.orders) orders_[order.id] = {venue, &order, {}};
  for (const TradedFill& fill : trades.fills)
    if (const auto found = orders_.find(fill.order_id); found != orders_.end())
      found->second.fills.push_back(&fill);
  for (const TradedChange& change : trades.changes) changes_[change.id] = change.order_id;
}

const TradedOrders::Found* TradedOrders::find(std::uint64_t order_id) const {
  const auto found = orders_.find(order_id);
  return found == orders_.end() ? nullptr : &found->second;
}

const TradedOrders::Found* TradedOrders::changed_by(std::uint64_t request_id) const {
  const auto found = changes_.find(request_id);
  return found == changes_.end() ? nullptr : find(found->second);
}

std::string between(const OrderQuery& query) {
  return std::string(info(query.from).name) + " to " + std::string(info(query.to).name);
}

std::vector<OrderLatency> filtered(const trace::OrderLatencies& latencies, const OrderQuery& query,
                                   const TradedOrders& traded) {
  const OrderFilter& filter = query.filter;
  if (filter.needs_journal() && traded.empty())
    throw Error(
        "--instrument, --side and --type need what oeg's journal says: name the run "
        "directory");
  std::vector<OrderLatency> left;
  for (const OrderLatency& each : latencies.all())
    if (passes(filter, each, traded.find(each.order_id))) left.push_back(each);
  if (left.empty() && query.orders.empty()) {
    if (latencies.all().empty())
      throw Error("no order that a tick caused was stamped at both of " + between(query) +
                  " (--between mdh.rx oeg.sent does without the kernel's stamp)");
    throw Error("none of " + grouped(latencies.all().size()) + " orders is left by " +
                text_of(filter));
  }
  return left;
}

std::string orders_report(std::span<const trace::TraceFile> files, const OrderQuery& query,
                          const TradedOrders& traded, OrderFormat format) {
  const trace::OrderLatencies latencies(files, query.from, query.to);
  const Latencies all = filtered(latencies, query, traded);
  if (!query.by.empty()) {
    const std::vector<GroupRow> rows = grouped_by(all, query.by, traded);
    return format == OrderFormat::kJson  ? groups_json(rows)
           : format == OrderFormat::kCsv ? groups_csv(rows)
                                         : groups_text(rows, query);
  }
  const std::vector<Shown> shown = chosen(latencies, all, query);
  return format == OrderFormat::kJson ? worst_json(shown, all.size(), query, traded)
                                      : worst_text(shown, all.size(), query, traded);
}

}  // namespace tickpath::cli
