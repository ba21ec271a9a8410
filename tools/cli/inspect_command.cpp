#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/commands.hpp"
#include "tools/cli/recording_contents.hpp"
#include "tools/cli/venues_report.hpp"

namespace tickpath::cli {
namespace {

constexpr int kDamagedStatus = 3;

struct InspectArguments {
  std::vector<std::string> files;
  itch::OpenOptions options;
  bool json = false;
  bool venues = false;
};

RecordingContents contents_of(const std::string& file, const itch::OpenOptions& options) {
  if (const auto capture = iex::CaptureReader::open(file))
    return read_contents(*capture, "reading");
  return read_contents(*itch::open_recording(file, options), "reading");
}

void run_inspect(const InspectArguments& arguments) {
  if (arguments.venues && arguments.files.size() < 2)
    throw CLI::ValidationError("--venues compares two recordings or more, this is one");
  bool damaged = false;
  for (const std::string& file : arguments.files) {
    const RecordingContents contents = contents_of(file, arguments.options);
    std::fputs(arguments.json ? contents_json(contents, file).c_str()
                              : contents_text(contents, file).c_str(),
               stdout);
    std::fflush(stdout);
    damaged |= !contents.damage.empty();
  }
  if (damaged) throw Exit{kDamagedStatus};
  if (!arguments.venues) return;
  const flow::VenueComparison comparison = compare_files(arguments.files);
  std::fputs(arguments.json ? venues_json(comparison, arguments.files).c_str()
                            : venues_text(comparison, arguments.files).c_str(),
             stdout);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "inspect", "What a recording holds: format, time, symbols, messages by type, gaps, damage");
  auto arguments = std::make_shared<InspectArguments>();
  command
      ->add_option(
          "files", arguments->files,
          "ITCH recordings, packet captures of ITCH over MoldUDP64 or of IEX DEEP and TOPS over "
          "IEX-TP, LOBSTER files, Databento DBN")
      ->required();
  command->add_option("--symbol", arguments->options.stock,
                      "LOBSTER: the symbol, if the file name does not start with it");
  command->add_flag("--json", arguments->json, "One JSON object a file, a line each");
  command->add_flag("--venues", arguments->venues,
                    "The recordings are venues of one market, on one clock: also how long their "
                    "quotes are locked and crossed, and whose prices move first");
  command->footer("Exit status: 0 whole, 3 damaged (everything before the damage was read).");
  command->callback([arguments] { run_inspect(*arguments); });
}

}  // namespace tickpath::cli
