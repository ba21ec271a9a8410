#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace tickpath::config::detail {

// Throws ConfigError with "name:line:column: what" for text that is not TOML, or is too long.
toml::table parse_toml(std::string_view text, const std::string& name);

}  // namespace tickpath::config::detail
