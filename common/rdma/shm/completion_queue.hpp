// Completion queue of the shm provider. Nothing arrives in it by itself: polling walks the queue
// pairs that are bound to it, looks at their wires and moves their waiting requests.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "common/rdma/provider/completion_room.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/core.hpp"

namespace tickpath::rdma::detail {

class ShmQueuePair;
class ShmDatagramQueuePair;

class ShmChannel final : public CompletionChannel {
 public:
  explicit ShmChannel(std::shared_ptr<Wake> wake) : wake_(std::move(wake)) {}
  int file_descriptor() const noexcept override { return wake_->descriptor(); }
  void acknowledge() noexcept override { wake_->acknowledge(); }
  const std::shared_ptr<Wake>& wake() const noexcept { return wake_; }

 private:
  std::shared_ptr<Wake> wake_;
};

class ShmCompletionQueue final : public CompletionQueue, public CompletionRoom {
 public:
  // A poll looks at each: hundreds cost microseconds.
  static constexpr std::size_t kQueuePairsMax = 256;

  ShmCompletionQueue(std::shared_ptr<DeviceCore> core, std::uint32_t depth,
                     std::shared_ptr<Wake> wake);
  ~ShmCompletionQueue() override;

  std::size_t poll(std::span<Completion> out) noexcept override;
  void arm(bool solicited_only) noexcept override;

  // Control thread, also while another thread polls.
  void attach(ShmQueuePair& queue_pair);           // throws SetupError{kLimit}
  void detach(ShmQueuePair& queue_pair) noexcept;  // on return no poll sees it any more
  void attach(ShmDatagramQueuePair& queue_pair);
  void detach(ShmDatagramQueuePair& queue_pair) noexcept;
  // Any thread but the polling one: what a poll could still hold, from before, it holds no longer.
  void await_poll() noexcept;

  const std::shared_ptr<Wake>& wake() const noexcept { return wake_; }

 private:
  template <class Pair>
  struct Bound {
    std::atomic<std::size_t> used{0};  // slots that were ever in use
    std::size_t first = 0;             // where the next poll starts, for fairness
    std::array<std::atomic<Pair*>, kQueuePairsMax> slots{};
  };

  template <class Pair>
  void attach_to(Bound<Pair>& bound, Pair& queue_pair);
  template <class Pair>
  void detach_from(Bound<Pair>& bound, Pair& queue_pair) noexcept;
  template <class Pair>
  std::size_t poll_many(Bound<Pair>& bound, std::size_t used, std::span<Completion> out) noexcept;
  std::uint64_t begin_poll() noexcept;
  void end_poll(std::uint64_t begun) noexcept;

  std::atomic<std::uint64_t> polls_{0};  // odd: a poll is under way
  bool fence_polls_;                     // no membarrier here: the poller pays for detach()
  Bound<ShmQueuePair> connected_;
  Bound<ShmDatagramQueuePair> datagrams_;
  std::mutex mutex_;  // attach and detach only
  std::shared_ptr<Wake> wake_;
  std::shared_ptr<DeviceCore> core_;
};

inline std::uint64_t ShmCompletionQueue::begin_poll() noexcept {
  // Pairs with the barrier in detach(): the odd count is visible before a pointer is taken from a
  // slot. The fence costs nothing where detach() can run it for us (membarrier).
  const std::uint64_t now = polls_.load(std::memory_order_relaxed) + 1;
  if (fence_polls_) [[unlikely]] {
    polls_.exchange(now, std::memory_order_seq_cst);
  } else {
    polls_.store(now, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  return now;
}

inline void ShmCompletionQueue::end_poll(std::uint64_t begun) noexcept {
  // Pairs with the acquire in detach(): our last use of a queue pair happens before it is freed.
  polls_.store(begun + 1, std::memory_order_release);
}

}  // namespace tickpath::rdma::detail
