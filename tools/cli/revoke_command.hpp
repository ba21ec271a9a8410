// `tickpath revoke` and `tickpath restore`: the rights of a role at a running oeg.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

void add_revoke_commands(CLI::App& app);

}  // namespace tickpath::cli
