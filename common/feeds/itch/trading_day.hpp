// What a day is in a stream of messages: where one ends and the next begins, and how times go on
// over them. Everything that reads several days in one stream decides by this class.
//
//   begins       by                                                      orders, locates  times
//   another day  a system event behind the end of a day ('E' or 'C')     void             anew
//   a midnight   the event 'D' (ours), or a fall of time by half a day   go on            anew
//
// A venue that trades around the clock passes midnights within its trading day. Times of day start
// anew there, and orders rest on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/stock_messages.hpp"

namespace tickpath::itch {

// TotalView-ITCH 5.0, 1.1: nothing is traded after the system hours, and the end of messages is a
// day's last. Recordings of some hours may have either. IEX DEEP has the same letters.
constexpr bool ends_day(char event_code) noexcept {
  return event_code == SystemEvent::kEndOfSystemHours || event_code == SystemEvent::kEndOfMessages;
}

enum class DayBreak : std::uint8_t {
  kNone = 0,
  kMidnight,  // times of day start anew, and nothing else does
  kDay,       // another trading day: orders and locates of the one before are void
};

// One stream, one thread. Give it every system event, every time, or every message, in order.
class TradingDay {
 public:
  static constexpr std::uint64_t kDayNs = 86'400ull * 1'000'000'000;

  // By the code of a system event, of ITCH or DEEP.
  DayBreak on_event(char event_code) noexcept {
    if (event_code == SystemEvent::kMidnight) return begin(DayBreak::kMidnight);
    const bool another = over_ && !ends_day(event_code);
    over_ = ends_day(event_code);
    return another ? begin(DayBreak::kDay) : DayBreak::kNone;
  }

  // By a message's time, since its own midnight. No venue is silent, and no clock off, for half a
  // day within one. 0 is no time: some writers leave it out. At midnight sharp 'D' is needed.
  DayBreak on_time(std::uint64_t time_of_day_ns) noexcept {
    if (time_of_day_ns == 0) return DayBreak::kNone;
    constexpr std::uint64_t kHalfDayNs = kDayNs / 2;
    const bool fell = std::exchange(fell_, time_of_day_ns + kHalfDayNs < last_ns_);
    // The time before this one was off, and no midnight has passed.
    if (fell && time_of_day_ns > last_ns_ + kHalfDayNs) midnight_ns_ -= kDayNs;
    last_ns_ = time_of_day_ns;
    if (!fell_) [[likely]]
      return DayBreak::kNone;
    midnight_ns_ += kDayNs;
    return DayBreak::kMidnight;
  }

  // An ITCH message: both of it.
  DayBreak on_message(std::span<const std::byte> message) noexcept {
    if (message.size() < kHeaderBytes) return DayBreak::kNone;
    DayBreak event = DayBreak::kNone;
    if (message_type(message.data()) == SystemEvent::kType &&
        message.size() == SystemEvent::kLength)
      event = on_event(static_cast<char>(message.back()));
    const DayBreak time = on_time(timestamp_ns(message.data()));
    return event == DayBreak::kNone ? time : event;
  }

  // Behind it a replay goes on without waiting: the market was closed.
  bool skips_night(DayBreak what) const noexcept {
    return what == DayBreak::kDay || (what == DayBreak::kMidnight && over_);
  }
  // The day has ended, and no other has begun.
  bool over() const noexcept { return over_; }
  // The time of the last message, since the midnight before the first one. Each further day, and
  // each midnight within one, adds 24 hours.
  std::uint64_t time_ns() const noexcept { return midnight_ns_ + last_ns_; }

 private:
  DayBreak begin(DayBreak what) noexcept {
    midnight_ns_ += kDayNs;
    last_ns_ = 0;  // whatever time comes next is no fall
    fell_ = false;
    return what;
  }

  std::uint64_t midnight_ns_ = 0;  // since the first one
  std::uint64_t last_ns_ = 0;      // since midnight_ns_
  bool fell_ = false;              // the last time was a midnight by itself
  bool over_ = false;
};

}  // namespace tickpath::itch
