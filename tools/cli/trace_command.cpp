#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/trace/report.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/trace_orders.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

struct TraceArguments {
  std::vector<std::string> paths{"run"};
  std::vector<std::string> run_dirs;
  bool json = false;
  bool csv = false;
  std::string html;
  std::vector<std::string> samples;  // two hops
  std::uint64_t orders_min = 0;
  OrderQuery query;
  std::vector<std::string> between;  // two hops

  const std::vector<std::string>& places() const { return run_dirs.empty() ? paths : run_dirs; }
  bool asks_for_orders() const {
    return query.worst != 0 || !query.orders.empty() || !query.by.empty();
  }
};

// A folder stands for the *.trace files in it.
std::vector<trace::TraceFile> open_files(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      names.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".trace") names.push_back(entry.path());
    }
  }
  if (names.empty()) {
    throw Error("no *.trace files in " + paths.front() +
                ": run the pipeline with trace.enabled = true first, or name the run directory (a "
                "deterministic replay leaves none: its time is not the machine's)");
  }
  std::sort(names.begin(), names.end());
  std::vector<trace::TraceFile> files;
  for (const std::string& name : names) files.emplace_back(name);
  return files;
}

constexpr std::size_t kRowsInPage = 1000;  // of single orders and fills: what a person scrolls

struct JournalOf {
  std::string path;
  std::uint8_t venue;
};

// The journal of each oeg that led at its end, one a venue; while a run goes on, that of the only
// one.
std::vector<JournalOf> journals_in(const std::string& run_dir,
                                   const std::vector<control::Summary>& summaries) {
  std::vector<JournalOf> journals;
  const auto add = [&](const std::string& name, std::uint8_t venue) {
    const std::string path = run_dir + "/" + name + ".journal";
    if (std::filesystem::exists(path)) journals.push_back({path, venue});
  };
  for (const control::Summary& summary : summaries)
    if (summary.program == "oeg" && !summary.stood_by) add(summary.name, summary.venue);
  if (journals.empty()) add("oeg", 0);
  return journals;
}

struct VenueTrades {
  std::uint8_t venue;
  Trades trades;
};
// What the runs of these directories have come to; of those going on, what they have traded.
struct Results {
  std::vector<control::Summary> summaries;
  control::LongNames names{{}};
  std::vector<VenueTrades> venues;
};

Results results_in(const std::vector<std::string>& paths) {
  std::vector<std::string> run_dirs;
  control::LongNames::Pairs pairs;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) continue;
    run_dirs.push_back(path);
    // sim, oeg and risk may be on different hosts.
    for (const auto& pair : control::LongNames::read(path).pairs()) pairs.push_back(pair);
  }
  Results results{read_summaries(run_dirs), control::LongNames(pairs), {}};
  for (const std::string& path : run_dirs)
    for (const JournalOf& each : journals_in(path, results.summaries)) {
      results.venues.push_back({each.venue, read_trades(each.path)});
      show_names(results.venues.back().trades, results.names);
    }
  return results;
}

std::string results_html(const Results& results) {
  std::string html;
  if (const std::string text = results_text(results.summaries); !text.empty())
    html = "<h2>Result</h2>\n<pre>" + trace::html_escaped(text) + "</pre>\n";
  for (const VenueTrades& each : results.venues) {
    const std::vector<control::Summary> own = of_venue(results.summaries, each.venue);
    if (each.venue != 0) html += "<h2>Venue " + std::to_string(each.venue) + "</h2>\n";
    html += trades_html(each.trades, profits_of(own, results.names), kRowsInPage);
  }
  return html;
}

void write_page(const std::string& path, const trace::Analysis& analysis,
                const std::string& results) {
  std::string text = trace::to_html(analysis);
  const std::string end = "</html>\n";
  if (text.ends_with(end)) text.insert(text.size() - end.size(), results);
  std::ofstream page(path, std::ios::trunc);
  page << text;
  page.close();
  if (!page) throw Error("cannot write the report " + path);
}

trace::Hop hop_of(const std::string& name) {
  const trace::Hop hop = trace::hop_named(name);
  if (hop != trace::Hop::kNone) return hop;
  std::string names;
  for (const trace::HopInfo& each : trace::kHops)
    if (each.hop != trace::Hop::kNone) names += "\n  " + std::string(each.name);
  throw Error("no hop is called " + name + "; there are:" + names);
}

// As sim's latency models read them.
void print_samples(const std::vector<trace::TraceFile>& files, const std::string& from,
                   const std::string& to) {
  const auto samples = trace::samples(files, hop_of(from), hop_of(to));
  if (samples.empty()) throw Error("nothing was stamped at both " + from + " and " + to);
  std::printf("# %s -> %s: %zu latencies in their order, nanoseconds, %td of them below 0\n",
              from.c_str(), to.c_str(), samples.size(),
              std::ranges::count_if(samples, [](std::int64_t ns) { return ns < 0; }));
  for (const std::int64_t ns : samples)
    std::printf("%lld\n", static_cast<long long>(std::max<std::int64_t>(ns, 0)));
}

void print_orders(const std::vector<trace::TraceFile>& files, const TraceArguments& arguments) {
  OrderQuery query = arguments.query;
  if (!arguments.between.empty()) {
    query.from = hop_of(arguments.between[0]);
    query.to = hop_of(arguments.between[1]);
  }
  const Results results = results_in(arguments.places());
  TradedOrders traded;
  for (const VenueTrades& each : results.venues) traded.add(each.venue, each.trades);
  const std::string text = orders_report(files, query, traded,
                                         arguments.json  ? OrderFormat::kJson
                                         : arguments.csv ? OrderFormat::kCsv
                                                         : OrderFormat::kText);
  std::fputs(text.c_str(), stdout);
}

void run_trace(const TraceArguments& arguments) {
  const auto files = open_files(arguments.places());
  if (arguments.asks_for_orders()) return print_orders(files, arguments);
  if (!arguments.samples.empty())
    return print_samples(files, arguments.samples[0], arguments.samples[1]);
  const trace::Analysis analysis = trace::analyse(files);
  if (!arguments.html.empty())
    write_page(arguments.html, analysis, results_html(results_in(arguments.places())));
  const std::string text = arguments.json  ? trace::to_json(analysis)
                           : arguments.csv ? trace::to_csv(analysis)
                                           : trace::to_text(analysis);
  std::fputs(text.c_str(), stdout);
  if (!arguments.html.empty() && !arguments.json && !arguments.csv) {
    std::printf("\nreport: %s\n", arguments.html.c_str());
  }
  if (!arguments.json && !arguments.csv && analysis.orders_complete != 0)
    std::printf(
        "\nwhich orders, and where they lost their time: --worst 10, --order ID, --by burst\n");
  if (analysis.orders_complete < arguments.orders_min) {
    throw Error("only " + std::to_string(analysis.orders_complete) +
                " orders have every hop; --orders-min asks for " +
                std::to_string(arguments.orders_min));
  }
}

}  // namespace

void add_trace_command(CLI::App& app) {
  auto* command = app.add_subcommand("trace", "Tick-to-order and each hop, from a run's traces");
  auto arguments = std::make_shared<TraceArguments>();
  auto* paths = command->add_option("paths", arguments->paths,
                                    "Run directories or trace files; of several hosts: the "
                                    "directory of each");
  paths->capture_default_str();
  command->add_option("--run-dir", arguments->run_dirs, "The same, once for each host")
      ->excludes(paths);
  auto* json = command->add_flag("--json", arguments->json, "Print JSON");
  auto* csv = command->add_flag("--csv", arguments->csv, "Print CSV")->excludes(json);
  auto* worst = command->add_option("--worst", arguments->query.worst,
                                    "Print the slowest N orders instead, hop by hop");
  worst->type_name("N")->excludes(csv);
  auto* order = command->add_option("--order", arguments->query.orders,
                                    "Print this order instead, hop by hop");
  order->type_name("ID")->excludes(worst)->excludes(csv);
  auto* by = command->add_option("--by", arguments->query.by,
                                 "Print latencies by what orders have in common instead");
  by->check(CLI::IsMember(std::vector<std::string>(kOrderGroups.begin(), kOrderGroups.end())))
      ->excludes(worst)
      ->excludes(order);
  command
      ->add_option("--between", arguments->between,
                   "With --worst, --order or --by: from one hop to another one (default: "
                   "mdh.kernel_rx oeg.sent)")
      ->type_name("FROM TO")
      ->expected(2);
  command
      ->add_option("--samples", arguments->samples,
                   "Print every latency between two hops instead, a number a line: a file for "
                   "sim's latency models")
      ->type_name("FROM TO")
      ->expected(2)
      ->excludes(json)
      ->excludes(csv)
      ->excludes(worst)
      ->excludes(order)
      ->excludes(by);
  command->add_option(
      "--html", arguments->html,
      "Also write a page to this file: pictures, and orders, fills and positions by "
      "strategy and instrument");
  command->add_option("--orders-min", arguments->orders_min,
                      "Fail unless this many orders have every hop");
  command->callback([arguments] { run_trace(*arguments); });
}

}  // namespace tickpath::cli
