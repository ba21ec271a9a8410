// Which day of a capture of IEX's a message is of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/feeds/itch/trading_day.hpp"

namespace tickpath::iex {

// A day has the number of its date (UTC), weekends included. A venue that tests may have two
// trading days on one date. Then the second one, and each day behind it, has a number one higher.
class CaptureDays {
 public:
  // The time of a message since the midnight before the first one. begins_day: it begins another
  // trading day.
  std::uint64_t time_ns(std::uint64_t sent_ns, bool begins_day) noexcept {
    constexpr std::uint64_t kDayNs = itch::TradingDay::kDayNs;
    if (midnight_ns_ == 0) midnight_ns_ = sent_ns / kDayNs * kDayNs;
    std::uint64_t time_ns = sent_ns - std::min(sent_ns, midnight_ns_) + ahead_ns_;
    if (begins_day && time_ns / kDayNs <= last_ns_ / kDayNs) {
      ahead_ns_ += kDayNs;
      time_ns += kDayNs;
    }
    last_ns_ = std::max(last_ns_, time_ns);
    return time_ns;
  }
  std::uint64_t last_ns() const noexcept { return last_ns_; }          // the newest of these
  std::uint64_t midnight_ns() const noexcept { return midnight_ns_; }  // since the Unix epoch
  // So far are times ahead of those that the dates give.
  std::uint64_t ahead_ns() const noexcept { return ahead_ns_; }

 private:
  std::uint64_t midnight_ns_ = 0;
  std::uint64_t ahead_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace tickpath::iex
