#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/replay_keys.hpp"
#include "tools/cli/replay_view.hpp"

namespace tickpath::cli {
namespace {

struct ReplayArguments {
  std::string action = "start";
  std::string value;  // of seek and speed
  std::string run_dir = "run";
  std::vector<std::string> sims;  // none given: all that run
  bool no_wait = false;
};

// Asks ten times a second. Throws when sim answers no more.
void watch(const ReplayArguments& arguments) {
  ReplayView view;
  ReplayKeys keys(arguments.run_dir, arguments.sims);
  if (!keys.help().empty()) std::fprintf(stderr, "%s\n", keys.help().c_str());
  bool stopped = false;
  for (;;) {
    const control::Json replay = replay_of_all(arguments.run_dir, arguments.sims);
    if (!replay.is_object()) throw Error("sim in '" + arguments.run_dir + "' answers no more");
    const std::string state = replay.value("state", "");
    view.show(replay);
    if (state == "ended" || state == "halted") {
      view.finish();
      std::fprintf(stderr, "replay %s: %s\n", state.c_str(), replay_line(replay, 0).c_str());
      if (const std::string damage = replay.value("damage", ""); !damage.empty())
        std::fprintf(stderr, "the recording is damaged: %s\n", damage.c_str());
      if (state == "halted" && !stopped) throw Error("the replay was halted before its end");
      return;
    }
    if (const std::string refused = keys.step(replay); !refused.empty()) {
      view.finish();
      std::fprintf(stderr, "%s\n", refused.c_str());
    }
    stopped |= keys.stopped();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

double speed_of(const std::string& text) {
  double speed = 0;
  if (!CLI::detail::lexical_cast(text, speed))
    throw CLI::ValidationError("replay", "'" + text + "' is no speed: tickpath replay speed 10");
  return speed;
}

void check_value(const ReplayArguments& arguments) {
  const bool wanted = arguments.action == "seek" || arguments.action == "speed";
  if (arguments.value.empty() != wanted) return;
  throw CLI::ValidationError(
      "replay", arguments.action == "seek" ? "seek wants a time of day: tickpath replay seek 09:45"
                : arguments.action == "speed" ? "speed wants a number: tickpath replay speed 10"
                                              : "a time is for seek, a number for speed");
}

void run_replay(ReplayArguments arguments) {
  if (arguments.sims.empty())
    for (const RunningProgram& program : running_programs(arguments.run_dir))
      if (program.program == "sim") arguments.sims.push_back(program.name);
  if (arguments.sims.empty()) arguments.sims.emplace_back("sim");  // its socket says what is wrong
  const auto command = [&](const control::Json& request) {
    command_replay(arguments.run_dir, arguments.sims, request);
  };
  check_value(arguments);
  if (arguments.action == "start") {
    command({{"command", "start"}});
    if (!arguments.no_wait) watch(arguments);
  } else if (arguments.action == "watch") {
    watch(arguments);
  } else if (arguments.action == "stop") {
    command({{"command", "halt"}});
  } else if (arguments.action == "seek") {
    command({{"command", "seek"}, {"time", arguments.value}});
  } else if (arguments.action == "speed") {
    command({{"command", "speed"}, {"speed", speed_of(arguments.value)}});
  } else {
    command({{"command", arguments.action}});
  }
}

}  // namespace

void add_replay_command(CLI::App& app) {
  auto* command = add_other_command(app, "replay");
  auto arguments = std::make_shared<ReplayArguments>();
  command
      ->add_option(
          "action", arguments->action,
          "start (of tickpath up --no-replay) and watch: wait for its end, with keys on a\n"
          "terminal: space pauses and continues, f seeks a minute ahead, s stops.\n"
          "pause, continue, seek TIME, speed NUMBER, stop: return at once")
      ->check(CLI::IsMember({"start", "pause", "continue", "seek", "speed", "stop", "watch"}))
      ->capture_default_str();
  command->add_option(
      "value", arguments->value,
      "seek: time of day of the recording (09:45 or 09:45:30.5; of Databento's and IEX's\n"
      "UTC), ahead of where it is; of several days that of the day at hand, or hours since\n"
      "the first midnight (33:45); what lies between is sent at replay.max_rate, so that books are "
      "whole; a paused replay stays paused, and sends it when it continues");
  command->footer(
      "Earlier than where it is: start sim again with replay.from. speed: times the recorded pace, "
      "from where it is.");
  command->add_option("--run-dir", arguments->run_dir, "Where sim runs")->capture_default_str();
  command->add_option("--sim", arguments->sims,
                      "Instance name of sim (default: each that runs there)");
  command->add_flag("--no-wait", arguments->no_wait, "start: return at once");
  command->callback([arguments] { run_replay(*arguments); });
}

}  // namespace tickpath::cli
