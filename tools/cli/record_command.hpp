#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath record FILE`: a live run (market data, orders) as a packet capture and as a recording.
void add_record_command(CLI::App& app);

}  // namespace tickpath::cli
