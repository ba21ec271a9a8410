// `tickpath orders`, `fills` and `positions`: what a run has traded, as CSV.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

void add_trades_commands(CLI::App& app);

}  // namespace tickpath::cli
