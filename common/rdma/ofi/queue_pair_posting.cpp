// The hot path of the ofi provider: posting. A request is written into a queue; who has entered the
// completion queue sends it, which is this thread unless another one is there.
#include <cstring>

#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/queue_pair.hpp"
#include "common/rdma/provider/post_each.hpp"

namespace tickpath::rdma::detail {

inline bool OfiQueuePair::acceptable(const WorkRequest& request) const noexcept {
  if (request.opcode > Opcode::kCompareSwap) return false;
  if ((request.flags & kInline) != 0 &&
      (request.length_bytes > inline_bytes_ || is_fetch(request.opcode)))
    return false;
  return !is_atomic(request.opcode) ||
         (request.length_bytes == 8 && request.remote_address % 8 == 0);
}

inline PostStatus OfiQueuePair::admit(const WorkRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  // Only a request that will complete takes room in the completion queue.
  const bool signaled = (request.flags & kSignaled) != 0;
  // Relaxed: only this thread stores it.
  const std::uint64_t posted = posted_.load(std::memory_order_relaxed);
  if (posted - completed_.get() >= send_depth_ || (signaled && !queue_->has_room())) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  if (!acceptable(request)) [[unlikely]]
    return PostStatus::kBadRequest;
  if (signaled) queue_->take_room();
  return PostStatus::kOk;
}

inline PostStatus OfiQueuePair::post_one(const WorkRequest& request) noexcept {
  const PostStatus status = admit(request);
  if (status == PostStatus::kOk) record(request);
  return status;
}

inline void OfiQueuePair::record(const WorkRequest& request) noexcept {
  const std::uint64_t posted = posted_.load(std::memory_order_relaxed);  // stored here alone
  Sent& sent = sent_[posted & send_mask_];
  sent.request = request;
  if ((request.flags & kInline) != 0) {
    sent.request.local_address = inline_slot(posted);
    if (request.length_bytes != 0)
      std::memcpy(inline_slot(posted), request.local_address, request.length_bytes);
  }
  sent.fetched = 0;
  sent.fetched_all = false;
  sent.status = CompletionStatus::kSuccess;
  // Release: pairs with the acquire in send_requests(), which reads the request.
  posted_.store(posted + 1, std::memory_order_release);
}

// A short SEND that nothing keeps goes from where its bytes are: they are not copied, nor is the
// request, but for what its completion says. False: it is for the queue.
inline bool OfiQueuePair::send_at_once(const WorkRequest& request) noexcept {
  if (!goes_bare(request) || (request.flags & kInline) == 0 || (request.flags & kFence) != 0 ||
      !queue_->try_enter_to_post())
    return false;
  // Relaxed: only this thread stores it.
  const std::uint64_t posted = posted_.load(std::memory_order_relaxed);
  bool gone = false;
  if (ready_ && connection_->cause() == OfiCause::kNone && waiting_.empty() && given_ == posted &&
      !refuses_ && room_for_message()) {
    OfiWireHeader header;
    header.kind = OfiKind::kSend;
    header.length = request.length_bytes;
    header.flags = last_part_flags(request);
    gone = send_bare(header, request.local_address);
  }
  if (gone) {
    Sent& sent = sent_[posted & send_mask_];
    sent.request.wr_id = request.wr_id;
    sent.request.opcode = request.opcode;
    sent.request.flags = request.flags;
    sent.last_message = ++messages_;
    sent.status = CompletionStatus::kSuccess;
    ++given_;
    posted_.store(posted + 1, std::memory_order_release);
  }
  queue_->leave_after_post();
  return gone;
}

PostStatus OfiQueuePair::post_send(const WorkRequest& request) noexcept {
  const PostStatus status = admit(request);
  if (status != PostStatus::kOk || send_at_once(request)) return status;
  record(request);
  queue_->look_after(*this);
  return status;
}

PostStatus OfiQueuePair::post_send(std::span<const WorkRequest> requests,
                                   std::size_t* posted) noexcept {
  std::size_t count = 0;
  const PostStatus status = post_each(
      requests, &count, [this](const WorkRequest& request) noexcept { return post_one(request); });
  if (count != 0) queue_->look_after(*this);
  if (posted != nullptr) *posted = count;
  return status;
}

PostStatus OfiQueuePair::post_receive(const ReceiveRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  // Relaxed: only this thread stores it.
  const std::uint64_t posted = receives_posted_.load(std::memory_order_relaxed);
  if (posted - received_.get() >= receive_depth_ || !queue_->has_room()) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  record(request);
  queue_->take_room();
  // Relaxed: where another thread finds at this very moment that a message has no receive, both may
  // miss each other; then it is served by the next poll, or by OfiProgress.
  if (starving_.load(std::memory_order_relaxed)) [[unlikely]]
    queue_->look_after(*this);
  return PostStatus::kOk;
}

void OfiQueuePair::record(const ReceiveRequest& request) noexcept {
  const std::uint64_t posted = receives_posted_.load(std::memory_order_relaxed);  // stored here
  receives_[posted & receive_mask_].request = request;
  // Release: pairs with the loads in next_receive().
  receives_posted_.store(posted + 1, std::memory_order_release);
}

}  // namespace tickpath::rdma::detail
