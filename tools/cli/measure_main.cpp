// tickpath-measure: the commands of `tickpath` that measure or judge a machine.
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"

namespace {

using namespace tickpath;

void add_commands(CLI::App& app) {
  cli::add_lat_command(app);
  cli::add_bw_command(app);
  cli::add_scale_command(app);
  cli::add_doctor_command(app);
}

}  // namespace

int main(int argc, char** argv) { return cli::command_main(argc, argv, add_commands); }
