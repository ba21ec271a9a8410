// Parts of a pipeline that a command through risk does not reach.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/programs.hpp"

namespace tickpath::cli {

// A venue without a risk, or a shard without an oeg.
struct Unreached {
  int venue = 0;      // 0: there is one
  std::string shard;  // empty: all of the venue
  auto operator<=>(const Unreached&) const = default;
};
using UnreachedParts = std::map<Unreached, std::string>;  // and the programs, with their states

// Looks at every risk and oeg that runs or has run here: a dead one may be started again, and would
// trade on. running: running_programs() of the run directory.
UnreachedParts unreached_parts(const std::string& run_dir,
                               const std::vector<RunningProgram>& running);

}  // namespace tickpath::cli
