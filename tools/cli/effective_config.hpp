// A program's configuration in effect, as its --print-config tells it.
#pragma once

#include <optional>
#include <string>

#include <toml++/toml.h>

namespace tickpath::cli {

struct EffectiveConfig;

// Throws Error, naming its file, for text that is not TOML.
toml::table parsed(const EffectiveConfig& config);

// A text of its table as written, with {run_dir} and {name} put in; nullopt where there is no such
// key.
std::optional<std::string> text_of(const EffectiveConfig& config, const toml::table& values,
                                   const std::string& key);

}  // namespace tickpath::cli
