// Which id each symbol has, over restarts of mdh: a file of symbols in the order of their ids.
//
// Ids are what strategies, oeg and risk know instruments by, and what positions that are carried
// into the next day are kept under. A feed names its symbols in another order each day; without the
// file a restarted mdh would give a symbol's id to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath::mdh {

// Control thread. Text: a symbol a line, the first has id 0; what is no visible ASCII character,
// and '%', is written as % and two hexadecimal digits.
class SymbolFile {
 public:
  explicit SymbolFile(std::string path) : path_(std::move(path)) {}

  // What the last run left; no file: nothing. Throws SystemError, or Error with the line and what
  // to do: an id that is guessed would be another symbol's.
  std::vector<std::string> read(std::uint32_t instruments_max);
  // More symbols are known now. Whole or not at all, and on the disk when it returns. Throws
  // SystemError.
  void append(const std::vector<std::string>& symbols);
  // Symbols in the file.
  std::uint32_t size() const noexcept { return size_; }

 private:
  std::string path_;
  std::string text_;
  std::uint32_t size_ = 0;
};

}  // namespace tickpath::mdh
