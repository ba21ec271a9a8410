#include "common/cli/replay_command.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/cli/programs.hpp"
#include "common/cli/replay_view.hpp"
#include "common/control/admin_client.hpp"

namespace tickpath::cli {
namespace {

struct ReplayArguments {
  std::string run_dir = "run";
  std::string sim = "sim";
  bool no_wait = false;
};

// Asks ten times a second. Throws when sim answers no more.
void watch(const ReplayArguments& arguments) {
  ReplayView view;
  for (;;) {
    const control::Json status = control::admin_command(
        control::admin_path(arguments.run_dir, arguments.sim), {{"command", "status"}});
    const control::Json replay = status.value("replay", control::Json::object());
    const std::string state = replay.value("state", "");
    view.show(replay);
    if (state == "ended" || state == "halted") {
      view.finish();
      std::fprintf(stderr, "replay %s: %s\n", state.c_str(), replay_line(replay, false).c_str());
      if (state == "halted") throw Error("the replay was halted before its end");
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void run_replay(const ReplayArguments& arguments) {
  (void)control::admin_command(control::admin_path(arguments.run_dir, arguments.sim),
                               {{"command", "start"}});
  if (!arguments.no_wait) watch(arguments);
}

}  // namespace

void add_replay_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "replay", "Start the replay of a running sim (tickpath up --no-replay), wait for its end");
  auto arguments = std::make_shared<ReplayArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where sim runs")->capture_default_str();
  command->add_option("--sim", arguments->sim, "Instance name of sim")->capture_default_str();
  command->add_flag("--no-wait", arguments->no_wait, "Return at once");
  command->callback([arguments] { run_replay(*arguments); });
}

}  // namespace tickpath::cli
