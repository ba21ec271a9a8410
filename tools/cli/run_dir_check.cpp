#include "tools/cli/run_dir_check.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "common/base/error.hpp"
#include "common/config/table.hpp"
#include "common/config/values.hpp"
#include "common/control/run_directory.hpp"
#include "common/fix/store_reader.hpp"
#include "tools/cli/cross_check.hpp"
#include "tools/cli/effective_config.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {
namespace {

constexpr const char* kDefault = "run";

std::string run_dir_in(const ConfiguredProgram& program) {
  std::string found = kDefault;
  try {
    found = config::read_table(program.path)["run_dir"].value_or(found);
  } catch (const Error&) {  // its program says what is wrong
  }
  constexpr std::string_view kKey = "run_dir=";
  for (const std::string& setting : program.settings)
    if (setting.starts_with(kKey)) found = setting.substr(kKey.size());
  return found;
}

// Empty: the file cannot be read as a store. Its program reports that when it starts.
std::string session_of(const std::string& path) {
  try {
    const fix::StoreReader store(path);
    return store.sender() + " -> " + store.target();
  } catch (const Error&) {
    return {};
  }
}

bool has_programs(const std::string& directory) {
  try {
    return std::ranges::any_of(control::RunDirectory::names(directory),
                               [&](const std::string& name) {
                                 return control::RunDirectory::holder(directory, name) > 0 ||
                                        control::RunDirectory::held_elsewhere(directory, name);
                               });
  } catch (const Error&) {
    return false;  // somebody else's
  }
}

}  // namespace

std::string run_dir_of(const std::vector<ConfiguredProgram>& programs) {
  const std::string first = run_dir_in(programs.front());
  for (const ConfiguredProgram& each : programs)
    if (const std::string other = run_dir_in(each); other != first)
      throw config::ConfigError({programs.front().path + " has run_dir = \"" + first + "\", " +
                                 each.path + " \"" + other +
                                 "\": programs of one pipeline meet in one directory. Make them "
                                 "equal, or give --run-dir"});
  return first;
}

std::string run_dir_option(const std::string& run_dir) {
  return run_dir == kDefault ? "" : " --run-dir " + run_dir;
}

std::string nothing_runs(const std::string& run_dir) {
  std::string text = "nothing runs in '" + run_dir + "'";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir, none))
    if (entry.is_directory(none) && has_programs(entry.path()))
      text += "; programs run in '" + entry.path().string() + "': --run-dir";
  return text;
}

std::vector<std::string> foreign_stores(const std::vector<EffectiveConfig>& configs) {
  std::vector<std::string> problems;
  for (const EffectiveConfig& config : configs) {
    if (config.program != "oeg" || !config.host.empty()) continue;
    const toml::table values = parsed(config);
    const auto path = text_of(config, values, "venue.store");
    if (!path || !std::filesystem::exists(*path)) continue;
    const std::string ours = values.at_path("venue.sender").value_or(std::string()) + " -> " +
                             values.at_path("venue.target").value_or(std::string());
    const std::string theirs = session_of(*path);
    if (theirs.empty() || theirs == ours) continue;
    problems.push_back(config.path + ": FIX store " + *path + " belongs to the session " + theirs +
                       ", not to " + ours +
                       ": another configuration has run in this directory. Give another one with "
                       "--run-dir; or, where that run is over for good, remove " +
                       *path + " and the journal beside it");
  }
  return problems;
}

}  // namespace tickpath::cli
