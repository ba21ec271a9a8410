// The key that was probably meant.
#pragma once

#include <string>

#include "common/config/detail/schema_core.hpp"

namespace tickpath::config::detail {

// Empty where nothing is near.
std::string nearest_key(const SchemaCore& schema, const std::string& key);

}  // namespace tickpath::config::detail
