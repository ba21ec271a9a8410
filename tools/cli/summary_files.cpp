// The summaries that the programs of a run have left.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {

using control::Summary;

namespace {

void read_into(std::vector<Summary>& summaries, const std::string& run_dir,
               const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = run_dir + "/" + name + ".summary.json";
    std::ifstream file(path);
    if (!file) continue;
    const control::Json json = control::Json::parse(file, nullptr, false);
    if (json.is_discarded()) throw Error("not JSON: " + path);
    try {
      summaries.push_back(control::summary_from_json(json));
      // A strategy may have any name.
      const std::string program = program_of(name);
      if (summaries.back().name != name ||
          (is_known_program(program) && summaries.back().program != program))
        throw Error("it is of '" + summaries.back().name + "', a " + summaries.back().program);
    } catch (const Error& error) {
      throw Error(path + ": " + error.what());
    }
  }
}

}  // namespace

std::vector<Summary> read_summaries(const std::string& run_dir,
                                    const std::vector<std::string>& names) {
  std::vector<Summary> summaries;
  read_into(summaries, run_dir, names);
  settle_pairs(summaries);
  return summaries;
}

std::vector<Summary> read_summaries(const std::vector<std::string>& run_dirs) {
  std::vector<Summary> summaries;
  for (const std::string& run_dir : run_dirs) read_into(summaries, run_dir, instances_in(run_dir));
  settle_pairs(summaries);  // of all: oeg and its risks may be on different hosts
  return summaries;
}

std::vector<std::string> instances_in(const std::string& run_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir, error)) {
    const std::filesystem::path file = entry.path().filename();  // <name>.summary.json
    if (file.extension() == ".json" && file.stem().extension() == ".summary")
      names.push_back(file.stem().stem());
  }
  if (error) throw SystemError("cannot read the run directory '" + run_dir + "'", error.value());
  return names;
}

std::vector<Summary> of_venue(const std::vector<Summary>& summaries, std::uint8_t venue) {
  std::vector<Summary> own;
  for (const Summary& summary : summaries) {
    const std::vector<Summary> one{summary};
    for (const Summary& each : summary.venues.empty() ? one : summary.venues)
      if (each.venue == venue) own.push_back(each);
  }
  return own;
}

std::string problem_lines(const std::vector<Summary>& summaries) {
  std::string lines;
  for (const Summary& summary : summaries)
    for (const std::string& problem : summary.problems)
      lines += "\n  " + summary.name + ": " + problem;
  return lines;
}

}  // namespace tickpath::cli
