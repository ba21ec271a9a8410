#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/feeds/flow/parameter_file.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/generator/venues.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/flow_report.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/recording_writer.hpp"
#include "tools/cli/venues_report.hpp"

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
  std::uint32_t venues = 0;  // 0: a market of one, one file
  std::vector<double> shares, leads;
  double lag_s = itch::VenueMarket::kLagNs * 1e-9;
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

void print_generated(const itch::GeneratorOptions& options, std::uint64_t messages,
                     std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%s symbols from %s (most active) to %s, seed %llu, generated in %.1f s (%s messages/s)\n",
      grouped(options.symbols).c_str(), itch::generated_symbol(0).c_str(),
      itch::generated_symbol(options.symbols - 1).c_str(),
      static_cast<unsigned long long>(options.seed), taken.count(),
      grouped(static_cast<std::uint64_t>(static_cast<double>(messages) / taken.count())).c_str());
}

// A file a venue, and what reading them back says of the market that they make.
void run_generate_venues(const GenerateArguments& arguments,
                         const itch::GeneratorOptions& options) {
  itch::VenueMarket market = itch::market_of(options, arguments.venues);
  if (!arguments.shares.empty() || !arguments.leads.empty()) {
    std::vector<double> shares = arguments.shares;
    if (shares.empty())
      for (const itch::VenueProfile& venue : market.venues) shares.push_back(venue.volume);
    itch::set_shares(market, options, shares, arguments.leads);
  }
  market.lag_ns = arguments.lag_s * 1e9;
  const auto begin = std::chrono::steady_clock::now();
  // All before the first file: what one of them refuses leaves nothing behind.
  std::vector<std::unique_ptr<itch::Generator>> generators;
  for (std::uint32_t venue = 0; venue < arguments.venues; ++venue)
    generators.push_back(
        std::make_unique<itch::Generator>(itch::options_of_venue(options, market, venue)));
  std::vector<std::string> files;
  for (std::uint32_t venue = 0; venue < arguments.venues; ++venue) {
    files.push_back(venue_path(arguments.output, venue).string());
    const RecordingSummary summary = write_recording(
        *generators[venue], files.back(), "generating venue " + std::to_string(venue + 1));
    print_summary(summary, files.back());
  }
  print_generated(options, options.messages, begin);
  // The first of several days.
  std::fputs(venues_text(compare_files(files), files).c_str(), stdout);
}

void run_generate(GenerateArguments& arguments) {
  if ((arguments.report || !arguments.calibrate.empty()) && !arguments.output.empty())
    throw CLI::ValidationError("--report and --calibrate write no recording, so '" +
                               arguments.output +
                               "' has no use; a recording to look at is named by --against FILE or "
                               "--calibrate FILE");
  if (arguments.venues > 0 && (arguments.report || !arguments.calibrate.empty()))
    throw CLI::ValidationError("--venues writes recordings; --report and --calibrate write none");
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
  if (arguments.venues > 0) return run_generate_venues(arguments, options);
  const auto begin = std::chrono::steady_clock::now();
  itch::Generator generator(options);
  const RecordingSummary summary = write_recording(generator, arguments.output, "generating");
  print_summary(summary, arguments.output);
  print_generated(options, summary.messages, begin);
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

void add_venue_options(CLI::App& command, GenerateArguments& arguments) {
  auto* venues =
      command.add_option("--venues", arguments.venues,
                         "Recordings of so many venues, 2 to 8, that trade the same symbols on one "
                         "clock: of FILE.itch50 "
                         "FILE-1.itch50, FILE-2.itch50, ... Messages and rate are of all together");
  venues->check(CLI::Range(itch::kVenuesMin, itch::kVenuesMax));
  command
      .add_option(
          "--venue-shares", arguments.shares,
          "--venues: share of the messages of each, any weights: 60,40 (for two, the default)")
      ->delimiter(',')
      ->needs(venues);
  command
      .add_option("--venue-leads", arguments.leads,
                  "--venues: how often each is the first to follow a move of a symbol's value, any "
                  "weights; by default its share of the messages")
      ->delimiter(',')
      ->needs(venues);
  command
      .add_option(
          "--lag", arguments.lag_s,
          "--venues: median time by which the others follow the first (300us; 0: all at one "
          "instant, so that nothing is ever locked or crossed)")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}))
      ->check(CLI::Range(0.0, 1.0))
      ->needs(venues);
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
  add_venue_options(*command, *arguments);
  add_report_options(*command, *arguments);
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace tickpath::cli
