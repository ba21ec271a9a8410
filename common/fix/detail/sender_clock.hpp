// The age of a message that another host sent and a standby has copied. SendingTime is by the clock
// of that host. Where our clock is behind that one, an old message would look young.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tickpath::fix::detail {

class SenderClock {
 public:
  // Message `seq` was sent at `sent_ns` there, and taken at `now_ns` here. CLOCK_REALTIME, both.
  void see(std::uint32_t seq, std::int64_t sent_ns, std::int64_t now_ns) noexcept {
    const std::int64_t ahead = now_ns - sent_ns;
    const bool first = last_seq_ == 0;
    ahead_ns_ = first ? ahead : std::min(ahead, ahead_ns_ + (now_ns - seen_ns_) / kDriftPart);
    last_seq_ = seq;
    seen_ns_ = now_ns;
  }
  // All numbers begin anew: the next messages are our own.
  void forget() noexcept { last_seq_ = 0; }

  // Since it was sent, by our clock or by that of the host which sent it: the longer of the two.
  std::int64_t age_ns(std::uint32_t seq, std::int64_t sent_ns, std::int64_t now_ns) const noexcept {
    const std::int64_t age = now_ns - sent_ns;
    return seq <= last_seq_ ? std::max(age, age - ahead_ns_) : age;
  }

 private:
  // Clocks that are disciplined drift by less than a part in so many (NTP slews by 1 in 2000). With
  // less, the smallest delay of long ago would hide that the two have come apart.
  static constexpr std::int64_t kDriftPart = 1000;

  std::uint32_t last_seq_ = 0;  // adopted; 0: none
  std::int64_t ahead_ns_ = 0;   // our clock of that one, with the least time on the way
  std::int64_t seen_ns_ = 0;
};

}  // namespace tickpath::fix::detail
