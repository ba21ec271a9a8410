// Loads the files of a run into a store: the recording that sim replayed, oeg's journal, the trace
// files. It reads files, and asks a running sim for its place in the recording; nothing of a
// datapath waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/history/schema.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {

struct LoadOptions {
  std::vector<std::string> run_dirs;        // of each host of the run
  std::string run;                          // its name; empty: from the directory and sim's start
  std::string recording;                    // in place of the one that sim replayed; all of it
  std::optional<std::int64_t> midnight_ns;  // of the recording's first day; else what it says
  bool ticks = true;                        // false: no recording is read
  std::string oeg;                          // instance whose journal is read; empty: the only one
  std::optional<std::uint8_t> venue;        // of several: which one's part of the run
  std::uint64_t block_rows = 1u << 18;
  Dialect dialect;  // current: as the store is
  // For each row or message of a source; `total` 0: not known.
  std::function<void(std::string_view source, std::uint64_t done, std::uint64_t total)> progress =
      [](auto, auto, auto) {};
  std::function<void(const std::string& source, std::uint64_t block, std::uint64_t rows)> stored;
};

struct LoadedSource {
  std::string source;
  std::uint64_t rows = 0;      // in the store, each once
  std::uint64_t inserted = 0;  // by this load
};

struct LoadResult {
  std::string run;
  bool going_on = false;  // a program of it runs: load again for what comes
  bool whole = true;      // every kind of source is there, as far as the run has come
  std::vector<LoadedSource> sources;
  std::vector<std::string> notes;  // what a person must know of it, one line each
};

// Makes the schema, and loads what the store does not have yet. May be killed at any moment: the
// next load goes on. Throws Error with what is missing or does not fit, and as Store.
LoadResult load(Store& store, LoadOptions options);

}  // namespace tickpath::history
