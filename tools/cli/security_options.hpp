// --security and --keys: how a tool proves its role where the fabric asks for it.
#pragma once

#include "common/net/secure_options.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

// security: outlives the parsing.
void add_security_options(CLI::App& command, net::SecurityOptions& security);

}  // namespace tickpath::cli
