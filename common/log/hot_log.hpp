// Logging from a datapath thread: a binary record goes through a ring, the control thread formats
// it. Never blocks, allocates or formats on the datapath; what does not fit is counted.
//
//   enum class Note : std::uint16_t { kGap, kBadFrame };
//   hot_log.define(Note::kGap, Level::kWarning, "gap: {} messages missing from sequence {}");
//   ...                                                    // datapath:
//   hot_log.note(Note::kGap, missing, first_sequence);
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/log/log.hpp"

namespace tickpath::log {

class HotLog {
 public:
  // More would make a record larger than a cache line; nothing here needs more.
  static constexpr std::size_t kArgumentsMax = 4;
  // Records waiting for the control thread, which drains several times a second: with the limit
  // per code below, 1024 hold the worst second of fifty codes.
  static constexpr std::size_t kDepth = 1024;
  // Records of one code a second; the rest is counted and reported in one line.
  static constexpr std::uint32_t kPerSecondDefault = 20;

  HotLog();

  // Control thread, before the datapath thread starts. format: as for info(), at most
  // kArgumentsMax integers, signed or not.
  template <class Code>
  requires std::is_enum_v<Code>
  void define(Code code, Level level, std::string format,
              std::uint32_t per_second = kPerSecondDefault) {
    define_code(static_cast<std::size_t>(code), level, std::move(format), per_second);
  }

  // Datapath thread only.
  template <class Code, class... Arguments>
  requires(std::is_enum_v<Code> && sizeof...(Arguments) <= kArgumentsMax &&
           (std::is_convertible_v<Arguments, std::uint64_t> &&
            ...)) void note(Code code, Arguments... arguments) noexcept {
    // Bit i: argument i is signed, or -100 would be written as 18446744073709551516.
    std::uint32_t is_signed = 0;
    std::uint32_t bit = 1;
    ((is_signed |= std::is_signed_v<Arguments> ? bit : 0u, bit <<= 1), ...);
    push(static_cast<std::size_t>(code), is_signed, {static_cast<std::uint64_t>(arguments)...});
  }

  // Control thread: writes what has arrived and, once a second, what was left out. `last`: the
  // datapath thread has ended; tells what was left out at once.
  void drain(bool last = false);

  // Any thread: records that found the ring full.
  const Counter& lost() const noexcept { return lost_; }

 private:
  struct Record {
    std::uint32_t code;
    std::uint32_t is_signed;
    std::array<std::uint64_t, kArgumentsMax> arguments;
  };
  struct Definition {
    Level level = Level::kOff;
    std::string format;
    Record newest{};                    // of those written; control thread
    std::uint64_t suppressed_told = 0;  // control thread
  };
  // The datapath's own view of a code.
  struct Budget {
    std::uint64_t window_start_tsc = 0;
    std::uint32_t in_window = 0;
    std::uint32_t per_second = 0;
    Counter suppressed;
  };

  void define_code(std::size_t code, Level level, std::string format, std::uint32_t per_second);
  void tell_what_was_left_out();
  void push(std::size_t code, std::uint32_t is_signed,
            std::array<std::uint64_t, kArgumentsMax> arguments) noexcept;
  static std::string text_of(const std::string& format, const Record& record);

  // Codes are small enumerations; the array bounds them so that a note can index without a search.
  static constexpr std::size_t kCodesMax = 128;
  std::uint64_t window_ticks_;
  std::array<Budget, kCodesMax> budgets_;
  std::array<Definition, kCodesMax> definitions_;
  SpscRing<Record> ring_{kDepth};
  Counter lost_;
  std::uint64_t lost_told_ = 0;
  std::uint64_t told_tsc_ = 0;  // of the last report of what was left out
};

}  // namespace tickpath::log
