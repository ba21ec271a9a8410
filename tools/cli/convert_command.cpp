#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/feeds/recordings/deep_to_itch.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/recording_writer.hpp"

namespace tickpath::cli {
namespace {

struct ConvertArguments {
  std::string input;
  std::string output;
  itch::OpenOptions options;
};

std::unique_ptr<itch::RecordingReader> open_as_itch(const ConvertArguments& arguments) {
  if (iex::CaptureReader::open(arguments.input))
    return std::make_unique<iex::DeepToItch>(arguments.input);
  return itch::open_recording(arguments.input, arguments.options);
}

void run_convert(const ConvertArguments& arguments) {
  std::error_code error;
  if (std::filesystem::equivalent(arguments.input, arguments.output, error)) {
    throw Error(arguments.output + ": is the input itself; name another file to write");
  }
  const std::filesystem::path folder = std::filesystem::path(arguments.output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw Error(arguments.output + ": there is no directory " + folder.string());
  const auto recording = open_as_itch(arguments);
  const RecordingSummary summary = write_recording(*recording, arguments.output, "converting");
  print_summary(summary, arguments.output);
  if (const std::string remarks = recording->remarks(); !remarks.empty()) {
    std::printf("%s: %s\n", arguments.input.c_str(), remarks.c_str());
  }
  if (summary.damaged) {
    throw Error(recording->damage() + "; everything before it was written to " + arguments.output);
  }
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto* command = app.add_subcommand("convert", "Turn a recording into ITCH 5.0 (BinaryFILE)");
  auto arguments = std::make_shared<ConvertArguments>();
  command
      ->add_option(
          "input", arguments->input,
          "LOBSTER message file (.csv; the _orderbook_ file beside it is read, too), Databento "
          "market "
          "by order (DBN or .csv), ITCH recording or packet capture (pcap, pcapng) of ITCH over "
          "MoldUDP64 or of IEX DEEP 1.0, each plain, .gz or .zst")
      ->required();
  command
      ->add_option("output", arguments->output,
                   "File to write; compressed if it ends in .gz or .zst")
      ->required();
  command->add_option("--symbol", arguments->options.stock,
                      "LOBSTER: the symbol, if the file name does not start with it");
  command->callback([arguments] { run_convert(*arguments); });
}

}  // namespace tickpath::cli
