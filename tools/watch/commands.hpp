// The commands of tickpath-watch.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::watch {

void add_top_command(CLI::App& app);    // a running pipeline on a terminal
void add_serve_command(CLI::App& app);  // the same as a web page, and its metrics for Prometheus

}  // namespace tickpath::watch
