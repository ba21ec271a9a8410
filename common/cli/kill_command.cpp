#include "common/cli/kill_command.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"

namespace tickpath::cli {
namespace {

struct KillArguments {
  std::string run_dir = "run";
  std::string risk = "risk";
  std::optional<std::uint8_t> strategy;
};

void run_switch(const std::string& command, const KillArguments& arguments) {
  control::Json request{{"command", command}};
  if (arguments.strategy) request["strategy"] = *arguments.strategy;
  (void)control::admin_command(control::admin_path(arguments.run_dir, arguments.risk), request);
  const std::string whom = arguments.strategy ? "strategy " + std::to_string(*arguments.strategy)
                                              : std::string("all strategies");
  std::printf(
      "%s: %s\n", whom.c_str(),
      command == "kill" ? "no new orders and replacements; cancels pass" : "may trade again");
}

void add_switch(CLI::App& app, const std::string& name, const std::string& help) {
  auto* command = app.add_subcommand(name, help);
  auto arguments = std::make_shared<KillArguments>();
  command->add_option("--strategy", arguments->strategy, "Strategy id, 0 to 255 (default: all)");
  command->add_option("--run-dir", arguments->run_dir, "Where risk runs")->capture_default_str();
  command->add_option("--risk", arguments->risk, "Instance name of risk")->capture_default_str();
  command->callback([name, arguments] { run_switch(name, *arguments); });
}

}  // namespace

void add_kill_commands(CLI::App& app) {
  add_switch(app, "kill", "Stop new orders now, of one strategy or of all");
  add_switch(app, "unkill", "Let a strategy, or all, trade again");
}

}  // namespace tickpath::cli
