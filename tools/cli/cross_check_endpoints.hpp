// Endpoints as configurations have them: "host:port", or a path.
#pragma once

#include <optional>
#include <string>

#include "common/config/values.hpp"

namespace tickpath::cli {

// Nothing: a path.
std::optional<config::Address> address_of(const std::string& endpoint);
// Whether who connects to `client` may find who listens at `listener`. Names are not resolved.
bool reaches(const std::string& client, const std::string& listener);
bool is_loopback(const std::string& host);

}  // namespace tickpath::cli
