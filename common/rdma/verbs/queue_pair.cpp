#include "common/rdma/verbs/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tickpath::rdma::detail {
namespace {

// The connection's wishes, deepened as the device's options say.
QueuePairOptions effective(QueuePairOptions options, const VerbsOptions& verbs) {
  options.send_depth = std::max(options.send_depth, verbs.send_depth);
  options.receive_depth = std::max(options.receive_depth, verbs.receive_depth);
  if (verbs.inline_bytes >= 0)
    options.inline_bytes = static_cast<std::uint32_t>(verbs.inline_bytes);
  return options;
}

void modify(ibv_qp* queue_pair, ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = ::ibv_modify_qp(queue_pair, &attributes, mask);
  if (error == 0) return;
  throw SetupError(SetupCause::kSystem, std::string("the queue pair cannot be moved to ") + state +
                                            ": " + std::strerror(error));
}

ibv_qp_attr cm_attributes(rdma_cm_id* id, ibv_qp_state state, int& mask) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  mask = 0;
  if (::rdma_init_qp_attr(id, &attributes, &mask) != 0) {
    // rdma_cm knows the id no more as one that is being connected: its peer gave up, or died.
    if (errno == EINVAL || errno == ENOTCONN) {
      throw SetupError(SetupCause::kRefused,
                       std::string("the peer took the connection back while it was set up (its "
                                   "time was over, or it ended); connect again "
                                   "(rdma_init_qp_attr: ") +
                           std::strerror(errno) + ")");
    }
    throw SetupError(SetupCause::kSystem,
                     std::string("rdma_init_qp_attr: ") + std::strerror(errno));
  }
  return attributes;
}

}  // namespace

VerbsQueuePair::VerbsQueuePair(std::shared_ptr<VerbsCore> core, VerbsCompletionQueue& queue,
                               const QueuePairOptions& options, std::span<const Grant> grants,
                               std::span<const ReceiveRequest> initial_receives)
    : queue_(&queue), core_(std::move(core)), options_(effective(options, core_->options().verbs)) {
  const std::uint32_t limit = core_->info().queue_depth_max;
  const std::uint32_t send_depth = options_.send_depth;
  receive_depth_ = options_.receive_depth;
  const std::uint32_t receive_limit = core_->info().receive_depth_max;
  require(receive_depth_ != 0 && receive_depth_ <= receive_limit,
          "receive_depth of " + core_->info().name + " is 1 to " + std::to_string(receive_limit));
  require(send_depth != 0 && send_depth <= limit,
          "send_depth of " + core_->info().name + " is 1 to " + std::to_string(limit));
  require(initial_receives.size() <= receive_depth_,
          "more initial receives than receive_depth (" + std::to_string(receive_depth_) + ")");
  receive_mask_ = std::bit_ceil(receive_depth_) - 1;
  sends_.open(send_depth);
  receives_ = std::make_unique<std::uint64_t[]>(receive_mask_ + 1);
  if (core_->iwarp()) iwarp_ = std::make_unique<IwarpQueues>(*core_, options_);
  create(options_);
  // Windows after the queue pair that they will be bound to: the kernel destroys what a killed
  // process leaves newest first, and rxe waits for the end of every window before it lets a queue
  // pair go (50 s when the order was wrong, and only then the sockets closed that tell the peer).
  grants_ = prepare_grants(*core_, grants);
  for (std::size_t i = 0; i < kBatch; ++i) requests_[i].sg_list = &parts_[i];
  receive_request_.sg_list = &receive_part_;
}

void VerbsQueuePair::create(const QueuePairOptions& options) {
  const bool iwarp = iwarp_ != nullptr;
  const std::uint32_t pieces = iwarp ? IwarpQueues::kPieces : 1;
  ibv_qp_cap cap{device_send_depth(), receive_depth_, pieces, pieces,
                 iwarp ? 0 : std::min(options.inline_bytes, core_->info().inline_bytes_max)};
  queue_pair_ = create_queue_pair(*core_, queue_->queue(), IBV_QPT_RC, cap,
                                  "queue pair of " + core_->info().name + " with send_depth " +
                                      std::to_string(sends_.depth()) + " and receive_depth " +
                                      std::to_string(receive_depth_));
  inline_bytes_ =
      iwarp ? iwarp_->inline_bytes() : std::min(cap.max_inline_data, options.inline_bytes);
}

std::uint32_t VerbsQueuePair::device_send_depth() const noexcept {
  return iwarp_ != nullptr ? IwarpQueues::device_depth(sends_.depth()) : sends_.depth();
}

VerbsQueuePair::~VerbsQueuePair() {
  if (connection_owner_ != nullptr) leave();
  grants_.clear();      // a queue pair with windows bound to it need not be destroyable
  queue_pair_.reset();  // while the device is still open
}

void VerbsQueuePair::leave() noexcept {
  connection_owner_->fail(VerbsCause::kDisconnected);
  queue_->detach(*this, device_send_depth());
  std::uint64_t room = receives_posted_ - received_.get() + sends_.room_taken();
  if (iwarp_ != nullptr) room += iwarp_->room_taken();
  queue_->return_room_later(room);
  connection_owner_->unbind();
  connection_owner_->close();
}

void VerbsQueuePair::initialise(rdma_cm_id* id, std::shared_ptr<VerbsConnection> connection,
                                std::span<const ReceiveRequest> initial_receives) {
  int mask = 0;
  ibv_qp_attr attributes = cm_attributes(id, IBV_QPS_INIT, mask);
  // What a peer may do is said by each registration; rdma_cm would allow WRITEs only.
  attributes.qp_access_flags = static_cast<unsigned>(
      access_flags(possible_access(core_->limits(), kRemoteWrite | kRemoteRead | kRemoteAtomic)) &
      ~IBV_ACCESS_LOCAL_WRITE);
  modify(queue_pair_.get(), attributes, mask | IBV_QP_ACCESS_FLAGS, "INIT");
  tag_ = queue_->reserve(device_send_depth());
  connection_owner_ = std::move(connection);
  connection_ = connection_owner_.get();
  connection_->bind(queue_pair_.get(), queue_->wake());
  if (iwarp_ != nullptr)
    iwarp_->start(queue_pair_.get(), connection_, queue_, tag_, !connection_->plain());
  for (const ReceiveRequest& request : initial_receives) {
    const int error = post_receive_to_device(request);
    require(error == 0, std::string("cannot post a receive: ") + std::strerror(error));
  }
  queue_->attach(*this, static_cast<std::uint32_t>(receives_posted_));
}

void VerbsQueuePair::make_ready(rdma_cm_id* id, const VerbsAttributes& wanted) {
  if (iwarp_ != nullptr) {  // rdma_connect and rdma_accept move it
    const bool for_ever = wanted.rnr_retry == 7;
    iwarp_->set_limits(
        wanted.max_rd_atomic,
        std::chrono::microseconds(for_ever ? 0
                                           : (wanted.rnr_retry + 1) *
                                                 asked_rnr_us(core_->options().verbs, options_)));
    return;
  }
  int mask = 0;
  ibv_qp_attr attributes = cm_attributes(id, IBV_QPS_RTR, mask);
  attributes.min_rnr_timer = wanted.min_rnr_timer;
  attributes.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
  modify(queue_pair_.get(), attributes, mask | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC,
         "RTR");
  attributes = cm_attributes(id, IBV_QPS_RTS, mask);
  attributes.timeout = wanted.timeout;
  attributes.retry_cnt = wanted.retry_cnt;
  attributes.rnr_retry = wanted.rnr_retry;
  attributes.max_rd_atomic = wanted.max_rd_atomic;
  modify(queue_pair_.get(), attributes,
         mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

void VerbsQueuePair::bind_grants(const SetupDeadline& deadline) {
  if (grants_.empty() || !core_->binds_windows()) return;
  VerbsCompletionQueue::Hold hold(*queue_);
  for (VerbsGrant& grant : grants_) {
    if (grant.window == nullptr) continue;  // a registration of its own (fits_window())
    ibv_send_wr request = grant.bind_request(hold.new_id());
    ibv_send_wr* bad = nullptr;
    const int error = ::ibv_post_send(queue_pair_.get(), &request, &bad);
    if (error != 0) {
      throw SetupError(SetupCause::kSystem,
                       std::string("cannot bind a memory window: ") + std::strerror(error));
    }
    const ibv_wc done = hold.await(request.wr_id, deadline);
    if (done.status != IBV_WC_SUCCESS) {
      throw SetupError(SetupCause::kSystem, std::string("cannot bind a memory window: ") +
                                                ::ibv_wc_status_str(done.status) +
                                                (connection_->failed() ? "; " : "") +
                                                connection_->error_text());
    }
    grant.bound(request);
  }
}

std::vector<RemoteRegion> VerbsQueuePair::regions_for_peer() const {
  std::vector<RemoteRegion> regions = detail::remote_regions(grants_);
  if (iwarp_ != nullptr) regions.push_back(iwarp_->receive_count());
  return regions;
}

void VerbsQueuePair::set_remote_regions(std::vector<RemoteRegion> regions,
                                        const SetupDeadline& deadline) {
  if (iwarp_ != nullptr) {
    iwarp_->greet(regions.empty() ? RemoteRegion{} : regions.back(), deadline);
    regions.pop_back();
  }
  regions_ = std::move(regions);
  if (iwarp_ != nullptr) iwarp_->set_granted(regions_);
}

QueuePairState VerbsQueuePair::state() const noexcept {
  if (connection_ == nullptr) return QueuePairState::kConnecting;
  return connection_->failed() ? QueuePairState::kError : QueuePairState::kReadyToSend;
}

std::string VerbsQueuePair::error_text() const {
  return connection_ == nullptr ? std::string() : connection_->error_text();
}

void VerbsQueuePair::disconnect() noexcept { connection_->fail(VerbsCause::kDisconnected); }

QueuePairCounters VerbsQueuePair::counters() const noexcept {
  QueuePairCounters counters;
  counters.sent = iwarp_ != nullptr ? iwarp_->completed() : sends_.completed();
  counters.rnr_waits = iwarp_ != nullptr ? iwarp_->waits() : 0;
  counters.received = received_.get();
  counters.refused = refused_.get();
  return counters;
}

std::size_t VerbsQueuePair::revoke(const MemoryRegion& region) noexcept {
  bool kept = false;
  const std::size_t count = revoke_grants(grants_, region, kept);
  // A device that cannot let go leaves the key valid: then the connection must end.
  if (kept) connection_->fail(VerbsCause::kDisconnected);
  return count;
}

}  // namespace tickpath::rdma::detail
