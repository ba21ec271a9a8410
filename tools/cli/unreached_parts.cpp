#include "tools/cli/unreached_parts.hpp"

#include <algorithm>

#include "common/control/run_directory.hpp"
#include "tools/cli/remote_up.hpp"

namespace tickpath::cli {
namespace {

// A risk that hangs and names no venue may be of all.
bool has_risk(int venue, const std::vector<RunningProgram>& running) {
  return std::ranges::any_of(running, [&](const RunningProgram& each) {
    if (each.program != "risk") return false;
    if (each.venue == venue || (each.venue == 0 && !each.answers)) return true;
    return std::ranges::find(each.venues, venue) != each.venues.end();
  });
}

bool has_oeg(const control::Part& part, const std::vector<RunningProgram>& running) {
  return std::ranges::any_of(running, [&](const RunningProgram& each) {
    return each.program == "oeg" && each.venue == part.venue && each.shard == part.shard;
  });
}

// "oeg-2 runs", "risk-2 does not run", "oeg-2 on order cannot be reached".
std::string state_of(const std::string& run_dir, const std::string& name,
                     const std::vector<RunningProgram>& running) {
  const auto runs = std::ranges::find(running, name, &RunningProgram::name);
  if (runs != running.end()) return name + (runs->answers ? " runs" : " does not answer");
  const std::string host = host_name_of(run_dir, name);
  return name + (host.empty() ? " does not run" : " on " + host + " cannot be reached");
}

}  // namespace

UnreachedParts unreached_parts(const std::string& run_dir,
                               const std::vector<RunningProgram>& running) {
  UnreachedParts unreached;
  const auto add = [&](const Unreached& where, const std::string& name) {
    std::string& programs = unreached[where];
    programs += (programs.empty() ? "" : ", ") + state_of(run_dir, name, running);
  };
  for (const std::string& name : all_that_ran(run_dir)) {
    const control::Part part = part_of_instance(run_dir, name);
    if (part.program != "risk" && part.program != "oeg") continue;
    if (!has_risk(part.venue, running))
      add({part.venue, ""}, name);
    else if (!part.shard.empty() && !has_oeg(part, running))
      add({part.venue, part.shard}, name);
  }
  return unreached;
}

}  // namespace tickpath::cli
