#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath trace [RUN_DIR | FILE...]`: tick-to-order and each hop, from the trace files of a run.
void add_trace_command(CLI::App& app);

}  // namespace tickpath::cli
