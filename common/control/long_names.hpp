// Names of instruments that have no room in ITCH's eight characters.
//
// A recording of another feed lists such an instrument as '#' and a number
// (common/feeds/itch/dbn_orders), and under that symbol it goes through the pipeline: messages, FIX
// and journals have no room either. What the symbol stands for is in a file of the run directory,
// which sim writes as its recording names them. Strategies and tools read it at their borders, so
// that people and plugins see the names alone.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickpath::control {

// Longest name: that of Databento's encoding.
inline constexpr std::size_t kLongNameMax = 71;

// Immutable once read: any thread.
class LongNames {
 public:
  // Symbols and their names. No two have one name: whoever asked for it could get the other.
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  LongNames() = default;
  explicit LongNames(const Pairs& pairs);

  // The file of a run; none: no names. Throws Error naming a line that is no "symbol<TAB>name".
  static LongNames read(const std::string& run_dir);
  // Readers see the old file or the whole new one. Throws SystemError.
  static void write(const std::string& run_dir, const Pairs& pairs);
  static std::string path(const std::string& run_dir);

  // What the symbol stands for; itself where it has no other name.
  std::string_view name_of(std::string_view symbol) const noexcept;
  // Its symbol; itself where nothing has that name. The text ends in a NUL where it is the table's.
  std::string_view symbol_of(std::string_view name) const noexcept;
  std::size_t size() const noexcept { return names_.size(); }
  Pairs pairs() const { return {names_.begin(), names_.end()}; }

 private:
  using Table = std::map<std::string, std::string, std::less<>>;
  Table names_;    // by symbol
  Table symbols_;  // by name
};

}  // namespace tickpath::control
