// The lines of a LOBSTER message file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/units.hpp"
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

// Reads a source line by line through a buffer of fixed size.
class LobsterLines {
 public:
  explicit LobsterLines(files::ByteSource& source);

  // False at the end or at damage: error() is then "line 12: ..." or empty.
  bool next(LobsterEvent& event);
  const std::string& error() const noexcept { return error_; }
  std::uint64_t line_number() const noexcept { return line_number_; }
  void rewind();

 private:
  bool next_line(std::string_view& line);
  bool fail(const std::string& what);

  files::ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t line_number_ = 0;
  std::string error_;
};

}  // namespace tickpath::itch::detail
