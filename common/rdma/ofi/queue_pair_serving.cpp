// The hot path of the ofi provider: what the peer's messages ask for is done here, to this side's
// memory. By whoever has entered the completion queue.
#include <algorithm>
#include <cstring>

#include <rdma/fi_errno.h>

#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/queue_pair.hpp"
#include "common/rdma/shm/copy.hpp"

namespace tickpath::rdma::detail {

// ------------------------------------------------------------------------------------- arriving

void OfiQueuePair::on_done(const fi_cq_data_entry& entry) noexcept {
  const std::uint32_t buffer = message_context::buffer_of(entry.op_context);
  if (message_context::is_receive(entry.op_context)) {
    if (buffer < kOfiReceiveBuffers)
      arrived_[buffer] = {true, (entry.flags & FI_REMOTE_CQ_DATA) != 0,
                          static_cast<std::uint32_t>(entry.len), entry.data};
  } else if (buffer - kOfiReceiveBuffers < kOfiSendBuffers) {
    free_sends_.push(buffer - kOfiReceiveBuffers);
  }
}

void OfiQueuePair::on_failed(const void* context, int error) noexcept {
  // A stranger's message, longer than any of ours: endpoints without connections take it.
  if (error == FI_ETRUNC && !core_->connected()) {
    fi_cq_data_entry nothing{};
    nothing.op_context = const_cast<void*>(context);
    return on_done(nothing);
  }
  news_ = solicited_news_ = true;
  connection_->note_broken();
}

// In the order in which libfabric got the buffers: messages are matched with them in order, however
// their completions come.
void OfiQueuePair::take_arrived() noexcept {
  while (!posted_buffers_.empty()) {
    const std::uint32_t buffer = posted_buffers_.front();
    if (!arrived_[buffer].here) break;
    posted_buffers_.pop();
    arrived_[buffer].here = false;  // the rest of it is read until the buffer is posted again
    if (take(buffer))
      waiting_.push(buffer);
    else
      idle_buffers_.push(buffer);
  }
}

inline OfiWireHeader OfiQueuePair::header_of(std::uint32_t buffer) const noexcept {
  const Arrived& arrived = arrived_[buffer];
  if (!arrived.has_word) {
    OfiWireHeader header;
    std::memcpy(&header, buffers_.at(buffer), sizeof(header));
    return header;
  }
  const std::uint64_t left_out = std::uint64_t{session_} << 32 & ~word_bits_;
  return header_word::read((arrived.word & word_bits_) | left_out, arrived.bytes, answered_);
}

// True: a request that waits, its buffer is kept until it is executed.
inline bool OfiQueuePair::take(std::uint32_t buffer) noexcept {
  const Arrived& arrived = arrived_[buffer];
  if (!arrived.has_word && arrived.bytes < sizeof(OfiWireHeader)) [[unlikely]] {
    violate();
    return false;
  }
  const OfiWireHeader header = header_of(buffer);
  const bool word_will_do =
      header.kind == OfiKind::kSend && (header.flags & wire_flags::kImmediate) == 0;
  const std::uint32_t bytes =
      arrived.has_word ? arrived.bytes : arrived.bytes - std::uint32_t{sizeof(header)};
  if (header.session != session_ || (arrived.has_word && !word_will_do) || !valid(header, bytes))
      [[unlikely]] {
    violate();
    return false;
  }
  if (header.executed != answered_) {
    answered_ = header.executed;
    news_ = true;
    rnr_since_ = {};
  }
  if (is_request(header.kind)) {
    if (waiting_.empty()) return !serve(buffer, header);  // nothing is in front of it
    if (waiting_.size() < kOfiWindow) return true;
    violate();
    return false;
  }
  take_answer(header, bytes_of(buffer));
  return false;
}

// What no peer of this version sends: whoever did it is not what it says. Where anybody may send to
// an endpoint it means nothing.
void OfiQueuePair::violate() noexcept {
  if (core_->connected())
    connection_->note_violation();
  else
    core_->note_stranger();
}

inline bool OfiQueuePair::valid(const OfiWireHeader& header, std::uint32_t bytes) const noexcept {
  // Never more answered than asked, and never less than before.
  if (header.executed - answered_ > messages_ - answered_ ||
      (header.flags & ~wire_flags::kAll) != 0)
    return false;
  const bool last = (header.flags & wire_flags::kLast) != 0;
  switch (header.kind) {
    case OfiKind::kWrite:
    case OfiKind::kSend:
      return header.length == bytes && header.fetch <= header.total_length &&
             bytes <= header.total_length - header.fetch &&
             last == (header.fetch + bytes == header.total_length);
    case OfiKind::kRead:
      return bytes == 0 && last;
    case OfiKind::kFetchAdd:
      return bytes == 8 && header.length == 8 && last;
    case OfiKind::kCompareSwap:
      return bytes == 16 && header.length == 8 && last;
    case OfiKind::kFetched:
      return header.length == bytes;
    case OfiKind::kExecuted:
    case OfiKind::kWaitsForReceive:
      return bytes == 0;
    case OfiKind::kNone:
      break;
  }
  return false;
}

void OfiQueuePair::take_answer(const OfiWireHeader& header, const std::byte* bytes) noexcept {
  if (header.kind == OfiKind::kFetched) return take_fetched(header, bytes);
  if (header.kind != OfiKind::kWaitsForReceive || answered_ == messages_) return;
  rnr_waits_.add();
  rnr_since_ = std::chrono::steady_clock::now();
}

void OfiQueuePair::take_fetched(const OfiWireHeader& header, const std::byte* bytes) noexcept {
  const std::uint64_t oldest = completed_.get();
  const std::uint64_t ahead = header.fetch - static_cast<std::uint32_t>(oldest);
  Sent& sent = sent_[(oldest + ahead) & send_mask_];
  if (ahead >= given_ - oldest || !is_fetch(sent.request.opcode) || sent.fetched_all ||
      header.address != sent.fetched || header.length > sent.request.length_bytes - sent.fetched)
      [[unlikely]]
    return violate();
  if (!local_bytes_allowed(sent.request)) [[unlikely]]
    return connection_->note_request(CompletionStatus::kLocalProtection);
  if (header.length != 0)
    std::memcpy(const_cast<std::byte*>(static_cast<const std::byte*>(sent.request.local_address)) +
                    sent.fetched,
                bytes, header.length);
  sent.fetched += header.length;
  if (sent.fetched != sent.request.length_bytes) return;
  sent.fetched_all = true;
  --fetches_;
  news_ = true;
}

// ------------------------------------------------------------------------------------ executing

// False: it must wait, for a receive or for room, or nothing more is done for this peer.
inline bool OfiQueuePair::serve(std::uint32_t buffer, const OfiWireHeader& header) noexcept {
  // Nothing of a peer's is done once this side has ended the connection.
  if (connection_->ended_here()) [[unlikely]]
    return false;
  if (execute(header, bytes_of(buffer)) != Step::kDone) return false;
  ++executed_;
  if ((header.flags & wire_flags::kTell) != 0) tell_ = true;
  noticed_waiting_ = false;
  return true;
}

void OfiQueuePair::serve_waiting() noexcept {
  while (!waiting_.empty()) {
    const std::uint32_t buffer = waiting_.front();
    if (!serve(buffer, header_of(buffer))) return;
    waiting_.pop();
    idle_buffers_.push(buffer);
  }
}

OfiQueuePair::Step OfiQueuePair::execute(const OfiWireHeader& header,
                                         const std::byte* bytes) noexcept {
  switch (header.kind) {
    case OfiKind::kWrite:
      return execute_write(header, bytes);
    case OfiKind::kSend:
      return execute_send(header, bytes);
    case OfiKind::kRead:
      return execute_read(header);
    default:
      return execute_atomic(header, bytes);
  }
}

OfiQueuePair::Step OfiQueuePair::refuse(CompletionStatus status) noexcept {
  connection_->note_refused(status, executed_);
  news_ = solicited_news_ = true;
  return Step::kFailed;
}

inline OfiQueuePair::Step OfiQueuePair::execute_write(const OfiWireHeader& header,
                                                      const std::byte* bytes) noexcept {
  const bool immediate = (header.flags & wire_flags::kImmediate) != 0;
  Received* const received = immediate ? next_receive() : nullptr;
  if (immediate && received == nullptr) return Step::kBlocked;
  if (header.length != 0) {
    // The whole request, or nothing of it: what is still to come must fit, too.
    std::byte* const target =
        grants_.find(header.rkey, header.address, header.total_length - header.fetch, kRemoteWrite);
    if (target == nullptr) [[unlikely]]
      return refuse(CompletionStatus::kRemoteAccess);
    place(target, bytes, header.length);
  }
  if (immediate) fill(*received, header);
  return Step::kDone;
}

// The receive that the next message consumes; nullptr: none is posted.
OfiQueuePair::Received* OfiQueuePair::next_receive() noexcept {
  // Acquire: pairs with the store in post_receive(); the receive is there.
  const std::uint64_t filled = filled_.load(std::memory_order_relaxed);  // stored by who entered
  if (receives_posted_.load(std::memory_order_acquire) == filled) [[unlikely]] {
    // The polling thread looks after it at its next post, see post_receive().
    starving_.store(true, std::memory_order_relaxed);
    if (receives_posted_.load(std::memory_order_acquire) == filled) {
      tells_waiting_ |= !noticed_waiting_;
      noticed_waiting_ = true;
      return nullptr;
    }
  }
  if (starving_.load(std::memory_order_relaxed)) [[unlikely]]
    starving_.store(false, std::memory_order_relaxed);  // a look too many does no harm
  return &receives_[filled & receive_mask_];
}

// Pairs with the acquire in take_receives(), which may not have entered: whoever sees what a later
// request placed gets this completion by its next poll, as RC has it.
inline void OfiQueuePair::count_filled() noexcept {
  filled_.store(filled_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void OfiQueuePair::fill(Received& received, const OfiWireHeader& header) noexcept {
  const bool immediate = (header.flags & wire_flags::kImmediate) != 0;
  received.completion = {.wr_id = received.request.wr_id,
                         .status = CompletionStatus::kSuccess,
                         .opcode = immediate ? Opcode::kRecvWithImm : Opcode::kRecv,
                         .byte_length = header.total_length,
                         .imm_data = immediate ? header.imm_data : 0,
                         .qp_number = number_};
  count_filled();
  news_ = true;
  solicited_news_ |= (header.flags & wire_flags::kSolicited) != 0;
}

// The receive fails, and with it the connection.
OfiQueuePair::Step OfiQueuePair::fail_receive(Received& received, CompletionStatus here,
                                              CompletionStatus there) noexcept {
  received.completion = {.wr_id = received.request.wr_id,
                         .status = here,
                         .opcode = Opcode::kRecv,
                         .qp_number = number_};
  count_filled();
  return refuse(there);
}

inline OfiQueuePair::Step OfiQueuePair::execute_send(const OfiWireHeader& header,
                                                     const std::byte* bytes) noexcept {
  Received* const received = next_receive();
  if (received == nullptr) return Step::kBlocked;
  if (header.fetch != filling_bytes_) [[unlikely]] {
    violate();
    return Step::kFailed;
  }
  if (header.total_length > received->request.length_bytes) [[unlikely]]
    return fail_receive(*received, CompletionStatus::kLocalLength,
                        CompletionStatus::kRemoteInvalid);
  if (header.length != 0) {
    const ReceiveRequest& into = received->request;
    if (!core_->regions().allows(into.lkey, into.local_address, into.length_bytes, true))
        [[unlikely]]
      return fail_receive(*received, CompletionStatus::kLocalProtection,
                          CompletionStatus::kGeneral);
    std::memcpy(static_cast<std::byte*>(into.local_address) + header.fetch, bytes, header.length);
  }
  const bool last = (header.flags & wire_flags::kLast) != 0;
  filling_bytes_ = last ? 0 : filling_bytes_ + header.length;
  if (last) fill(*received, header);
  return Step::kDone;
}

// Answers with the bytes, in as many messages as they need. Blocked in the middle it goes on there.
OfiQueuePair::Step OfiQueuePair::execute_read(const OfiWireHeader& header) noexcept {
  const std::byte* const source =
      header.length == 0 ? nullptr
                         : grants_.find(header.rkey, header.address, header.length, kRemoteRead);
  if (source == nullptr && header.length != 0) [[unlikely]]
    return refuse(CompletionStatus::kRemoteAccess);
  do {
    if (!room_to_send()) return Step::kBlocked;
    OfiWireHeader answer;
    answer.kind = OfiKind::kFetched;
    answer.fetch = header.fetch;
    answer.address = read_bytes_;
    answer.length = std::min(header.length - read_bytes_, kOfiPartBytes);
    if (answer.length != 0)
      fetch(message_buffer() + sizeof(answer), source + read_bytes_, answer.length);
    if (read_bytes_ + answer.length == header.length) {
      // The request counts as executed with its last bytes: they say so.
      ++executed_;
      const bool gone = send_message(answer, answer.length);
      --executed_;
      if (!gone) return Step::kBlocked;
    } else if (!send_message(answer, answer.length)) {
      return Step::kBlocked;
    }
    read_bytes_ += answer.length;
  } while (read_bytes_ != header.length);
  read_bytes_ = 0;
  return Step::kDone;
}

OfiQueuePair::Step OfiQueuePair::execute_atomic(const OfiWireHeader& header,
                                                const std::byte* bytes) noexcept {
  if (!atomic_done_) {
    std::byte* const target = grants_.find(header.rkey, header.address, 8, kRemoteAtomic);
    if (target == nullptr || header.address % 8 != 0) [[unlikely]]
      return refuse(CompletionStatus::kRemoteAccess);
    auto* const word = reinterpret_cast<std::uint64_t*>(target);
    std::uint64_t operands[2] = {};
    const bool adds = header.kind == OfiKind::kFetchAdd;
    std::memcpy(operands, bytes, adds ? 8 : 16);
    atomic_old_ =
        adds ? fetch_add(word, operands[0]) : compare_swap(word, operands[0], operands[1]);
    atomic_done_ = true;  // once, also where its answer cannot go yet
  }
  if (!room_to_send()) return Step::kBlocked;
  OfiWireHeader answer;
  answer.kind = OfiKind::kFetched;
  answer.fetch = header.fetch;
  answer.length = sizeof(atomic_old_);
  std::memcpy(message_buffer() + sizeof(answer), &atomic_old_, sizeof(atomic_old_));
  ++executed_;  // as execute_read()
  const bool gone = send_message(answer, sizeof(atomic_old_));
  --executed_;
  if (!gone) return Step::kBlocked;
  atomic_done_ = false;
  return Step::kDone;
}

// -------------------------------------------------------------------------------------- buffers

bool OfiQueuePair::post_buffer(std::uint32_t buffer) noexcept {
  const long result =
      ::fi_recv(endpoint_.get(), buffers_.at(buffer), kOfiMessageBytes, buffers_.descriptor(),
                peer_address_, message_context::of(tag_, buffer, true));
  if (result == 0) [[likely]] {
    posted_buffers_.push(buffer);
    return true;
  }
  if (result != -FI_EAGAIN) connection_->note_broken();
  return false;
}

inline void OfiQueuePair::post_buffers_again() noexcept {
  while (!idle_buffers_.empty()) {
    if (connection_->cause() != OfiCause::kNone) [[unlikely]]
      return;
    if (!post_buffer(idle_buffers_.front())) return;
    idle_buffers_.pop();
  }
}

void OfiQueuePair::work(bool drained, bool polled) noexcept {
  if (!ready_) [[unlikely]]
    return;
  // What came before the end is in libfabric's queue, which was read to its end since it was seen.
  const bool ended = seen_ended_ && drained;
  if (connection_->cause() != OfiCause::kNone) [[unlikely]]
    seen_ended_ = connection_->ended();
  const bool told_late = tell_;
  serve_waiting();
  take_arrived();
  // Before who is handed a message now answers it, a few buffers may wait.
  if (!polled || !news_ || idle_buffers_.size() > kOfiIdleBuffersMax) post_buffers_again();
  send_posted();
  // The program is likely to answer a message that it is handed now, and the answer carries the
  // acknowledgement. A message of its own would only be in front of it. If no answer is sent, the
  // next poll acknowledges.
  if (!polled || told_late || !news_) send_answers();
  ended_ |= ended;
}

void OfiQueuePair::look() noexcept {
  if (!ready_) [[unlikely]]
    return;
  serve_waiting();
  send_posted();
  send_answers();
}

void OfiQueuePair::send_posted() noexcept {
  if (ready_ && connection_->cause() == OfiCause::kNone) [[likely]]
    send_requests();
}

}  // namespace tickpath::rdma::detail
