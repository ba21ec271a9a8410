#include <algorithm>
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
  std::string oeg;           // one of the pair
  std::optional<int> venue;  // whose pair
  std::string shard;         // of the venue, whose pair
  double timeout_s = 10;
};

struct Leader {
  std::string name;
  std::uint64_t epoch = 0;
  bool logged_on = false;
};

// One that starts anew answers late: the other one must not wait for it.
constexpr int kAnswerMs = 20;

// The two trade the same symbols of a venue, and nobody else does.
struct Pair {
  int venue = 0;
  std::string shard;
  std::vector<std::string> names;

  // "oeg-1 and oeg-2 (venue 1, shard 2/4)"
  std::string text() const {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
    return text + " (venue " + std::to_string(venue) + (shard.empty() ? "" : ", shard " + shard) +
           ")";
  }
};

bool is_meant(const SwitchArguments& arguments, const Pair& pair) {
  return (!arguments.venue || pair.venue == *arguments.venue) &&
         (arguments.shard.empty() || pair.shard == arguments.shard) &&
         (arguments.oeg.empty() ||
          std::ranges::find(pair.names, arguments.oeg) != pair.names.end());
}

// One that does not answer may be the other of a pair; alone it is none.
std::vector<Pair> pairs_of(const SwitchArguments& arguments) {
  std::vector<Pair> pairs;
  std::vector<RunningProgram> silent;
  const auto add = [&](const RunningProgram& program, bool begins) {
    const auto found = std::ranges::find_if(pairs, [&](const Pair& pair) {
      return pair.venue == program.venue && pair.shard == program.shard;
    });
    if (found != pairs.end())
      found->names.push_back(program.name);
    else if (begins)
      pairs.push_back({program.venue, program.shard, {program.name}});
  };
  for (const RunningProgram& program : running_programs(arguments.run_dir)) {
    if (program.program != arguments.program) continue;
    if (!program.answers)
      silent.push_back(program);
    else if (program.paired)
      add(program, true);
  }
  for (const RunningProgram& program : silent) add(program, false);
  for (Pair& pair : pairs) std::ranges::sort(pair.names);
  return pairs;
}

// The pair that is meant. Throws Error where there is none, or more than one.
Pair pair_of(const SwitchArguments& arguments) {
  std::vector<Pair> pairs = pairs_of(arguments);
  std::erase_if(pairs, [&](const Pair& pair) { return !is_meant(arguments, pair); });
  if (pairs.empty())
    throw Error("no " + arguments.program + " of such a pair runs in '" + arguments.run_dir + "'");
  std::string texts;
  for (const Pair& pair : pairs) texts += (texts.empty() ? "" : ", ") + pair.text();
  if (pairs.size() > 1)
    throw Error("there are " + std::to_string(pairs.size()) + " pairs: " + texts +
                "; --oeg, --venue or --shard says which one is to switch");
  if (pairs.front().names.size() > 2)
    throw Error(texts + " are more than a pair: give each pair's files its own venue_number");
  return pairs.front();
}

// The leader of the pair, as the programs themselves say; the highest epoch where two say so.
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
  const std::vector<std::string> names = pair_of(arguments).names;
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
  command->add_option("--oeg", arguments->oeg, "Of several pairs: instance name of one of the two");
  command->add_option("--venue", arguments->venue, "Of several pairs: that of this venue's number");
  command->add_option("--shard", arguments->shard, "Of several pairs: that of this shard, as 2/4");
  command
      ->add_option("--timeout", arguments->timeout_s,
                   "Seconds to wait; then the exit status is 1 and the text says who leads")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback([arguments] { run_switch(*arguments); });
}

}  // namespace tickpath::cli
