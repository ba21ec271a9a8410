#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath status`: the programs of a run directory, with their key counters.
void add_status_command(CLI::App& app);

}  // namespace tickpath::cli
