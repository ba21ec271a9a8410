// Virtual time: while one of these lives, every clock of the process is a number that its owner
// moves. What the programs call (tsc_now(), read_pair(), realtime_ns(), monotonic_ns(), tsc_hz())
// then gives the same in every run.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/units.hpp"

namespace tickpath::clock {

// One in a process (CHECK), made before any TickConverter and before other threads read clocks. One
// tick is one nanosecond. CLOCK_MONOTONIC shows the ticks, CLOCK_REALTIME kVirtualEpochNs more.
class VirtualTime {
 public:
  // The ticks begin so far from 0, which many places take for "never".
  static constexpr std::uint64_t kStartNs = 1'000'000'000'000;
  // 2000-01-01 00:00:00 UTC, less the start.
  static constexpr std::int64_t kEpochNs = 946'684'800'000'000'000 - std::int64_t{kStartNs};

  VirtualTime();
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  std::uint64_t now_ns() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  // Forward only (CHECK). The owner's thread. Relaxed: see tsc_now().
  void advance_to(std::uint64_t ns) noexcept;

 private:
  std::atomic<std::uint64_t> ticks_{kStartNs};
};

bool is_virtual() noexcept;

// For a thread that waits for another in real time, while virtual time stands still.
void let_others_run() noexcept;

}  // namespace tickpath::clock
