#include "tools/cli/run_results.hpp"

#include <algorithm>
#include <filesystem>

#include "tools/cli/conservation.hpp"

namespace tickpath::cli {
namespace {

struct JournalOf {
  std::string path;
  std::uint8_t venue;
};

// The journal of each oeg that led at its end, one a venue; while a run goes on, that of the only
// one.
std::vector<JournalOf> journals_in(const std::string& run_dir,
                                   const std::vector<control::Summary>& summaries) {
  std::vector<JournalOf> journals;
  const auto add = [&](const std::string& name, std::uint8_t venue) {
    const std::string path = run_dir + "/" + name + ".journal";
    if (std::filesystem::exists(path)) journals.push_back({path, venue});
  };
  for (const control::Summary& summary : summaries)
    if (summary.program == "oeg" && !summary.stood_by) add(summary.name, summary.venue);
  if (journals.empty()) add("oeg", 0);
  return journals;
}

}  // namespace

RunResults results_in(const std::vector<std::string>& paths) {
  std::vector<std::string> run_dirs;
  control::LongNames::Pairs pairs;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) continue;
    run_dirs.push_back(path);
    // sim, oeg and risk may be on different hosts.
    for (const auto& pair : control::LongNames::read(path).pairs()) pairs.push_back(pair);
  }
  RunResults results{read_summaries(run_dirs), control::LongNames(pairs), {}};
  for (const std::string& path : run_dirs)
    for (const JournalOf& each : journals_in(path, results.summaries)) {
      results.venues.push_back({each.venue, read_trades(each.path)});
      show_names(results.venues.back().trades, results.names);
    }
  return results;
}

std::vector<trace::TraceFile> trace_files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      names.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".trace") names.push_back(entry.path());
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<trace::TraceFile> files;
  for (const std::string& name : names) files.emplace_back(name);
  return files;
}

}  // namespace tickpath::cli
