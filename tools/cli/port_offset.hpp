// The ports of a run: moved, so that two runs of one configuration are on one machine, and those
// that somebody else has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/cli/cross_check.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {

// Settings "key=host:port" by name of the instance. `offset` is added to the port of each address
// at which one of the programs listens or sends. Addresses that lead to one of these follow; an
// address of a venue elsewhere stays. Throws ConfigError for ports beyond the last one.
std::map<std::string, std::vector<std::string>> shifted_ports(
    const std::vector<EffectiveConfig>& configs, int offset);

// The output of each program's --print-config. A program that refuses its configuration is left
// out.
std::vector<EffectiveConfig> effective_configs(const std::vector<ConfiguredProgram>& programs,
                                               const std::string& binary_dir,
                                               const std::string& run_dir);

// Ports at which a program of this host is to be, and another one is: a line each. Of the fabric
// none: it says so itself.
std::vector<std::string> taken_ports(const std::vector<EffectiveConfig>& configs);

}  // namespace tickpath::cli
