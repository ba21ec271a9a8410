// Deterministic replay: the five programs in one process, turned one after the other by one thread
// in virtual time. The same configuration and recording give the same bytes, whatever the machine
// does meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/control/json.hpp"

namespace tickpath::lockstep {

struct ProgramFile {
  std::string program;                // "sim", "mdh", "oeg", "risk", "strategy"
  std::string name;                   // of the instance
  std::string path;                   // TOML
  std::vector<std::string> settings;  // "key=value"; they win over the file
};

struct Options {
  std::vector<ProgramFile> programs;  // one each; any number of strategies
  // Emptied first if an earlier such run left it; else it must be empty or not there.
  std::string run_dir = "run/deterministic";
  std::optional<std::uint64_t> seed;  // of everything random in sim; without it as configured
  // What one round of all programs takes; the virtual time between two things that happen.
  std::uint64_t round_ns = 1'000;
  // The longest step of virtual time while nothing happens.
  std::uint64_t idle_ns = 1'000'000;
  // sim's "replay" object, as `tickpath status --json` shows it; some times a second, for a person.
  std::function<void(const control::Json&)> progress;
};

struct Result {
  std::vector<std::pair<std::string, std::uint64_t>> states;  // of each program
  std::uint64_t state = 0;                                    // of all of them
  std::uint64_t order_journal = 0;                            // digest of oeg's; 0: no oeg
  std::uint64_t sim_journal = 0;                              // digest of sim's
  std::string order_journal_path;
  std::string sim_journal_path;
  std::uint64_t messages = 0;  // of the recording
  std::uint64_t rounds = 0;
  std::uint64_t virtual_ns = 0;  // of the whole run
};

// Throws config::ConfigError, and Error where the pipeline does not get ready, breaks, or is
// configured for what does not run in lockstep. Process-wide while it runs: clocks and multicast
// sockets are virtual, and another thread must not start programs of its own.
Result run(const Options& options);

struct JournalResult {
  std::uint64_t turns = 0;
  std::uint64_t packets = 0;       // compared and equal
  std::uint64_t report_bytes = 0;  // likewise
  std::string difference;          // the first; empty: none
  std::uint64_t sim_journal = 0;   // digest of the journal written anew
  std::string sim_journal_path;
};

// sim alone, with the inputs of a journal; what it says is compared with the journal's outputs.
// options.programs: sim. Throws as run(), and Error for a journal of another configuration.
JournalResult replay_journal(const Options& options, const std::string& journal);

}  // namespace tickpath::lockstep
