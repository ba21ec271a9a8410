// A program's configuration in effect, as its --print-config tells it.
#pragma once

#include <string>

#include <toml++/toml.h>

namespace tickpath::cli {

struct EffectiveConfig;

// Throws Error, naming its file, for text that is not TOML.
toml::table parsed(const EffectiveConfig& config);

}  // namespace tickpath::cli
