#include "common/rdma/shm/queue_pair.hpp"

#include <algorithm>
#include <bit>

#include "common/clock/clock.hpp"

namespace tickpath::rdma::detail {
namespace {

std::uint32_t next_number() noexcept {
  static std::atomic<std::uint32_t> number{1};
  return number.fetch_add(1, std::memory_order_relaxed);  // unique, ordering nothing
}

void check_options(const QueuePairOptions& options, std::size_t receives) {
  const auto limit = [](bool bad, const std::string& what) {
    if (bad) throw SetupError(SetupCause::kLimit, what);
  };
  limit(options.send_depth == 0 || options.send_depth > kQueueDepthMax ||
            options.receive_depth == 0 || options.receive_depth > kQueueDepthMax,
        "send_depth and receive_depth of the shm provider are 1 to " +
            std::to_string(kQueueDepthMax));
  limit(receives > options.receive_depth,
        "more initial receives than receive_depth (" + std::to_string(options.receive_depth) + ")");
  limit(options.message_bytes_max > kMessageBytesMax,
        "message_bytes_max is at most " + std::to_string(kMessageBytesMax));
  limit(options.rnr_retry > 7, "rnr_retry is 0 to 7 (7: for ever)");
}

}  // namespace

ShmQueuePair::ShmQueuePair(std::shared_ptr<DeviceCore> core, ShmCompletionQueue& queue,
                           const QueuePairOptions& options,
                           std::span<const ReceiveRequest> initial_receives, bool peer_barrier)
    : queue_(&queue),
      send_room_(options.send_depth),
      inline_bytes_(std::min(options.inline_bytes, kInlineBytesMax)),
      local_regions_(&core->regions),
      receive_depth_(options.receive_depth),
      number_(next_number()),
      core_(std::move(core)) {
  check_options(options, initial_receives.size());
  send_mask_ = std::bit_ceil(options.send_depth) - 1;
  receive_mask_ = std::bit_ceil(receive_depth_) - 1;
  done_ = std::make_unique<SendDone[]>(send_mask_ + 1);
  receives_ = std::make_unique<Receive[]>(receive_mask_ + 1);
  waiting_ = std::make_unique<WorkRequest[]>(send_mask_ + 1);
  waiting_inline_ = std::make_unique<std::byte[]>((send_mask_ + 1) * inline_bytes_);
  rnr_for_ever_ = options.rnr_retry == 7;
  rnr_limit_tsc_ = clock::TickConverter()
                       .from_ns(std::uint64_t{1000} * options.min_rnr_timer_us * options.rnr_retry)
                       .value;
  layout_ = {std::bit_ceil(receive_depth_), options.message_bytes_max};
  if (!layout_valid(layout_)) {
    throw SetupError(SetupCause::kLimit,
                     "receive_depth times message_bytes_max exceeds the shm provider's " +
                         std::to_string(kWireBytesMax >> 20) + " MiB a connection");
  }
  wire_memory_ = create_memory(layout_.size_bytes(), true, "wire." + std::to_string(number_));
  receiver_.bind(wire_memory_.mapping.data(), layout_);
  receiver_.initialise(queue.wake() != nullptr &&
                       !(peer_barrier && core_->barriers.across_processes));
  for (const ReceiveRequest& receive : initial_receives) enqueue_receive(receive);
}

ShmQueuePair::~ShmQueuePair() {
  if (connection_owner_ == nullptr) return;  // connect() never got that far
  connection_owner_->fail(FailureCause::kDisconnected);
  core_->monitor.forget(*connection_owner_);
  queue_->detach(*this);
  queue_->return_room_later(room_taken());
}

std::uint8_t ShmQueuePair::setup_flags() const noexcept {
  return static_cast<std::uint8_t>((core_->barriers.across_processes ? kHasBarrier : 0) |
                                   (queue_->wake() != nullptr ? kHasWake : 0));
}

UniqueFd ShmQueuePair::wake_for_peer() {
  UniqueFd theirs;
  if (queue_->wake() != nullptr) our_wake_ = WakeEnd(queue_->wake(), theirs);
  return theirs;
}

void ShmQueuePair::map_peer_wire(SetupMessage& message) {
  const WireLayout layout{message.header.wire_slots, message.header.message_bytes_max};
  if (!layout_valid(layout)) {
    throw SetupError(SetupCause::kProtocol, "the peer describes an impossible receive wire");
  }
  peer_wire_ = map_peer_memory(message.descriptors[0], layout.size_bytes(), true);
  sender_ = WireSender(peer_wire_.data(), layout);
}

void ShmQueuePair::map_targets(SetupMessage& message, std::size_t first_descriptor) {
  for (std::size_t i = 0; i < message.regions.size(); ++i) {
    const RemoteRegion& region = message.regions[i];
    if ((region.rkey & (kGrantsMax - 1)) != i || region.rkey == 0 || region.address % 8 != 0) {
      throw SetupError(SetupCause::kProtocol, "the peer describes an impossible region");
    }
    const bool writable = (region.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    Mapping mapping =
        map_peer_memory(message.descriptors[first_descriptor + i], region.length_bytes, writable);
    targets_[i] = {mapping.data(), region.address, region.length_bytes, region.rkey, region.access};
    mappings_.push_back(std::move(mapping));
    regions_.push_back(region);
  }
}

void ShmQueuePair::connect(UniqueFd socket, const PeerIdentity& peer, SetupMessage message) {
  const bool peer_parks = (message.header.flags & kHasWake) != 0;
  const std::size_t first_region = peer_parks ? 2 : 1;
  if (message.descriptors.size() != first_region + message.regions.size()) {
    throw SetupError(SetupCause::kProtocol, "the peer sent a wrong number of descriptors");
  }
  map_peer_wire(message);
  map_targets(message, first_region);
  if (peer_parks) peer_wake_ = std::move(message.descriptors[1]);
  auto connection = std::make_shared<Connection>(std::move(socket), peer, queue_->wake());
  connection_ = connection.get();
  queue_->attach(*this);
  connection_owner_ = std::move(connection);
  core_->monitor.watch(connection_owner_);
}

QueuePairState ShmQueuePair::state() const noexcept {
  if (connection_ == nullptr) return QueuePairState::kConnecting;
  return connection_->failed() ? QueuePairState::kError : QueuePairState::kReadyToSend;
}

std::string ShmQueuePair::error_text() const {
  return connection_ == nullptr ? std::string() : connection_->error_text();
}

void ShmQueuePair::disconnect() noexcept { connection_->fail(FailureCause::kDisconnected); }

QueuePairCounters ShmQueuePair::counters() const noexcept {
  return {executed_.get(), receiver_.received(), rnr_waits_.get(), refused_.get(), wakeups_.get()};
}

void ShmQueuePair::remember_grants(std::span<const Grant> grants) {
  granted_.clear();
  for (const Grant& grant : grants) granted_.push_back(grant.region);
}

std::size_t ShmQueuePair::revoke(const MemoryRegion& region) noexcept {
  std::size_t count = 0;
  for (std::size_t index = 0; index < granted_.size(); ++index) {
    if (granted_[index] != &region) continue;
    granted_[index] = nullptr;
    if (connection_->revoke(static_cast<std::uint32_t>(index))) ++count;
  }
  return count;
}

std::uint64_t ShmQueuePair::room_taken() const noexcept {
  const std::uint64_t receives = adopted_ ? receiver_.posted() - receiver_.received() : 0;
  return (done_tail_ - done_head_) + waiting_count_ + receives;
}

void ShmQueuePair::arm(bool solicited_only) noexcept {
  receiver_.arm(solicited_only, [this] { core_->barriers.run_across(); });
}

}  // namespace tickpath::rdma::detail
