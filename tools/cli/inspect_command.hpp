#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath inspect FILE...`: what recordings hold: format, time range, symbols, messages by type,
// peak rates, gaps, damage. Ends with status 3 when one of them is damaged, after saying where.
void add_inspect_command(CLI::App& app);

}  // namespace tickpath::cli
