// The lines of LOBSTER's message and orderbook files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/units.hpp"
#include "common/feeds/recordings/detail/text_lines.hpp"
#include "common/files/byte_source.hpp"

namespace tickpath::itch::detail {

enum class LobsterType : std::uint8_t {
  kSubmission = 1,
  kPartialCancel = 2,
  kDeletion = 3,
  kExecution = 4,
  kHiddenExecution = 5,
  kCross = 6,
  kHalt = 7,
};

struct LobsterEvent {
  std::uint64_t time_ns = 0;
  LobsterType type = LobsterType::kSubmission;
  std::uint64_t order_id = 0;
  std::uint32_t size = 0;
  std::int64_t price = 0;  // Price(4); kHalt: -1 halted, 0 quotation only, 1 trading
  Side side = Side::kBuy;
};

// Parses one line, without its end. Returns an empty string, or what is wrong with it.
std::string parse_lobster_line(std::string_view line, LobsterEvent& event);

struct LobsterLevel {
  std::uint32_t price = 0;  // Price(4)
  std::uint32_t shares = 0;
};

// A line of the orderbook file: the book after the event of the same line of the message file.
struct LobsterRow {
  std::vector<LobsterLevel> asks;  // that hold shares, the best first
  std::vector<LobsterLevel> bids;
  std::size_t levels = 0;  // that the row has room for, on each side
};

// "ask price, ask size, bid price, bid size" for each level. Returns an empty string, or what is
// wrong with it.
std::string parse_lobster_row(std::string_view line, LobsterRow& row);

// Reads a source line by line. next(): false at the end or at damage, which error() tells.
class LobsterLines {
 public:
  explicit LobsterLines(files::ByteSource& source) : lines_(source, "a LOBSTER file") {}
  bool next(LobsterEvent& event);
  const std::string& error() const noexcept { return lines_.error(); }
  void rewind() { lines_.rewind(); }

 private:
  TextLines lines_;
};

class LobsterRows {
 public:
  explicit LobsterRows(files::ByteSource& source) : lines_(source, "a LOBSTER orderbook file") {}
  bool next(LobsterRow& row);
  // Makes the last row the damage: what it lacks beside its message file.
  void fail(const std::string& what) { (void)lines_.fail(what); }
  const std::string& error() const noexcept { return lines_.error(); }

 private:
  TextLines lines_;
};

}  // namespace tickpath::itch::detail
