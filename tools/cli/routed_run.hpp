// What a run has left of its routed orders, in the directories of its hosts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/route_check.hpp"

namespace tickpath::cli {

// recordings: by venue number, in place of the ones that the sims of a run have replayed. What is
// missing or damaged beside the decisions themselves is in RoutedRun::unchecked. Throws Error where
// no program has recorded any; Error and SystemError as strategy::read_routes().
RoutedRun read_routed_run(const std::vector<std::string>& run_dirs,
                          const std::map<std::uint8_t, std::string>& recordings);

}  // namespace tickpath::cli
