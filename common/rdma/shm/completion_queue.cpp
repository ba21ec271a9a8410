#include "common/rdma/shm/completion_queue.hpp"

#include <sched.h>

#include "common/base/check.hpp"
#include "common/rdma/shm/datagram_queue_pair.hpp"
#include "common/rdma/shm/queue_pair.hpp"

namespace tickpath::rdma::detail {

ShmCompletionQueue::ShmCompletionQueue(std::shared_ptr<DeviceCore> core, std::uint32_t depth,
                                       std::shared_ptr<Wake> wake)
    : CompletionRoom(depth),
      fence_polls_(!core->barriers.within_process),
      wake_(std::move(wake)),
      core_(std::move(core)) {}

ShmCompletionQueue::~ShmCompletionQueue() {
  const auto check = [](const auto& bound) {
    for (const auto& slot : bound.slots)
      TICKPATH_CHECK(slot.load() == nullptr, "a completion queue outlives its queue pairs");
  };
  check(connected_);
  check(datagrams_);
}

template <class Pair>
void ShmCompletionQueue::attach_to(Bound<Pair>& bound, Pair& queue_pair) {
  {
    const std::lock_guard lock(mutex_);
    std::size_t index = 0;
    while (index < kQueuePairsMax &&
           bound.slots[index].load(std::memory_order_relaxed) != nullptr) {
      ++index;
    }
    if (index == kQueuePairsMax) {
      throw SetupError(SetupCause::kLimit, "a completion queue of the shm provider serves " +
                                               std::to_string(kQueuePairsMax) +
                                               " queue pairs at most; use another one");
    }
    // Pairs with the acquire in poll(): without it the poller may see a half-built queue pair.
    bound.slots[index].store(&queue_pair, std::memory_order_release);
    if (index >= bound.used.load(std::memory_order_relaxed)) {
      bound.used.store(index + 1, std::memory_order_release);
    }
  }
  // A thread that parked before it could know of this queue pair looks again, and arms it too.
  if (wake_ != nullptr) wake_->signal();
}

template <class Pair>
void ShmCompletionQueue::detach_from(Bound<Pair>& bound, Pair& queue_pair) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (auto& slot : bound.slots) {
      if (slot.load(std::memory_order_relaxed) == &queue_pair) {
        slot.store(nullptr, std::memory_order_seq_cst);
      }
    }
  }
  await_poll();
}

void ShmCompletionQueue::attach(ShmQueuePair& queue_pair) { attach_to(connected_, queue_pair); }
void ShmCompletionQueue::attach(ShmDatagramQueuePair& queue_pair) {
  attach_to(datagrams_, queue_pair);
}
void ShmCompletionQueue::detach(ShmQueuePair& queue_pair) noexcept {
  detach_from(connected_, queue_pair);
}
void ShmCompletionQueue::detach(ShmDatagramQueuePair& queue_pair) noexcept {
  detach_from(datagrams_, queue_pair);
}

void ShmCompletionQueue::await_poll() noexcept {
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
  // Acquire pairs with the release in attach_to().
  const std::size_t used = connected_.used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    ShmQueuePair* queue_pair = connected_.slots[i].load(std::memory_order_acquire);
    if (queue_pair == nullptr) continue;
    queue_pair->arm(solicited_only);
    waiting = waiting || queue_pair->has_waiting_sends();
  }
  const std::size_t datagrams = datagrams_.used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < datagrams; ++i) {
    ShmDatagramQueuePair* queue_pair = datagrams_.slots[i].load(std::memory_order_acquire);
    if (queue_pair != nullptr) queue_pair->arm(solicited_only);
  }
  end_poll(begun);
  if (waiting) {
    // Nobody wakes us when the peer posts a receive: try again in a moment, as a NIC does.
    wake_->request_tick();
    core_->monitor.kick();
  }
}

}  // namespace tickpath::rdma::detail
