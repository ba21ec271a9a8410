// tickpath-data: the commands of `tickpath` for replays, books, prices, what routes were
// taken, and a strategy of one's own.
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"

namespace {

using namespace tickpath;

void add_commands(CLI::App& app) {
  cli::add_replay_command(app);
  cli::add_deterministic_replay(app);
  cli::add_record_command(app);
  cli::add_book_command(app);
  cli::add_books_command(app);
  cli::add_routes_command(app);
  cli::add_prices_command(app);
  cli::add_value_command(app);
  cli::add_new_strategy_command(app);
}

}  // namespace

int main(int argc, char** argv) { return cli::command_main(argc, argv, add_commands); }
