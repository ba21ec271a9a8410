// tickpath-history: the command `tickpath history`.
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"

namespace {

using namespace tickpath;

void add_commands(CLI::App& app) { cli::add_history_command(app); }

}  // namespace

int main(int argc, char** argv) { return cli::command_main(argc, argv, add_commands); }
