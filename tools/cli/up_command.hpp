#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath up CONFIG_DIR`: starts the programs, replays, stops them in order, checks conservation.
void add_up_command(CLI::App& app);

}  // namespace tickpath::cli
