#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tools/cli/audit.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/detach.hpp"
#include "tools/cli/hang_watch.hpp"
#include "tools/cli/pipeline.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/replay_keys.hpp"
#include "tools/cli/replay_view.hpp"
#include "tools/cli/run_dir_check.hpp"
#include "tools/cli/signals.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

struct UpArguments {
  PipelineOptions pipeline;
  std::string on_failure = "stop";
  double ready_timeout_s = 30;
  double stop_timeout_s = 20;
  bool until_end = false;
  bool no_replay = false;
  bool detach = false;
};

// Until a program ends, a signal comes, or the time is over.
void wait_for_something(const Pipeline& pipeline, const Signals& signals, int timeout_ms) {
  std::vector<pollfd> polled{{signals.file(), POLLIN, 0}};
  for (const int descriptor : pipeline.exit_descriptors())
    polled.push_back({descriptor, POLLIN, 0});
  (void)::poll(polled.data(), polled.size(), timeout_ms);
}

// True: go on. Tells what ended.
bool look_at_the_ended(Pipeline& pipeline, ReplayView& view, bool stop_on_failure) {
  // Where the rest of the pipeline is on another host, somebody stops it program after program
  // across the hosts (tickpath down --only): what is left here goes on.
  const bool partial = !pipeline.options().only.empty();
  bool go_on = true;
  for (const Pipeline::Ended& ended : pipeline.newly_ended()) {
    view.finish();
    std::fprintf(stderr, "%s\n", ended.text.c_str());
    // One that ended in order was asked to, by somebody else: that is the end of the run. Without
    // sim there is nothing to go on for. Strategies come and go.
    if (ended.restarts || (partial && !ended.failed)) continue;
    if (!ended.failed && ended.program == "strategy") {
      if (pipeline.all_asked_to_stop()) continue;  // the others follow
      const PipelineOptions& options = pipeline.options();
      const std::string offset =
          options.port_offset == 0 ? "" : " --port-offset " + std::to_string(options.port_offset);
      std::fprintf(stderr, "the run goes on: tickpath up %s --only %s%s%s starts it again\n",
                   options.config_dir.c_str(), ended.name.c_str(),
                   run_dir_option(options.run_dir).c_str(), offset.c_str());
      continue;
    }
    if (!ended.failed || stop_on_failure || ended.program == "sim") go_on = false;
  }
  return go_on && pipeline.any_runs();
}

// What came from other hosts.
void tell(Pipeline& pipeline, ReplayView* view) {
  for (const std::string& line : pipeline.remote_output()) {
    if (view != nullptr) view->finish();
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

// Watches until something ends the run.
void watch(Pipeline& pipeline, Signals& signals, HangWatch& hangs, const UpArguments& arguments) {
  ReplayView view;
  // With --no-replay somebody else begins it (tickpath replay); it is watched all the same.
  const bool began = !arguments.no_replay && pipeline.begin_replay();
  bool replaying = pipeline.has_sim();
  if (!began) std::fprintf(stderr, "up; Ctrl-C stops everything in order\n");
  ReplayKeys keys(arguments.pipeline.run_dir, pipeline.sim_names());
  if (began && !keys.help().empty()) std::fprintf(stderr, "%s\n", keys.help().c_str());
  // Ten pictures a second on a terminal; an end is noticed at once.
  constexpr int kLookMs = 100;
  for (;;) {
    wait_for_something(pipeline, signals, kLookMs);
    pipeline.restart_due();
    tell(pipeline, &view);
    if (signals.came()) {
      view.finish();
      std::fprintf(stderr, "stopping in order\n");
      return;
    }
    if (!look_at_the_ended(pipeline, view, arguments.on_failure == "stop")) return;
    for (const std::string& news : hangs.look()) {
      view.finish();
      std::fprintf(stderr, "%s\n", news.c_str());
    }
    if (!replaying) continue;
    const control::Json replay = pipeline.replay(kGlanceMs);
    if (!replay.is_object()) continue;
    const std::string state = replay.value("state", "");
    if (state != "waiting") view.show(replay);
    if (const std::string refused = keys.step(replay); !refused.empty()) {
      view.finish();
      std::fprintf(stderr, "%s\n", refused.c_str());
    }
    if (state != "ended" && state != "halted") continue;
    view.finish();
    std::fprintf(stderr, "replay %s: %s\n", state.c_str(), replay_line(replay, 0).c_str());
    if (arguments.until_end) return;
    replaying = false;
    std::fprintf(stderr, "Ctrl-C stops everything in order\n");
  }
}

// Throws where something is wrong with the run.
void check_books(const Pipeline& pipeline, const HangWatch& hangs) {
  const std::string& run_dir = pipeline.options().run_dir;
  // A part of a pipeline may have nothing to hold against anything.
  const bool partial = !pipeline.options().only.empty();
  const Remains remains = remains_of(run_dir, pipeline.names(), !partial);
  const std::vector<control::Summary>& summaries = remains.summaries;
  const Conservation conservation = audit(remains);
  std::fputs(to_text(conservation).c_str(), stdout);
  std::fputs(results_text(summaries).c_str(), stdout);
  if (partial)
    std::printf("  these programs only; all together: tickpath books RUN_DIR RUN_DIR ...\n");
  std::fflush(stdout);
  std::string problems;
  for (const std::string& problem : pipeline.problems()) problems += "\n  " + problem;
  problems += problem_lines(summaries);
  for (const std::string& problem : hangs.problems()) problems += "\n  " + problem;
  const bool nothing_to_check = conservation.lines.empty() && conservation.missing.empty();
  if (!conservation.holds() && !(partial && nothing_to_check))
    problems += "\n  " + conservation.problem();
  if (!problems.empty()) throw Error("the run failed:" + problems);
}

// Throws Error where not everything came up; then all of it has stopped.
void start(Pipeline& pipeline, Signals& signals, HangWatch& hangs) {
  const auto give_up = [&](const std::string& verdict) {
    pipeline.stop();
    pipeline.tell_verdict(verdict);
    throw Error(verdict);
  };
  try {
    pipeline.start([&] {
      tell(pipeline, nullptr);
      const std::vector<std::string> news = hangs.look();
      // Nothing more is to be waited for then.
      if (!hangs.problems().empty()) throw Error(hangs.problems().front());
      for (const std::string& line : news) std::fprintf(stderr, "%s\n", line.c_str());
      return signals.came();
    });
  } catch (const Pipeline::Interrupted&) {
    std::fprintf(stderr, "interrupted before everything was ready; stopping in order\n");
    give_up("interrupted");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    give_up("not everything came up");
  }
}

void run_up(UpArguments arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  PipelineOptions& options = arguments.pipeline;
  options.restart = arguments.on_failure == "restart";
  options.detached = arguments.detach;
  options.ready_timeout_ms = static_cast<int>(arguments.ready_timeout_s * 1000);
  options.stop_timeout_ms = static_cast<int>(arguments.stop_timeout_s * 1000);
  if (options.binary_dir.empty())
    options.binary_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (options.run_dir.empty())
    options.run_dir =
        run_dir_of(configured_programs(options.config_dir, options.overrides, options.only));
  std::optional<Detached> background;
  if (arguments.detach) background.emplace();
  for (const std::string& file : other_files(options.config_dir))
    std::fprintf(stderr,
                 "%s is left out: it is named after none of sim, mdh, oeg, risk, strategy\n",
                 file.c_str());
  Signals signals;
  Pipeline pipeline(options);
  HangWatch hangs(options.run_dir, pipeline.names());
  start(pipeline, signals, hangs);
  if (background) {
    const std::string log = options.run_dir + "/up.log";
    std::fprintf(stderr, "up, in the background: %s; tickpath down%s stops everything in order\n",
                 log.c_str(), run_dir_option(options.run_dir).c_str());
    background->ready(log);
  }
  try {
    watch(pipeline, signals, hangs, arguments);
    pipeline.stop();
    tell(pipeline, nullptr);
    check_books(pipeline, hangs);
    pipeline.tell_verdict("");
  } catch (const Error& error) {
    pipeline.tell_verdict(error.what());
    throw;
  }
}

}  // namespace

void add_up_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "up", "Start the programs of a configuration directory, replay, stop, check the books");
  auto arguments = std::make_shared<UpArguments>();
  PipelineOptions& options = arguments->pipeline;
  command
      ->add_option("config", options.config_dir,
                   "Directory with sim.toml, mdh.toml, ...; hosts.toml in it says what runs on\n"
                   "other hosts, by ssh")
      ->required();
  CLI::Option* const run_dir = command->add_option(
      "--run-dir", options.run_dir, "Where the programs meet; run_dir of their files if not given");
  command
      ->add_option("--port-offset", options.port_offset,
                   "Added to every port that a program of this run listens at, and where another\n"
                   "one of them asks for it: a second run of the configuration on this machine")
      ->check(CLI::Range(1, 65'535))
      ->needs(run_dir);
  command
      ->add_option("--set", options.overrides,
                   "key=value for all, mdh:key=value for one program; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_flag("--here", options.here,
                    "Start all on this host, whatever the directory's hosts.toml says");
  command->add_option("--only", options.only,
                      "Start only these (by file name without .toml); the others run\n"
                      "already, or on other hosts. One that is stopped in order does not end\n"
                      "the rest then");
  command->add_flag("--until-end", arguments->until_end, "Stop everything when the replay ends");
  command->add_flag("--no-replay", arguments->no_replay,
                    "Do not start sim's replay: tickpath replay does");
  command->add_flag("--detach,-d", arguments->detach,
                    "Return once everything is ready; what `up` would print goes to up.log in the\n"
                    "run directory, and tickpath down stops everything in order");
  command
      ->add_option("--on-failure", arguments->on_failure,
                   "When a program dies: stop the rest, continue without it, or restart it")
      ->check(CLI::IsMember({"stop", "continue", "restart"}))
      ->capture_default_str();
  command->add_option("--ready-timeout", arguments->ready_timeout_s, "Seconds for each program")
      ->capture_default_str();
  command->add_option("--stop-timeout", arguments->stop_timeout_s, "Seconds for each program")
      ->capture_default_str();
  command->add_option("--bin-dir", options.binary_dir,
                      "Where the programs are; beside tickpath if not given");
  command->add_option("--preload", options.preload, "LD_PRELOAD of the programs (tests)");
  command->callback([arguments] { run_up(*arguments); });
}

}  // namespace tickpath::cli
