// Keeps those who can make a program write a line from filling its disk.
#pragma once

#include <chrono>
#include <cstdint>

namespace tickpath {

// So many lines in an interval; the others are counted.
class LogBudget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LogBudget(std::uint32_t lines = 1,
                     std::chrono::milliseconds interval = std::chrono::seconds(1)) noexcept
      : lines_(lines), interval_(interval) {}

  // Whether there is a line left.
  bool take(Clock::time_point now) noexcept {
    if (now - began_ >= interval_) {
      began_ = now;
      used_ = 0;
    }
    if (used_ == lines_) {
      ++unsaid_;
      return false;
    }
    ++used_;
    return true;
  }
  // Lines that were not written since this was asked last; 0 while there are none left.
  std::uint64_t take_unsaid(Clock::time_point now) noexcept {
    if (unsaid_ == 0 || now - began_ < interval_) return 0;
    const std::uint64_t unsaid = unsaid_;
    unsaid_ = 0;
    return unsaid;
  }

 private:
  std::uint32_t lines_;
  std::chrono::milliseconds interval_;
  Clock::time_point began_{};
  std::uint32_t used_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace tickpath
