#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "common/trace/report.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/run_results.hpp"
#include "tools/cli/trace_diff.hpp"
#include "tools/cli/trace_files.hpp"
#include "tools/cli/trace_orders.hpp"
#include "tools/cli/traced_run.hpp"

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
  OrderFiles files;
  std::vector<std::string> between;  // two hops
  std::vector<std::string> diff;     // two runs
  std::string baseline, save;
  std::vector<std::string> allowed;  // keys of kConditions
  trace::DifferenceOptions difference;
  double tolerance_percent = 0;

  const std::vector<std::string>& places() const { return run_dirs.empty() ? paths : run_dirs; }
  bool asks_for_orders() const {
    return query.worst != 0 || !query.orders.empty() || !query.by.empty();
  }
};

// A file is read once for its links, once or twice for its stamps, and once more for the head.
constexpr std::uint64_t kPasses = 3;

// Draws a bar on a terminal while they are read, when that takes longer than a second.
void show_reading(std::vector<trace::TraceFile>& files) {
  struct Reading {
    ProgressBar bar{"reading traces"};
    std::uint64_t done = 0, total = 0;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  };
  const auto reading = std::make_shared<Reading>();
  for (trace::TraceFile& file : files) {
    reading->total += kPasses * file.kept();
    file.on_progress([reading](std::uint64_t records) {
      reading->done += records;
      if (std::chrono::steady_clock::now() - reading->begin > std::chrono::seconds(1))
        reading->bar.show(std::min(reading->done, reading->total), reading->total);
    });
  }
}

// Throws Error where there are none.
std::vector<trace::TraceFile> open_files(const std::vector<std::string>& paths) {
  std::vector<trace::TraceFile> files = trace_files_in(paths);
  if (files.empty())
    throw Error("no *.trace files in " + paths.front() +
                ": run the pipeline with trace.enabled = true first, or name the run directory (a "
                "deterministic replay leaves none: its time is not the machine's)");
  show_reading(files);
  return files;
}

constexpr int kExitSlower = 3;  // of a comparison; documented in --help and docs/TRACES.md

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

// What is asked of single orders: on standard output, or in files.
void print_orders(const std::vector<trace::TraceFile>& files, const TraceArguments& arguments) {
  OrderQuery query = arguments.query;
  if (!arguments.between.empty()) {
    query.from = hop_of(arguments.between[0]);
    query.to = hop_of(arguments.between[1]);
  }
  const RunResults results = results_in(arguments.places());
  TradedOrders traded;
  for (const VenueTrades& each : results.venues) traded.add(each.venue, each.trades);
  if (arguments.asks_for_orders()) {
    const std::string text = orders_report(files, query, traded,
                                           arguments.json  ? OrderFormat::kJson
                                           : arguments.csv ? OrderFormat::kCsv
                                                           : OrderFormat::kText);
    std::fputs(text.c_str(), stdout);
  }
  if (!arguments.files.empty())
    std::fputs(write_files(files, query, traded, arguments.files).c_str(), stdout);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// A side of a comparison: runs with commas between, the directories of a run's hosts with '+'
// between. A run may be the name of a baseline.
std::vector<TracedRun> runs_named(const std::string& name) {
  const auto is_there = [](const std::string& path) { return std::filesystem::exists(path); };
  std::vector<TracedRun> runs;
  for (const std::string& run : split(name, ',')) {
    const auto paths = is_there(run) ? std::vector<std::string>{run} : split(run, '+');
    if (!run.ends_with(".json") && std::ranges::all_of(paths, is_there)) {
      runs.push_back(traced_run(paths, open_files(paths)));
      continue;
    }
    const std::string saved = baseline_path(run);
    if (!is_there(saved))
      throw Error(run + ": neither a run's directory nor a saved baseline (" + saved + ")");
    for (TracedRun& each : load_baseline(saved)) runs.push_back(std::move(each));
  }
  if (runs.empty()) throw Error("'" + name + "' names no run");
  return runs;
}

DiffFormat diff_format(const TraceArguments& arguments) {
  return arguments.json ? DiffFormat::kJson : arguments.csv ? DiffFormat::kCsv : DiffFormat::kText;
}

void print_difference(const std::vector<TracedRun>& before, const std::vector<TracedRun>& now,
                      const TraceArguments& arguments) {
  require_comparable(before.front(), before, arguments.allowed);
  require_comparable(before.front(), now, arguments.allowed);
  trace::DifferenceOptions options = arguments.difference;
  options.tolerance = arguments.tolerance_percent / 100;
  const auto latencies = [](const std::vector<TracedRun>& runs) {
    std::vector<trace::LatencySeries> series;
    for (const TracedRun& run : runs) series.push_back(run.latencies);
    return series;
  };
  const trace::Difference difference = trace::compare(latencies(before), latencies(now), options);
  std::fputs(diff_report(difference, before, now, options, diff_format(arguments)).c_str(), stdout);
  if (difference.too_few()) throw Error("too few orders to tell: make longer runs");
  if (difference.any(trace::Change::kSlower)) throw Exit{kExitSlower};
}

void compare_and_save(const TraceArguments& arguments) {
  const std::vector<TracedRun> now{traced_run(arguments.places(), open_files(arguments.places()))};
  std::vector<TracedRun> before;  // read first: --save may add to the same one
  if (!arguments.baseline.empty()) before = load_baseline(baseline_path(arguments.baseline));
  if (!arguments.save.empty()) {
    if (now.front().latencies.orders() == 0)
      throw Error("nothing to save: no order that a tick caused is in " + now.front().name);
    const std::string path = baseline_path(arguments.save);
    const std::size_t runs = save_baseline(now.front(), path, arguments.allowed);
    if (before.empty() && diff_format(arguments) == DiffFormat::kText)
      std::printf("saved: %s, %s orders; it has %zu %s now\n", path.c_str(),
                  grouped(now.front().latencies.orders()).c_str(), runs,
                  runs == 1 ? "run" : "runs");
  }
  if (!before.empty()) print_difference(before, now, arguments);
}

void run_trace(const TraceArguments& arguments) {
  if (!arguments.diff.empty())
    return print_difference(runs_named(arguments.diff[0]), runs_named(arguments.diff[1]),
                            arguments);
  if (!arguments.baseline.empty() || !arguments.save.empty()) return compare_and_save(arguments);
  const auto files = open_files(arguments.places());
  if (arguments.asks_for_orders() || !arguments.files.empty())
    return print_orders(files, arguments);
  if (!arguments.query.filter.empty())
    throw Error(
        "--instrument, --strategy, --side, --type, --since and --until choose among orders: "
        "with --worst, --by, --hgrm, --hlog or --perfetto");
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

void add_filters(CLI::App& command, OrderFilter& filter) {
  const char* const kGroup = "Which orders (with --worst, --by, --hgrm, --hlog, --perfetto)";
  std::vector<std::string> types;
  for (int number = 0; number < 256; ++number)
    if (const auto type = static_cast<trading::OrderType>(number); is_known(type))
      types.emplace_back(name(type));
  command.add_option("--instrument", filter.instruments, "Of these symbols")
      ->delimiter(',')
      ->group(kGroup);
  command.add_option("--strategy", filter.strategies, "Of the strategies of these numbers")
      ->delimiter(',')
      ->group(kGroup);
  command.add_option("--side", filter.side, "Of this side")
      ->check(CLI::IsMember({"buy", "sell"}))
      ->group(kGroup);
  command.add_option("--type", filter.types, "Of these types")
      ->delimiter(',')
      ->check(CLI::IsMember(types))
      ->group(kGroup);
  command
      .add_option("--since", filter.since_s,
                  "Whose tick came so many seconds after the run's first packet, or later")
      ->type_name("SECONDS")
      ->group(kGroup);
  command.add_option("--until", filter.until_s, "Whose tick came before")
      ->type_name("SECONDS")
      ->group(kGroup);
}

void add_files(CLI::App& command, OrderFiles& files) {
  command
      .add_option("--hgrm", files.percentiles,
                  "Write the percentiles of orders for HdrHistogram's tools: NAME.raw.hgrm and "
                  "NAME.corrected.hgrm")
      ->type_name("NAME");
  command
      .add_option("--hlog", files.log,
                  "Write an interval log of HdrHistogram's, a line a second, with tags raw and "
                  "corrected")
      ->type_name("FILE");
  auto* perfetto = command.add_option(
      "--perfetto", files.perfetto,
      "Write a trace for ui.perfetto.dev: a track a thread, a flow an order, counters");
  perfetto->type_name("FILE");
  command
      .add_flag("--all-ticks", files.all_ticks,
                "With --perfetto: ticks that led to no order, too (a large file)")
      ->needs(perfetto);
}

void add_comparison(CLI::App& command, TraceArguments& arguments) {
  std::vector<std::string> keys;
  for (const ConditionInfo& each : kConditions) keys.emplace_back(each.key);
  auto* diff = command.add_option(
      "--diff", arguments.diff,
      "Print whether NOW is slower than BEFORE instead, where and by how much; each is a run's "
      "directory or a baseline's name, several with commas between; directories of one run's hosts "
      "with '+' between");
  diff->type_name("BEFORE NOW")->expected(2)->excludes("paths")->excludes("--run-dir");
  auto* baseline =
      command.add_option("--baseline", arguments.baseline, "The same of this run and saved ones");
  baseline->type_name("NAME")->excludes(diff);
  command
      .add_option(
          "--save", arguments.save,
          "Add this run's latencies to baselines/NAME.json (a name with a '/': to that file), "
          "to compare others with them")
      ->type_name("NAME")
      ->excludes(diff);
  command
      .add_option("--allow", arguments.allowed,
                  "With --diff, --baseline or --save: although this differs, or is not known")
      ->delimiter(',')
      ->check(CLI::IsMember(keys));
  command
      .add_option("--tolerance", arguments.tolerance_percent,
                  "With --diff or --baseline: so much slower is not called slower")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  for (const char* other : {"--worst", "--order", "--by", "--samples", "--orders-min", "--hgrm",
                            "--hlog", "--perfetto"})
    for (const char* own : {"--diff", "--baseline", "--save"})
      command.get_option(own)->excludes(command.get_option(other));
  command.footer(
      "Exit status: 0 done, with --diff or --baseline: not slower; 1 failed, not comparable, or "
      "too few orders to tell; 2 wrong arguments; 3 slower.");
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
      ->add_option(
          "--between", arguments->between,
          "With --worst, --order, --by, --hgrm or --hlog: from one hop to another one (default: "
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
  add_filters(*command, arguments->query.filter);
  add_files(*command, arguments->files);
  add_comparison(*command, *arguments);
  command->callback([arguments] { run_trace(*arguments); });
}

}  // namespace tickpath::cli
