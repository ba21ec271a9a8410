#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath down`: stops the programs of a run directory in order.
void add_down_command(CLI::App& app);

}  // namespace tickpath::cli
