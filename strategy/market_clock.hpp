// The market's clock: the time of day in the messages of the exchange's feed.
#pragma once

#include <cstdint>

namespace tickpath::strategy {

// The clock moves with messages alone. The time that has passed never goes back, though the time of
// day does. A new day begins earlier than the last one ended, and the night takes no time.
class MarketClock {
 public:
  // The time in a message; 0: it has none.
  void take(std::uint64_t time_of_day_ns) noexcept {
    if (time_of_day_ns > now_ns_) [[likely]] {
      if (now_ns_ != 0) elapsed_ns_ += time_of_day_ns - now_ns_;
      now_ns_ = time_of_day_ns;
    } else if (time_of_day_ns != 0 && now_ns_ - time_of_day_ns > kNewDayNs) {
      now_ns_ = time_of_day_ns;
    }
  }
  std::uint64_t time_of_day_ns() const noexcept { return now_ns_; }  // 0: there was no message yet
  std::uint64_t elapsed_ns() const noexcept { return elapsed_ns_; }  // since the first message

 private:
  // Messages of a feed may be out of order by their times, by far less than this.
  static constexpr std::uint64_t kNewDayNs = 3'600'000'000'000;

  std::uint64_t now_ns_ = 0;
  std::uint64_t elapsed_ns_ = 0;
};

}  // namespace tickpath::strategy
