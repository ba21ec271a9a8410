#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {
namespace {

struct RevokeArguments {
  std::string role;
  std::string run_dir = "run";
  std::string oeg = "oeg";
};

void run_rights_command(const std::string& command, const RevokeArguments& arguments) {
  const control::Json answer =
      control::admin_command(control::admin_path(arguments.run_dir, arguments.oeg),
                             {{"command", command}, {"role", arguments.role}});
  if (command == "restore")
    std::printf("%s may connect to %s again\n", arguments.role.c_str(), arguments.oeg.c_str());
  else
    std::printf("%s: %llu rights taken back; refused until `tickpath restore %s`\n",
                arguments.role.c_str(),
                static_cast<unsigned long long>(answer.value("revoked", std::uint64_t{0})),
                arguments.role.c_str());
}

void add_rights_command(CLI::App& app, const std::string& name, const std::string& help) {
  auto* command = app.add_subcommand(name, help);
  auto arguments = std::make_shared<RevokeArguments>();
  command->add_option("role", arguments->role, "risk (its control block) or tool (its tables)")
      ->required();
  command->add_option("--run-dir", arguments->run_dir, "Where oeg runs")->capture_default_str();
  command->add_option("--oeg", arguments->oeg, "Instance name of oeg")->capture_default_str();
  command->callback([name, arguments] { run_rights_command(name, *arguments); });
}

}  // namespace

void add_revoke_commands(CLI::App& app) {
  add_rights_command(app, "revoke",
                     "Take back what a role may touch in oeg's memory, while it runs");
  add_rights_command(app, "restore", "Let a role connect again whose rights were revoked");
}

}  // namespace tickpath::cli
