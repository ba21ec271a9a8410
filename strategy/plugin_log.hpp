// Text on its way from plugins and the engine to the log: fixed-size records through a ring,
// written by the control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/spsc_ring.hpp"

namespace tickpath::strategy {

struct LogRecord {
  static constexpr std::size_t kTextMax = 240;
  std::uint64_t at_ns;  // the engine's clock
  std::uint8_t level;   // tickpath_log_level
  std::uint8_t strategy_id;
  std::uint8_t from_engine;  // 1: the engine reports about the plugin; 0: the plugin's own words
  std::uint8_t length;
  char text[kTextMax];
  std::uint8_t reserved[4];

  std::string_view view() const noexcept { return {text, length}; }
  void set(std::string_view value) noexcept {
    length = static_cast<std::uint8_t>(value.size() < kTextMax ? value.size() : kTextMax);
    std::memcpy(text, value.data(), length);
  }
};
static_assert(sizeof(LogRecord) == 256);

using LogRing = SpscRing<LogRecord>;

// Builds a text in place: the datapath has no formatting library. Cuts what does not fit.
class TextBuilder {
 public:
  TextBuilder& operator<<(std::string_view text) noexcept {
    const std::size_t room = sizeof(buffer_) - size_;
    const std::size_t take = text.size() < room ? text.size() : room;
    std::memcpy(buffer_ + size_, text.data(), take);
    size_ += take;
    return *this;
  }
  TextBuilder& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t at = sizeof(digits);
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << std::string_view(digits + at, sizeof(digits) - at);
  }
  std::string_view view() const noexcept { return {buffer_, size_}; }

 private:
  char buffer_[LogRecord::kTextMax];
  std::size_t size_ = 0;
};

}  // namespace tickpath::strategy
