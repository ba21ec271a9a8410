// How a polling thread spends the time in which there is no work.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/cpu.hpp"
#include "common/control/common_config.hpp"
#include "common/control/datapath.hpp"

namespace tickpath::control {

// A sleep, as the datapath thread takes it. Work may arrive between any two steps.
enum class ParkStep : std::uint8_t { kBegun, kArmed, kLooked };
enum class Parked : std::uint8_t {
  kNotAtAll,  // there was work, or a source that wakes nobody
  kWoken,     // by a descriptor, or a signal
  kTimedOut,
};

namespace detail {
// On the datapath's descriptors; woken() is called after it.
Parked sleep(Datapath& datapath, std::int64_t timeout_ns) noexcept;
}  // namespace detail

// The one place where a datapath thread goes to sleep: arm, look, sleep. What came before arming
// wakes nobody and is found by the look; what comes after it makes a descriptor readable, so the
// sleep ends at once. reached(ParkStep), noexcept: for tests, which put an arrival there.
template <class Reached>
Parked park(Datapath& datapath, std::int64_t timeout_ns, Reached&& reached) noexcept {
  reached(ParkStep::kBegun);
  datapath.arm();
  reached(ParkStep::kArmed);
  if (datapath.turn() || !datapath.may_sleep()) return Parked::kNotAtAll;
  reached(ParkStep::kLooked);
  return detail::sleep(datapath, timeout_ns);
}

// wait() belongs to the datapath thread, set_mode() and reconsidered() to the control thread.
class Waiter {
 public:
  // mode: kSpin, kYield or kPark (kAuto is resolved by the control thread, through set_mode()).
  Waiter(WaitMode mode, std::int64_t park_timeout_ns) noexcept
      : mode_(mode), park_timeout_ns_(park_timeout_ns) {}

  // Once after each turn that found nothing. kSpin: a pause instruction; kYield: gives the core
  // away; kPark: park(), above.
  void wait(Datapath& datapath) noexcept {
    // Relaxed: the mode orders nothing; a turn with the old one is harmless.
    switch (mode_.load(std::memory_order_relaxed)) {
      case WaitMode::kSpin:
        cpu_relax();
        if (arrivals_ != nullptr && arrivals_->load(std::memory_order_relaxed) !=
                                        arrivals_known_.load(std::memory_order_relaxed))
            [[unlikely]]
          mode_.store(WaitMode::kYield, std::memory_order_relaxed);
        return;
      case WaitMode::kPark:
        (void)park(datapath, park_timeout_ns_, [](ParkStep) noexcept {});
        return;
      default:
        yield();
    }
  }

  // Before the thread starts. From then on it leaves kSpin by itself, for kYield, as soon as
  // `arrivals` is not what the last reconsidered() was given.
  void watch(const std::atomic<std::uint64_t>& arrivals) noexcept { arrivals_ = &arrivals; }
  // `arrivals`: read before the host was looked at, so that whoever came since is not missed.
  void reconsidered(std::uint64_t arrivals, WaitMode mode) noexcept {
    arrivals_known_.store(arrivals, std::memory_order_relaxed);  // see wait()
    set_mode(mode);
  }

  void set_mode(WaitMode mode) noexcept { mode_.store(mode, std::memory_order_relaxed); }
  WaitMode mode() const noexcept { return mode_.load(std::memory_order_relaxed); }

  // The bare yield: kPauses pause instructions, then sched_yield(2). For threads without a
  // Datapath.
  static void yield() noexcept;

  // Work that arrives within these pauses (some 100 ns) is taken without a trip through the kernel;
  // more of them only delay the thread that would produce the work, when both share a core
  // (tests/bench/wait_ring.cpp).
  static constexpr int kPauses = 2;

 private:
  std::atomic<WaitMode> mode_;
  std::int64_t park_timeout_ns_;
  const std::atomic<std::uint64_t>* arrivals_ = nullptr;
  std::atomic<std::uint64_t> arrivals_known_{0};
};

}  // namespace tickpath::control
