#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_up.hpp"

namespace tickpath::cli {
namespace {

struct RevokeArguments {
  std::string role;
  std::string run_dir = "run";
  std::string oeg;  // empty: all
};

// Every oeg that runs or has run here: of a pair both, for either may lead; of each venue and
// shard.
std::vector<std::string> oegs_of(const RevokeArguments& arguments) {
  if (!arguments.oeg.empty()) return {arguments.oeg};
  std::vector<std::string> names = all_that_ran(arguments.run_dir);
  std::erase_if(names, [&](const std::string& name) {
    return part_of_instance(arguments.run_dir, name).program != "oeg";
  });
  if (names.empty()) throw Error("no oeg runs in '" + arguments.run_dir + "', or has run there");
  return names;
}

// Throws Error: what that oeg says against it, or that it cannot be asked.
void ask(const std::string& command, const RevokeArguments& arguments, const std::string& oeg) {
  const control::Json answer =
      control::admin_command(control::admin_path(arguments.run_dir, oeg),
                             {{"command", command}, {"role", arguments.role}});
  if (command == "restore")
    std::printf("%s may connect to %s again\n", arguments.role.c_str(), oeg.c_str());
  else
    std::printf(
        "%s: %s: %llu rights taken back; refused, also after a restart, until "
        "`tickpath restore %s`\n",
        arguments.role.c_str(), oeg.c_str(),
        static_cast<unsigned long long>(answer.value("revoked", std::uint64_t{0})),
        arguments.role.c_str());
}

void run_rights_command(const std::string& command, const RevokeArguments& arguments) {
  std::string problems;
  for (const std::string& oeg : oegs_of(arguments)) {
    try {
      ask(command, arguments, oeg);
    } catch (const Error& error) {
      problems += (problems.empty() ? "" : "\n") + oeg + ": " + error.what();
    }
  }
  if (command == "revoke" && arguments.role == "tool")
    std::printf("what an mdh gives to tools stays as it is: only oeg takes rights back\n");
  std::fflush(stdout);
  if (!problems.empty()) throw Error(problems + "\ngive the command again once that is mended");
}

void add_rights_command(CLI::App& app, const std::string& name, const std::string& help) {
  auto* command = app.add_subcommand(name, help);
  auto arguments = std::make_shared<RevokeArguments>();
  command->add_option("role", arguments->role, "risk (its control block) or tool (its tables)")
      ->required();
  command->add_option("--run-dir", arguments->run_dir, "Where oeg runs")->capture_default_str();
  command->add_option("--oeg", arguments->oeg,
                      "Instance name of oeg (default: each that runs or has run there)");
  command->callback([name, arguments] { run_rights_command(name, *arguments); });
}

}  // namespace

void add_revoke_commands(CLI::App& app) {
  add_rights_command(app, "revoke",
                     "Take back what a role may touch in oeg's memory, until it is restored");
  add_rights_command(app, "restore", "Let a role connect again whose rights were revoked");
}

}  // namespace tickpath::cli
