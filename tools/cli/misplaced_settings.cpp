#include "tools/cli/misplaced_settings.hpp"

#include <algorithm>
#include <sstream>

#include "common/control/command_line.hpp"

namespace tickpath::cli {
namespace {

// Takes out the lines that say that the setting's key is unknown. True: there were some.
bool take_unknown(const std::string& setting, std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (line.find("--set " + setting + ": ") == std::string::npos ||
        line.find("unknown key") == std::string::npos)
      rest += line + "\n";
  const bool found = rest.size() != text.size();
  if (found) text = rest;
  return found;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string joined(const std::vector<std::string>& names, const std::string& before,
                   const std::string& between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + before + name;
  return text;
}

}  // namespace

std::vector<std::string> misplaced_settings(const std::vector<std::string>& overrides,
                                            std::vector<CheckOutput>& outputs) {
  std::vector<std::string> told;
  for (const std::string& setting : overrides) {
    if (!control::split_scope(setting).first.empty()) continue;
    std::vector<CheckOutput> without = outputs;
    std::vector<std::string> have, lack;
    for (CheckOutput& each : without)
      add_once(take_unknown(setting, each.text) ? lack : have, each.program);
    if (lack.empty() || have.empty()) continue;  // a mistyped key is unknown to all
    outputs = std::move(without);
    told.push_back("--set " + setting + " is for every program, and " + joined(lack, "", ", ") +
                   " have no such key: write --set " + joined(have, "", ":" + setting + " --set ") +
                   ":" + setting);
  }
  return told;
}

}  // namespace tickpath::cli
