#include "common/rdma/detail/shm_completion_queue.hpp"

#include <sched.h>

#include "common/base/check.hpp"
#include "common/rdma/detail/shm_queue_pair.hpp"

namespace tickpath::rdma::detail {

ShmCompletionQueue::ShmCompletionQueue(std::shared_ptr<DeviceCore> core, std::uint32_t depth,
                                       std::shared_ptr<Wake> wake)
    : depth_(depth),
      fence_polls_(!core->barriers.within_process),
      wake_(std::move(wake)),
      core_(std::move(core)) {}

ShmCompletionQueue::~ShmCompletionQueue() {
  for (const auto& slot : slots_) {
    TICKPATH_CHECK(slot.load() == nullptr, "a completion queue outlives its queue pairs");
  }
}

void ShmCompletionQueue::attach(ShmQueuePair& queue_pair) {
  {
    const std::lock_guard lock(mutex_);
    std::size_t index = 0;
    while (index < kQueuePairsMax && slots_[index].load(std::memory_order_relaxed) != nullptr) {
      ++index;
    }
    if (index == kQueuePairsMax) {
      throw SetupError(SetupCause::kLimit, "a completion queue of the shm provider serves " +
                                               std::to_string(kQueuePairsMax) +
                                               " queue pairs at most; use another one");
    }
    // Pairs with the acquire in poll(): without it the poller may see a half-built queue pair.
    slots_[index].store(&queue_pair, std::memory_order_release);
    if (index >= used_.load(std::memory_order_relaxed)) {
      used_.store(index + 1, std::memory_order_release);
    }
  }
  // A thread that parked before it could know of this queue pair looks again, and arms it too.
  if (wake_ != nullptr) wake_->signal();
}

void ShmCompletionQueue::detach(ShmQueuePair& queue_pair) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (auto& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == &queue_pair) {
        slot.store(nullptr, std::memory_order_seq_cst);
      }
    }
  }
  // A poll under way may still hold the pointer. After the barrier, either its odd count is visible
  // here, or it began later and finds the slot empty.
  core_->barriers.run_within();
  // Acquire pairs with the release in end_poll(): its last use of the queue pair is over.
  const std::uint64_t seen = polls_.load(std::memory_order_acquire);
  if ((seen & 1) == 0) return;
  while (polls_.load(std::memory_order_acquire) == seen) ::sched_yield();
}

void ShmCompletionQueue::arm(bool solicited_only) noexcept {
  if (wake_ == nullptr) return;
  const std::uint64_t begun = begin_poll();
  bool waiting = false;
  // Acquire pairs with the release in attach().
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    ShmQueuePair* queue_pair = slots_[i].load(std::memory_order_acquire);
    if (queue_pair == nullptr) continue;
    queue_pair->arm(solicited_only);
    waiting = waiting || queue_pair->has_waiting_sends();
  }
  end_poll(begun);
  if (waiting) {
    // Nobody wakes us when the peer posts a receive: try again in a moment, as a NIC does.
    wake_->request_tick();
    core_->monitor.kick();
  }
}

}  // namespace tickpath::rdma::detail
