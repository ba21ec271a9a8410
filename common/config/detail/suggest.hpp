// The key that was probably meant.
#pragma once

#include <string>

#include "common/config/detail/schema_core.hpp"

namespace tickpath::config::detail {

// Empty where nothing is near.
std::string nearest_key(const SchemaCore& schema, const std::string& key);

// The section whose name is nearest to the key; empty: none is near.
std::string nearest_section(const SchemaCore& schema, const std::string& key);

}  // namespace tickpath::config::detail
