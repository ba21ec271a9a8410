#include "tools/cli/shared_processes.hpp"

#include <map>

#include "tools/cli/effective_config.hpp"

namespace tickpath::cli {

std::string process_of(const EffectiveConfig& config) {
  return parsed(config)["process"].value_or(std::string());
}

control::Part part_of(const EffectiveConfig& config) {
  const toml::table values = parsed(config);
  const std::string shard =
      config.program == "oeg" ? values.at_path("mdh.shard").value_or(std::string()) : std::string();
  return {config.program, values["venue_number"].value_or(0), shard};
}

std::vector<std::string> check_processes(const std::vector<EffectiveConfig>& configs) {
  std::vector<std::string> problems;
  std::map<std::string, std::string> programs;  // by process
  for (const EffectiveConfig& config : configs) {
    const std::string process = process_of(config);
    if (process.empty()) continue;
    const std::string& first = programs.emplace(process, config.program).first->second;
    if (config.program != "mdh" && config.program != "oeg")
      problems.push_back(config.path + ": process: only instances of mdh or of oeg share one");
    else if (first != config.program)
      problems.push_back(config.path + ": process = \"" + process + "\" is one of " + first +
                         ": only instances of one program share one");
    else if (!config.host.empty())
      problems.push_back(config.path + ": process: it runs on " + config.host +
                         " (hosts.toml), where each has a process of its own");
  }
  return problems;
}

}  // namespace tickpath::cli
