// What `tickpath doctor --json` found on the machine of a run, beside the hops that it explains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tickpath::report {

// doctor.json of the run directories: [{"id", "state", "current", "needed", "why", "command",
// "hops": [names]}], what is not fine. null where there is no such file. Throws Error for one that
// is damaged.
nlohmann::ordered_json doctor_json(const std::vector<std::string>& run_dirs);

// The hops, as the report names them, that a finding can make slow; "*": every one.
std::vector<std::string_view> hops_of_finding(std::string_view id);

}  // namespace tickpath::report
