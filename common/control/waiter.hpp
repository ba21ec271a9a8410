// How a polling thread spends the time in which there is no work.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/cpu.hpp"
#include "common/control/common_config.hpp"
#include "common/control/datapath.hpp"

namespace tickpath::control {

// wait() belongs to the datapath thread, set_mode() and reconsidered() to the control thread.
class Waiter {
 public:
  // mode: kSpin, kYield or kPark (kAuto is resolved by the control thread, through set_mode()).
  Waiter(WaitMode mode, std::int64_t park_timeout_ns) noexcept
      : mode_(mode), park_timeout_ns_(park_timeout_ns) {}

  // Once after each turn that found nothing. kSpin: a pause instruction; kYield: gives the core
  // away; kPark: sleeps on the datapath's descriptors, unless arm() finds work.
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
        park(datapath);
        return;
      default:
        yield();
    }
  }

  // Before the thread starts. From then on it leaves kSpin by itself, for kYield, as soon as
  // `arrivals` is not what the last reconsidered() was told.
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
  void park(Datapath& datapath) noexcept;

  std::atomic<WaitMode> mode_;
  std::int64_t park_timeout_ns_;
  const std::atomic<std::uint64_t>* arrivals_ = nullptr;
  std::atomic<std::uint64_t> arrivals_known_{0};
};

}  // namespace tickpath::control
