// What there is of a run, in the directories of its hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/control/long_names.hpp"
#include "common/trace/reader.hpp"

namespace tickpath::history {

struct RunFiles {
  bool going_on = false;
  std::vector<std::string> silent;  // programs that run and did not answer
  std::string recording;            // that sim replayed; empty: no sim was here
  // Of it, that were on the feed.
  std::uint64_t messages = 0;
  std::string journal;  // empty: none
  std::vector<trace::TraceFile> traces;
  std::vector<std::string> trace_names;  // of their files, without ".trace"
  control::LongNames names;
  std::int64_t started_ns = 0;  // of sim, wall clock; 0: not known
};

// Throws Error naming a directory that is none, or a file that is damaged; SystemError.
RunFiles find_run_files(const std::vector<std::string>& run_dirs, const std::string& oeg);

// "demo@2026-01-31T12:00:00.123Z": the last part of the directory's path, and the start.
std::string default_name(const std::string& run_dir, std::int64_t started_ns);

}  // namespace tickpath::history
