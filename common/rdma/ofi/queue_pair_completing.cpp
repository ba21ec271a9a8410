// The hot path of the ofi provider: what is handed out. By the polling thread, which has entered
// the completion queue.
#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/queue_pair.hpp"

namespace tickpath::rdma::detail {

namespace {

// `count` reached `mark`, both modulo 2^32 and never further apart than a queue is deep.
constexpr bool reached(std::uint32_t count, std::uint32_t mark) noexcept {
  return static_cast<std::int32_t>(count - mark) >= 0;
}

}  // namespace

bool OfiQueuePair::has_something(bool solicited_only) noexcept {
  if (solicited_only ? solicited_news_ : news_) return true;
  if (connection_->cause() == OfiCause::kNone) return rnr_expired();
  // What was interrupted is flushed once the connection has ended, and shows as solicited.
  return connection_->ended() &&
         (receives_posted_.load(std::memory_order_acquire) != received_.get() ||
          posted_.load(std::memory_order_acquire) != completed_.get());
}

bool OfiQueuePair::restless() const noexcept {
  if (connection_->cause() != OfiCause::kNone) return !ended_;
  return !idle_buffers_.empty() || tell_ || tells_waiting_ || read_bytes_ != 0 || atomic_done_ ||
         rnr_since_ != std::chrono::steady_clock::time_point{} ||
         (!refuses_ && given_ != posted_.load(std::memory_order_acquire));
}

bool OfiQueuePair::quiet() const noexcept {
  return !has_failed() && !restless() && !news_ && !refuses_ && waiting_.empty() && !owes_answer();
}

// A message of ours has been waiting for a receive for as long as its retries take.
bool OfiQueuePair::rnr_expired() const noexcept {
  return rnr_since_ != std::chrono::steady_clock::time_point{} && !rnr_for_ever_ &&
         std::chrono::steady_clock::now() - rnr_since_ > rnr_limit_;
}

// Everything up to `position` is done. False: nobody asked for a completion.
inline bool OfiQueuePair::complete_send(std::uint64_t position, CompletionStatus status,
                                        Completion& out) noexcept {
  const Sent& sent = sent_[position & send_mask_];
  const bool signaled = (sent.request.flags & kSignaled) != 0;
  out = {.wr_id = sent.request.wr_id,
         .status = status,
         .opcode = sent.request.opcode,
         .byte_length = status == CompletionStatus::kSuccess && is_fetch(sent.request.opcode)
                            ? sent.request.length_bytes
                            : 0,
         .qp_number = number_};
  if (signaled) queue_->return_room();
  // Last: from here on its place, and those before it, may be posted to again.
  completed_.set(position + 1);
  looked_at_ = position + 1;
  return signaled || status != CompletionStatus::kSuccess;
}

inline bool OfiQueuePair::done(const Sent& sent) const noexcept {
  return reached(answered_, sent.last_message) &&
         (!is_fetch(sent.request.opcode) || sent.fetched_all);
}

// As in verbs, places are free again with the completion of a signalled request behind them.
inline std::size_t OfiQueuePair::take_sends(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && looked_at_ != given_) {
    const Sent& sent = sent_[looked_at_ & send_mask_];
    if (!done(sent)) break;
    if ((sent.request.flags & kSignaled) == 0)
      ++looked_at_;
    else
      count += complete_send(looked_at_, CompletionStatus::kSuccess, out[count]) ? 1 : 0;
  }
  return count;
}

// The one that must not go at all, once everything before it is done.
std::size_t OfiQueuePair::take_refused(std::span<Completion> out) noexcept {
  if (!refuses_ || interrupted_ || looked_at_ != given_ || out.empty()) return 0;
  if (connection_->failed()) return 0;
  const CompletionStatus status = sent_[given_ & send_mask_].status;
  interrupted_ = true;
  connection_->note_request(status);
  complete_send(given_++, status, out[0]);
  return 1;
}

std::size_t OfiQueuePair::take_receives(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  const std::uint64_t filled = filled_.load(std::memory_order_acquire);  // see count_filled()
  while (count < out.size() && received_.get() != filled)
    complete_receive(receives_[received_.get() & receive_mask_].completion, out[count++]);
  return count;
}

inline void OfiQueuePair::complete_receive(const Completion& completion, Completion& out) noexcept {
  out = completion;
  received_.add();
  queue_->return_room();
}

std::size_t OfiQueuePair::hand_out(std::span<Completion> out) noexcept {
  if (!ready_) [[unlikely]]
    return 0;
  std::size_t count = take_sends(out);
  if (refuses_) [[unlikely]]
    count += take_refused(out.subspan(count));
  count += take_receives(out.subspan(count));
  if (ended_) [[unlikely]]
    count += flush(out.subspan(count));
  else if (rnr_expired()) [[unlikely]]
    connection_->note_request(CompletionStatus::kRnrRetryExceeded);
  // Where `out` is full there may be more.
  if (count < out.size()) news_ = solicited_news_ = false;
  return count;
}

// --------------------------------------------------------------------------------------- failed

std::size_t OfiQueuePair::flush(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  const std::uint64_t posted = posted_.load(std::memory_order_relaxed);  // of this thread
  while (count < out.size() && completed_.get() != posted) {
    const std::uint64_t position = completed_.get();
    const CompletionStatus status = flush_status(position);
    if (position == given_) ++given_;
    count += complete_send(position, status, out[count]) ? 1 : 0;
  }
  const std::uint64_t receives = receives_posted_.load(std::memory_order_relaxed);
  while (count < out.size() && received_.get() != receives) {
    const Completion flushed{.wr_id = receives_[received_.get() & receive_mask_].request.wr_id,
                             .status = CompletionStatus::kFlushed,
                             .opcode = Opcode::kRecv,
                             .qp_number = number_};
    complete_receive(flushed, out[count++]);
    filled_.store(received_.get(), std::memory_order_relaxed);  // nobody fills any more
  }
  return count;
}

// The status of the oldest request that was not handed out. The first that the failure was about,
// or interrupted, says so.
CompletionStatus OfiQueuePair::flush_status(std::uint64_t position) noexcept {
  if (interrupted_) return CompletionStatus::kFlushed;
  const Sent& sent = sent_[position & send_mask_];
  const bool gone = position < given_;
  if (gone && done(sent)) return CompletionStatus::kSuccess;
  if (connection_->cause() == OfiCause::kPeerFailed &&
      connection_->peer_status() != CompletionStatus::kSuccess) {
    // The peer executed so many messages before the one that it refused.
    if (gone && reached(connection_->peer_executed(), sent.last_message) &&
        !is_fetch(sent.request.opcode))
      return CompletionStatus::kSuccess;
    interrupted_ = true;
    return connection_->peer_status();
  }
  interrupted_ = true;
  if (connection_->cause() == OfiCause::kPeerDied) return CompletionStatus::kRetryExceeded;
  // Requests fail in order, all but the one that waits for a receive or whose memory went: that
  // one is the oldest that is not done.
  return connection_->cause() == OfiCause::kRequest ? connection_->request_status()
                                                    : CompletionStatus::kFlushed;
}

}  // namespace tickpath::rdma::detail
