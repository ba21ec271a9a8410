// `tickpath keys`: makes and checks the keys that programs prove their role with.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

void add_keys_command(CLI::App& app);

}  // namespace tickpath::cli
