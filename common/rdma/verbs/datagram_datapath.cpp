// The hot path of datagrams on verbs: post and complete. As that of connections
// (verbs/queue_pair_datapath.cpp), but each request names its destination.

#include <arpa/inet.h>

#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"
#include "common/rdma/verbs/posting.hpp"

namespace tickpath::rdma::detail {
// ------------------------------------------------------------------------------------ posting

inline bool VerbsDatagramQueuePair::acceptable(const DatagramRequest& request) const noexcept {
  const auto* handle = static_cast<const VerbsAddressHandle*>(request.destination);
  return handle != nullptr && &handle->owner() == this &&
         (request.opcode == Opcode::kSend || request.opcode == Opcode::kSendWithImm) &&
         request.length_bytes <= datagram_bytes_max_ &&
         ((request.flags & kInline) == 0 || request.length_bytes <= inline_bytes_);
}

// Fills requests_[index]; the queues stay as they are if it is refused.
inline PostStatus VerbsDatagramQueuePair::prepare(const DatagramRequest& request,
                                                  std::size_t index) noexcept {
  if (fate_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (!sends_.has_place(request.flags, *queue_)) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  if (!acceptable(request)) [[unlikely]]
    return PostStatus::kBadRequest;
  ibv_send_wr& to = requests_[index];
  to.wr_id = (tag_ << kTagShift) | sends_.next_id();
  to.num_sge = request.length_bytes != 0 ? 1 : 0;
  to.opcode = request.opcode == Opcode::kSend ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
  to.send_flags = device_flags(request.flags, 0);
  to.imm_data = htonl(request.imm_data);
  to.wr.ud.ah = static_cast<const VerbsAddressHandle*>(request.destination)->handle();
  to.wr.ud.remote_qpn = request.remote_qp_number;
  // With its highest bit set, a Q_Key stands for that of the queue pair (volume 1, 10.2.5). Said
  // here, because rxe (Linux 6.1) sends it as it is.
  to.wr.ud.remote_qkey = (request.remote_q_key >> 31) != 0 ? address_.q_key : request.remote_q_key;
  parts_[index] = {reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
                   request.lkey};
  return PostStatus::kOk;
}

PostStatus VerbsDatagramQueuePair::post_send(const DatagramRequest& request) noexcept {
  const PostStatus status = prepare(request, 0);
  if (status != PostStatus::kOk) [[unlikely]]
    return status;
  sends_.record(request, *queue_);
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(queue_pair_.get(), requests_.data(), &bad);
  if (error != 0) [[unlikely]]
    sends_.unrecord(*queue_);
  return post_status(error);
}

PostStatus VerbsDatagramQueuePair::post_send(std::span<const DatagramRequest> requests,
                                             std::size_t* posted) noexcept {
  return post_in_chains(
      queue_pair_.get(), std::span(requests_), requests, posted,
      [this](const DatagramRequest& request, std::size_t index) noexcept {
        const PostStatus status = prepare(request, index);
        if (status == PostStatus::kOk) sends_.record(request, *queue_);
        return status;
      },
      [this]() noexcept { sends_.unrecord(*queue_); });
}

PostStatus VerbsDatagramQueuePair::post_receive(const ReceiveRequest& request) noexcept {
  if (fate_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (request.length_bytes < kGrhBytes) [[unlikely]]
    return PostStatus::kBadRequest;
  if (receives_posted_ - receives_done_ >= receive_depth_ || !queue_->has_room()) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  receive_request_.wr_id =
      (tag_ << kTagShift) | kReceiveBit | static_cast<std::uint32_t>(receives_posted_);
  receive_part_ = {reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
                   request.lkey};
  ibv_recv_wr* bad = nullptr;
  const int error = ::ibv_post_recv(queue_pair_.get(), &receive_request_, &bad);
  if (error != 0) [[unlikely]]
    return post_status(error);
  receives_[receives_posted_ & receive_mask_] = request.wr_id;
  ++receives_posted_;
  queue_->take_room();
  return PostStatus::kOk;
}

// ----------------------------------------------------------------------------------- completing

inline void VerbsDatagramQueuePair::complete_receive(Completion& out) noexcept {
  out = {.wr_id = receives_[receives_done_ & receive_mask_],
         .opcode = Opcode::kRecv,
         .qp_number = number()};
  ++receives_done_;
  queue_->return_room();
}

bool VerbsDatagramQueuePair::complete(const ibv_wc& done, Completion& out) noexcept {
  const bool receive = (done.wr_id & kReceiveBit) != 0;
  if (receive ? !is_outstanding(done.wr_id, receives_done_, receives_posted_)
              : !sends_.is_outstanding(done.wr_id)) [[unlikely]]
    return false;
  if (receive) {
    complete_receive(out);
  } else {
    sends_.complete(sends_.position_of(done.wr_id), number(), *queue_, out);
  }
  if (done.status != IBV_WC_SUCCESS) [[unlikely]] {
    out.status = completion_status(done.status, receive);
    out.byte_length = 0;  // not valid in failed completions (ibv_poll_cq(3))
    fate_->note_completion(done.status);
    return true;
  }
  if (!receive) return true;
  received_.add();
  out.byte_length = done.byte_len;
  out.source_qp_number = done.src_qp;
  if ((done.wc_flags & IBV_WC_WITH_IMM) != 0) {
    out.opcode = Opcode::kRecvWithImm;
    out.imm_data = ntohl(done.imm_data);
  }
  return true;
}

std::size_t VerbsDatagramQueuePair::flush_in_software(std::span<Completion> out) noexcept {
  if (!fate_->gone()) return 0;
  std::size_t count = 0;
  for (; count < out.size() && !sends_.all_done(); ++count) {
    sends_.complete(sends_.oldest(), number(), *queue_, out[count]);
    out[count].status = CompletionStatus::kFlushed;
  }
  for (; count < out.size() && receives_done_ != receives_posted_; ++count) {
    complete_receive(out[count]);
    out[count].status = CompletionStatus::kFlushed;
  }
  return count;
}

}  // namespace tickpath::rdma::detail
