#include "tools/report/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/base/utc.hpp"
#include "common/trace/report.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/run_results.hpp"
#include "tools/cli/trace_orders.hpp"
#include "tools/cli/trades_tables.hpp"
#include "tools/report/assets.hpp"
#include "tools/report/doctor_findings.hpp"
#include "tools/report/holdings.hpp"
#include "tools/report/latencies.hpp"
#include "tools/report/machine_text.hpp"
#include "tools/report/markers.hpp"
#include "tools/report/market_clock.hpp"
#include "tools/report/prices.hpp"

namespace tickpath::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kGridPoints = 1'000;  // of a curve: two a pixel of a laptop's page
constexpr std::size_t kMarkersMax = 100;
constexpr std::int64_t kBesideNs = 2'000'000'000;  // that a marker may be before or behind the run

// The traces of a run, joined.
struct Traced {
  std::vector<trace::TraceFile> files;
  trace::Analysis analysis;
  const trace::Interval* headline = nullptr;  // the first one of tick-to-order that has samples
  std::optional<trace::OrderLatencies> latencies;
};

void read_traces(const std::vector<std::string>& run_dirs, Traced& traced) {
  traced.files = cli::trace_files_in(run_dirs);
  if (traced.files.empty()) return;
  traced.analysis = trace::analyse(traced.files);
  const auto& rows = traced.analysis.headline;
  // Where no kernel stamps packets, time in user space alone is left.
  traced.headline =
      rows[0].distribution.count == 0 && rows[1].distribution.count != 0 ? &rows[1] : &rows[0];
  traced.latencies.emplace(traced.files, traced.headline->from, traced.headline->to);
}

std::vector<MarketClock::Known> known_times(const cli::RunResults& results) {
  std::vector<MarketClock::Known> known;
  const auto add = [&](std::int64_t realtime_ns, std::uint64_t exchange_ns) {
    if (exchange_ns != 0) known.push_back({realtime_ns, static_cast<std::int64_t>(exchange_ns)});
  };
  for (const cli::VenueTrades& venue : results.venues) {
    for (const cli::TradedOrder& order : venue.trades.orders)
      add(order.sent_ns, order.exchange_time_ns);
    for (const cli::TradedFill& fill : venue.trades.fills) add(fill.time_ns, fill.exchange_time_ns);
  }
  return known;
}

struct WallSpan {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;
  void take(std::int64_t ns) {
    if (ns == 0) return;
    begin_ns = std::min(begin_ns, ns);
    end_ns = std::max(end_ns, ns);
  }
};

WallSpan span_of(const Traced& traced, const cli::RunResults& results) {
  WallSpan span;
  if (traced.latencies) {
    const std::int64_t start = traced.latencies->start_realtime_ns();
    span.take(start);
    if (start != 0) span.take(start + std::llround(traced.latencies->last_arrival_s() * 1e9));
  }
  for (const cli::VenueTrades& venue : results.venues) {
    for (const cli::TradedOrder& order : venue.trades.orders) span.take(order.sent_ns);
    for (const cli::TradedFill& fill : venue.trades.fills) span.take(fill.time_ns);
  }
  return span;
}

// ------------------------------------------------------------------------------------- parts

ordered_json markers_json(const std::vector<std::string>& run_dirs, const WallSpan& span,
                          const MarketClock& clock) {
  ordered_json rows = ordered_json::array();
  const auto markers = markers_in(run_dirs, span.begin_ns - kBesideNs, span.end_ns + kBesideNs);
  for (const Marker& each : markers) {
    if (rows.size() == kMarkersMax) break;
    rows.push_back({{"at", clock.at(each.realtime_ns)},
                    {"kind", each.kind},
                    {"program", each.program},
                    {"text", each.text}});
  }
  return {{"shown", std::move(rows)}, {"all", markers.size()}};
}

ordered_json table_json(const std::string& id, const std::string& title,
                        const cli::TextTable& table) {
  const std::size_t shown = std::min(kRowsMax, table.rows.size());
  ordered_json rows = ordered_json::array();
  for (std::size_t i = table.rows.size() - shown; i < table.rows.size(); ++i)
    rows.push_back(table.rows[i]);
  ordered_json columns = ordered_json::array();
  for (std::string name : table.header) {
    std::ranges::replace(name, '_', ' ');
    columns.push_back(std::move(name));
  }
  return {{"id", id},
          {"title", title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"all", table.rows.size()}};
}

void append(cli::Trades& all, const cli::Trades& more) {
  all.orders.insert(all.orders.end(), more.orders.begin(), more.orders.end());
  all.fills.insert(all.fills.end(), more.fills.begin(), more.fills.end());
  all.carried.insert(all.carried.end(), more.carried.begin(), more.carried.end());
}

ordered_json tables_json(const cli::RunResults& results) {
  cli::Trades all;
  for (const cli::VenueTrades& venue : results.venues) append(all, venue.trades);
  const auto profits = results.venues.size() > 1
                           ? std::vector<control::ProfitSummary>{}
                           : cli::profits_of(results.summaries, results.names);
  ordered_json tables = ordered_json::array();
  tables.push_back(table_json("positions", "Positions by strategy and instrument",
                              cli::overview_table(all, profits)));
  tables.push_back(table_json("refusals", "Refusals", cli::refusals_table(all)));
  tables.push_back(table_json("fills", "Fills", cli::fills_table(all)));
  tables.push_back(table_json("orders", "Orders", cli::orders_table(all)));
  return tables;
}

ordered_json results_json(const cli::RunResults& results) {
  const auto by_strategy = cli::results_of(results.summaries);
  if (!by_strategy) return nullptr;
  ordered_json rows = ordered_json::array();
  for (const auto& [strategy, each] : *by_strategy)
    rows.push_back({{"strategy", std::to_string(strategy)},
                    {"orders", each.orders},
                    {"fills", each.fills},
                    {"realised", static_cast<double>(each.realised) / 1e4},
                    {"unrealised", static_cast<double>(each.unrealised) / 1e4}});
  return rows;
}

// Prices of what was traded; says where they are from.
std::string read_prices(const std::vector<std::string>& run_dirs, const cli::RunResults& results,
                        const MarketClock& clock, const Grid& grid, PricePaths& paths) {
  const std::set<Listing> listings = traded_listings(results.venues);
  if (listings.empty()) return {};
  std::string why = "the run names no recording";
  if (!clock.is_market_time())
    why = "the times of the market are not known";
  else
    for (const Replayed& each : replayed_in(run_dirs, results.summaries)) {
      why = add_prices(each, results.names, listings, grid, paths);
      if (!why.empty()) break;
    }
  if (why.empty()) return "Prices are the middle of the recording's best bid and ask.";
  return "Prices are those of the last fill: " + why + ".";
}

Grid grid_over(TimeSpan span) {
  return {span.first, std::max((span.last - span.first) / (kGridPoints - 1), 1e-9), kGridPoints};
}

ordered_json data_of(const std::vector<std::string>& run_dirs, const Traced& traced,
                     const cli::RunResults& results) {
  const WallSpan wall = span_of(traced, results);
  const MarketClock clock(known_times(results), wall.begin_ns);
  const TimeSpan span{clock.at(wall.begin_ns), clock.at(wall.end_ns)};
  const Grid grid = grid_over(span);
  PricePaths paths;
  ordered_json data;
  data["time"] = {{"market", clock.is_market_time()}, {"first", span.first}, {"last", span.last}};
  data["markers"] = markers_json(run_dirs, wall, clock);
  if (traced.latencies) {
    data["percentiles"] = percentiles_json(*traced.headline);
    data["heat"] = heat_json(*traced.latencies, clock, span);
    data["bars"] = bars_json(*traced.latencies, traced.headline->from, traced.headline->to);
    data["hops"] = hops_json(traced.analysis);
    cli::TradedOrders orders;
    for (const cli::VenueTrades& each : results.venues) orders.add(each.venue, each.trades);
    data["worst"] = worst_json(*traced.latencies, orders, clock);
  }
  data["prices"] = read_prices(run_dirs, results, clock, grid, paths);
  data["curves"] = curves_json(results.venues, clock, grid, paths);
  data["instruments"] = instruments_json(results.venues, clock, grid, paths);
  data["results"] = results_json(results);
  data["doctor"] = doctor_json(run_dirs);
  data["tables"] = tables_json(results);
  return data;
}

// -------------------------------------------------------------------------------------- head

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& each : texts) all += (all.empty() ? "" : ", ") + each;
  return all;
}

// "tickpath: run, 2027-02-19 10:00 UTC"
std::string title_of(const std::vector<std::string>& run_dirs, const WallSpan& wall) {
  std::string title = "tickpath: " + joined(run_dirs);
  if (wall.end_ns == 0) return title;
  std::string begin = utc_text(wall.begin_ns / 1'000'000'000);
  std::ranges::replace(begin, 'T', ' ');
  constexpr std::size_t kToTheMinute = 16;
  return title + ", " + begin.substr(0, kToTheMinute) + " UTC";
}

Pairs head_of(const std::vector<std::string>& run_dirs, const Traced& traced,
              const cli::RunResults& results) {
  Pairs head{{"Run", joined(run_dirs)}};
  const WallSpan wall = span_of(traced, results);
  if (wall.end_ns != 0)
    head.emplace_back("Time", utc_text_ns(wall.begin_ns, 3) + " to " + utc_text_ns(wall.end_ns, 3));
  for (const Replayed& each : replayed_in(run_dirs, results.summaries))
    head.emplace_back("Recording", each.path + ", " + cli::grouped(each.messages) +
                                       " messages, digest " + each.digest);
  if (!traced.files.empty()) {
    head.emplace_back("Fabric", trace::providers(traced.analysis) + ", wait " +
                                    trace::wait_modes(traced.analysis));
    head.emplace_back("Cores", trace::cores(traced.analysis));
  }
  for (const std::string& each : machine_texts(traced.analysis)) head.emplace_back("Machine", each);
  head.emplace_back("Built from", std::string("tickpath ") + TICKPATH_VERSION +
                                      (kCommit.empty() ? "" : ", commit " + std::string(kCommit)));
  return head;
}

// Three significant digits, as the page's charts have them.
std::string figure_time(std::int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (value < 999.5) return formatted("%.0f ns", value);
  if (value < 999.5e3) return formatted("%.3g µs", value / 1e3);
  return value < 999.5e6 ? formatted("%.3g ms", value / 1e6) : formatted("%.3g s", value / 1e9);
}

// "-1,683.59" of 1/10,000.
std::string money_figure(std::int64_t value) {
  const auto cents =
      static_cast<std::uint64_t>(std::llround(std::abs(static_cast<double>(value)) / 1e2));
  return (value < 0 ? "-" : "+") + cli::grouped(cents / 100) +
         formatted(".%02u", static_cast<unsigned>(cents % 100));
}

Pairs figures_of(const Traced& traced, const cli::RunResults& results) {
  Pairs figures;
  if (traced.headline != nullptr) {
    const trace::Distribution& d = traced.headline->distribution;
    const auto time = [&](std::int64_t ns) { return d.count == 0 ? "-" : figure_time(ns); };
    figures = {{"median", time(d.p50)},
               {"p99", time(d.p99)},
               {"p99.9", time(d.p999)},
               {"slowest", time(d.max)},
               {"requests by ticks", cli::grouped(d.count)},
               {"ticks", cli::grouped(traced.analysis.ticks)}};
  }
  std::size_t orders = 0;
  std::size_t fills = 0;
  for (const cli::VenueTrades& each : results.venues) {
    orders += each.trades.orders.size();
    fills += each.trades.fills.size();
  }
  figures.emplace_back("new orders", cli::grouped(orders));
  figures.emplace_back("fills", cli::grouped(fills));
  if (const auto by_strategy = cli::results_of(results.summaries)) {
    std::int64_t profit = 0;
    for (const auto& [strategy, each] : *by_strategy) profit += each.realised + each.unrealised;
    figures.emplace_back("P&L, by risk", money_figure(profit));
  }
  return figures;
}

std::string measured_of(const Traced& traced) {
  if (traced.headline == nullptr)
    return "This run left no traces, so nothing is said of latency: a deterministic replay has the "
           "market's time alone.";
  const std::string from(trace::info(traced.headline->from).name);
  const std::string to(trace::info(traced.headline->to).name);
  return "Tick-to-order is from " + from +
         (from == "mdh.kernel_rx" ? " (the kernel has the packet)" : " (mdh has the packet)") +
         " to " + to + " (the message is with the kernel), over " + traced.headline->population +
         ".";
}

}  // namespace

PageContent content_of(const std::vector<std::string>& run_dirs) {
  for (const std::string& run_dir : run_dirs)
    if (!std::filesystem::is_directory(run_dir))
      throw Error("there is no run directory " + run_dir);
  Traced traced;
  read_traces(run_dirs, traced);
  const cli::RunResults results = cli::results_in(run_dirs);
  if (traced.files.empty() && results.venues.empty())
    throw Error("nothing of a run is in " + run_dirs.front() +
                ": neither traces nor a journal of oeg; name the run directory");
  PageContent content;
  content.title = title_of(run_dirs, span_of(traced, results));
  content.head = head_of(run_dirs, traced, results);
  content.figures = figures_of(traced, results);
  content.measured = measured_of(traced);
  content.data = data_of(run_dirs, traced, results)
                     .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (traced.headline != nullptr) {
    content.pictures =
        "<h3>Where the time goes</h3>\n" + trace::hops_picture(traced.analysis.hops) +
        "<h3>Tick-to-order by percentile</h3>\n" + trace::percentiles_picture(*traced.headline) +
        "<h3>Tick-to-order over the run</h3>\n" + trace::scatter_picture(traced.analysis.orders);
    content.text = trace::to_text(traced.analysis) + "\n";
  }
  content.text += cli::results_text(results.summaries);
  return content;
}

}  // namespace tickpath::report
