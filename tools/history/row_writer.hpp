// One row after the other in ClickHouse's RowBinary (docs: ClickHouse, "Formats", RowBinary): the
// values of the columns, little-endian, without padding; a String is its length (LEB128) and its
// bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tickpath::history {

static_assert(std::endian::native == std::endian::little);

// One thread. Values are appended in the order of the table's columns.
class RowWriter {
 public:
  // UInt8 ... UInt64, Int64 (DateTime64(9) is its nanoseconds), Float64; Date: days as UInt16.
  template <class Number>
  RowWriter& number(Number value) {
    char bytes[sizeof(Number)];
    std::memcpy(bytes, &value, sizeof(Number));
    bytes_.append(bytes, sizeof(Number));
    return *this;
  }
  RowWriter& text(std::string_view value) {
    std::size_t length = value.size();
    for (; length >= 0x80; length >>= 7) bytes_ += static_cast<char>(0x80 | (length & 0x7f));
    bytes_ += static_cast<char>(length);
    bytes_ += value;
    return *this;
  }

  const std::string& bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  std::string bytes_;
};

// The day of a time, as Date has it: days since the Unix epoch; 0 for times before it.
inline std::uint16_t day_of(std::int64_t time_ns) noexcept {
  constexpr std::int64_t kDayNs = 86'400'000'000'000;
  return time_ns < 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(time_ns / kDayNs);
}

}  // namespace tickpath::history
