// `tickpath replay`: starts the replay of a running sim and watches it.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// Adds the subcommand; it runs while the command line is parsed.
void add_replay_command(CLI::App& app);

}  // namespace tickpath::cli
