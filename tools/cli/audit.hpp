// The auditor: what every program of a run has left, against what the others have left
// (conservation.hpp) and against its sources.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/conservation.hpp"

namespace tickpath::cli {

// What a run has left in its directories, one of each host.
struct Remains {
  std::vector<std::string> run_dirs;
  std::vector<control::Summary> summaries;
  std::vector<std::string> expected;  // instances of the run
  bool with_recordings = false;       // they are read as well: a day's takes a while
  bool whole = true;                  // else a part: who led may be on another host
};

// All of it. Expected is each program that ever ran there: its pid file stays, whatever its end.
// Throws Error (nothing is left, an instance is in two of them, a summary is broken), SystemError.
Remains remains_of(const std::vector<std::string>& run_dirs);

// What these instances left. whole: and any other that ran there, since they are all of a pipeline.
Remains remains_of(const std::string& run_dir, const std::vector<std::string>& names, bool whole);

// The file of that name in one of the directories, else where it was; empty: in neither.
std::string found_in(const Remains& remains, const std::string& file);
// The program runs, or ran, on another host, which has its files. One of its name here is of a
// former run.
bool is_elsewhere(const Remains& remains, const std::string& name);

// Throws as the above.
Conservation audit(const Remains& remains);

}  // namespace tickpath::cli
