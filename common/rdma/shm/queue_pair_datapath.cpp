// The hot path of the shm provider: post and poll. No allocation, no lock; the only system call is
// the one that wakes a parked peer.
#include <atomic>
#include <bit>

#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/rdma/provider/post_each.hpp"
#include "common/rdma/shm/copy.hpp"
#include "common/rdma/shm/datagram_queue_pair.hpp"
#include "common/rdma/shm/queue_pair.hpp"

namespace tickpath::rdma::detail {

// ------------------------------------------------------------------------------------ posting

// After a disturbance: forgets the keys that the peer took back. False: the queue pair failed.
bool ShmQueuePair::still_ready() noexcept {
  for (std::uint32_t revoked = connection_->take_revoked(); revoked != 0; revoked &= revoked - 1) {
    targets_[static_cast<std::size_t>(std::countr_zero(revoked))] = Target{};
  }
  return !connection_->failed();
}

inline PostStatus ShmQueuePair::post_one(const WorkRequest& request) noexcept {
  if (connection_->disturbed() && !still_ready()) [[unlikely]]
    return PostStatus::kNotReady;
  // Only a request that will complete takes room in the completion queue.
  const bool signaled = (request.flags & kSignaled) != 0;
  if (executed_.get() - reclaimed_ >= send_room_ || (signaled && !queue_->has_room()))
      [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  if (waiting_count_ != 0) [[unlikely]]
    return post_behind(request);
  const Step step = execute(request);
  if (step == Step::kDone) [[likely]] {
    executed_.add();
    if (!signaled) return PostStatus::kOk;
    queue_->take_room();
    push_done(request, CompletionStatus::kSuccess);
    return PostStatus::kOk;
  }
  return settle(request, step);
}

PostStatus ShmQueuePair::post_send(const WorkRequest& request) noexcept {
  return post_one(request);
}

PostStatus ShmQueuePair::post_send(std::span<const WorkRequest> requests,
                                   std::size_t* posted) noexcept {
  return post_each(requests, posted,
                   [this](const WorkRequest& request) noexcept { return post_one(request); });
}

// The bytes to send; nullptr if the lkey does not cover them.
inline const std::byte* ShmQueuePair::source_of(const WorkRequest& request) const noexcept {
  const auto* source = static_cast<const std::byte*>(request.local_address);
  if ((request.flags & kInline) != 0 ||
      local_regions_->allows(request.lkey, source, request.length_bytes, false)) [[likely]] {
    return source;
  }
  return nullptr;
}

// The peer's memory; nullptr if the rkey is not one of this connection, or lacks the right, or the
// range leaves the region.
inline std::byte* ShmQueuePair::target_of(const WorkRequest& request,
                                          AccessFlags needed) const noexcept {
  const Target& target = targets_[request.rkey & (kGrantsMax - 1)];
  const std::uint64_t offset = request.remote_address - target.address;
  if (target.rkey != request.rkey || (target.access & needed) == 0 || offset > target.length ||
      request.length_bytes > target.length - offset) [[unlikely]] {
    return nullptr;
  }
  return target.mapped + offset;
}

inline ShmQueuePair::Step ShmQueuePair::write(const WorkRequest& request,
                                              const std::byte* source) noexcept {
  // As in verbs, a WRITE of nothing looks at no key.
  if (request.length_bytes == 0) return Step::kDone;
  if (source == nullptr) [[unlikely]]
    return Step::kLocalProtection;
  std::byte* target = target_of(request, kRemoteWrite);
  if (target == nullptr) [[unlikely]]
    return Step::kRemoteAccess;
  place(target, source, request.length_bytes);
  unfenced_ = true;
  return Step::kDone;
}

inline ShmQueuePair::Step ShmQueuePair::send(const WorkRequest& request) noexcept {
  if (request.length_bytes > sender_.message_bytes_max()) [[unlikely]]
    return Step::kBadRequest;
  const std::byte* source = nullptr;
  if (request.length_bytes != 0) {
    source = source_of(request);
    if (source == nullptr) [[unlikely]]
      return Step::kLocalProtection;
  }
  if (!sender_.has_credit()) [[unlikely]]
    return no_credit();
  const WireKind kind = request.opcode == Opcode::kSend ? WireKind::kSend : WireKind::kSendWithImm;
  if (request.length_bytes > sender_.smallest_receive() &&
      request.length_bytes > sender_.receive_length()) [[unlikely]] {
    // The receiver gets the length without the bytes, and fails its receive by it.
    sender_.send_descriptor(kind, request.imm_data, request.length_bytes);
    return Step::kRemoteInvalid;
  }
  sender_.send(kind, request.imm_data, source, request.length_bytes);
  unfenced_ = true;
  wake_peer((request.flags & kSolicited) != 0);
  return Step::kDone;
}

ShmQueuePair::Step ShmQueuePair::write_with_imm(const WorkRequest& request) noexcept {
  // The receive first: a request that has to wait for it must not have written yet.
  if (!sender_.has_credit()) return no_credit();
  const Step step = write(request, source_of(request));
  if (step != Step::kDone) return step;
  sender_.send_descriptor(WireKind::kWriteWithImm, request.imm_data, request.length_bytes);
  wake_peer((request.flags & kSolicited) != 0);
  return Step::kDone;
}

inline ShmQueuePair::Step ShmQueuePair::read(const WorkRequest& request) noexcept {
  if ((request.flags & kInline) != 0) [[unlikely]]
    return Step::kBadRequest;
  if (request.length_bytes == 0) return Step::kDone;
  auto* local = static_cast<std::byte*>(const_cast<void*>(request.local_address));
  if (!local_regions_->allows(request.lkey, local, request.length_bytes, true)) [[unlikely]] {
    return Step::kLocalProtection;
  }
  const std::byte* source = target_of(request, kRemoteRead);
  if (source == nullptr) [[unlikely]]
    return Step::kRemoteAccess;
  // RC runs a READ behind the requests before it. This CPU may load before its own stores are there
  // for others; then a peer that stores and looks, as we do, could miss us while we miss it.
  if (unfenced_) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    unfenced_ = false;
  }
  fetch(local, source, request.length_bytes);
  return Step::kDone;
}

inline ShmQueuePair::Step ShmQueuePair::atomic(const WorkRequest& request) noexcept {
  if ((request.flags & kInline) != 0 || request.length_bytes != 8 ||
      request.remote_address % 8 != 0) [[unlikely]] {
    return Step::kBadRequest;
  }
  auto* local = static_cast<std::byte*>(const_cast<void*>(request.local_address));
  if (!local_regions_->allows(request.lkey, local, 8, true)) [[unlikely]] {
    return Step::kLocalProtection;
  }
  std::byte* target = target_of(request, kRemoteAtomic);
  // Aligned in the owner's address space, and here: mappings differ by whole pages.
  if (target == nullptr) [[unlikely]]
    return Step::kRemoteAccess;
  auto* const word = reinterpret_cast<std::uint64_t*>(target);
  const std::uint64_t old = request.opcode == Opcode::kFetchAdd
                                ? fetch_add(word, request.compare_add)
                                : compare_swap(word, request.compare_add, request.swap);
  std::memcpy(local, &old, sizeof(old));
  return Step::kDone;
}

ShmQueuePair::Step ShmQueuePair::execute_waiting(const WorkRequest& request) noexcept {
  return execute(request);
}

inline ShmQueuePair::Step ShmQueuePair::execute(const WorkRequest& request) noexcept {
  if ((request.flags & kInline) != 0 && request.length_bytes > inline_bytes_) [[unlikely]] {
    return Step::kBadRequest;
  }
  switch (request.opcode) {
    case Opcode::kWrite:
      return write(request, source_of(request));
    case Opcode::kSend:
    case Opcode::kSendWithImm:
      return send(request);
    case Opcode::kWriteWithImm:
      return write_with_imm(request);
    case Opcode::kRead:
      return read(request);
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return atomic(request);
    default:
      return Step::kBadRequest;
  }
}

inline void ShmQueuePair::wake_peer(bool solicited) noexcept {
  if (!peer_wake_.valid()) return;
  if (!sender_.wake_needed(solicited)) [[likely]]
    return;
  wake_by(peer_wake_);
  wakeups_.add();
}

void ShmQueuePair::push_done(const WorkRequest& request, CompletionStatus status) noexcept {
  done_[done_tail_ & send_mask_] = {request.wr_id, executed_.get(), request.length_bytes, status,
                                    request.opcode};
  ++done_tail_;
}

PostStatus ShmQueuePair::post_receive(const ReceiveRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (receiver_.posted() - receiver_.received() >= receive_depth_ || !queue_->has_room())
      [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  if (adopted_) queue_->take_room();
  enqueue_receive(request);
  return PostStatus::kOk;
}

void ShmQueuePair::enqueue_receive(const ReceiveRequest& request) noexcept {
  const bool valid =
      request.length_bytes == 0 ||
      local_regions_->allows(request.lkey, request.local_address, request.length_bytes, true);
  receives_[receiver_.posted() & receive_mask_] = {
      request.wr_id, static_cast<std::byte*>(request.local_address), request.length_bytes,
      valid ? std::min(request.length_bytes, receiver_.message_bytes_max()) : 0};
  receiver_.post_receive(request.length_bytes);
}

// ------------------------------------------------------------------------------------ polling

inline std::size_t ShmQueuePair::take_sends(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && done_head_ != done_tail_) {
    const SendDone& done = done_[done_head_++ & send_mask_];
    reclaimed_ = done.posted_through;
    queue_->return_room();
    out[count++] = {.wr_id = done.wr_id,
                    .status = done.status,
                    .opcode = done.opcode,
                    .byte_length = done.byte_length,
                    .qp_number = number_};
  }
  return count;
}

// Fills the completion of the next receive. False: it failed, and with it the queue pair.
inline bool ShmQueuePair::accept_message(const WireReceiver::Message& message,
                                         Completion& completion) noexcept {
  const Receive& receive = receives_[receiver_.received() & receive_mask_];
  const bool plain = message.kind == WireKind::kSend;
  completion = {.wr_id = receive.wr_id,
                .opcode = plain ? Opcode::kRecv : Opcode::kRecvWithImm,
                .byte_length = message.length,
                .imm_data = message.imm,
                .qp_number = number_};
  if ((!plain && message.kind != WireKind::kSendWithImm) || message.length > receive.length_plain)
      [[unlikely]] {
    return accept_unusual(message, completion);
  }
  receiver_.copy_to(receive.address, message.length);
  return true;
}

inline std::size_t ShmQueuePair::take_receives(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  WireReceiver::Message message;
  while (count < out.size() && receiver_.received() != receiver_.posted() &&
         receiver_.next(message)) {
    const bool good = accept_message(message, out[count]);
    receiver_.done();
    queue_->return_room();
    ++count;
    if (!good) [[unlikely]] {
      fail_receive(out[count - 1].status);
      break;
    }
  }
  return count;
}

inline std::size_t ShmQueuePair::poll(std::span<Completion> out) noexcept {
  if (!adopted_) [[unlikely]]
    adopt();
  // Before the wire is looked at: what the peer sent before it failed is delivered first.
  const bool failed = connection_->failed();
  std::size_t count = 0;
  if (waiting_count_ != 0 && !failed) [[unlikely]]
    advance();
  if (done_head_ != done_tail_) count = take_sends(out);
  if (!stop_receiving_) count += take_receives(out.subspan(count));
  if (failed) [[unlikely]]
    count += flush(out.subspan(count));
  return count;
}

std::size_t ShmCompletionQueue::poll(std::span<Completion> out) noexcept {
  const std::uint64_t begun = begin_poll();
  // Acquire pairs with the release in attach_to().
  const std::size_t used = connected_.used.load(std::memory_order_acquire);
  const std::size_t datagrams = datagrams_.used.load(std::memory_order_acquire);
  std::size_t count = 0;
  if (used == 1) [[likely]] {
    ShmQueuePair* queue_pair = connected_.slots[0].load(std::memory_order_acquire);
    if (queue_pair != nullptr) count = queue_pair->poll(out);
  } else {
    count = poll_many(connected_, used, out);
  }
  if (datagrams != 0) [[unlikely]]
    count += poll_many(datagrams_, datagrams, out.subspan(count));
  end_poll(begun);
  return count;
}

template <class Pair>
std::size_t ShmCompletionQueue::poll_many(Bound<Pair>& bound, std::size_t used,
                                          std::span<Completion> out) noexcept {
  std::size_t count = 0;
  std::size_t index = bound.first;
  for (std::size_t i = 0; i < used && count < out.size(); ++i, ++index) {
    if (index >= used) index = 0;
    Pair* queue_pair = bound.slots[index].load(std::memory_order_acquire);
    if (queue_pair != nullptr) count += queue_pair->poll(out.subspan(count));
  }
  // A busy queue pair that filled `out` does not starve the ones behind it.
  bound.first = index >= used ? 0 : index;
  return count;
}

}  // namespace tickpath::rdma::detail
