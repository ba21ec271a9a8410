#include "common/control/long_names.hpp"

#include <fstream>

#include "common/base/error.hpp"
#include "common/control/summary.hpp"

namespace tickpath::control {

LongNames::LongNames(const Pairs& pairs) {
  for (const auto& [symbol, name] : pairs)
    if (symbols_.try_emplace(name, symbol).second) names_.try_emplace(symbol, name);
}

std::string LongNames::path(const std::string& run_dir) { return run_dir + "/names.tsv"; }

LongNames LongNames::read(const std::string& run_dir) {
  Pairs pairs;
  std::ifstream file(path(run_dir));
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == 0 || tab == std::string::npos || line.size() - tab - 1 > kLongNameMax)
      throw Error(path(run_dir) + ":" + std::to_string(pairs.size() + 1) +
                  ": a symbol, a tab and a name of at most " + std::to_string(kLongNameMax) +
                  " characters are wanted");
    pairs.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  return LongNames(pairs);
}

void LongNames::write(const std::string& run_dir, const Pairs& pairs) {
  std::string text;
  for (const auto& [symbol, name] : pairs) text += symbol + "\t" + name + "\n";
  write_file_atomically(path(run_dir), text);
}

std::string_view LongNames::name_of(std::string_view symbol) const noexcept {
  const auto found = names_.find(symbol);
  return found == names_.end() ? symbol : std::string_view(found->second);
}

std::string_view LongNames::symbol_of(std::string_view name) const noexcept {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? name : std::string_view(found->second);
}

}  // namespace tickpath::control
