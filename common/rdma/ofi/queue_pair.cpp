#include "common/rdma/ofi/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/shm_names.hpp"
#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint8_t kRnrForEver = 7;  // as in verbs

}  // namespace

OfiQueuePair::OfiQueuePair(std::shared_ptr<OfiCore> core, OfiCompletionQueue& queue,
                           const QueuePairOptions& options, std::span<const Grant> grants,
                           std::span<const ReceiveRequest> initial_receives)
    : queue_(&queue),
      send_depth_(options.send_depth),
      receive_depth_(options.receive_depth),
      inline_bytes_(std::min(options.inline_bytes, kOfiInlineBytesMax)),
      buffers_(*core),
      word_bits_(core->header_word_bits()),
      rnr_limit_(std::uint64_t{options.rnr_retry} * options.min_rnr_timer_us),
      rnr_for_ever_(options.rnr_retry == kRnrForEver),
      number_(core->next_number()),
      core_(std::move(core)),
      options_(options),
      grants_(grants) {
  validate(initial_receives);
  make_rings();
  while (session_ == 0) session_ = random_key();
  for (const ReceiveRequest& request : initial_receives) record(request);
  // Modulo 2^64: room taken before the polling thread could count it.
  queue_->return_room_later(~std::uint64_t{initial_receives.size()} + 1);
}

void OfiQueuePair::validate(std::span<const ReceiveRequest> initial_receives) const {
  const auto fits = [](std::uint32_t depth) { return depth != 0 && depth <= kOfiQueueDepthMax; };
  if (!fits(send_depth_) || !fits(receive_depth_)) {
    throw SetupError(SetupCause::kLimit,
                     "send_depth and receive_depth of the ofi provider are 1 to " +
                         std::to_string(kOfiQueueDepthMax));
  }
  if (initial_receives.size() > receive_depth_) {
    throw SetupError(SetupCause::kLimit, "more initial receives than receive_depth (" +
                                             std::to_string(receive_depth_) + ")");
  }
  if (options_.rnr_retry > kRnrForEver) {
    throw SetupError(SetupCause::kLimit, "rnr_retry is 0 to 7 (7: for ever)");
  }
}

void OfiQueuePair::make_rings() {
  send_mask_ = std::bit_ceil(send_depth_) - 1;
  receive_mask_ = std::bit_ceil(receive_depth_) - 1;
  sent_ = std::make_unique<Sent[]>(send_mask_ + 1);
  receives_ = std::make_unique<Received[]>(receive_mask_ + 1);
  inline_bytes_of_requests_ = std::make_unique<std::byte[]>((send_mask_ + 1) * inline_bytes_);
  for (std::uint32_t i = 0; i < kOfiSendBuffers; ++i) free_sends_.push(i);
  for (std::uint32_t i = 0; i < kOfiReceiveBuffers; ++i) idle_buffers_.push(i);
}

OfiQueuePair::~OfiQueuePair() {
  if (connection_owner_ != nullptr) leave();
}

// libfabric 1.17's ofi_rxm dies where an endpoint is closed while messages of it are under way.
void OfiQueuePair::drain() noexcept {
  const auto until = std::chrono::steady_clock::now() + kOfiDrainLimit;
  for (bool quiet = false; !quiet && std::chrono::steady_clock::now() < until;) {
    (void)queue_->attend();
    queue_->exclusively([&] {
      quiet = connection_->cause() != OfiCause::kNone ||
              (messages_ == answered_ && free_sends_.size() == kOfiSendBuffers);
    });
    if (!quiet) std::this_thread::yield();
  }
}

void OfiQueuePair::leave() noexcept {
  // What was posted while another thread was there goes before the end, as a device would have it.
  queue_->exclusively([this] { look(); });
  if (!core_->connected()) drain();
  connection_owner_->fail(OfiCause::kDisconnected);
  connection_owner_->end_endpoint();
  queue_->detach(*this);
  // Relaxed: its polling thread posts no more.
  const std::uint64_t posted = posted_.load(std::memory_order_relaxed);
  std::uint64_t room = receives_posted_.load(std::memory_order_relaxed) - received_.get();
  for (std::uint64_t i = completed_.get(); i != posted; ++i)
    room += (sent_[i & send_mask_].request.flags & kSignaled) != 0 ? 1 : 0;
  queue_->return_room_later(room);
  // Nor do they bear that one is closed beside such a look.
  queue_->exclusively(
      [&] { core_->close_endpoint(endpoint_, [this] { connection_owner_->unbind(); }); });
  connection_owner_->close();
}

FabricInfo OfiQueuePair::new_info(const sockaddr_storage& peer) const {
  FabricInfo info = endpoint_info(core_->core_info());
  if (core_->core_name() == "shm") set_name(*info, new_ofi_shm_name());
  if (!core_->connected()) return info;
  info->addr_format = peer.ss_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
  if (core_->own_address().ss_family == peer.ss_family)
    set_address(info->src_addr, info->src_addrlen, core_->own_address());
  // verbs chooses the device by it.
  set_address(info->dest_addr, info->dest_addrlen, peer);
  return info;
}

void OfiQueuePair::open(FabricInfo info, std::shared_ptr<OfiConnection> connection) {
  const std::string name = "an endpoint of libfabric's " + core_->core_name();
  info->tx_attr->size = std::max<std::size_t>(info->tx_attr->size, kOfiSendBuffers);
  info->rx_attr->size = std::max<std::size_t>(info->rx_attr->size, kOfiReceiveBuffers);
  inject_bytes_ = info->tx_attr->inject_size;
  fid_ep* made = nullptr;
  ofi_require(::fi_endpoint(core_->domain(), info.get(), &made, nullptr), "cannot create " + name);
  endpoint_.reset(made);
  if (core_->connected()) {
    ofi_require(::fi_ep_bind(made, &core_->events()->fid, 0), "cannot bind " + name);
  } else {
    fi_av_attr attributes{};
    attributes.count = 1;
    fid_av* addresses = nullptr;
    ofi_require(::fi_av_open(core_->domain(), &attributes, &addresses, nullptr),
                "no address vector for " + name);
    addresses_.reset(addresses);
    ofi_require(::fi_ep_bind(made, &addresses->fid, 0), "cannot bind " + name);
  }
  // libfabric's shm and ofi_rxm die where a bound endpoint that is not enabled meets a look at its
  // queue.
  queue_->exclusively([&] {
    fid* const queue = &queue_->queue()->fid;
    long result = ::fi_ep_bind(made, queue, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
    if (result == 0) result = ::fi_ep_bind(made, queue, FI_RECV);
    if (result == 0) result = ::fi_enable(made);
    if (result == 0) return;
    endpoint_.reset();
    const bool rxm = core_->core_name().ends_with("ofi_rxm");
    ofi_require(result, "cannot enable " + name +
                            (rxm ? " (where the device's queues are small, a smaller "
                                   "FI_UNIVERSE_SIZE in the environment asks for less)"
                                 : ""));
  });
  tag_ = queue_->reserve();
  connection_owner_ = std::move(connection);
  connection_ = connection_owner_.get();
  connection_->bind(core_->connected() ? made : nullptr, queue_->wake());
  while (!idle_buffers_.empty()) {
    if (!post_buffer(idle_buffers_.front()))
      throw SetupError(SetupCause::kLimit, "no room for receives in " + name);
    idle_buffers_.pop();
  }
  queue_->attach(*this);
}

void OfiQueuePair::connect(const sockaddr_storage& address, std::span<const std::byte> data) {
  const int result =
      static_cast<int>(::fi_connect(endpoint_.get(), &address, data.data(), data.size()));
  if (result == 0) return;
  throw SetupError(SetupCause::kRefused, "the data connection to " + connection_->peer() +
                                             " cannot be made: " + ofi_text(result));
}

void OfiQueuePair::accept() {
  ofi_require(::fi_accept(endpoint_.get(), nullptr, 0),
              "the data connection of " + connection_->peer() + " cannot be accepted");
}

void OfiQueuePair::exchange_addresses(const SetupDeadline& deadline) {
  std::vector<std::byte> mine(kHelloBytesMax);
  std::size_t length = mine.size();
  ofi_require(::fi_getname(&endpoint_->fid, mine.data(), &length), "an endpoint has no address");
  mine.resize(length);
  connection_->send_address(mine);
  std::vector<std::byte> theirs = connection_->await_address(deadline);
  // libfabric reads as much as its addresses are long, whatever came.
  theirs.resize(kHelloBytesMax);
  if (::fi_av_insert(addresses_.get(), theirs.data(), 1, &peer_address_, 0, nullptr) != 1) {
    throw SetupError(SetupCause::kProtocol,
                     "the address of peer " + connection_->peer() + " cannot be used");
  }
}

void OfiQueuePair::send_grants() { connection_->send_regions(grants_.regions(), session_); }

void OfiQueuePair::set_peer_regions(const OfiMessage& message) {
  regions_ = message.regions;
  // What the peer asked for meanwhile can be answered now.
  queue_->exclusively([&] {
    peer_session_ = message.header.detail;
    ready_ = true;
  });
  if (const auto& wake = queue_->wake(); wake != nullptr) wake->signal();
  core_->progress().kick();
}

// Some core providers make the connection of an endpoint without one at its first message, and need
// both sides for it: a peer that dies meanwhile would take what it had sent with it.
void OfiQueuePair::greet(const SetupDeadline& deadline) {
  for (bool gone = false; !gone;) {
    queue_->exclusively([&] {
      OfiWireHeader header;
      header.kind = OfiKind::kExecuted;
      gone = send_message(header, 0);
    });
    if (gone) return;
    core_->progress().kick();
    if (deadline.over() || connection_->cause() != OfiCause::kNone) {
      throw SetupError(SetupCause::kTimeout, "no message reached " + connection_->peer() +
                                                 " by libfabric's " + core_->core_name() +
                                                 ", although its set-up came");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

QueuePairState OfiQueuePair::state() const noexcept {
  if (connection_ == nullptr) return QueuePairState::kConnecting;
  return connection_->failed() ? QueuePairState::kError : QueuePairState::kReadyToSend;
}

std::string OfiQueuePair::error_text() const {
  return connection_ == nullptr ? std::string() : connection_->error_text();
}

void OfiQueuePair::disconnect() noexcept { connection_->fail(OfiCause::kDisconnected); }

QueuePairCounters OfiQueuePair::counters() const noexcept {
  QueuePairCounters counters;
  counters.sent = completed_.get();
  counters.received = received_.get();
  counters.rnr_waits = rnr_waits_.get();
  counters.refused = refused_.get();
  return counters;
}

std::size_t OfiQueuePair::revoke(const MemoryRegion& region) noexcept {
  const std::size_t count = grants_.take_back(region);
  // Whoever found a key before is done with it then.
  queue_->exclusively([] {});
  return count;
}

}  // namespace tickpath::rdma::detail
