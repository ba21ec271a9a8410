#include "common/rdma/verbs/iwarp_queues.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "common/base/cpu.hpp"
#include "common/rdma/ordering.hpp"

namespace tickpath::rdma::detail {
IwarpQueues::IwarpQueues(const VerbsCore& core, const QueuePairOptions& options)
    : mask_(std::bit_ceil(options.send_depth) - 1),
      receive_mask_(std::bit_ceil(options.receive_depth) - 1),
      send_depth_(options.send_depth),
      receive_depth_(options.receive_depth),
      inline_bytes_(std::min(options.inline_bytes, kIwarpInlineBytes)),
      requests_(std::make_unique<WorkRequest[]>(mask_ + 1)),
      pages_(round_up(sizeof(Counts) + (receive_mask_ + 1) * sizeof(IwarpHeader), kCacheLineBytes) +
                 (mask_ + 1) * sizeof(Place),
             "the headers of a queue pair"),
      counts_(new (pages_.data()) Counts) {
  std::byte* const headers = pages_.data() + sizeof(Counts);
  receive_headers_ = reinterpret_cast<IwarpHeader*>(headers);
  places_ = reinterpret_cast<Place*>(
      pages_.data() +
      round_up(sizeof(Counts) + (receive_mask_ + 1) * sizeof(IwarpHeader), kCacheLineBytes));
  registration_ = register_memory(core, pages_, pages_.mapped_bytes(),
                                  IBV_ACCESS_LOCAL_WRITE | core.read_sink_access(), "headers");
  count_registration_ = register_memory(
      core, pages_, kSharedBytes,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, "counts");
}

void IwarpQueues::start(ibv_qp* queue_pair, VerbsConnection* connection,
                        VerbsCompletionQueue* queue, std::uint64_t tag, bool framed) noexcept {
  queue_pair_ = queue_pair;
  connection_ = connection;
  queue_ = queue;
  tag_ = tag;
  framed_ = framed;
}

RemoteRegion IwarpQueues::receive_count() const noexcept {
  return {reinterpret_cast<std::uintptr_t>(&counts_->receives), kSharedBytes,
          count_registration_->rkey, kRemoteRead | kRemoteWrite};
}

void IwarpQueues::set_limits(std::uint32_t reads,
                             std::chrono::microseconds no_receive_for) noexcept {
  reads_max_ = std::max(reads, 1u);
  no_receive_for_ = no_receive_for;
}

void IwarpQueues::greet(const RemoteRegion& peer_count, const SetupDeadline& deadline) {
  if (peer_count.length_bytes < kSharedBytes) {
    throw SetupError(SetupCause::kProtocol, "the peer does not tell where it counts its receives");
  }
  VerbsCompletionQueue::Hold hold(*queue_);
  ibv_sge piece = counts_piece(0);
  ibv_send_wr request{};
  request.wr_id = hold.new_id();
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer_count.address;
  request.wr.rdma.rkey = peer_count.rkey;
  ibv_send_wr* bad = nullptr;
  if (const int error = ::ibv_post_send(queue_pair_, &request, &bad); error != 0) {
    throw SetupError(
        SetupCause::kSystem,
        std::string("cannot READ the peer's count of receives: ") + std::strerror(std::abs(error)));
  }
  const ibv_wc done = hold.await(request.wr_id, deadline);
  if (done.status != IBV_WC_SUCCESS) {
    throw SetupError(SetupCause::kRefused,
                     std::string("the peer's count of receives cannot be READ: ") +
                         ::ibv_wc_status_str(done.status) + "; " + connection_->error_text());
  }
  peer_count_ = peer_count;
  peer_receives_ = load_placed(counts_->read_receives[0]);
}

std::uint64_t IwarpQueues::room_taken() const noexcept {
  std::uint64_t room = 0;
  for (std::uint64_t i = completed_.get(); i != posted_; ++i)
    room += (requests_[i & mask_].flags & kSignaled) != 0 ? 1 : 0;
  return room;
}

}  // namespace tickpath::rdma::detail
