#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath convert INPUT OUTPUT`: any recording that tickpath reads, LOBSTER files above all, as
// ITCH 5.0 in BinaryFILE framing.
void add_convert_command(CLI::App& app);

}  // namespace tickpath::cli
