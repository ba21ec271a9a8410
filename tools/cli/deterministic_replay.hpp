// `tickpath replay --deterministic`: the five programs in lockstep, and sim alone with a journal.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

// Adds the options to the subcommand `replay`, which must be there. With --deterministic the
// command ends while the command line is parsed (Exit).
void add_deterministic_replay(CLI::App& app);

}  // namespace tickpath::cli
