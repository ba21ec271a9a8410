#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath bw`: bandwidth and message rate of the fabric, in the manner of perftest.
void add_bw_command(CLI::App& app);

}  // namespace tickpath::cli
