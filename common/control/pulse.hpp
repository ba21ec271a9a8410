// The thread that beats a program's heart, and why one may believe it.
//
// A datapath thread on a busy machine waits for a CPU for tens of milliseconds and is not dead. So
// the heartbeat belongs to a thread of its own that sleeps nearly all the time, asks for real-time
// priority (it needs some microseconds a beat), and vouches for the datapath thread: it beats while
// that thread turns, or demonstrably waits for a CPU; not when it hangs in a turn. A stopped, dead
// or vanished process beats no more, whatever the load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "common/base/counter.hpp"
#include "common/control/datapath_thread.hpp"
#include "common/link/heartbeat.hpp"

namespace tickpath::control {

// Judges a datapath thread by its turns, its CPU time and its scheduling state.
class TurnWatch {
 public:
  TurnWatch(std::int64_t hang_after_ns) noexcept : hang_after_ns_(hang_after_ns) {}

  // One look. cpu_ns: its CPU time so far. runnable: it runs or waits for a CPU; asked for only
  // when the turns have stood still for a while, as it costs a system call or two.
  template <class Runnable>
  bool alive(std::uint64_t turns, std::int64_t cpu_ns, std::int64_t now_ns,
             Runnable&& runnable) noexcept {
    const std::int64_t elapsed = now_ns - last_ns_;
    const std::int64_t used = cpu_ns - last_cpu_ns_;
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
    if (turns != turns_) {
      turns_ = turns;
      still_ns_ = 0;
      charged_ns_ = 0;
      return true;
    }
    still_ns_ += elapsed;
    if (still_ns_ < kGraceNs) return true;
    // Waiting for a CPU is no fault of its own. Half: a look may fall on either side of a switch.
    const bool waits = used < elapsed / 2 && runnable();
    if (!waits) charged_ns_ += elapsed;
    return charged_ns_ < hang_after_ns_;
  }

  // Turns may stand still for so long before anybody wonders: a busy turn, a parked thread.
  static constexpr std::int64_t kGraceNs = 20'000'000;

 private:
  std::int64_t hang_after_ns_;
  std::uint64_t turns_ = ~std::uint64_t{0};
  std::int64_t last_ns_ = 0;
  std::int64_t last_cpu_ns_ = 0;
  std::int64_t still_ns_ = 0;
  std::int64_t charged_ns_ = 0;
};

struct PulseCounters {
  Counter beats;
  Counter late;      // beats that came more than two periods after the one before
  Counter withheld;  // the datapath thread hung
  Counter gap_ns_max;
};

class Pulse {
 public:
  // Without the right to real-time priority (root, CAP_SYS_NICE, or RLIMIT_RTPRIO of 1) a loaded
  // machine may keep even a sleeper waiting for hundreds of milliseconds; peers are then asked for
  // this much patience.
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;

  // Control thread. thread: runs already; both outlive this. period_ns: of beats. hang_after_ns: so
  // long a turn may last, not counting the time that the thread waits for a CPU.
  Pulse(link::Heartbeat& heartbeat, const DatapathThread& thread, const std::string& name,
        std::int64_t period_ns, std::int64_t hang_after_ns);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // Any thread.
  bool real_time() const noexcept { return real_time_.load(std::memory_order_relaxed); }
  const PulseCounters& counters() const noexcept { return counters_; }
  // The datapath thread hangs in a turn, and no beats are sent.
  bool hanging() const noexcept { return hanging_.load(std::memory_order_relaxed); }

 private:
  void run(const std::string& name) noexcept;
  void step(std::int64_t now_ns) noexcept;

  link::Heartbeat& heartbeat_;
  const DatapathThread& datapath_;
  std::int64_t period_ns_;
  TurnWatch watch_;
  std::int64_t last_beat_ns_ = 0;
  PulseCounters counters_;
  // Relaxed: for display only; stop_ is followed by a join.
  std::atomic<bool> hanging_{false};
  std::atomic<bool> real_time_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tickpath::control
