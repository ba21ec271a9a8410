#include "tools/cli/command_main.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/error.hpp"
#include "common/base/nearest.hpp"
#include "common/config/values.hpp"
#include "common/control/command_line.hpp"
#include "common/control/help_formatter.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/man_page.hpp"

namespace tickpath::cli {
namespace {

// A command of another program.
struct OtherCommand {
  std::string_view name;
  std::string_view program;  // beside tickpath
  std::string_view help;
};

constexpr std::string_view kData = "tickpath-data";
constexpr std::string_view kHistory = "tickpath-history";
constexpr std::string_view kMeasure = "tickpath-measure";
constexpr std::string_view kWatch = "tickpath-watch";

constexpr std::array kOtherCommands{
    OtherCommand{"top", kWatch,
                 "A running pipeline on a terminal: rates, latencies, P&L, limits, alarms"},
    OtherCommand{"serve", kWatch, "The same as a web page, and its metrics for Prometheus"},
    OtherCommand{"replay", kData,
                 "Start, pause, continue, seek, stop or watch the replay of a running sim"},
    OtherCommand{"record", kData,
                 "Record a live run: the feed off the network, orders from the FIX stores"},
    OtherCommand{"book", kData,
                 "A symbol's books at all venues and the best over them, read from the book home"},
    OtherCommand{"books", kData,
                 "Check that nothing was lost, over the run directories of all hosts"},
    OtherCommand{"routes", kData,
                 "Check what the router of strategies decided, against the books of the feeds"},
    OtherCommand{"prices", kData, "Recent prices of symbols, read from a running mdh"},
    OtherCommand{"value", kData,
                 "Values that strategies share, in the memory of an mdh with values.keys"},
    OtherCommand{"new-strategy", kData,
                 "Write a project of one strategy: its code, a test of it, a configuration"},
    OtherCommand{
        "history", kHistory,
        "Runs in a column store: loads them, asks by SQL (ClickHouse, embedded or a server)"},
    OtherCommand{
        "lat", kMeasure,
        "latency of the fabric: beside a bare cache line on this host (the default on shm), or in "
        "perftest's columns (--perftest, and any option that only it has)"},
    OtherCommand{"bw", kMeasure,
                 "bandwidth and message rate of the fabric, in perftest's columns, beside memcpy"},
    OtherCommand{
        "scale", kMeasure,
        "What several hosts carry, link by link: by arithmetic, and by a simulation of the "
        "fan-out; nothing is started"},
    OtherCommand{"doctor", kMeasure,
                 "Is this machine set up for low latency? Each finding with what to do about it"},
};

const OtherCommand* find_other_command(std::string_view name) {
  const auto found = std::ranges::find(kOtherCommands, name, &OtherCommand::name);
  return found == kOtherCommands.end() ? nullptr : &*found;
}

// Said of the command, where `--help` asks for it; some say it themselves, as they have more.
void add_exit_status(CLI::App& app) {
  constexpr const char* kText =
      "Exit status: 0 done; 1 failed, or a check did; 2 wrong arguments or configuration.";
  app.footer(kText);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string own = command->get_footer();
    if (own.find("Exit status") == std::string::npos)
      command->footer(own.empty() ? kText : own + "\n" + kText);
  }
}

// Throws where the command is none, with the one that may have been meant.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (std::ranges::find(known, argv[1]) != known.end()) return;
  const std::string near = nearest_word(argv[1], known);
  throw CLI::ExtrasError("tickpath: there is no command '" + std::string(argv[1]) + "'" +
                             (near.empty() ? "" : "; did you mean '" + near + "'?"),
                         CLI::ExitCodes::ExtrasError);
}

// On standard output, with the commands of this program in full.
void print_man_page(const CLI::App& app) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename();
  const auto elsewhere = [&](const std::string& command) {
    const OtherCommand* const other = find_other_command(command);
    return other == nullptr || other->program == program ? std::string_view() : other->program;
  };
  std::fputs(man_page(app, program, TICKPATH_VERSION, elsewhere).c_str(), stdout);
}

int run(int argc, char** argv, void (*add)(CLI::App&), void (*before)(char**)) {
  CLI::App app("tickpath: run, watch and measure the trading pipeline", "tickpath");
  app.formatter(control::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tickpath ") + TICKPATH_VERSION);
  app.add_flag_callback(
      "--man",
      [&app] {
        print_man_page(app);
        throw Exit{control::kExitOk};
      },
      "Print this program's manual page, for man(1)");
  try {
    if (before != nullptr) before(argv);
    add(app);
    add_exit_status(app);
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const Exit& exit) {
    return exit.status;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? control::kExitOk : control::kExitUsage;
  } catch (const config::ConfigError& error) {
    std::fprintf(stderr, "tickpath: %s\n", error.what());
    return control::kExitUsage;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "tickpath: %s\n", error.what());
    return control::kExitFailed;
  }
  return control::kExitOk;
}

}  // namespace

CLI::App* add_other_command(CLI::App& app, std::string_view name) {
  const OtherCommand* const found = find_other_command(name);
  TICKPATH_CHECK(found != nullptr, name.data());
  return app.add_subcommand(std::string(name), std::string(found->help));
}

void list_other_commands(CLI::App& app) {
  for (const OtherCommand& each : kOtherCommands) add_other_command(app, each.name);
}

void become_other_program(char** argv) {
  const OtherCommand* const other =
      argv[0] == nullptr || argv[1] == nullptr ? nullptr : find_other_command(argv[1]);
  if (other == nullptr) return;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / other->program;
  ::execv(program.c_str(), argv);
  if (errno != ENOENT) throw SystemError("starting " + program.string(), errno);
  throw Error("`tickpath " + std::string(other->name) + "` is in the program " + program.string() +
              ", which is not there; the demo does not need it. To build it: cmake --build "
              "--preset release "
              "--target tickpath_tools");
}

int command_main(int argc, char** argv, void (*add)(CLI::App&), void (*before)(char**)) {
  // A file that reaches the limit on its size (ulimit -f) is an error code here, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  return control::finish_output("tickpath", run(argc, argv, add, before));
}

}  // namespace tickpath::cli
