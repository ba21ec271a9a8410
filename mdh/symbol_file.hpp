// Which id each symbol has, over restarts of mdh: a file of symbols in the order of their ids.
//
// Ids are what strategies, oeg and risk know instruments by, and what positions that are carried
// into the next day are kept under. A feed names its symbols in another order each day; without the
// file a restarted mdh would give a symbol's id to another.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tickpath::mdh {

struct KnownSymbol {
  std::string symbol;
  std::chrono::sys_days last_seen;  // UTC: a feed named it that day

  friend bool operator==(const KnownSymbol&, const KnownSymbol&) = default;
};

// Control thread. Text: a line a symbol, the first has id 0; the symbol, a space, the day as
// 2026-11-23. What is no visible ASCII character, and '%', is written as % and two hexadecimal
// digits. A line without a day counts as seen on the day when it is read.
class SymbolFile {
 public:
  explicit SymbolFile(std::string path) : path_(std::move(path)) {}

  // What the last run left; no file: nothing. Throws SystemError, or Error with the line and what
  // to do: an id that is guessed would be another symbol's.
  std::vector<KnownSymbol> read(std::uint32_t instruments_max, std::chrono::sys_days today) const;
  // Whole or not at all, and on the disk when it returns. Throws SystemError.
  void write(const std::vector<KnownSymbol>& symbols) const;

 private:
  std::string path_;
};

}  // namespace tickpath::mdh
