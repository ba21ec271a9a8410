// What a queue pair does off its fast path: requests that wait for a receive, failures, flushing.
#include <cstring>

#include "common/base/cpu.hpp"
#include "common/rdma/shm/queue_pair.hpp"

namespace tickpath::rdma::detail {

ShmQueuePair::Step ShmQueuePair::no_credit() noexcept {
  return sender_.receiver_lies() ? Step::kPeerProtocol : Step::kNoReceive;
}

// What execute() would refuse, asked of a request that cannot be executed yet.
bool ShmQueuePair::acceptable(const WorkRequest& request) const noexcept {
  const bool is_inline = (request.flags & kInline) != 0;
  if (is_inline && request.length_bytes > inline_bytes_) return false;
  switch (request.opcode) {
    case Opcode::kWrite:
    case Opcode::kWriteWithImm:
      return true;
    case Opcode::kSend:
    case Opcode::kSendWithImm:
      return request.length_bytes <= sender_.message_bytes_max();
    case Opcode::kRead:
      return !is_inline;
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return !is_inline && request.length_bytes == 8 && request.remote_address % 8 == 0;
    default:
      return false;
  }
}

// RC ordering: while one request waits, later ones queue behind it.
PostStatus ShmQueuePair::post_behind(const WorkRequest& request) noexcept {
  advance();
  if (connection_->failed()) return PostStatus::kNotReady;
  if (waiting_count_ == 0) return post_send(request);
  if (!acceptable(request)) return PostStatus::kBadRequest;
  return settle(request, Step::kNoReceive);
}

// A request that did not run to its end at once.
PostStatus ShmQueuePair::settle(const WorkRequest& request, Step step) noexcept {
  if (step == Step::kBadRequest) return PostStatus::kBadRequest;
  if (step == Step::kNoReceive) {
    if (!queue_->has_room()) {
      refused_.add();
      return PostStatus::kQueueFull;
    }
    enqueue(request);
    return PostStatus::kOk;
  }
  executed_.add();
  settle_failed(request, step);
  return PostStatus::kOk;
}

void ShmQueuePair::enqueue(const WorkRequest& request) noexcept {
  const std::uint64_t index = (executed_.get() + waiting_count_) & send_mask_;
  WorkRequest& waiting = waiting_[index];
  waiting = request;
  if ((request.flags & kInline) != 0 && request.length_bytes != 0) {
    // The caller's buffer is free when post_send() returns.
    std::byte* copy = &waiting_inline_[index * inline_bytes_];
    std::memcpy(copy, request.local_address, request.length_bytes);
    waiting.local_address = copy;
  }
  queue_->take_room();
  ++waiting_count_;
  --send_room_;
}

// The oldest waiting request leaves: it ran, or failed.
const WorkRequest& ShmQueuePair::dequeue() noexcept {
  const WorkRequest& request = waiting_[executed_.get() & send_mask_];
  executed_.add();
  --waiting_count_;
  ++send_room_;
  return request;
}

// True when the oldest waiting request has met no receive for rnr_retry * min_rnr_timer.
bool ShmQueuePair::rnr_expired() noexcept {
  const std::uint64_t now = tsc_now().value;
  if (rnr_since_tsc_ == 0) {
    rnr_since_tsc_ = now;
    rnr_waits_.add();
  }
  return !rnr_for_ever_ && now - rnr_since_tsc_ >= rnr_limit_tsc_;
}

void ShmQueuePair::advance() noexcept {
  if (connection_->disturbed() && !still_ready()) return;
  while (waiting_count_ != 0) {
    const Step step = execute_waiting(waiting_[executed_.get() & send_mask_]);
    if (step == Step::kNoReceive) {
      if (!rnr_expired()) return;
      push_done(dequeue(), CompletionStatus::kRnrRetryExceeded);
      connection_->fail(FailureCause::kRnrExceeded);
      return;
    }
    rnr_since_tsc_ = 0;
    const WorkRequest& request = dequeue();
    if (step != Step::kDone) {
      queue_->return_room();  // settle_failed() takes it
      settle_failed(request, step);
      return;
    }
    if ((request.flags & kSignaled) != 0) {
      push_done(request, CompletionStatus::kSuccess);
    } else {
      queue_->return_room();
    }
  }
}

// Failures complete even if unsignalled, and take the queue pair to error on both sides.
void ShmQueuePair::settle_failed(const WorkRequest& request, Step step) noexcept {
  CompletionStatus status = CompletionStatus::kGeneral;
  FailureCause cause = FailureCause::kPeerProtocol;
  switch (step) {
    case Step::kRemoteAccess:
      status = CompletionStatus::kRemoteAccess;
      cause = FailureCause::kRemoteAccess;
      break;
    case Step::kLocalProtection:
      status = CompletionStatus::kLocalProtection;
      cause = FailureCause::kLocalProtection;
      break;
    case Step::kRemoteInvalid:
      status = CompletionStatus::kRemoteInvalid;
      cause = FailureCause::kRemoteInvalid;
      break;
    case Step::kDone:
    case Step::kNoReceive:
    case Step::kBadRequest:
    case Step::kPeerProtocol:
      break;
  }
  queue_->take_room();
  push_done(request, status);
  connection_->fail(cause);
}

// A WRITE_WITH_IMM, whose bytes are in their place already, or a message that fails its receive.
bool ShmQueuePair::accept_unusual(const WireReceiver::Message& message,
                                  Completion& completion) noexcept {
  const Receive& receive = receives_[receiver_.received() & receive_mask_];
  if (message.kind == WireKind::kWriteWithImm) return true;
  const bool known = message.kind == WireKind::kSend || message.kind == WireKind::kSendWithImm;
  if (known && message.length > receive.length) {
    completion.status = CompletionStatus::kLocalLength;
  } else if (known && message.length <= receiver_.message_bytes_max()) {
    completion.status = CompletionStatus::kLocalProtection;
  } else {
    completion.status = CompletionStatus::kGeneral;  // no honest sender posts it
  }
  return false;
}

void ShmQueuePair::fail_receive(CompletionStatus status) noexcept {
  stop_receiving_ = true;
  switch (status) {
    case CompletionStatus::kLocalLength:
      return connection_->fail(FailureCause::kLocalLength);
    case CompletionStatus::kLocalProtection:
      return connection_->fail(FailureCause::kLocalProtection);
    default:
      return connection_->fail(FailureCause::kPeerProtocol);
  }
}

// The queue pair is in error and everything that arrived has been handed out: the rest fails, sends
// first, each in order.
std::size_t ShmQueuePair::flush(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  for (; count < out.size() && waiting_count_ != 0; ++count) {
    const WorkRequest& request = dequeue();
    // The oldest one is what the peer's death interrupted.
    const bool first = !flushed_send_ && connection_->cause() == FailureCause::kPeerDied;
    flushed_send_ = true;
    out[count] = {.wr_id = request.wr_id,
                  .status = first ? CompletionStatus::kRetryExceeded : CompletionStatus::kFlushed,
                  .opcode = request.opcode,
                  .qp_number = number_};
    queue_->return_room();
  }
  for (; count < out.size() && receiver_.received() != receiver_.posted(); ++count) {
    const Receive& receive = receives_[receiver_.received() & receive_mask_];
    out[count] = {.wr_id = receive.wr_id,
                  .status = CompletionStatus::kFlushed,
                  .opcode = Opcode::kRecv,
                  .qp_number = number_};
    receiver_.done();
    queue_->return_room();
  }
  return count;
}

void ShmQueuePair::adopt() noexcept {
  adopted_ = true;
  queue_->take_room(receiver_.posted() - receiver_.received());
}

}  // namespace tickpath::rdma::detail
