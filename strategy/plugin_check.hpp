// Whether the plugins of a configuration can be used, found out without a market: for --check.
#pragma once

#include <string>
#include <vector>

#include "strategy/config.hpp"

namespace tickpath::strategy {

// Loads each enabled plugin, creates and starts it (what its parameters should be is known to its
// code alone) and destroys it again. What is wrong, one problem a plugin. Control thread; runs
// foreign code.
std::vector<std::string> check_plugins(const StrategyConfig& config);

}  // namespace tickpath::strategy
