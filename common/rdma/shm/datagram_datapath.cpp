// The hot path of datagrams on shm: post and poll. No allocation, no lock; the only system call is
// the one that wakes our monitor where a receiver sleeps.
#include <algorithm>
#include <bit>
#include <cstring>

#include "common/rdma/provider/post_each.hpp"
#include "common/rdma/shm/datagram_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// Datagrams of one source that one poll drops without a completion: a flood of what nobody wants
// must not hold up what completes for others.
constexpr std::size_t kDropsAtOnce = 256;

// What a GRH counts as payload besides the datagram: BTH 12, DETH 8, ICRC 4 (volume 1, 8.3.4).
constexpr std::uint32_t kPayloadHeaders = 24;

}  // namespace

// ------------------------------------------------------------------------------------ posting

inline bool ShmDatagramQueuePair::acceptable(const DatagramRequest& request) const noexcept {
  const auto* handle = static_cast<const ShmAddressHandle*>(request.destination);
  return handle != nullptr && &handle->owner() == this &&
         (request.opcode == Opcode::kSend || request.opcode == Opcode::kSendWithImm) &&
         request.length_bytes <= layout_.datagram_bytes_max &&
         ((request.flags & kInline) == 0 || request.length_bytes <= inline_bytes_);
}

void ShmDatagramQueuePair::push_done(const DatagramRequest& request,
                                     CompletionStatus status) noexcept {
  queue_->take_room();
  done_[done_tail_ & send_mask_] = {request.wr_id, executed_.get(), request.length_bytes, status,
                                    request.opcode};
  ++done_tail_;
}

PostStatus ShmDatagramQueuePair::post_send(const DatagramRequest& request) noexcept {
  if (failed()) [[unlikely]]
    return PostStatus::kNotReady;
  const bool signaled = (request.flags & kSignaled) != 0;
  if (executed_.get() - reclaimed_ >= send_depth_ || (signaled && !queue_->has_room()))
      [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  if (!acceptable(request)) [[unlikely]]
    return PostStatus::kBadRequest;
  const auto* source = static_cast<const std::byte*>(request.local_address);
  executed_.add();
  if ((request.flags & kInline) == 0 && request.length_bytes != 0 &&
      !local_regions_->allows(request.lkey, source, request.length_bytes, false)) [[unlikely]] {
    push_done(request, CompletionStatus::kLocalProtection);
    fail(Failure::kSendProtection);
    return PostStatus::kOk;
  }
  const auto& handle = static_cast<const ShmAddressHandle&>(*request.destination);
  // To another queue pair than is behind the handle: nobody there has that number.
  if (request.remote_qp_number == handle.address().qp_number) [[likely]] {
    // With its highest bit set, a Q_Key stands for that of the queue pair (volume 1, 10.2.5).
    const std::uint32_t q_key =
        (request.remote_q_key >> 31) != 0 ? address_.q_key : request.remote_q_key;
    if (handle.publication().send(request.opcode == Opcode::kSendWithImm, request.imm_data, q_key,
                                  source, request.length_bytes, (request.flags & kSolicited) != 0))
        [[unlikely]]
      wakeups_.add();
  }
  if (signaled) push_done(request, CompletionStatus::kSuccess);
  return PostStatus::kOk;
}

PostStatus ShmDatagramQueuePair::post_send(std::span<const DatagramRequest> requests,
                                           std::size_t* posted) noexcept {
  return post_each(requests, posted,
                   [this](const DatagramRequest& request) noexcept { return post_send(request); });
}

PostStatus ShmDatagramQueuePair::post_receive(const ReceiveRequest& request) noexcept {
  if (failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (request.length_bytes < kGrhBytes) [[unlikely]]
    return PostStatus::kBadRequest;
  if (receives_tail_ - receives_head_ >= receive_depth_ || !queue_->has_room()) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  queue_->take_room();
  receives_[receives_tail_++ & receive_mask_] = {
      request.wr_id, static_cast<std::byte*>(request.local_address), request.length_bytes,
      local_regions_->allows(request.lkey, request.local_address, request.length_bytes, true)};
  return PostStatus::kOk;
}

// ------------------------------------------------------------------------------------ polling

inline std::size_t ShmDatagramQueuePair::take_sends(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  for (; count < out.size() && done_head_ != done_tail_; ++count) {
    const SendDone& done = done_[done_head_++ & send_mask_];
    reclaimed_ = done.posted_through;
    queue_->return_room();
    out[count] = {.wr_id = done.wr_id,
                  .status = done.status,
                  .opcode = done.opcode,
                  .byte_length = done.byte_length,
                  .qp_number = number()};
  }
  return count;
}

inline void ShmDatagramQueuePair::fill_grh(const DatagramSource& source, std::byte* at,
                                           std::uint32_t length) const noexcept {
  std::memcpy(at, source.grh.data(), kGrhBytes);
  const std::uint32_t payload = length + kPayloadHeaders;
  at[4] = static_cast<std::byte>(payload >> 8);
  at[5] = static_cast<std::byte>(payload);
}

ShmDatagramQueuePair::Taken ShmDatagramQueuePair::overrun(DatagramSource& source) noexcept {
  overrun_.add(source.reader.skip_overrun());
  return Taken::kDropped;
}

// A datagram that is here, and may be overwritten while we look at it.
inline ShmDatagramQueuePair::Taken ShmDatagramQueuePair::accept(
    DatagramSource& source, const DatagramReader::Datagram& datagram,
    Completion& completion) noexcept {
  const bool has_receive = receives_head_ != receives_tail_;
  const Receive& receive = receives_[receives_head_ & receive_mask_];
  Counter* dropped = nullptr;
  if (datagram.length > source.datagram_bytes_max) [[unlikely]] {
    dropped = &malformed_;
  } else if (datagram.q_key != address_.q_key) [[unlikely]] {
    dropped = &wrong_q_key_;
  } else if (!has_receive) [[unlikely]] {
    dropped = &without_receive_;
  } else if (receive.valid && datagram.length > receive.length - kGrhBytes) [[unlikely]] {
    dropped = &too_long_;
  } else if (receive.valid) [[likely]] {
    source.reader.copy_to(receive.address + kGrhBytes, datagram.length);
  }
  if (!source.reader.intact()) [[unlikely]]
    return overrun(source);
  source.reader.done();
  if (dropped != nullptr) [[unlikely]] {
    dropped->add();
    return Taken::kDropped;
  }
  completion = {.wr_id = receive.wr_id,
                .opcode = datagram.with_imm ? Opcode::kRecvWithImm : Opcode::kRecv,
                .byte_length = datagram.length + kGrhBytes,
                .imm_data = datagram.imm,
                .qp_number = number(),
                .source_qp_number = source.qp_number};
  ++receives_head_;
  queue_->return_room();
  if (!receive.valid) [[unlikely]] {
    completion.status = CompletionStatus::kLocalProtection;
    fail(Failure::kReceiveProtection);
    return Taken::kCompleted;
  }
  fill_grh(source, receive.address, datagram.length);
  received_.add();
  return Taken::kCompleted;
}

inline ShmDatagramQueuePair::Taken ShmDatagramQueuePair::take_one(DatagramSource& source,
                                                                  Completion& completion) noexcept {
  DatagramReader::Datagram datagram;
  switch (source.reader.look(datagram)) {
    case DatagramReader::Look::kDatagram:
      return accept(source, datagram, completion);
    case DatagramReader::Look::kOverrun:
      return overrun(source);
    case DatagramReader::Look::kNothing:
      break;
  }
  return Taken::kNothing;
}

inline std::size_t ShmDatagramQueuePair::take_from(DatagramSource& source,
                                                   std::span<Completion> out) noexcept {
  // Looked at first: what its sender sent before it went is then seen below.
  const bool ended = source.ended.load(std::memory_order_acquire);
  std::size_t count = 0;
  for (std::size_t drops = 0; count < out.size() && drops < kDropsAtOnce && !failed();) {
    const Taken taken = take_one(source, out[count]);
    if (taken == Taken::kNothing) {
      // Pairs with the acquire in sweep(): we have let go of the ring.
      if (ended) [[unlikely]]
        source.drained.store(true, std::memory_order_release);
      break;
    }
    if (taken == Taken::kCompleted) {
      ++count;
    } else {
      ++drops;
    }
  }
  return count;
}

inline std::size_t ShmDatagramQueuePair::take_datagrams(std::span<Completion> out) noexcept {
  const std::size_t used = sources_.used();
  std::size_t count = 0;
  std::size_t index = first_source_;
  for (std::size_t i = 0; i < used && count < out.size(); ++i, ++index) {
    if (index >= used) index = 0;
    DatagramSource* const source = sources_.at(index);
    if (source != nullptr) count += take_from(*source, out.subspan(count));
  }
  // A busy sender that filled `out` does not starve the ones behind it.
  first_source_ = index >= used ? 0 : index;
  return count;
}

// The queue pair is in error: its receives fail, in order.
std::size_t ShmDatagramQueuePair::flush(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  for (; count < out.size() && receives_head_ != receives_tail_; ++count) {
    out[count] = {.wr_id = receives_[receives_head_++ & receive_mask_].wr_id,
                  .status = CompletionStatus::kFlushed,
                  .opcode = Opcode::kRecv,
                  .qp_number = number()};
    queue_->return_room();
  }
  return count;
}

std::size_t ShmDatagramQueuePair::poll(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  if (done_head_ != done_tail_) count = take_sends(out);
  if (!failed()) [[likely]]
    return count + take_datagrams(out.subspan(count));
  return count + flush(out.subspan(count));
}

void ShmDatagramQueuePair::arm(bool solicited_only) noexcept {
  const std::size_t used = sources_.used();
  for (std::size_t index = 0; index < used; ++index) {
    DatagramSource* const source = sources_.at(index);
    if (source == nullptr || source->sleeper >= kSleepersMax) continue;
    arm_sleeper(source->wake_page(), source->sleeper, solicited_only, !source->armed_before,
                [this] { core_->barriers.run_across(); });
    source->armed_before = true;
  }
}

}  // namespace tickpath::rdma::detail
