#include "common/cli/generate_command.hpp"

#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/cli/progress_bar.hpp"
#include "common/cli/recording_writer.hpp"
#include "common/itch/generator.hpp"

namespace tickpath::cli {
namespace {

struct GenerateArguments {
  std::string output;
  itch::GeneratorOptions options;
  std::string start = "09:30:00";
  double duration_s = 0;  // 0: what the rate gives
};

void run_generate(const GenerateArguments& arguments) {
  itch::GeneratorOptions options = arguments.options;
  options.start_ns = parse_time_of_day(arguments.start);
  if (arguments.duration_s > 0) {
    options.messages_per_second = static_cast<double>(options.messages) / arguments.duration_s;
  }
  const auto begin = std::chrono::steady_clock::now();
  itch::Generator generator(options);
  const RecordingSummary summary = write_recording(generator, arguments.output, "generating");
  const auto taken = std::chrono::steady_clock::now() - begin;
  print_summary(summary, arguments.output);
  std::printf("%s symbols from %s (most active) to %s, seed %llu, generated in %.1f s\n",
              grouped(options.symbols).c_str(), itch::generated_symbol(0).c_str(),
              itch::generated_symbol(options.symbols - 1).c_str(),
              static_cast<unsigned long long>(options.seed),
              std::chrono::duration<double>(taken).count());
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto* command = app.add_subcommand("generate", "Write a seeded, realistic ITCH 5.0 recording");
  auto arguments = std::make_shared<GenerateArguments>();
  itch::GeneratorOptions& options = arguments->options;
  command
      ->add_option("output,-o,--output", arguments->output,
                   "File to write, ITCH 5.0 in BinaryFILE framing; compressed if it ends in .gz")
      ->required();
  command->add_option("--messages", options.messages, "Messages in all, exactly")
      ->capture_default_str();
  command->add_option("--symbols", options.symbols, "Symbols, 1 to 10000: ZAAA, ZAAB, ...")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "The same seed and options give the same bytes")
      ->capture_default_str();
  command->add_option("--start", arguments->start, "Time of the first message")
      ->capture_default_str();
  auto* rate = command
                   ->add_option("--rate", options.messages_per_second,
                                "Mean messages a second; gives the duration")
                   ->capture_default_str();
  command
      ->add_option("--duration", arguments->duration_s,
                   "Time from first to last message (100ms, 30s, 5min, 1h; a number is seconds); "
                   "gives the rate")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}))
      ->check(CLI::PositiveNumber)
      ->excludes(rate);
  command
      ->add_option("--burst", options.burst_share,
                   "Share of messages that come in bursts of about 100, 2.4 us apart; 0 to 0.9")
      ->capture_default_str();
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace tickpath::cli
