#include "common/rdma/ofi/completion_queue.hpp"

#include <algorithm>

#include <rdma/fi_errno.h>
#include <sched.h>

#include "common/base/check.hpp"
#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kOfiBatch = 16;  // completions taken at once, 40 bytes each, on the stack
// One poll in so many looks after another queue: that costs as much as a poll.
constexpr std::uint64_t kHelpMask = 15;
// Batches that one poll takes: beyond them the caller gets what it has first.
constexpr int kOfiBatchesMax = 16;
constexpr std::uint32_t kOfiDepthMax = 1u << 20;
// Room in libfabric's queue: for all messages of so many queue pairs. The core providers of sockets
// and of shared memory grow when it is used up.
constexpr std::size_t kOfiRoom = 64 * (kOfiReceiveBuffers + kOfiSendBuffers);

}  // namespace

OfiCompletionQueue::OfiCompletionQueue(std::shared_ptr<OfiCore> core, std::uint32_t depth,
                                       OfiChannel* channel)
    : CompletionRoom(depth), core_(std::move(core)) {
  if (depth == 0 || depth > kOfiDepthMax) {
    throw SetupError(SetupCause::kLimit,
                     "a completion queue of the ofi provider has a depth of 1 to " +
                         std::to_string(kOfiDepthMax));
  }
  if (channel != nullptr) wake_ = channel->wake();
  fi_cq_attr attributes{};
  attributes.size = kOfiRoom;
  attributes.format = FI_CQ_FORMAT_DATA;
  // A descriptor makes libfabric's tcp run a thread of its own, and signal each completion: it is
  // for who parks. Of the others' descriptors libfabric 1.17 dies when it is asked whether one may
  // wait (tcp;ofi_rxm).
  const bool descriptor = channel != nullptr && core_->connected();
  attributes.wait_obj = descriptor ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* made = nullptr;
  const int result = ::fi_cq_open(core_->domain(), &attributes, &made, nullptr);
  if (result == 0 && descriptor) ::fi_control(&made->fid, FI_GETWAIT, &wait_descriptor_);
  ofi_require(result, "cannot create a completion queue of " + core_->info().name);
  queue_.reset(made);
  core_->progress().add(*this);
}

OfiCompletionQueue::~OfiCompletionQueue() {
  core_->progress().remove(*this);
  for (const auto& slot : slots_) {
    TICKPATH_CHECK(slot.load() == nullptr, "a completion queue outlives its queue pairs");
  }
}

// What was posted meanwhile is sent by who leaves: the polling thread does not wait.
void OfiCompletionQueue::look_at_all() noexcept {
  quiet_ = false;
  for_each([](OfiQueuePair& each) { each.look(); });
}

void OfiCompletionQueue::leave() noexcept {
  quiet_ = false;  // whatever was done
  gate_.leave_beside([this] { look_at_all(); });
}

void OfiCompletionQueue::leave_as_poller() noexcept {
  gate_.leave([this] { look_at_all(); });
}

void OfiCompletionQueue::look_after(OfiQueuePair& queue_pair) noexcept {
  if (!gate_.try_enter_or_ask()) return;
  quiet_ = false;
  queue_pair.look();
  leave_as_poller();
}

std::uint64_t OfiCompletionQueue::reserve() {
  gate_.enter_beside();
  const auto free = std::find(reserved_.begin(), reserved_.end(), false);
  if (free == reserved_.end()) {
    leave();
    throw SetupError(SetupCause::kLimit, "a completion queue of the ofi provider serves " +
                                             std::to_string(kQueuePairsMax) +
                                             " queue pairs at most; use another one");
  }
  *free = true;
  const auto slot = static_cast<std::uint64_t>(free - reserved_.begin());
  if ((++generation_ & message_context::kGenerationMask) == 0) ++generation_;
  const std::uint64_t tag =
      (slot << message_context::kSlotOfTag) | (generation_ & message_context::kGenerationMask);
  leave();
  return tag;
}

void OfiCompletionQueue::attach(OfiQueuePair& queue_pair) noexcept {
  const std::size_t slot = queue_pair.tag() >> message_context::kSlotOfTag;
  gate_.enter_beside();
  slots_[slot].store(&queue_pair, std::memory_order_release);
  used_.store(std::max(used_.load(), slot + 1), std::memory_order_release);
  leave();
  // A thread that parked before it could know of this queue pair looks again.
  if (wake_ != nullptr) wake_->signal();
}

void OfiCompletionQueue::detach(const OfiQueuePair& queue_pair) noexcept {
  const std::size_t slot = queue_pair.tag() >> message_context::kSlotOfTag;
  gate_.enter_beside();
  // Sequentially consistent, with hand_out_receives(): either it finds nothing here, or it is
  // waited for. It ends in a moment, it calls nobody.
  slots_[slot].store(nullptr, std::memory_order_seq_cst);
  while (reading_.load(std::memory_order_seq_cst)) ::sched_yield();
  reserved_[slot] = false;
  leave();
  // A poll that found the queue entered and nothing else looks again.
  if (wake_ != nullptr) wake_->signal();
}

std::size_t OfiCompletionQueue::poll(std::span<Completion> out) noexcept {
  polls_.add();
  // While another thread is there no more than the receives that it has filled. If this one parks
  // now it is woken: OfiProgress looks what there is to tell after it has collected.
  if (!gate_.try_enter()) return hand_out_receives(out);
  const bool drained = read();
  std::size_t count = 0;
  // Most polls end here: nothing came, and nothing was left to do.
  if (came_ || !quiet_ || !none_failed()) {
    work(drained, true);
    count = hand_out(out);
    quiet_ = !came_ && all_quiet();
  }
  leave_as_poller();
  if ((polls_.get() & kHelpMask) == 0) core_->progress().help(*this);
  return count;
}

inline OfiQueuePair* OfiCompletionQueue::find(const void* context) const noexcept {
  const auto value = reinterpret_cast<std::uint64_t>(context);
  OfiQueuePair* queue_pair =
      slots_[value >> message_context::kSlotShift].load(std::memory_order_relaxed);
  if (queue_pair == nullptr || queue_pair->tag() != value >> message_context::kTagShift)
      [[unlikely]]
    return nullptr;
  return queue_pair;
}

template <class Function>
inline void OfiCompletionQueue::for_each(Function&& function) noexcept {
  // Relaxed: stored by who had entered.
  const std::size_t used = used_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < used; ++i)
    if (OfiQueuePair* const each = slots_[i].load(std::memory_order_relaxed)) function(*each);
}

inline bool OfiCompletionQueue::all_quiet() noexcept {
  bool quiet = true;
  for_each([&](const OfiQueuePair& each) { quiet &= each.quiet(); });
  return quiet;
}

// A queue pair may fail without a completion, and then only its state says so.
inline bool OfiCompletionQueue::none_failed() noexcept {
  bool none = true;
  for_each([&](const OfiQueuePair& each) { none &= !each.has_failed(); });
  return none;
}

inline void OfiCompletionQueue::collect(bool polled) noexcept { work(read(), polled); }

inline void OfiCompletionQueue::work(bool drained, bool polled) noexcept {
  for_each([&](OfiQueuePair& each) { each.work(drained, polled); });
}

inline bool OfiCompletionQueue::read() noexcept {
  std::array<fi_cq_data_entry, kOfiBatch> done;
  came_ = false;
  for (int batch = 0; batch < kOfiBatchesMax; ++batch) {
    const ssize_t got = ::fi_cq_read(queue_.get(), done.data(), done.size());
    if (got == -FI_EAGAIN) return true;
    came_ = true;
    if (got < 0) [[unlikely]] {
      if (got != -FI_EAVAIL) return true;
      collect_error();
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      if (OfiQueuePair* queue_pair = find(done[i].op_context)) queue_pair->on_done(done[i]);
    }
    // Fewer than asked: what is behind them, if anything, has only just come.
    if (static_cast<std::size_t>(got) < done.size()) return false;
  }
  return false;
}

void OfiCompletionQueue::collect_error() noexcept {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(queue_.get(), &error, 0) != 1) return;
  if (OfiQueuePair* queue_pair = find(error.op_context))
    queue_pair->on_failed(error.op_context, error.err);
}

inline std::size_t OfiCompletionQueue::hand_out(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  std::size_t index = first_;
  const std::size_t used = used_.load(std::memory_order_relaxed);  // stored by who had entered
  for (std::size_t i = 0; i < used && count < out.size(); ++i, ++index) {
    if (index >= used) index = 0;
    if (OfiQueuePair* const each = slots_[index].load(std::memory_order_relaxed))
      count += each->hand_out(out.subspan(count));
  }
  // A busy queue pair that filled `out` does not starve the ones behind it.
  first_ = index >= used ? 0 : index;
  return count;
}

std::size_t OfiCompletionQueue::hand_out_receives(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  reading_.store(true, std::memory_order_seq_cst);  // see detach()
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used && count < out.size(); ++i)
    if (OfiQueuePair* const each = slots_[i].load(std::memory_order_seq_cst))
      count += each->take_receives(out.subspan(count));
  reading_.store(false, std::memory_order_release);
  return count;
}

bool OfiCompletionQueue::has_something(bool solicited_only) noexcept {
  bool found = false;
  for_each([&](OfiQueuePair& each) { found |= each.has_something(solicited_only); });
  return found;
}

void OfiCompletionQueue::arm(bool solicited_only) noexcept {
  if (wake_ == nullptr) return;
  armed_.store(solicited_only ? Armed::kSolicited : Armed::kAny, std::memory_order_relaxed);
  // A system call, which whoever parks makes anyway; it also orders the store before the look of
  // OfiProgress.
  core_->progress().kick();
}

bool OfiCompletionQueue::may_wait() const noexcept {
  if (wait_descriptor_ < 0) return false;
  fid* const fids[] = {&queue_->fid};
  return ::fi_trywait(core_->fabric(), const_cast<fid**>(fids), 1) == 0;
}

// The thread of OfiProgress, where the queue's own does not poll.
bool OfiCompletionQueue::attend() noexcept {
  if (!gate_.try_enter_beside()) return true;
  collect(false);
  bool restless = false;
  for_each([&](const OfiQueuePair& each) { restless |= each.restless(); });
  const Armed armed = armed_.load(std::memory_order_relaxed);
  const bool wake = armed != Armed::kNot && has_something(armed == Armed::kSolicited);
  // One event for one arming.
  if (wake) armed_.store(Armed::kNot, std::memory_order_relaxed);
  leave();
  if (wake) wake_->signal();
  return restless;
}

}  // namespace tickpath::rdma::detail
