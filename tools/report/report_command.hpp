// The command `tickpath report`.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// A run as one HTML file that loads nothing.
void add_report_command(CLI::App& app);

}  // namespace tickpath::cli
