// The hot path over iWARP. No allocation, no lock of ours, no system call but those of the device's
// own library.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/rdma/ordering.hpp"
#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/iwarp_queues.hpp"
#include "common/rdma/verbs/posting.hpp"

namespace tickpath::rdma::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr bool takes_receive(Opcode opcode) noexcept {
  return opcode == Opcode::kSend || opcode == Opcode::kSendWithImm ||
         opcode == Opcode::kWriteWithImm;
}

}  // namespace

// ------------------------------------------------------------------------------------ posting

PostStatus IwarpQueues::admit(const WorkRequest& request) noexcept {
  if (connection_->failed()) [[unlikely]]
    return PostStatus::kNotReady;
  const bool signaled = (request.flags & kSignaled) != 0;
  if (posted_ - completed_.get() >= send_depth_ || (signaled && !queue_->has_room())) [[unlikely]]
    return PostStatus::kQueueFull;
  const bool inlined = (request.flags & kInline) != 0;
  const bool immediate =
      request.opcode == Opcode::kSendWithImm || request.opcode == Opcode::kWriteWithImm;
  // No atomics: RFC 7306 has them, no device of Linux does.
  if (request.opcode > Opcode::kRead || (immediate && !framed_) ||
      (inlined && (request.length_bytes > inline_bytes_ || request.opcode == Opcode::kRead)))
      [[unlikely]] {
    return PostStatus::kBadRequest;
  }
  return PostStatus::kOk;
}

PostStatus IwarpQueues::post(std::span<const WorkRequest> requests,
                             std::size_t& accepted) noexcept {
  PostStatus status = PostStatus::kOk;
  for (accepted = 0; accepted < requests.size(); ++accepted) {
    const WorkRequest& request = requests[accepted];
    status = admit(request);
    if (status != PostStatus::kOk) [[unlikely]]
      break;
    WorkRequest& kept = requests_[posted_ & mask_];
    kept = request;
    if ((request.flags & kInline) != 0) {
      std::byte* const copy = places_[posted_ & mask_].inlined;
      if (request.length_bytes != 0) std::memcpy(copy, request.local_address, request.length_bytes);
      kept.local_address = copy;
      kept.lkey = registration_->lkey;
    }
    if ((request.flags & kSignaled) != 0) queue_->take_room();
    ++posted_;
  }
  issue();
  return status;
}

bool IwarpQueues::granted(const WorkRequest& request) const noexcept {
  if (!framed_ || request.length_bytes == 0 || request.opcode == Opcode::kSend ||
      request.opcode == Opcode::kSendWithImm) {
    return true;
  }
  const auto region = std::find_if(granted_.begin(), granted_.end(), [&](const RemoteRegion& each) {
    return each.rkey == request.rkey;
  });
  if (region == granted_.end()) return false;
  const std::uint64_t offset = request.remote_address - region->address;  // huge: before the region
  const AccessFlags right = request.opcode == Opcode::kRead ? kRemoteRead : kRemoteWrite;
  return (region->access & right) != 0 && request.length_bytes <= region->length_bytes &&
         offset <= region->length_bytes - request.length_bytes;
}

inline std::uint64_t IwarpQueues::peer_receives() const noexcept {
  return std::max(peer_receives_, load_placed(counts_->peer_receives));
}

IwarpQueues::Waits IwarpQueues::waits_for(const WorkRequest& request) const noexcept {
  if (!granted(request)) [[unlikely]]
    return Waits::kRefused;
  if (takes_receive(request.opcode) && framed_ && messages_ >= peer_receives())
    return Waits::kReceive;
  if (request.opcode == Opcode::kRead) {
    // One place is kept for a READ that acknowledges, unless there is one place only.
    const std::uint64_t under_way = reads_ + (acks_sent_ - acks_back_);
    return under_way + (reads_max_ > 1 ? 1 : 0) < reads_max_ ? Waits::kNothing : Waits::kReads;
  }
  // The device's own fence would do, but Soft-iWARP answers no READ of the peer's while it waits.
  return (request.flags & kFence) != 0 && reads_ != 0 ? Waits::kReads : Waits::kNothing;
}

// Gives the device what need not wait, and a READ behind it if there is something to acknowledge.
void IwarpQueues::issue() noexcept {
  Waits waits = Waits::kNothing;
  while (issued_ != posted_) {
    waits = waits_for(requests_[issued_ & mask_]);
    if (waits != Waits::kNothing) break;
    add(issued_++);
  }
  if (waits == Waits::kReceive && waiting_ != issued_) {
    waiting_ = issued_;
    waits_.add();
    waiting_since_ = Clock::now();
  }
  const std::uint64_t acks = acks_sent_ - acks_back_;
  const bool ask = wanted_ > covered_ || (waits == Waits::kReceive && acks == 0) ||
                   (waits == Waits::kRefused && issued_ > covered_);
  if (ask && acks < kAcksMax && reads_ + acks < reads_max_) add_acknowledgement();
  ring_doorbell();
  if (waits == Waits::kReceive || waits == Waits::kRefused) [[unlikely]]
    give_up(waits);
}

// The oldest request that was not issued: its time without a receive is over, or it may not be
// issued at all. It fails when those before it are done.
void IwarpQueues::give_up(Waits waits) noexcept {
  if (acknowledged_ != issued_) return;
  const bool refused = waits == Waits::kRefused;
  if (!refused && (no_receive_for_.count() == 0 || Clock::now() - waiting_since_ < no_receive_for_))
    return;
  failed_position_ = issued_;
  failed_status_ = refused ? CompletionStatus::kRemoteAccess : CompletionStatus::kRnrRetryExceeded;
  connection_->note_completion(refused ? IBV_WC_REM_ACCESS_ERR : IBV_WC_RNR_RETRY_EXC_ERR, 0);
}

inline std::uint64_t IwarpQueues::id(std::uint64_t position) const noexcept {
  return (tag_ << kTagShift) | static_cast<std::uint32_t>(position);
}

ibv_sge IwarpQueues::counts_piece(std::size_t place) const noexcept {
  return {reinterpret_cast<std::uintptr_t>(&counts_->read_receives[place]), sizeof(std::uint64_t),
          registration_->lkey};
}

// The request's bytes are the last piece; `pieces_` may have a header before it already.
void IwarpQueues::add_part(ibv_wr_opcode opcode, std::uint64_t wr_id,
                           const WorkRequest& request) noexcept {
  ibv_send_wr& work = work_[parts_];
  work = {};
  work.wr_id = wr_id;
  work.sg_list = pieces_[parts_].data();
  work.opcode = opcode;
  if (request.length_bytes != 0 || opcode == IBV_WR_RDMA_READ) {
    pieces_[parts_][0] = {reinterpret_cast<std::uintptr_t>(request.local_address),
                          request.length_bytes, request.lkey};
    work.num_sge = 1;
  }
  work.wr.rdma.remote_addr = request.remote_address;
  work.wr.rdma.rkey = request.rkey;
  ++parts_;
}

void IwarpQueues::add_message(std::uint64_t position, IwarpKind kind, bool payload) noexcept {
  const WorkRequest& request = requests_[position & mask_];
  ibv_send_wr& work = work_[parts_];
  work = {};
  work.wr_id = id(position);
  work.sg_list = pieces_[parts_].data();
  work.opcode = IBV_WR_SEND;
  work.send_flags = (request.flags & kSolicited) != 0 ? unsigned{IBV_SEND_SOLICITED} : 0u;
  if (framed_) {
    IwarpHeader& header = places_[position & mask_].header;
    header = {kind, request.imm_data, payload ? 0 : request.length_bytes, 0};
    pieces_[parts_][0] = {reinterpret_cast<std::uintptr_t>(&header), sizeof(header),
                          registration_->lkey};
    work.num_sge = 1;
  }
  if (payload && request.length_bytes != 0) {
    pieces_[parts_][static_cast<std::size_t>(work.num_sge++)] = {
        reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
        request.lkey};
  }
  ++parts_;
  ++messages_;
}

void IwarpQueues::add(std::uint64_t position) noexcept {
  if (parts_ + kPartsMax > kBatch) ring_doorbell();
  const WorkRequest& request = requests_[position & mask_];
  switch (request.opcode) {
    case Opcode::kRead:
      add_part(IBV_WR_RDMA_READ, id(position), request);
      work_[parts_ - 1].send_flags = IBV_SEND_SIGNALED;
      ++reads_;
      covered_ = position + 1;  // what comes back acknowledges all before it
      return;
    case Opcode::kWriteWithImm:
      if (request.length_bytes != 0) add_part(IBV_WR_RDMA_WRITE, id(position), request);
      add_message(position, IwarpKind::kWriteWithImm, false);
      break;
    case Opcode::kSend:
    case Opcode::kSendWithImm:
      add_message(position,
                  request.opcode == Opcode::kSend ? IwarpKind::kSend : IwarpKind::kSendWithImm,
                  true);
      break;
    default:
      add_part(IBV_WR_RDMA_WRITE, id(position), request);
  }
  if ((request.flags & kSignaled) != 0) wanted_ = position + 1;
}

void IwarpQueues::add_acknowledgement() noexcept {
  if (parts_ == kBatch) ring_doorbell();
  const std::size_t place = acks_sent_++ % kAcksMax;
  ack_covers_[place] = covered_ = issued_;
  ibv_send_wr& work = work_[parts_];
  work = {};
  work.wr_id = id(0) | kAckBit;
  work.sg_list = pieces_[parts_].data();
  work.num_sge = 1;
  work.opcode = IBV_WR_RDMA_READ;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = peer_count_.address;
  work.wr.rdma.rkey = peer_count_.rkey;
  pieces_[parts_][0] = counts_piece(place);
  if (!framed_) pieces_[parts_][0].length = 0;
  ++parts_;
}

void IwarpQueues::ring_doorbell() noexcept {
  if (parts_ == 0) return;
  std::size_t taken = 0;
  // A queue that is made for as many as can be under way refuses only when the stream has ended.
  if (post_chained(queue_pair_, std::span(work_).first(parts_), taken) != PostStatus::kOk)
      [[unlikely]]
    connection_->note_stream_ended();
  parts_ = 0;
}

int IwarpQueues::post_receive(const ReceiveRequest& request, std::uint64_t position,
                              std::uint64_t received) noexcept {
  std::array<ibv_sge, kPieces> pieces;
  ibv_recv_wr work{};
  work.wr_id = id(position) | kReceiveBit;
  work.sg_list = pieces.data();
  // Without a header the piece of no bytes is there because a device may want one at the least.
  pieces[0] = {reinterpret_cast<std::uintptr_t>(&receive_headers_[position & receive_mask_]),
               framed_ ? std::uint32_t{sizeof(IwarpHeader)} : 0u, registration_->lkey};
  work.num_sge = 1;
  if (request.length_bytes != 0) {
    const int last = framed_ ? work.num_sge++ : 0;
    pieces[static_cast<std::size_t>(last)] = {
        reinterpret_cast<std::uintptr_t>(request.local_address), request.length_bytes,
        request.lkey};
  }
  ibv_recv_wr* bad = nullptr;
  const int error = ::ibv_post_recv(queue_pair_, &work, &bad);
  // libsiw hands back negative numbers.
  if (error != 0) return std::abs(error);
  // The peer sends as many as it READs here: the receive is there first.
  store_for_peer(counts_->receives, position + 1);
  // A peer that knows of many learns of more now and then, one that knows of few at once.
  const std::uint64_t some = receive_depth_ / 4;
  if (told_ <= received + some || position + 1 - told_ > some) tell_receives(position + 1);
  return 0;
}

void IwarpQueues::tell_receives(std::uint64_t posted) noexcept {
  // Before the first READ the other side may not be ready (greet()); it finds the count then.
  if (peer_count_.rkey == 0 || tellings_ == kToldMax || connection_->failed()) return;
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(&counts_->receives), sizeof(std::uint64_t),
                registration_->lkey};
  ibv_send_wr work{};
  work.wr_id = id(0) | kAckBit;
  work.sg_list = &piece;
  work.num_sge = 1;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.wr.rdma.remote_addr = peer_count_.address + sizeof(std::uint64_t);
  work.wr.rdma.rkey = peer_count_.rkey;
  ibv_send_wr* bad = nullptr;
  if (::ibv_post_send(queue_pair_, &work, &bad) != 0) return;
  told_ = posted;
  // Whoever only receives has nothing else to acknowledge, and the device's queue would fill.
  if (++tellings_ < kToldMax / 2 || acks_sent_ != acks_back_ || reads_ >= reads_max_) return;
  add_acknowledgement();
  ring_doorbell();
}

// ----------------------------------------------------------------------------------- completing

bool IwarpQueues::describe(const ibv_wc& done, std::uint64_t position,
                           Completion& out) const noexcept {
  out.byte_length = done.byte_len;
  if (!framed_) return true;
  if (done.byte_len < sizeof(IwarpHeader)) return false;
  const IwarpHeader header = receive_headers_[position & receive_mask_];
  out.byte_length -= static_cast<std::uint32_t>(sizeof(header));
  if (header.kind == IwarpKind::kSend) return true;
  out.opcode = Opcode::kRecvWithImm;
  out.imm_data = header.imm_data;
  if (header.kind == IwarpKind::kSendWithImm) return true;
  if (header.kind != IwarpKind::kWriteWithImm || out.byte_length != 0) return false;
  out.byte_length = header.length_bytes;
  return true;
}

void IwarpQueues::on_send(const ibv_wc& done) noexcept {
  const bool acknowledges = (done.wr_id & kAckBit) != 0;
  const std::uint64_t base = completed_.get();
  const std::uint64_t position = base + static_cast<std::uint32_t>(done.wr_id - base);
  if (done.status != IBV_WC_SUCCESS) [[unlikely]] {
    if (done.status == IBV_WC_WR_FLUSH_ERR) {
      connection_->note_stream_ended();
      return;
    }
    if (done.status == IBV_WC_LOC_QP_OP_ERR)
      connection_->note_stream_ended_by(done.status);
    else
      connection_->note_completion(done.status, done.vendor_err);
    if (acknowledges || failed_position_ != kNone) return;
    failed_position_ = position;
    failed_status_ = completion_status(done.status, false);
    return;
  }
  if (acknowledges) {
    const std::size_t place = acks_back_++ % kAcksMax;
    tellings_ = 0;
    acknowledged_ = std::max(acknowledged_, ack_covers_[place]);
    if (framed_) {
      peer_receives_ = std::max(peer_receives_, load_placed(counts_->read_receives[place]));
    }
  } else if (requests_[position & mask_].opcode == Opcode::kRead) {
    --reads_;
    acknowledged_ = std::max(acknowledged_, position + 1);
  }
}

inline void IwarpQueues::hand_out(Completion& out, CompletionStatus status) noexcept {
  const WorkRequest& request = requests_[completed_.get() & mask_];
  out = {.wr_id = request.wr_id,
         .status = status,
         .opcode = request.opcode,
         .byte_length = status == CompletionStatus::kSuccess ? request.length_bytes : 0,
         .qp_number = queue_pair_->qp_num};
  if ((request.flags & kSignaled) != 0) queue_->return_room();
  completed_.add();
}

std::size_t IwarpQueues::move_on(std::span<Completion> out) noexcept {
  if (!connection_->failed() && (issued_ != posted_ || wanted_ > covered_)) issue();
  std::size_t count = 0;
  while (count < out.size() && completed_.get() < acknowledged_) {
    const bool signaled = (requests_[completed_.get() & mask_].flags & kSignaled) != 0;
    if (signaled) {
      hand_out(out[count++], CompletionStatus::kSuccess);
    } else {
      completed_.add();
    }
  }
  return count;
}

// The status of the oldest request that got no answer: the peer refused it, or died with it
// unanswered. iWARP's own message for it (Terminate) reaches no program: the peer's provider sends
// one.
CompletionStatus IwarpQueues::interrupted() const noexcept {
  switch (connection_->cause()) {
    case VerbsCause::kPeerDied:
      return CompletionStatus::kRetryExceeded;
    case VerbsCause::kDisconnected:
      return CompletionStatus::kFlushed;
    default:
      break;
  }
  if (completed_.get() >= issued_) return CompletionStatus::kFlushed;
  switch (connection_->verdict()) {
    case VerbsVerdict::kDisconnected:
      return CompletionStatus::kFlushed;
    case VerbsVerdict::kAccess:
      return CompletionStatus::kRemoteAccess;
    case VerbsVerdict::kLength:
      return CompletionStatus::kRemoteInvalid;
    case VerbsVerdict::kStreamEnded: {
      const Opcode opcode = requests_[completed_.get() & mask_].opcode;
      return opcode == Opcode::kSend || opcode == Opcode::kSendWithImm
                 ? CompletionStatus::kRemoteInvalid
                 : CompletionStatus::kRemoteAccess;
    }
    case VerbsVerdict::kUnknown:
      break;
  }
  return CompletionStatus::kGeneral;
}

std::size_t IwarpQueues::flush(std::span<Completion> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && completed_.get() != posted_) {
    CompletionStatus status = CompletionStatus::kFlushed;
    if (failed_position_ != kNone) {
      if (completed_.get() == failed_position_) status = failed_status_;
    } else if (!interrupted_) {
      interrupted_ = true;
      status = interrupted();
    }
    hand_out(out[count++], status);
  }
  return count;
}

}  // namespace tickpath::rdma::detail
