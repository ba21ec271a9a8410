#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/route_check.hpp"
#include "tools/cli/routed_run.hpp"

namespace tickpath::cli {
namespace {

struct RoutesArguments {
  std::vector<std::string> run_dirs;
  std::vector<std::string> recordings;  // "2=FILE"
};

std::map<std::uint8_t, std::string> recordings_of(const std::vector<std::string>& given) {
  std::map<std::uint8_t, std::string> recordings;
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    std::uint8_t venue = 0;
    const char* const end = each.data() + std::min(equals, each.size());
    const auto [stopped, error] = std::from_chars(each.data(), end, venue);
    if (equals == std::string::npos || equals + 1 == each.size() || error != std::errc{} ||
        stopped != end)
      throw Error("--recording " + each + ": a venue's number and a file are needed, as in 2=FILE");
    recordings[venue] = each.substr(equals + 1);
  }
  return recordings;
}

void run_routes(const RoutesArguments& arguments) {
  const RouteCheck check =
      check_routes(read_routed_run(arguments.run_dirs, recordings_of(arguments.recordings)));
  std::fputs(to_text(check).c_str(), stdout);
  std::fflush(stdout);
  if (!check.holds()) throw Error(check.problem());
}

}  // namespace

void add_routes_command(CLI::App& app) {
  auto* command = add_other_command(app, "routes");
  auto arguments = std::make_shared<RoutesArguments>();
  command
      ->add_option("run-dir", arguments->run_dirs,
                   "Of the run that ended; one of each host, copied to this one")
      ->required();
  command->add_option("--recording", arguments->recordings,
                      "NUMBER=FILE: what was on the feed of this venue, where it is not what its "
                      "sim replayed (matching.publish), or no sim was there");
  command->footer(
      "Ends with status 1 when a decision was worse than the best venue alone, was not what the "
      "rules say, or could not be checked.");
  command->callback([arguments] { run_routes(*arguments); });
}

}  // namespace tickpath::cli
