// The one polling thread of a program.
#pragma once

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "common/base/counter.hpp"
#include "common/control/common_config.hpp"
#include "common/control/datapath.hpp"
#include "common/control/poll_registry.hpp"
#include "common/control/waiter.hpp"
#include "common/link/clock_exchange.hpp"

namespace tickpath::control {

// Control thread, but for the loop itself.
class DatapathThread {
 public:
  // Resolves the wait mode; the thread starts with start(). Throws where the CPU is not allowed.
  DatapathThread(const CommonConfig& config, std::string name);
  ~DatapathThread();
  DatapathThread(const DatapathThread&) = delete;
  DatapathThread& operator=(const DatapathThread&) = delete;

  // Returns when the thread is at its first turn: page faults from then on are the datapath's.
  void start(Datapath& datapath);
  // Ends the loop and waits for it. False where the thread does not come back within kJoinMs: it
  // hangs in a turn, and the process must not wait for it.
  [[nodiscard]] bool stop();

  // Any time: peers' clock exchanges are answered on idle turns from now on. `responder` outlives
  // the thread.
  void answer_clocks(link::ClockResponder& responder) noexcept {
    // Pairs with the acquire in run(): the thread sees a responder that is complete.
    clock_.store(&responder, std::memory_order_release);
  }

  // wait = auto: looks around the host and publishes the mode. About once a second.
  void reconsider();

  WaitMode mode() const noexcept { return waiter_.mode(); }
  const std::string& cores() const noexcept { return cores_; }  // "cpu 1", "cpus 0-1 (unpinned)"
  const Counter& turns() const noexcept { return turns_; }
  const Counter& idle_turns() const noexcept { return idle_turns_; }
  // Of the running thread, for who watches it; 0 before it runs. Any thread.
  int thread_id() const noexcept { return thread_id_.load(std::memory_order_acquire); }
  // Its CPU time; valid once thread_id() is not 0, until stop().
  clockid_t cpu_clock() const noexcept { return cpu_clock_; }

  static constexpr int kJoinMs = 2000;

 private:
  void run(Datapath& datapath) noexcept;
  void choose_core(const std::vector<int>& allowed);

  std::string name_;
  int cpu_;
  bool automatic_;
  std::string cores_;
  std::unique_ptr<PollRegistry> registry_;  // none: wait = park
  Waiter waiter_;
  std::atomic<link::ClockResponder*> clock_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
  // Released after cpu_clock_ was stored, acquired by thread_id(): else a watcher could meet the
  // id without the clock.
  std::atomic<int> thread_id_{0};
  clockid_t cpu_clock_{};
  std::binary_semaphore begun_{0};
  std::binary_semaphore ended_{0};
  Counter turns_;
  Counter idle_turns_;
};

}  // namespace tickpath::control
