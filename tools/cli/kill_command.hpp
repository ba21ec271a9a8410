#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath kill` and `tickpath unkill`: the kill switch, by way of risk, who owns it. Each ends
// when oeg acts on it, and a kill when nothing is open any more, or says after a while what is
// missing.
void add_kill_commands(CLI::App& app);

}  // namespace tickpath::cli
