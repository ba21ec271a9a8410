// What there is of a run, in the directories of its hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/control/long_names.hpp"
#include "common/trace/reader.hpp"
#include "tools/history/recording_identity.hpp"

namespace tickpath::history {

// Which part of a run: ticks, orders and stamps of one venue belong together, by the sequence
// numbers of its feed.
struct RunPart {
  std::string oeg;                    // whose journal; empty: that of the venue's only oeg
  std::optional<std::uint8_t> venue;  // its number; empty: the run has one venue
  bool recording = true;              // false: what sim replayed is not asked for
};

struct RunFiles {
  bool going_on = false;
  std::vector<std::string> silent;  // programs that run and did not answer
  std::uint8_t venue = 0;           // of this part; 0: the run's venue has no number
  bool of_several = false;          // venues: this is a part of the run
  std::string recording;            // that sim replayed; empty: no sim was here
  // Messages of it that were on the feed.
  std::uint64_t messages = 0;
  std::string stock;  // LOBSTER: the symbol that sim had in place of the file's
  // What sim says of the messages that it read, these and some ahead; empty: it goes on.
  std::optional<KnownDigest> digest;
  std::string journal;                           // empty: none
  std::optional<std::uint64_t> journal_records;  // that its oeg wrote; empty: not known
  std::vector<std::string> journals;             // of other oegs of the venue, which are not read
  // The traces of all venues: their clocks are one line. Whether file i has stamps of this part:
  // of_part().
  std::vector<trace::TraceFile> traces;
  std::vector<std::string> trace_names;  // of their files, without ".trace"
  control::LongNames names;
  std::int64_t started_ns = 0;  // of sim, wall clock; 0: not known

  // The file is of a program of this venue, or of one of all venues.
  bool of_part(const trace::TraceFile& file) const noexcept {
    return file.header().venue == 0 || file.header().venue == venue;
  }
};

// Throws Error naming a directory that is none, or a file that is damaged; that says what to choose
// where the run has several venues or oegs, and that a chosen one is not there; SystemError.
RunFiles find_run_files(const std::vector<std::string>& run_dirs, const RunPart& part);

// "demo@2026-01-31T12:00:00.123Z": the last part of the directory's path, and the start; of a part,
// with "#2" for the venue behind it.
std::string default_name(const std::string& run_dir, std::int64_t started_ns,
                         std::uint8_t venue = 0);

}  // namespace tickpath::history
