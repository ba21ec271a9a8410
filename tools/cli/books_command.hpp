// `tickpath books`: the conservation check over what several hosts left.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// Adds the subcommand; it runs while the command line is parsed.
void add_books_command(CLI::App& app);

}  // namespace tickpath::cli
