#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/trace/report.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/run_results.hpp"
#include "tools/cli/trace_orders.hpp"

namespace tickpath::cli {
namespace {

struct TraceArguments {
  std::vector<std::string> paths{"run"};
  std::vector<std::string> run_dirs;
  bool json = false;
  bool csv = false;
  std::vector<std::string> samples;  // two hops
  std::uint64_t orders_min = 0;
  OrderQuery query;
  std::vector<std::string> between;  // two hops

  const std::vector<std::string>& places() const { return run_dirs.empty() ? paths : run_dirs; }
  bool asks_for_orders() const {
    return query.worst != 0 || !query.orders.empty() || !query.by.empty();
  }
};

// Throws Error where there are none.
std::vector<trace::TraceFile> open_files(const std::vector<std::string>& paths) {
  std::vector<trace::TraceFile> files = trace_files_in(paths);
  if (files.empty())
    throw Error("no *.trace files in " + paths.front() +
                ": run the pipeline with trace.enabled = true first, or name the run directory (a "
                "deterministic replay leaves none: its time is not the machine's)");
  return files;
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
  const RunResults results = results_in(arguments.places());
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
  const std::string text = arguments.json  ? trace::to_json(analysis)
                           : arguments.csv ? trace::to_csv(analysis)
                                           : trace::to_text(analysis);
  std::fputs(text.c_str(), stdout);
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
  command->add_option("--orders-min", arguments->orders_min,
                      "Fail unless this many orders have every hop");
  command->callback([arguments] { run_trace(*arguments); });
}

}  // namespace tickpath::cli
