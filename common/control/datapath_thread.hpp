// The one polling thread of a process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
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

// Instances of a program in one process. More run as well in a second process.
inline constexpr std::size_t kInstancesMax = 16;

// The datapaths of several instances as one. Datapath thread, but for the constructor.
class DatapathGroup final : public Datapath {
 public:
  // At most kInstancesMax.
  void add(Datapath& datapath) noexcept { members_[count_++] = &datapath; }
  void remove(Datapath& datapath) noexcept;
  std::size_t size() const noexcept { return count_; }
  // What the thread turns: the only one itself, so that alone it costs no detour.
  Datapath& turned() noexcept { return count_ == 1 ? *members_[0] : *this; }

  bool turn() noexcept override;
  void arm() noexcept override;
  // False also where they have more descriptors than a sleep can watch.
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override {
    return {descriptors_.data(), descriptor_count_};
  }
  void woken() noexcept override;
  void on_thread_end() noexcept override;

 private:
  std::array<Datapath*, kInstancesMax> members_{};
  std::size_t count_ = 0;
  std::array<int, kWakeDescriptorsMax> descriptors_{};
  std::size_t descriptor_count_ = 0;
};

// Control threads, but for the loop itself.
class DatapathThread {
 public:
  // Resolves the wait mode; the thread starts with start(). Throws where the CPU is not allowed.
  DatapathThread(const CommonConfig& config, std::string name);
  ~DatapathThread();
  DatapathThread(const DatapathThread&) = delete;
  DatapathThread& operator=(const DatapathThread&) = delete;

  // Returns when the thread is at this datapath's first turn: page faults from then on are the
  // datapath's. Each instance of the process calls it once, from its control thread; at most
  // kInstancesMax do. meanwhile: called every few milliseconds; the thread may have crashed in
  // another instance's turn, and then never comes.
  void start(
      Datapath& datapath, const std::function<void()>& meanwhile = [] {});
  // The datapath is not turned any more when this returns; others are. False where the thread does
  // not come out of a turn within kJoinMs: it hangs, and the process must not wait for it.
  [[nodiscard]] bool leave(Datapath& datapath);
  // Ends the loop, whoever is turned in it, and waits for it. False as leave(). The thread that
  // made this object, alone.
  [[nodiscard]] bool stop();

  // Any time, at most kInstancesMax times: peers' clock exchanges are answered on idle turns from
  // now on. `responder` outlives the thread.
  void answer_clocks(link::ClockResponder& responder) noexcept;

  // wait = auto: looks around the host and publishes the mode. About once a second, by whichever
  // instance.
  void reconsider();

  WaitMode mode() const noexcept { return waiter_.mode(); }
  const std::string& cores() const noexcept { return cores_; }  // "cpu 1", "cpus 0-1 (unpinned)"
  const Counter& turns() const noexcept { return turns_; }
  const Counter& idle_turns() const noexcept { return idle_turns_; }
  // The id of the running thread, for a watcher; 0 before it runs. Any thread.
  int thread_id() const noexcept { return thread_id_.load(std::memory_order_acquire); }
  // Its CPU time; valid once thread_id() is not 0, until stop().
  clockid_t cpu_clock() const noexcept { return cpu_clock_; }

  static constexpr int kJoinMs = 2000;

 private:
  // A datapath's place in the loop, from its start() to its leave(); never used again.
  struct Seat {
    // Released by the control thread, with changes_; nullptr: it is to leave.
    std::atomic<Datapath*> wanted{nullptr};
    Datapath* turned = nullptr;  // the datapath thread's: what it has taken in
    std::binary_semaphore begun{0};
    std::binary_semaphore ended{0};
  };

  void run() noexcept;
  void take_changes() noexcept;
  void loop() noexcept;
  void take_core(const CommonConfig& config, const std::vector<int>& allowed);
  void choose_core(const std::vector<int>& allowed);
  void prefer_near_memory() const;

  std::string name_;
  int cpu_;
  bool automatic_;
  std::string cores_;
  std::unique_ptr<PollRegistry> registry_;  // none: wait = park
  Waiter waiter_;
  std::mutex reconsidering_;
  std::array<std::atomic<link::ClockResponder*>, kInstancesMax> clocks_{};
  std::array<Seat, kInstancesMax> seats_;
  std::mutex starting_;  // seats_used_ and thread_, against another start()
  std::size_t seats_used_ = 0;
  // Goes up after a seat's `wanted` has changed: release, acquired by the datapath thread, which
  // then sees that change.
  std::atomic<std::uint64_t> changes_{0};
  std::uint64_t changes_taken_ = 0;  // the datapath thread's, as is group_
  DatapathGroup group_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  // Released after cpu_clock_ was stored, acquired by thread_id(): else a watcher could meet the
  // id without the clock.
  std::atomic<int> thread_id_{0};
  clockid_t cpu_clock_{};
  std::binary_semaphore ended_{0};
  Counter turns_;
  Counter idle_turns_;
};

}  // namespace tickpath::control
