#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath trading`: halts, pauses and resumes symbols at sim, as a person at a venue does.
void add_trading_command(CLI::App& app);

}  // namespace tickpath::cli
