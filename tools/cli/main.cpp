// tickpath: runs the pipeline and looks at it; the commands of other programs are theirs.
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/report/report_command.hpp"

namespace {

using namespace tickpath;

void add_commands(CLI::App& app) {
  cli::add_up_command(app);
  cli::add_down_command(app);
  cli::add_attach_command(app);
  cli::add_proxy_command(app);
  cli::add_agent_command(app);
  cli::add_status_command(app);
  cli::add_trades_commands(app);
  cli::add_trace_command(app);
  cli::add_report_command(app);
  cli::add_kill_commands(app);
  cli::add_switch_command(app);
  cli::add_pair_command(app);
  cli::add_exceptions_command(app);
  cli::add_trading_command(app);
  cli::add_keys_command(app);
  cli::add_revoke_commands(app);
  cli::add_generate_command(app);
  cli::add_convert_command(app);
  cli::add_inspect_command(app);
  cli::list_other_commands(app);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::command_main(argc, argv, add_commands, cli::become_other_program);
}
