// The market's clock: the time of day in the messages of the exchange's feed.
#pragma once

#include <cstdint>

namespace tickpath::strategy {

// The clock moves with messages alone. The time that has passed never goes back, though the time of
// day does: another day begins earlier than the last one ended, and the night takes no time. mdh
// counts the days (wire::day_of), so that a day of seconds is one, too.
class MarketClock {
 public:
  // The time in a message, and its day; 0: it has no time.
  void take(std::uint64_t time_of_day_ns, std::uint8_t day) noexcept {
    if (time_of_day_ns > now_ns_) [[likely]] {
      if (now_ns_ != 0) elapsed_ns_ += time_of_day_ns - now_ns_;
      now_ns_ = time_of_day_ns;
      day_ = day;
    } else if (time_of_day_ns != 0 &&
               now_ns_ - time_of_day_ns > (day == day_ ? kUntoldDayNs : kOutOfOrderNs)) {
      now_ns_ = time_of_day_ns;
      day_ = day;
    }
  }
  std::uint64_t time_of_day_ns() const noexcept { return now_ns_; }  // 0: there was no message yet
  std::uint64_t elapsed_ns() const noexcept { return elapsed_ns_; }  // since the first message

 private:
  // Messages of a feed may be out of order by their times, by less than this. Two mdh's may count
  // their days from different starts, and a reader of both sees the counts change in any message.
  static constexpr std::uint64_t kOutOfOrderNs = 1'000'000'000;
  // A fall that nothing in a feed explains: its mdh heard of no other day.
  static constexpr std::uint64_t kUntoldDayNs = 3'600'000'000'000;

  std::uint64_t now_ns_ = 0;
  std::uint64_t elapsed_ns_ = 0;
  std::uint8_t day_ = 0;
};

}  // namespace tickpath::strategy
