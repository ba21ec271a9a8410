#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath kill` and `tickpath unkill`: the kill switch, by way of risk, who owns it.
void add_kill_commands(CLI::App& app);

}  // namespace tickpath::cli
