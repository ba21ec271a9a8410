#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

using control::Json;
using Clock = std::chrono::steady_clock;

struct SwitchArguments {
  std::string program;
  std::string run_dir = "run";
  double timeout_s = 10;
};

struct Leader {
  std::string name;
  std::uint64_t epoch = 0;
  bool logged_on = false;
};

// One that starts anew answers late: the other one must not wait for it.
constexpr int kAnswerMs = 20;

std::vector<std::string> members(const SwitchArguments& arguments) {
  std::vector<std::string> names;
  for (const RunningProgram& program : running_programs(arguments.run_dir))
    if (program.program == arguments.program) names.push_back(program.name);
  return names;
}

// Of the pair, as the programs themselves say; the highest epoch where two say so.
std::optional<Leader> leader_of(const SwitchArguments& arguments,
                                const std::vector<std::string>& names, int answer_ms) {
  std::optional<Leader> found;
  for (const std::string& name : names) {
    const Json status = try_status(arguments.run_dir, name, answer_ms);
    if (!status.is_object() || !status.contains("pair")) continue;
    const Json& pair = status.at("pair");
    const std::uint64_t epoch = pair.value("epoch", std::uint64_t{0});
    if (pair.value("role", "") != "leader" || (found && found->epoch > epoch)) continue;
    found = Leader{name, epoch, status.value("venue", Json::object()).value("logged_on", false)};
  }
  return found;
}

void run_switch(const SwitchArguments& arguments) {
  const std::vector<std::string> names = members(arguments);
  const std::optional<Leader> before = leader_of(arguments, names, kStatusMs);
  if (!before)
    throw Error("no " + arguments.program + " of a pair leads in '" + arguments.run_dir + "'");
  const Clock::time_point begin = Clock::now();
  try {
    control::admin_command(control::admin_path(arguments.run_dir, before->name),
                           {{"command", "switch"}});
  } catch (const Error& error) {
    throw Error(before->name + " leads on: " + error.what());
  }
  const auto end = begin + std::chrono::duration<double>(arguments.timeout_s);
  std::optional<Leader> now;
  for (;;) {
    now = leader_of(arguments, names, kAnswerMs);
    if (now && now->name != before->name && now->epoch > before->epoch && now->logged_on) break;
    if (Clock::now() >= end)
      throw Error(formatted("after %g s ", arguments.timeout_s) +
                  (!now                        ? "nobody leads"
                   : now->name == before->name ? before->name + " leads still"
                                               : now->name + " leads, and is not logged on"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("%s leads, epoch %llu, logged on; it was %s (%.0f ms, as seen from here)\n",
              now->name.c_str(), static_cast<unsigned long long>(now->epoch), before->name.c_str(),
              std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
}

}  // namespace

void add_switch_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "switch", "Let the standby of a pair lead; ends when it is logged on to the venue");
  auto arguments = std::make_shared<SwitchArguments>();
  command->add_option("program", arguments->program, "Which pair: oeg")
      ->required()
      ->check(CLI::IsMember({"oeg"}));
  command->add_option("--run-dir", arguments->run_dir, "Where the pair runs")
      ->capture_default_str();
  command
      ->add_option("--timeout", arguments->timeout_s,
                   "Seconds to wait; then the exit status is 1 and the text says who leads")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback([arguments] { run_switch(*arguments); });
}

}  // namespace tickpath::cli
