#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath generate FILE`: a seeded, realistic recording of many symbols.
void add_generate_command(CLI::App& app);

}  // namespace tickpath::cli
