// The hot path of the verbs provider: post and complete. No allocation, no lock of ours, and no
// system call but those of the device's own library.
#include <array>

#include <arpa/inet.h>

#include "common/rdma/verbs/posting.hpp"
#include "common/rdma/verbs/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// By Opcode; receives are not for posting.
constexpr std::array<ibv_wr_opcode, 7> kOpcodes = {
    IBV_WR_RDMA_WRITE,        IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
    IBV_WR_SEND_WITH_IMM,     IBV_WR_RDMA_READ,           IBV_WR_ATOMIC_FETCH_AND_ADD,
    IBV_WR_ATOMIC_CMP_AND_SWP};
static_assert(static_cast<std::size_t>(Opcode::kWriteWithImm) == 1 &&
              static_cast<std::size_t>(Opcode::kSend) == 2 &&
              static_cast<std::size_t>(Opcode::kRead) == 4 &&
              static_cast<std::size_t>(Opcode::kCompareSwap) == 6);

constexpr bool reads(Opcode opcode) noexcept {
  return opcode == Opcode::kRead || opcode == Opcode::kFetchAdd || opcode == Opcode::kCompareSwap;
}

// By SendFlags, all sixteen combinations.
constexpr std::array<unsigned, 16> make_flags(unsigned fence) {
  std::array<unsigned, 16> flags{};
  for (unsigned i = 0; i < flags.size(); ++i) flags[i] = device_flags(i, fence);
  return flags;
}
// A READ or an atomic needs no fence: it is always ordered behind earlier ones (InfiniBand
// Architecture Specification, volume 1, 10.8.3.3, table of work request ordering). With the bit set
// Soft-RoCE never repeats one whose packet was lost: the request counts itself among the READs that
// its fence waits for (Linux 6.1, rxe_wqe_is_fenced()), and the queue pair stands still for good.
constexpr std::array<std::array<unsigned, 16>, 2> kFlags = {make_flags(IBV_SEND_FENCE),
                                                            make_flags(0)};

}  // namespace

// ------------------------------------------------------------------------------------ posting

inline PostStatus VerbsQueuePair::admit(const WorkRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (!sends_.has_place(request.flags, *queue_)) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  return PostStatus::kOk;
}

// Fills requests_[index]; the queues stay as they are if it is refused.
inline PostStatus VerbsQueuePair::prepare(const WorkRequest& request, std::size_t index) noexcept {
  const PostStatus status = admit(request);
  if (status != PostStatus::kOk) [[unlikely]]
    return status;
  const auto opcode = static_cast<std::size_t>(request.opcode);
  const bool inlined = (request.flags & kInline) != 0;
  if (opcode >= kOpcodes.size() ||
      (inlined && (request.length_bytes > inline_bytes_ || reads(request.opcode)))) [[unlikely]] {
    return PostStatus::kBadRequest;
  }
  ibv_send_wr& to = requests_[index];
  to.wr_id = (tag_ << kTagShift) | sends_.next_id();
  to.num_sge = request.length_bytes != 0 ? 1 : 0;
  to.opcode = kOpcodes[opcode];
  to.send_flags = kFlags[reads(request.opcode) ? 1 : 0][request.flags & 15];
  to.imm_data = htonl(request.imm_data);
  parts_[index] = {reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
                   request.lkey};
  if (request.opcode == Opcode::kFetchAdd || request.opcode == Opcode::kCompareSwap) {
    if (request.length_bytes != 8 || request.remote_address % 8 != 0) [[unlikely]]
      return PostStatus::kBadRequest;
    to.wr.atomic.remote_addr = request.remote_address;
    to.wr.atomic.compare_add = request.compare_add;
    to.wr.atomic.swap = request.swap;
    to.wr.atomic.rkey = request.rkey;
  } else {
    to.wr.rdma.remote_addr = request.remote_address;
    to.wr.rdma.rkey = request.rkey;
  }
  return PostStatus::kOk;
}

PostStatus VerbsQueuePair::post_send(const WorkRequest& request) noexcept {
  if (iwarp_ != nullptr) return post_send(std::span(&request, 1), nullptr);
  const PostStatus status = prepare(request, 0);
  if (status != PostStatus::kOk) [[unlikely]]
    return status;
  sends_.record(request, *queue_);
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(queue_pair_.get(), requests_.data(), &bad);
  if (error != 0) [[unlikely]] {
    sends_.unrecord(*queue_);
    return post_status(error);
  }
  return PostStatus::kOk;
}

PostStatus VerbsQueuePair::post_send(std::span<const WorkRequest> requests,
                                     std::size_t* posted) noexcept {
  if (iwarp_ != nullptr) {
    std::size_t accepted = 0;
    const PostStatus status = iwarp_->post(requests, accepted);
    if (status == PostStatus::kQueueFull) refused_.add();
    if (posted != nullptr) *posted = accepted;
    return status;
  }
  return post_in_chains(
      queue_pair_.get(), std::span(requests_), requests, posted,
      [this](const WorkRequest& request, std::size_t index) noexcept {
        const PostStatus status = prepare(request, index);
        if (status == PostStatus::kOk) sends_.record(request, *queue_);
        return status;
      },
      [this]() noexcept { sends_.unrecord(*queue_); });
}

int VerbsQueuePair::post_receive_to_device(const ReceiveRequest& request) noexcept {
  if (iwarp_ != nullptr) {
    const int error = iwarp_->post_receive(request, receives_posted_, received_.get());
    if (error != 0) return error;
    receives_[receives_posted_++ & receive_mask_] = request.wr_id;
    return 0;
  }
  receive_request_.wr_id =
      (tag_ << kTagShift) | kReceiveBit | static_cast<std::uint32_t>(receives_posted_);
  receive_request_.num_sge = request.length_bytes != 0 ? 1 : 0;
  receive_part_ = {reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
                   request.lkey};
  ibv_recv_wr* bad = nullptr;
  const int error = ::ibv_post_recv(queue_pair_.get(), &receive_request_, &bad);
  if (error != 0) return error;
  receives_[receives_posted_ & receive_mask_] = request.wr_id;
  ++receives_posted_;
  return 0;
}

PostStatus VerbsQueuePair::post_receive(const ReceiveRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  if (receives_posted_ - received_.get() >= receive_depth_ || !queue_->has_room()) [[unlikely]] {
    refused_.add();
    return PostStatus::kQueueFull;
  }
  const int error = post_receive_to_device(request);
  if (error == 0) [[likely]]
    queue_->take_room();
  return post_status(error);
}

// ----------------------------------------------------------------------------------- completing

inline void VerbsQueuePair::complete_receive(Completion& out) noexcept {
  out = {.wr_id = receives_[received_.get() & receive_mask_],
         .opcode = Opcode::kRecv,
         .qp_number = queue_pair_->qp_num};
  received_.add();
  queue_->return_room();
}

bool VerbsQueuePair::complete(const ibv_wc& done, Completion& out) noexcept {
  if (iwarp_ != nullptr) return complete_iwarp(done, out);
  const bool receive = (done.wr_id & kReceiveBit) != 0;
  if (receive ? !is_outstanding(done.wr_id, received_.get(), receives_posted_)
              : !sends_.is_outstanding(done.wr_id)) [[unlikely]]
    return false;
  if (receive) {
    complete_receive(out);
    out.byte_length = done.byte_len;
    if ((done.wc_flags & IBV_WC_WITH_IMM) != 0) {
      out.opcode = Opcode::kRecvWithImm;
      out.imm_data = ntohl(done.imm_data);
    }
  } else {
    sends_.complete(sends_.position_of(done.wr_id), number(), *queue_, out);
  }
  if (done.status != IBV_WC_SUCCESS) [[unlikely]]
    on_error(done, receive, out);
  return true;
}

bool VerbsQueuePair::complete_iwarp(const ibv_wc& done, Completion& out) noexcept {
  if ((done.wr_id & kReceiveBit) == 0) {
    if (!flushed_) iwarp_->on_send(done);
    return false;  // move_on() hands out what this tells of
  }
  if (done.status == IBV_WC_WR_FLUSH_ERR || flushed_) [[unlikely]] {
    connection_->note_stream_ended();
    return false;  // move_on() flushes, behind the requests
  }
  const std::uint64_t position = received_.get();
  complete_receive(out);
  if (done.status != IBV_WC_SUCCESS) [[unlikely]] {
    on_error(done, true, out);
  } else if (!iwarp_->describe(done, position, out)) [[unlikely]] {
    out.status = CompletionStatus::kGeneral;
    connection_->note_completion(IBV_WC_BAD_RESP_ERR, 0);
  }
  return true;
}

std::size_t VerbsQueuePair::move_on(std::span<Completion> out, bool drained) noexcept {
  std::size_t count = iwarp_->move_on(out);
  if (!connection_->failed()) return count;
  // What completed before the queue pair ended is polled first.
  if (connection_->flush_in_software() || (ended_ && drained)) flushed_ = true;
  ended_ = connection_->queue_pair_ended();
  if (!flushed_) return count;
  count += iwarp_->flush(out.subspan(count));
  return count + flush_receives(out.subspan(count));
}

void VerbsQueuePair::on_error(const ibv_wc& done, bool receive, Completion& out) noexcept {
  out.status = completion_status(done.status, receive);
  out.byte_length = 0;  // not valid in failed completions (ibv_poll_cq(3))
  out.imm_data = 0;
  if (done.status != IBV_WC_WR_FLUSH_ERR) {
    connection_->note_completion(done.status, done.vendor_err);
    return;
  }
  if (!connection_->failed()) connection_->note_flushed();
  if (receive || interrupted_send_) return;
  interrupted_send_ = true;
  // The set-up stream told us of the peer's death before the retries of this request could: it is
  // the one that got no answer, those behind it are flushed.
  if (connection_->cause() == VerbsCause::kPeerDied) out.status = CompletionStatus::kRetryExceeded;
}

std::size_t VerbsQueuePair::flush_in_software(std::span<Completion> out) noexcept {
  if (!connection_->flush_in_software() || iwarp_ != nullptr) return 0;
  std::size_t count = 0;
  while (count < out.size() && !sends_.all_done()) {
    sends_.complete(sends_.oldest(), number(), *queue_, out[count]);
    out[count++].status = CompletionStatus::kFlushed;
  }
  return count + flush_receives(out.subspan(count));
}

std::size_t VerbsQueuePair::flush_receives(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && received_.get() != receives_posted_) {
    complete_receive(out[count]);
    out[count++].status = CompletionStatus::kFlushed;
  }
  return count;
}

}  // namespace tickpath::rdma::detail
