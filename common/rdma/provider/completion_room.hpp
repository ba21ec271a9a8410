// How much of a completion queue is spoken for, counted alike by every provider.
#pragma once

#include <atomic>
#include <cstdint>

namespace tickpath::rdma::detail {

// A request takes room when it is posted, if a completion of it may come to wait in the queue, and
// gives it back when that completion is handed out (or will never come).
class CompletionRoom {
 public:
  explicit CompletionRoom(std::uint32_t depth) noexcept : depth_(depth) {}

  std::uint32_t depth() const noexcept { return depth_; }

  // Polling thread.
  bool has_room() const noexcept {
    // Relaxed: a count of room given back; being late only refuses a moment longer.
    return taken_ - returned_.load(std::memory_order_relaxed) < depth_;
  }
  void take_room(std::uint64_t count = 1) noexcept { taken_ += count; }
  void return_room() noexcept { --taken_; }
  // Any other thread: of a queue pair that goes.
  void return_room_later(std::uint64_t count) noexcept {
    returned_.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  std::uint64_t taken_ = 0;
  std::atomic<std::uint64_t> returned_{0};
  std::uint32_t depth_;
};

}  // namespace tickpath::rdma::detail
