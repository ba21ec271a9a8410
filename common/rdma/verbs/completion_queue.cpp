#include "common/rdma/verbs/completion_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"
#include "common/rdma/verbs/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// Beyond the depth asked for, so that the first queue pairs need no resizing.
constexpr std::uint32_t kSlack = 512;
// Where a queue cannot grow: room for all that its queue pairs may flush, some 2 to 4 MiB.
constexpr std::uint32_t kFixedSlack = 1u << 16;
constexpr std::size_t kPollBatch = 16;  // 48 bytes each, on the stack

[[noreturn]] void throw_errno(const std::string& what) {
  throw SetupError(SetupCause::kSystem, what + ": " + std::strerror(errno));
}

}  // namespace

VerbsChannel::VerbsChannel(std::shared_ptr<VerbsCore> core)
    : core_(std::move(core)), wake_(std::make_shared<EventWake>()) {
  channel_ = ::ibv_create_comp_channel(core_->context());
  if (channel_ == nullptr) throw_errno("no completion channel");
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {channel_->fd, wake_->descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) throw_errno("epoll_ctl");
  }
}

VerbsChannel::~VerbsChannel() {
  if (epoll_ >= 0) ::close(epoll_);
  ::ibv_destroy_comp_channel(channel_);
}

void VerbsChannel::acknowledge() noexcept {
  wake_->acknowledge();
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (::ibv_get_cq_event(channel_, &queue, &context) == 0) ::ibv_ack_cq_events(queue, 1);
}

VerbsCompletionQueue::VerbsCompletionQueue(std::shared_ptr<VerbsCore> core, std::uint32_t depth,
                                           VerbsChannel* channel)
    : CompletionRoom(depth), core_(std::move(core)) {
  const auto limit = static_cast<std::uint32_t>(core_->limits().max_cqe);
  if (depth == 0 || depth > limit) {
    throw SetupError(SetupCause::kLimit, "a completion queue of " + core_->info().name +
                                             " has a depth of 1 to " + std::to_string(limit));
  }
  if (channel != nullptr) wake_ = channel->wake();
  const std::uint32_t slack = core_->resizes_queues() ? kSlack : kFixedSlack;
  queue_ = ::ibv_create_cq(core_->context(), static_cast<int>(std::min(depth + slack, limit)),
                           nullptr, channel == nullptr ? nullptr : channel->channel(), 0);
  if (queue_ == nullptr) throw_errno("cannot create a completion queue of " + core_->info().name);
}

VerbsCompletionQueue::~VerbsCompletionQueue() {
  for (std::size_t slot = 0; slot < kQueuePairsMax; ++slot) {
    TICKPATH_CHECK(slots_[slot].load() == nullptr && datagram_slots_[slot].load() == nullptr,
                   "a completion queue outlives its queue pairs");
  }
  ::ibv_destroy_cq(queue_);
}

void VerbsCompletionQueue::make_room_for(std::uint32_t send_depth) {
  const std::uint64_t needed = depth() + send_depths_ + send_depth;
  if (needed <= static_cast<std::uint64_t>(queue_->cqe)) return;
  const auto limit = static_cast<std::uint64_t>(core_->limits().max_cqe);
  if (needed > limit ||
      ::ibv_resize_cq(queue_, static_cast<int>(std::min(needed + kSlack, limit))) != 0) {
    throw SetupError(SetupCause::kLimit,
                     "the completion queue cannot hold what all its queue pairs may flush (" +
                         std::to_string(needed) + " completions, " + core_->info().name + " can " +
                         std::to_string(limit) + "): use several");
  }
}

std::uint64_t VerbsCompletionQueue::reserve(std::uint32_t send_depth) {
  const std::lock_guard lock(mutex_);
  const auto free = std::find(reserved_.begin(), reserved_.end(), false);
  if (free == reserved_.end()) {
    throw SetupError(SetupCause::kLimit, "a completion queue of the verbs provider serves " +
                                             std::to_string(kQueuePairsMax) +
                                             " queue pairs at most; use another one");
  }
  make_room_for(send_depth);
  *free = true;
  send_depths_ += send_depth;
  const auto slot = static_cast<std::uint64_t>(free - reserved_.begin());
  used_.store(std::max(used_.load(std::memory_order_relaxed), std::size_t{slot} + 1),
              std::memory_order_release);
  if ((++generation_ & kGenerationMask) == 0) ++generation_;
  return (slot << (kSlotShift - kTagShift)) | (generation_ & kGenerationMask);
}

void VerbsCompletionQueue::attach(VerbsQueuePair& queue_pair, std::uint32_t receives) noexcept {
  // Modulo 2^64: room taken before the polling thread could count it.
  return_room_later(~std::uint64_t{receives} + 1);
  // Pairs with the acquire in poll(): without it the poller may see a half-built queue pair.
  slots_[queue_pair.tag() >> (kSlotShift - kTagShift)].store(&queue_pair,
                                                             std::memory_order_release);
  // A thread that parked before it could know of this queue pair looks again.
  if (wake_ != nullptr) wake_->signal();
}

void VerbsCompletionQueue::detach(const VerbsQueuePair& queue_pair,
                                  std::uint32_t send_depth) noexcept {
  const std::size_t slot = queue_pair.tag() >> (kSlotShift - kTagShift);
  slots_[slot].store(nullptr, std::memory_order_seq_cst);
  give_back(slot, send_depth);
}

void VerbsCompletionQueue::attach(VerbsDatagramQueuePair& queue_pair) noexcept {
  // Pairs with the acquire in deliver_datagram(), as above.
  datagram_slots_[queue_pair.tag() >> (kSlotShift - kTagShift)].store(&queue_pair,
                                                                      std::memory_order_release);
  if (wake_ != nullptr) wake_->signal();
}

void VerbsCompletionQueue::detach(const VerbsDatagramQueuePair& queue_pair,
                                  std::uint32_t send_depth) noexcept {
  const std::size_t slot = queue_pair.tag() >> (kSlotShift - kTagShift);
  datagram_slots_[slot].store(nullptr, std::memory_order_seq_cst);
  give_back(slot, send_depth);
}

// Frees the slot of a queue pair that was taken out of it.
void VerbsCompletionQueue::give_back(std::size_t slot, std::uint32_t send_depth) noexcept {
  // A poll under way may still hold the pointer: either its odd count is visible here, or it began
  // later and finds the slot empty (both sides are seq_cst).
  const std::uint64_t seen = polls_.load(std::memory_order_seq_cst);
  // Acquire pairs with the release in poll(): its last use of the queue pair is over.
  while ((seen & 1) != 0 && polls_.load(std::memory_order_acquire) == seen) ::sched_yield();
  const std::lock_guard lock(mutex_);
  reserved_[slot] = false;
  send_depths_ -= send_depth;
}

std::size_t VerbsCompletionQueue::poll(std::span<Completion> out) noexcept {
  const std::uint64_t begun = polls_.load(std::memory_order_relaxed) + 1;
  // Pairs with the loads in detach() and Hold: the odd count is visible before a slot or access_ is
  // read.
  polls_.exchange(begun, std::memory_order_seq_cst);
  const bool open = access_.load(std::memory_order_seq_cst) == Access::kOpen;
  const std::size_t count = open ? poll_device(out) : poll_kept(out);
  // Pairs with the acquire in detach() and Hold: our last use of a queue pair happens before it is
  // freed, and of kept_ before the control thread changes it.
  polls_.store(begun + 1, std::memory_order_release);
  return count;
}

// False: of a queue pair that is gone, or nothing for the program.
inline bool VerbsCompletionQueue::deliver(const ibv_wc& done, Completion& out) noexcept {
  // Acquire pairs with the release in attach().
  VerbsQueuePair* queue_pair = slots_[done.wr_id >> kSlotShift].load(std::memory_order_acquire);
  if (queue_pair == nullptr || queue_pair->tag() != done.wr_id >> kTagShift) [[unlikely]]
    return deliver_datagram(done, out);
  return queue_pair->complete(done, out);
}

bool VerbsCompletionQueue::deliver_datagram(const ibv_wc& done, Completion& out) noexcept {
  VerbsDatagramQueuePair* queue_pair =
      datagram_slots_[done.wr_id >> kSlotShift].load(std::memory_order_acquire);
  if (queue_pair == nullptr || queue_pair->tag() != done.wr_id >> kTagShift) return false;
  return queue_pair->complete(done, out);
}

inline std::size_t VerbsCompletionQueue::poll_device(std::span<Completion> out) noexcept {
  std::array<ibv_wc, kPollBatch> done;
  std::size_t count = 0;
  int got = 0;
  do {  // again if all that came belonged to queue pairs that are gone
    got = ::ibv_poll_cq(queue_, static_cast<int>(std::min(out.size(), done.size())), done.data());
    for (int i = 0; i < got; ++i) {
      count += deliver(done[static_cast<std::size_t>(i)], out[count]) ? 1 : 0;
    }
  } while (got > 0 && count == 0);
  if (core_->iwarp()) count += move_on(out.subspan(count), got <= 0);
  if (count == 0 && core_->flush_in_software()) [[unlikely]]
    count = flush(out);
  return count;
}

// iWARP: what the queue pairs hold back. drained: the device had nothing more for any of them.
std::size_t VerbsCompletionQueue::move_on(std::span<Completion> out, bool drained) noexcept {
  std::size_t count = 0;
  // Acquire pairs with reserve(): slots beyond have never been used.
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    VerbsQueuePair* queue_pair = slots_[i].load(std::memory_order_acquire);
    if (queue_pair != nullptr) count += queue_pair->move_on(out.subspan(count), drained);
  }
  return count;
}

// The queue is held for set-up, or what completed meanwhile comes first.
std::size_t VerbsCompletionQueue::poll_kept(std::span<Completion> out) noexcept {
  Access seen = access_.load(std::memory_order_acquire);
  if (seen == Access::kHeld) return 0;
  if (seen == Access::kOpen) return poll_device(out);
  std::size_t count = 0;
  while (count < out.size() && kept_next_ < kept_.size()) {
    count += deliver(kept_[kept_next_++], out[count]) ? 1 : 0;
  }
  // Not if somebody has begun to hold it: he waits for the end of this poll.
  const bool open =
      kept_next_ == kept_.size() && access_.compare_exchange_strong(seen, Access::kOpen);
  // Never nothing while the device has something: the thread might park.
  return open && count == 0 ? poll_device(out) : count;
}

VerbsCompletionQueue::Hold::Hold(VerbsCompletionQueue& queue) noexcept
    : queue_(queue), lock_(queue.mutex_) {
  queue_.access_.store(Access::kHeld, std::memory_order_seq_cst);
  // Either the odd count of a poll that saw the queue open is visible here, or it sees it held
  // (both sides are seq_cst).
  const std::uint64_t seen = queue_.polls_.load(std::memory_order_seq_cst);
  // Acquire pairs with the release in poll(): what it did to kept_ is visible.
  while ((seen & 1) != 0 && queue_.polls_.load(std::memory_order_acquire) == seen) ::sched_yield();
  const auto handed_out = queue_.kept_.begin() + static_cast<std::ptrdiff_t>(queue_.kept_next_);
  queue_.kept_.erase(queue_.kept_.begin(), handed_out);
  queue_.kept_next_ = 0;
}

VerbsCompletionQueue::Hold::~Hold() {
  // Release: pairs with the acquire in poll_kept(), which reads what was kept.
  queue_.access_.store(queue_.kept_.empty() ? Access::kOpen : Access::kKept,
                       std::memory_order_release);
  // A thread that armed the queue and found nothing while it was held looks again.
  if (queue_.wake_ != nullptr) queue_.wake_->signal();
}

std::uint64_t VerbsCompletionQueue::Hold::new_id() noexcept { return queue_.set_up_requests_++; }

ibv_wc VerbsCompletionQueue::Hold::await(std::uint64_t wr_id, const SetupDeadline& deadline) {
  for (;;) {
    ibv_wc done{};
    if (::ibv_poll_cq(queue_.queue_, 1, &done) == 1) {
      if (done.wr_id == wr_id) return done;
      queue_.kept_.push_back(done);
    } else if (!deadline.over()) {
      ::sched_yield();
    } else {
      throw SetupError(SetupCause::kTimeout,
                       queue_.core_->info().name + " does not complete a request");
    }
  }
}

// The device does not flush any more: it was removed under us.
std::size_t VerbsCompletionQueue::flush(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  for (auto& slot : slots_) {
    VerbsQueuePair* queue_pair = slot.load(std::memory_order_acquire);
    if (queue_pair != nullptr && count < out.size()) {
      count += queue_pair->flush_in_software(out.subspan(count));
    }
  }
  for (auto& slot : datagram_slots_) {
    VerbsDatagramQueuePair* queue_pair = slot.load(std::memory_order_acquire);
    if (queue_pair != nullptr && count < out.size()) {
      count += queue_pair->flush_in_software(out.subspan(count));
    }
  }
  return count;
}

void VerbsCompletionQueue::arm(bool solicited_only) noexcept {
  // Soft-iWARP takes no receive for solicited (Linux 6.1, siw_rqe_complete()): a thread that asked
  // for these alone would sleep for ever. What is acknowledged must wake it as well.
  if (wake_ != nullptr) ::ibv_req_notify_cq(queue_, solicited_only && !core_->iwarp() ? 1 : 0);
}

}  // namespace tickpath::rdma::detail
