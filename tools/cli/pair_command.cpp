#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

struct FoundArguments {
  std::string oeg;
  std::string run_dir = "run";
  std::uint32_t over = 0;
};

// oeg asks the other one and the witnesses before it answers, each for a few seconds at most.
constexpr int kFoundMs = 25'000;

// An oeg of the same pair that leads, in this run directory. The one that is to found asks the
// other one itself, wherever that runs; this text has its name. Throws Error.
void refuse_beside_leader(const FoundArguments& arguments) {
  for (const RunningProgram& program : running_programs(arguments.run_dir)) {
    if (program.name != arguments.oeg) continue;
    const Json status = try_status(arguments.run_dir, program.name);
    if (!status.is_object() || !status.contains("pair")) return;
    const Json& pair = status.at("pair");
    if (pair.value("role", "") == "leader" && !pair.value("blocked", false))
      throw Error(arguments.oeg + " leads already, in epoch " + pair.at("epoch").dump());
    return;
  }
  throw Error("no " + arguments.oeg + " runs in '" + arguments.run_dir + "': start it first");
}

void found_pair(const FoundArguments& arguments) {
  refuse_beside_leader(arguments);
  Json answer;
  try {
    answer = control::admin_command(control::admin_path(arguments.run_dir, arguments.oeg),
                                    {{"command", "found"}, {"over", arguments.over}}, kFoundMs);
  } catch (const Error& error) {
    throw Error(arguments.oeg + " does not lead: " + error.what());
  }
  std::printf("%s leads, in epoch %s; the other oeg joins it when it starts\n",
              arguments.oeg.c_str(), answer.at("epoch").dump().c_str());
}

}  // namespace

void add_pair_command(CLI::App& app) {
  auto* pair = app.add_subcommand("pair", "Leadership of a pair of oegs, by a person");
  pair->require_subcommand(1);
  auto* command = pair->add_subcommand(
      "found",
      "Let an oeg lead that waits for its pair, or for a word that no witness gives it any more: "
      "the "
      "other one is lost, or is yet to come. It is refused where the other one leads or runs, and "
      "where no witness answers");
  auto arguments = std::make_shared<FoundArguments>();
  command->add_option("oeg", arguments->oeg, "Instance name of the oeg that is to lead")
      ->required();
  command->add_option("--run-dir", arguments->run_dir, "Where it runs")->capture_default_str();
  command->add_option("--over", arguments->over,
                      "The epoch in which, by the witness's word, the other oeg led last. Give it "
                      "once that one does not run on any host, and will not");
  command->callback([arguments] { found_pair(*arguments); });
}

}  // namespace tickpath::cli
