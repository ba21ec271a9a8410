#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/config/values.hpp"
#include "common/control/command_line.hpp"
#include "tools/cli/audit.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/replay_view.hpp"
#include "tools/cli/trades_tables.hpp"
#include "tools/lockstep/lockstep.hpp"

namespace tickpath::cli {
namespace {

struct DeterministicArguments {
  bool wanted = false;
  std::string config_dir;
  std::vector<std::string> overrides;
  std::uint64_t seed = 0;
  bool has_seed = false;
  std::string journal;  // empty: all five programs
  std::string round;    // durations; empty: the default
  std::string idle;
};

void print(const std::string& line) { std::fputs((line + "\n").c_str(), stdout); }

std::uint64_t duration(const std::string& key, const std::string& text, std::uint64_t fallback) {
  if (text.empty()) return fallback;
  const std::int64_t ns = config::parse_duration_ns(text);
  if (ns <= 0) throw config::ConfigError({key + " " + text + ": a duration above 0 is needed"});
  return static_cast<std::uint64_t>(ns);
}

lockstep::Options options_of(const DeterministicArguments& arguments, const std::string& run_dir) {
  lockstep::Options options;
  options.run_dir = run_dir;
  if (arguments.has_seed) options.seed = arguments.seed;
  options.round_ns = duration("--round", arguments.round, options.round_ns);
  options.idle_ns = duration("--idle", arguments.idle, options.idle_ns);
  for (const ConfiguredProgram& program :
       configured_programs(arguments.config_dir, arguments.overrides, {})) {
    if (!arguments.journal.empty() && program.program != "sim") continue;
    options.programs.push_back({program.program, program.name, program.path, program.settings});
  }
  return options;
}

void run_journal(const lockstep::Options& options, const std::string& journal) {
  if (options.programs.size() != 1) throw config::ConfigError({"one sim.toml is needed"});
  const lockstep::JournalResult result = lockstep::replay_journal(options, journal);
  print(fmt::format("{} turns, {} packets and {} bytes of reports as in {}", result.turns,
                    result.packets, result.report_bytes, journal));
  print(fmt::format("journal {:016x}  {}", result.sim_journal, result.sim_journal_path));
  if (!result.difference.empty())
    throw Error("sim's outputs are not those of the journal: " + result.difference);
}

void run_pipeline(lockstep::Options options) {
  const auto view = std::make_shared<ReplayView>();
  options.progress = [view](const control::Json& replay) { view->show(replay); };
  const lockstep::Result result = lockstep::run(options);
  view->finish();
  print(fmt::format("{} messages in {:.6f} s of virtual time, {} rounds", result.messages,
                    static_cast<double>(result.virtual_ns) / 1e9, result.rounds));
  std::vector<std::string> names;
  for (const lockstep::ProgramFile& file : options.programs) names.push_back(file.name);
  const Remains remains = remains_of(options.run_dir, names, true);
  const Conservation conservation = audit(remains);
  print(to_text(conservation));
  std::fputs(results_text(remains.summaries).c_str(), stdout);
  for (const auto& [name, state] : result.states) print(fmt::format("{:<10}{:016x}", name, state));
  print(fmt::format("orders    {:016x}  {}", result.order_journal, result.order_journal_path));
  print(fmt::format("journal   {:016x}  {}", result.sim_journal, result.sim_journal_path));
  print(fmt::format("state     {:016x}", result.state));
  if (!conservation.holds()) throw Error("conservation is broken");
  // A plugin that failed or was refused has not traded what it would have.
  if (const std::string problems = problem_lines(remains.summaries); !problems.empty())
    throw Error("the run failed:" + problems);
}

std::shared_ptr<DeterministicArguments> add_deterministic_options(CLI::App& command) {
  auto arguments = std::make_shared<DeterministicArguments>();
  constexpr const char* kGroup = "Deterministic (no running sim is needed)";
  command
      .add_option_function<std::string>(
          "--deterministic",
          [arguments](const std::string& directory) {
            arguments->wanted = true;
            arguments->config_dir = directory;
          },
          "Run the pipeline of this configuration directory in this process, in virtual time: the "
          "same input gives the same bytes, as fast as the machine can")
      ->type_name("DIR")
      ->group(kGroup);
  command
      .add_option("--set", arguments->overrides,
                  "With --deterministic: key=value for every program, sim:key=value for one")
      ->group(kGroup);
  command
      .add_option_function<std::uint64_t>(
          "--seed",
          [arguments](const std::uint64_t& seed) {
            arguments->seed = seed;
            arguments->has_seed = true;
          },
          "Of everything random in sim (loss, jitter, latencies), in place of the configured ones")
      ->group(kGroup);
  command
      .add_option("--journal", arguments->journal,
                  "Run sim alone, with the inputs of this journal (sim.inputs of a deterministic "
                  "run), and compare what it says with the journal's outputs")
      ->check(CLI::ExistingFile)
      ->group(kGroup);
  command
      .add_option("--round", arguments->round,
                  "Virtual time that one round of the programs takes (1us)")
      ->group(kGroup);
  command
      .add_option("--idle", arguments->idle,
                  "Longest step of virtual time while nothing happens (1ms)")
      ->group(kGroup);
  return arguments;
}

// Prints what two runs can be compared by. Throws what lockstep::run() throws, and Error when
// conservation is broken or the outputs are not those of the journal.
void run_deterministic(const DeterministicArguments& arguments, const std::string& run_dir) {
  const lockstep::Options options = options_of(arguments, run_dir);
  if (arguments.journal.empty())
    run_pipeline(options);
  else
    run_journal(options, arguments.journal);
}

}  // namespace

void add_deterministic_replay(CLI::App& app) {
  CLI::App* const command = app.get_subcommand("replay");
  const auto arguments = add_deterministic_options(*command);
  command->parse_complete_callback([command, arguments] {
    if (!arguments->wanted) return;
    const CLI::Option* const run_dir = command->get_option("--run-dir");
    run_deterministic(*arguments,
                      run_dir->count() == 0 ? "run/deterministic" : run_dir->as<std::string>());
    throw Exit{control::kExitOk};
  });
}

}  // namespace tickpath::cli
