#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath lat`: the fabric's latencies between two processes, beside a bare cache-line ping-pong.
void add_lat_command(CLI::App& app);

}  // namespace tickpath::cli
