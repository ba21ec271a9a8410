#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "sim/flow/parameter_file.hpp"
#include "sim/generator/generator.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/flow_report.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/recording_writer.hpp"

namespace tickpath::cli {
namespace {

struct GenerateArguments {
  std::string output;
  itch::GeneratorOptions options;
  std::string start = "09:30:00";
  std::string rate;
  double duration_s = 0;  // 0: what the rate gives
  std::int64_t halts = -1;
  bool no_auctions = false;
  std::string flow;
  itch::FlowParameters parameters;
  std::string calibrate;
  bool cpp = false;
  bool report = false;
  std::string against;
  bool json = false;
  bool messages_given = false, symbols_given = false;
};

// Two of messages, rate and duration give the third; rate and duration are of a day.
void settle_length(const GenerateArguments& arguments, itch::GeneratorOptions& options) {
  const bool has_rate = !arguments.rate.empty();
  if (has_rate) options.messages_per_second = parse_rate(arguments.rate);
  if (arguments.duration_s <= 0) return;
  const double seconds = arguments.duration_s * options.days;
  if (has_rate && arguments.messages_given)
    throw CLI::ValidationError("--messages, --rate and --duration: give two of them");
  if (has_rate)
    options.messages =
        static_cast<std::uint64_t>(std::llround(options.messages_per_second * seconds));
  else
    options.messages_per_second = static_cast<double>(options.messages) / seconds;
}

void run_calibrate(const GenerateArguments& arguments) {
  const itch::FlowParameters parameters = calibrate_on(arguments.calibrate);
  std::fputs(arguments.cpp ? flow::to_cpp(parameters).c_str() : flow::to_json(parameters).c_str(),
             stdout);
}

void run_report(const GenerateArguments& arguments, itch::GeneratorOptions options) {
  std::vector<flow::Column> columns;
  if (!arguments.against.empty()) {
    flow::FlowRecord real = observe_file(arguments.against);
    // Like with like, unless told otherwise: one symbol, as many events in as much time.
    if (!arguments.symbols_given) options.symbols = 1;
    const bool free =
        !arguments.messages_given && arguments.rate.empty() && arguments.duration_s <= 0;
    if (free) match_length(real, options);
    columns.push_back(column_of(arguments.against, real));
  }
  columns.insert(columns.begin(), column_of("generated", observe_generated(options)));
  std::fputs(
      arguments.json ? flow::report_json(columns).c_str() : flow::report_text(columns).c_str(),
      stdout);
}

void run_generate(GenerateArguments& arguments) {
  if ((arguments.report || !arguments.calibrate.empty()) && !arguments.output.empty())
    throw CLI::ValidationError("--report and --calibrate write no recording, so '" +
                               arguments.output +
                               "' has no use; a recording to look at is named by --against FILE or "
                               "--calibrate FILE");
  if (!arguments.calibrate.empty()) return run_calibrate(arguments);
  itch::GeneratorOptions options = arguments.options;
  options.start_ns = parse_time_of_day(arguments.start);
  options.auctions = !arguments.no_auctions;
  if (arguments.halts >= 0) options.halts = static_cast<std::uint32_t>(arguments.halts);
  if (!arguments.flow.empty()) {
    arguments.parameters = flow::load_parameters(arguments.flow);
    options.flow = &arguments.parameters;
  }
  settle_length(arguments, options);
  if (arguments.report) return run_report(arguments, options);
  if (arguments.output.empty()) throw CLI::RequiredError("output (or --report, or --calibrate)");
  const auto begin = std::chrono::steady_clock::now();
  itch::Generator generator(options);
  const RecordingSummary summary = write_recording(generator, arguments.output, "generating");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  print_summary(summary, arguments.output);
  std::printf(
      "%s symbols from %s (most active) to %s, seed %llu, generated in %.1f s (%s messages/s)\n",
      grouped(options.symbols).c_str(), itch::generated_symbol(0).c_str(),
      itch::generated_symbol(options.symbols - 1).c_str(),
      static_cast<unsigned long long>(options.seed), taken.count(),
      grouped(static_cast<std::uint64_t>(static_cast<double>(summary.messages) / taken.count()))
          .c_str());
}

void add_length_options(CLI::App& command, GenerateArguments& arguments) {
  itch::GeneratorOptions& options = arguments.options;
  command
      .add_option("--messages", options.messages, "Messages in all, exactly; of all days together")
      ->capture_default_str()
      ->each([&arguments](const std::string&) { arguments.messages_given = true; });
  command.add_option("--start", arguments.start, "Time of each day's first message")
      ->capture_default_str();
  command.add_option("--rate", arguments.rate,
                     "Mean messages a second, or an hour: 20000, 8k/s, 30M/h (without --duration: "
                     "20000)");
  command
      .add_option("--duration,--hours", arguments.duration_s,
                  "Time from a day's first message to its last (100ms, 30s, 5min, 6.5h; a number "
                  "is seconds)")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}))
      ->check(CLI::PositiveNumber);
  command
      .add_option("--days", options.days,
                  "Days, 1 to 100: times start anew, order numbers go on, open orders are "
                  "deleted in between")
      ->capture_default_str();
}

void add_flow_options(CLI::App& command, GenerateArguments& arguments) {
  itch::GeneratorOptions& options = arguments.options;
  command.add_option("--symbols", options.symbols, "Symbols, 1 to 10000: ZAAA, ZAAB, ...")
      ->capture_default_str()
      ->each([&arguments](const std::string&) { arguments.symbols_given = true; });
  command.add_option("--seed", options.seed, "The same seed and options give the same bytes")
      ->capture_default_str();
  command
      .add_option("--clustering", options.clustering,
                  "How much of the measured clustering: 1 all of it, 0 none (a Poisson flow)")
      ->capture_default_str();
  command
      .add_option("--halts", arguments.halts,
                  "Volatility pauses a day; by default one for 40,000 messages")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--no-auctions", arguments.no_auctions,
                   "Without imbalances and crosses at the open and the close");
  command.add_option("--flow", arguments.flow,
                     "Parameters of the order flow, as --calibrate writes them (JSON)");
}

void add_report_options(CLI::App& command, GenerateArguments& arguments) {
  command.add_option("--calibrate", arguments.calibrate,
                     "Measure the flow of this recording's busiest symbol and print its "
                     "parameters; writes no recording");
  command.add_flag("--cpp", arguments.cpp, "--calibrate: as C++ source, for the built-in flow");
  command.add_flag("--report", arguments.report,
                   "Print the statistics of the busiest symbol's flow; writes no recording");
  command.add_option("--against", arguments.against,
                     "--report: beside those of this recording's busiest symbol; one symbol, with "
                     "its rate and length, is generated unless other options tell otherwise");
  command.add_flag("--json", arguments.json, "--report: as one JSON object");
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "generate", "Write a seeded, realistic ITCH 5.0 recording; or measure what makes one so");
  auto arguments = std::make_shared<GenerateArguments>();
  command->add_option(
      "output,-o,--output", arguments->output,
      "File to write, ITCH 5.0 in BinaryFILE framing; compressed if it ends in .gz");
  add_length_options(*command, *arguments);
  add_flow_options(*command, *arguments);
  add_report_options(*command, *arguments);
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace tickpath::cli
