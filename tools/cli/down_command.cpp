#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/remote_proxy.hpp"
#include "tools/cli/remote_up.hpp"
#include "tools/cli/run_dir_check.hpp"
#include "tools/cli/run_owner.hpp"

namespace tickpath::cli {
namespace {

struct DownArguments {
  std::string run_dir = "run";
  std::vector<std::string> only;
  double timeout_s = 20;
  bool kill = false;
};

// And what it has sent goes through mdh, while those that read it are there.
void halt_replay(const std::string& run_dir, const std::vector<RunningProgram>& programs) {
  std::vector<std::string> mdhs;
  std::vector<std::string> halted;
  for (const RunningProgram& program : programs) {
    if (program.program == "mdh") mdhs.push_back(program.name);
    if (program.program != "sim") continue;
    try {
      control::admin_command(control::admin_path(run_dir, program.name), {{"command", "halt"}},
                             2000);
      halted.push_back(program.name);
    } catch (const Error& error) {
      std::fprintf(stderr, "halting the replay: %s\n", error.what());
    }
  }
  if (!halted.empty() && !mdhs.empty()) await_rest(run_dir, halted, mdhs);
}

// Noted before the first ends. `up` then knows that this is no strategy alone, and starts none of
// them again, not even one that is dead now. A program that it has just started takes its place in
// the run directory a little later.
void note_stop_of_all(const std::string& run_dir) {
  for (const std::string& name : control::RunDirectory::names(run_dir)) note_stop(run_dir, name);
  constexpr auto kPlace = std::chrono::seconds(2);
  constexpr auto kBetween = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + kPlace;
  while (RunOwner::starts_one(run_dir) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kBetween);
}

// The programs that are asked for, in stop order; Error for one that does not run.
std::vector<RunningProgram> chosen(const DownArguments& arguments) {
  std::vector<RunningProgram> programs = running_programs(arguments.run_dir);
  if (arguments.only.empty()) return programs;
  for (const std::string& name : arguments.only)
    if (std::none_of(programs.begin(), programs.end(),
                     [&](const RunningProgram& each) { return each.name == name; }))
      throw Error("'" + name + "' does not run in '" + arguments.run_dir + "'");
  const auto asked_for = [&](const RunningProgram& each) {
    return std::ranges::count(arguments.only, each.name) != 0;
  };
  for (const RunningProgram& one : programs)
    for (const RunningProgram& other : programs)
      if (asked_for(one) && !asked_for(other) && one.pid > 0 && one.pid == other.pid)
        throw Error("'" + one.name + "' and '" + other.name + "' share process " +
                    std::to_string(one.pid) + " and stop together: give both to --only");
  std::erase_if(programs, [&](const RunningProgram& each) { return !asked_for(each); });
  return programs;
}

// Programs of other hosts go on without whoever started them: they are to be asked, too.
void attach(const DownArguments& arguments) {
  std::vector<std::string> lost = lost_programs(arguments.run_dir);
  std::erase_if(lost, [&](const std::string& name) {
    return !arguments.only.empty() &&
           std::find(arguments.only.begin(), arguments.only.end(), name) == arguments.only.end();
  });
  for (const std::string& problem : attach_programs(arguments.run_dir, lost))
    std::fprintf(stderr, "%s\n", problem.c_str());
}

void kill_program(const std::string& run_dir, const RunningProgram& program) {
  signal_program(run_dir, program, is_remote(run_dir, program.name) ? kProxyKill : SIGKILL);
}

// What went wrong with a program that has just been stopped; a line each, empty: nothing. Its
// summary is written at its end, and removed at its start.
std::string problem_of(const std::string& run_dir, const std::string& name) {
  const std::vector<control::Summary> summaries = read_summaries(run_dir, {name});
  return summaries.empty() ? "\n  " + name + " left no summary: its log says how it ended"
                           : problem_lines(summaries);
}

// The `up` that had the whole run sees each end, and checks the books.
void pass_on_verdict(const DownArguments& arguments) {
  constexpr auto kBetween = std::chrono::milliseconds(20);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.timeout_s);
  while (const pid_t owner = RunOwner::holder(arguments.run_dir)) {
    if (std::chrono::steady_clock::now() > end)
      throw Error("`tickpath up` (process " + std::to_string(owner) +
                  ") has not ended, so nobody has checked the books yet: tickpath books " +
                  arguments.run_dir + " does");
    std::this_thread::sleep_for(kBetween);
  }
  const std::optional<std::string> verdict = RunOwner::verdict(arguments.run_dir);
  if (!verdict)
    throw Error("`tickpath up` ended without a word: tickpath books " + arguments.run_dir +
                " checks the books");
  if (!verdict->empty()) throw Error(*verdict);
  std::printf("`tickpath up` has checked the books: everything is accounted for\n");
}

void run_down(const DownArguments& arguments) {
  attach(arguments);
  const bool owned = RunOwner::holder(arguments.run_dir) != 0 && arguments.only.empty();
  if (owned) note_stop_of_all(arguments.run_dir);
  const auto programs = chosen(arguments);
  if (programs.empty() && lost_programs(arguments.run_dir).empty()) {
    std::printf("%s\n", nothing_runs(arguments.run_dir).c_str());
    return;
  }
  halt_replay(arguments.run_dir, programs);
  for (const RunningProgram& program : programs) note_stop(arguments.run_dir, program.name);
  std::string left;
  std::string unreachable;
  std::string problems;
  for (const RunningProgram& program : programs) {
    const std::string host = host_name_of(arguments.run_dir, program.name);
    ask_to_stop(arguments.run_dir, program);
    const int timeout_ms = static_cast<int>(arguments.timeout_s * 1000);
    bool gone = wait_for_exit(arguments.run_dir, program, timeout_ms);
    const bool killed = !gone && arguments.kill;
    if (killed) {
      kill_program(arguments.run_dir, program);
      gone = wait_for_exit(arguments.run_dir, program, timeout_ms);
    }
    const char* const became = killed ? "killed" : gone ? "stopped" : "still runs";
    if (host.empty())
      std::printf("%-10s %s (ran %s)\n", program.name.c_str(), became,
                  process_text(program).c_str());
    else
      std::printf("%-10s %s (on %s)\n", program.name.c_str(), became, host.c_str());
    if (!gone) left += " " + program.name;
    if (gone && !killed) problems += problem_of(arguments.run_dir, program.name);
  }
  for (const std::string& name : lost_programs(arguments.run_dir))
    if (arguments.only.empty() || std::ranges::count(arguments.only, name) != 0)
      unreachable += " " + name + " (on " + host_name_of(arguments.run_dir, name) + ")";
  if (!left.empty())
    throw Error("still running:" + left + "; --kill ends them, their logs say what they wait for");
  if (!unreachable.empty())
    throw Error("may still run, and cannot be reached:" + unreachable +
                "; tickpath down once more when it can");
  if (owned) return pass_on_verdict(arguments);
  if (!problems.empty()) throw Error("stopped, but not all in order:" + problems);
}

}  // namespace

void add_down_command(CLI::App& app) {
  auto* command = app.add_subcommand("down", "Stop the programs of a run directory, in order");
  auto arguments = std::make_shared<DownArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where they run")->capture_default_str();
  command->add_option("--only", arguments->only, "Only these; by instance name");
  command->add_option("--timeout", arguments->timeout_s, "Seconds for each program")
      ->capture_default_str();
  command->add_flag("--kill", arguments->kill, "Kill what does not stop in time");
  command->callback([arguments] { run_down(*arguments); });
}

}  // namespace tickpath::cli
