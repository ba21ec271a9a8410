// tickpath: everything that is not one of the five programs.
#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "common/config/values.hpp"
#include "common/control/command_line.hpp"
#include "tools/cli/commands.hpp"

namespace {

using namespace tickpath;

int run(int argc, char** argv) {
  CLI::App app("tickpath: run, watch and measure the trading pipeline", "tickpath");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tickpath ") + TICKPATH_VERSION);
  cli::add_up_command(app);
  cli::add_down_command(app);
  cli::add_attach_command(app);
  cli::add_proxy_command(app);
  cli::add_agent_command(app);
  cli::add_replay_command(app);
  cli::add_record_command(app);
  cli::add_status_command(app);
  cli::add_book_command(app);
  cli::add_books_command(app);
  cli::add_routes_command(app);
  cli::add_trades_commands(app);
  cli::add_prices_command(app);
  cli::add_value_command(app);
  cli::add_trace_command(app);
  cli::add_history_command(app);
  cli::add_kill_commands(app);
  cli::add_switch_command(app);
  cli::add_exceptions_command(app);
  cli::add_trading_command(app);
  cli::add_keys_command(app);
  cli::add_revoke_commands(app);
  cli::add_lat_command(app);
  cli::add_bw_command(app);
  cli::add_scale_command(app);
  cli::add_generate_command(app);
  cli::add_convert_command(app);
  cli::add_inspect_command(app);
  cli::add_doctor_command(app);
  cli::add_deterministic_replay(app);
  try {
    app.parse(argc, argv);
  } catch (const cli::Exit& exit) {
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

int main(int argc, char** argv) {
  // A file that reaches the limit on its size (ulimit -f) is an error code here, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  return control::finish_output("tickpath", run(argc, argv));
}
