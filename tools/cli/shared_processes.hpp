// Which instances of a configuration directory share a process: the key `process`.
#pragma once

#include <string>
#include <vector>

#include "common/control/run_directory.hpp"
#include "tools/cli/cross_check.hpp"

namespace tickpath::cli {

// Its `process`; empty: it has a process of its own. Throws Error for text that is not TOML.
std::string process_of(const EffectiveConfig& config);

// Its venue and its shard. Throws as process_of().
control::Part part_of(const EffectiveConfig& config);

// What cannot share one, a sentence each. Whether those that can fit together otherwise is said by
// the process itself.
std::vector<std::string> check_processes(const std::vector<EffectiveConfig>& configs);

}  // namespace tickpath::cli
