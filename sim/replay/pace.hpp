// When each recorded message is due, counted from the start of the replay.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {

enum class PaceMode : std::uint8_t {
  kRecorded,  // as recorded, times a factor
  kMax,       // bursts at a fixed rate, whatever the recording's times
};

struct PaceOptions {
  PaceMode mode = PaceMode::kRecorded;
  double speed = 1.0;             // kRecorded: 10 is ten times as fast as it was
  std::uint64_t max_idle_ns = 0;  // kRecorded: a longer recorded silence is cut to this; 0: never
  std::uint64_t rate = 0;         // messages a second: kMax, and before `from_ns`; 0: no limit
  std::uint32_t burst = 1;        // messages that become due together under `rate`
  // Both since the midnight before the first message: 33:30 is 09:30 of the second day.
  std::uint64_t from_ns = 0;      // recorded before: sent at `rate`, so that books are complete
  std::uint64_t to_ns = kNoTime;  // the replay ends at the first message after
};

// Open loop: what is due never depends on what was sent when, so that a stall shows up as lag.
class Pace {
 public:
  explicit Pace(const PaceOptions& options) noexcept
      : options_(options),
        per_recorded_ns_(1.0 / options.speed),
        per_message_ns_(options.rate == 0 ? 0.0 : 1e9 / static_cast<double>(options.rate)) {}

  // Nanoseconds after the start at which the next message, recorded at `timestamp_ns`, is due; one
  // call a message, in order. Never earlier than the one before. A day that begins goes on, without
  // a night, where the one before ended.
  std::uint64_t due(std::uint64_t timestamp_ns, bool begins_day = false) noexcept {
    if (begins_day) last_timestamp_ns_ = timestamp_ns;
    // Once the recorded pace has begun, a message with an earlier time is no way back.
    const bool before = !started_ && timestamp_ns < options_.from_ns;
    if (options_.mode == PaceMode::kMax || before) return by_rate();
    return recorded(timestamp_ns);
  }
  // From here on, `elapsed_ns` after the start: what was recorded before `timestamp_ns` is sent at
  // `rate`, and the recorded pace begins there anew. The next message is asked for again, if its
  // due time was told already: it may have been far away.
  void seek(std::uint64_t timestamp_ns, std::uint64_t elapsed_ns) noexcept {
    options_.from_ns = timestamp_ns;
    base_ns_ = last_due_ns_ = elapsed_ns;
    counted_ = 0;
    burst_end_ = 0;
    elapsed_ns_ = 0;
    started_ = false;
  }
  // From here on, `elapsed_ns` after the start, at another speed. When the message that was asked
  // for last is due now, where it has not left yet.
  std::uint64_t set_speed(double speed, std::uint64_t elapsed_ns) noexcept {
    const double slower = 1.0 / speed / per_recorded_ns_;
    per_recorded_ns_ = 1.0 / speed;
    if (!started_) return last_due_ns_;  // it goes by the rate
    if (last_due_ns_ > elapsed_ns)
      last_due_ns_ = elapsed_ns + static_cast<std::uint64_t>(
                                      static_cast<double>(last_due_ns_ - elapsed_ns) * slower);
    base_ns_ = last_due_ns_;
    elapsed_ns_ = 0;
    return last_due_ns_;
  }
  bool past_end(std::uint64_t timestamp_ns) const noexcept { return timestamp_ns > options_.to_ns; }

 private:
  std::uint64_t by_rate() noexcept {
    if (counted_ >= burst_end_) {
      const std::uint64_t bursts = counted_ / options_.burst;
      burst_due_ns_ = base_ns_ + static_cast<std::uint64_t>(static_cast<double>(bursts) *
                                                            options_.burst * per_message_ns_);
      burst_end_ = (bursts + 1) * options_.burst;
    }
    ++counted_;
    return last_due_ns_ = burst_due_ns_;
  }
  std::uint64_t recorded(std::uint64_t timestamp_ns) noexcept {
    if (!started_) {
      if (timestamp_ns == 0) return last_due_ns_;  // no time: the wait from it to the next is none
      started_ = true;
      base_ns_ = last_due_ns_;
      burst_end_ = 0;
      last_timestamp_ns_ = timestamp_ns;
    }
    // A clock that runs backwards in the recording costs no time.
    if (timestamp_ns > last_timestamp_ns_) {
      const std::uint64_t gap = timestamp_ns - last_timestamp_ns_;
      elapsed_ns_ += options_.max_idle_ns == 0 ? gap : std::min(gap, options_.max_idle_ns);
      last_timestamp_ns_ = timestamp_ns;
    }
    last_due_ns_ =
        base_ns_ + static_cast<std::uint64_t>(static_cast<double>(elapsed_ns_) * per_recorded_ns_);
    return last_due_ns_;
  }

  PaceOptions options_;
  double per_recorded_ns_;
  double per_message_ns_;
  std::uint64_t counted_ = 0;    // by rate, since the start or a seek
  std::uint64_t burst_end_ = 0;  // of them: the first of the next burst
  std::uint64_t burst_due_ns_ = 0;
  std::uint64_t base_ns_ = 0;
  std::uint64_t elapsed_ns_ = 0;  // recorded time, silences cut
  std::uint64_t last_timestamp_ns_ = 0;
  std::uint64_t last_due_ns_ = 0;
  bool started_ = false;
};

}  // namespace tickpath::sim
