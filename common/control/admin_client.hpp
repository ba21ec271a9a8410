// Asks a running program through its admin socket (admin_protocol.md).
#pragma once

#include <string>

#include "common/control/json.hpp"

namespace tickpath::control {

std::string admin_path(const std::string& run_dir, const std::string& name);

// Blocks for at most timeout_ms. The answer as it came, "ok" and all. Throws Error: nobody listens,
// no answer in time, an answer that is not JSON.
Json admin_request(const std::string& socket_path, const Json& request, int timeout_ms = 5000);

// The same; throws Error with the program's own text where the answer is not ok.
Json admin_command(const std::string& socket_path, const Json& request, int timeout_ms = 5000);

}  // namespace tickpath::control
