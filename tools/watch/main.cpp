// tickpath-watch: the commands of `tickpath` that show a running pipeline.
#include "tools/cli/command_main.hpp"
#include "tools/watch/commands.hpp"

namespace {

using namespace tickpath;

void add_commands(CLI::App& app) {
  watch::add_top_command(app);
  watch::add_serve_command(app);
}

}  // namespace

int main(int argc, char** argv) { return cli::command_main(argc, argv, add_commands); }
