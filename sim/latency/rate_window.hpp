// A venue's message rate limit: at most so many in any interval. Datapath thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/units.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::sim {

enum class RateRule : std::uint8_t {
  kReject,  // what is too much is refused
  kDelay,   // it waits until the interval has room
};

struct RateLimit {
  std::uint32_t messages = 0;  // 0: none
  std::int64_t interval_ns = 1'000'000'000;
  RateRule rule = RateRule::kReject;
};

class RateWindow {
 public:
  explicit RateWindow(const RateLimit& limit)
      : interval_(clock::TickConverter().from_ns(static_cast<std::uint64_t>(limit.interval_ns))),
        taken_(limit.messages) {}

  // The first time from `at` on at which one more may pass, and takes it. Times never go back.
  TscTicks take(TscTicks at) noexcept {
    if (taken_.empty()) return at;
    const TscTicks slot = std::max(at, first_free());
    put(slot);
    return slot;
  }
  // Whether one more may pass now; takes it if so.
  bool allow(TscTicks at) noexcept {
    if (taken_.empty()) return true;
    if (at < first_free()) return false;
    put(at);
    return true;
  }

 private:
  // The oldest of the last `messages` leaves the interval then.
  TscTicks first_free() const noexcept {
    return count_ < taken_.size() ? TscTicks{0} : TscTicks{taken_[next_].value + interval_.value};
  }
  void put(TscTicks at) noexcept {
    taken_[next_] = at;
    next_ = next_ + 1 == taken_.size() ? 0 : next_ + 1;
    if (count_ < taken_.size()) ++count_;
  }

  TscTicks interval_;
  std::vector<TscTicks> taken_;  // a ring
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace tickpath::sim
