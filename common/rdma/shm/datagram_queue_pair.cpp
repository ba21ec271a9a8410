#include "common/rdma/shm/datagram_queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "common/rdma/shm/queue_pair.hpp"
#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {
namespace {

// How long a sender that does not answer (a stopped process) may hold up who joins. It is heard
// from when it goes on.
constexpr auto kSettlePatience = std::chrono::milliseconds(500);

std::uint32_t next_datagram_number() noexcept {
  static std::atomic<std::uint32_t> number{1};
  return number.fetch_add(1, std::memory_order_relaxed);  // unique, ordering nothing
}

DatagramRingLayout layout_of(const DatagramOptions& options) {
  const auto limit = [](bool bad, const std::string& what) {
    if (bad) throw SetupError(SetupCause::kLimit, what);
  };
  limit(options.send_depth == 0 || options.send_depth > kQueueDepthMax ||
            options.receive_depth == 0 || options.receive_depth > kQueueDepthMax,
        "send_depth and receive_depth of the shm provider are 1 to " +
            std::to_string(kQueueDepthMax));
  limit(options.datagram_bytes_max > kDatagramBytesMax,
        "a datagram has at most " + std::to_string(kDatagramBytesMax) +
            " bytes on shm; datagram_bytes_max asks for " +
            std::to_string(options.datagram_bytes_max));
  limit(options.ring_datagrams == 0 || options.ring_datagrams > kRingDatagramsMax,
        "ring_datagrams is 1 to " + std::to_string(kRingDatagramsMax));
  return {std::max(std::bit_ceil(options.ring_datagrams), 4u),
          options.datagram_bytes_max == 0 ? kDatagramBytesMax : options.datagram_bytes_max};
}

// A sender's name in the folder of its group.
class SenderName {
 public:
  SenderName() = default;
  SenderName(std::shared_ptr<const GroupFolder> folder, std::string name) noexcept
      : folder_(std::move(folder)), name_(std::move(name)) {}
  SenderName(SenderName&&) noexcept = default;
  SenderName& operator=(SenderName&&) noexcept = default;
  ~SenderName() {
    if (folder_ != nullptr) folder_->remove_sender(name_);
  }

 private:
  std::shared_ptr<const GroupFolder> folder_;  // null: none
  std::string name_;
};

class ShmMembership final : public MulticastMembership {
 public:
  ShmMembership(ShmDatagramQueuePair& queue_pair, const std::string& group, MulticastRole role)
      : queue_pair_(&queue_pair),
        folder_(std::make_shared<const GroupFolder>(group)),
        deadline_(std::chrono::steady_clock::now() + kSettlePatience) {
    // The sender first: one that receives too finds itself among those that are there.
    if (role != MulticastRole::kReceiver) become_sender();
    if (role != MulticastRole::kSender) become_receiver();
  }

  ~ShmMembership() override {
    if (subscription_ == nullptr) return;
    queue_pair_->core().monitor.forget(*subscription_);
    subscription_->close();
  }

  bool poll() override {
    joined_ = joined_ || subscription_ == nullptr || subscription_->settled() ||
              std::chrono::steady_clock::now() > deadline_;
    return joined_;
  }
  const AddressHandle* group() const noexcept override { return joined_ ? handle_.get() : nullptr; }
  std::uint32_t datagram_bytes_max() const noexcept override {
    return queue_pair_->datagram_bytes_max();
  }
  std::string error_text() const override {
    return folder_->gone() ? "the folder of multicast group " + folder_->path() + " was removed"
                           : std::string();
  }
  std::size_t senders() const noexcept override {
    return subscription_ == nullptr ? 0 : subscription_->heard();
  }

 private:
  void become_sender() {
    const DatagramAddress group{
        .gid = folder_->gid(), .qp_number = kMulticastQp, .q_key = kDefaultQKey};
    handle_ = std::make_unique<ShmAddressHandle>(*queue_pair_, group);
    GroupFolder::Listening listening = folder_->add_sender();
    handle_->publication().listen_on(std::move(listening.socket));
    sender_name_ = SenderName(folder_, std::move(listening.name));
    handle_->start();
  }

  void become_receiver() {
    if (queue_pair_->address().q_key != kDefaultQKey) {
      throw SetupError(SetupCause::kLimit,
                       "the queue pair has another Q_Key than multicast group " + folder_->path() +
                           ": it would receive nothing; make it with "
                           "kDefaultQKey");
    }
    subscription_ = std::make_shared<DatagramSubscription>(
        queue_pair_->sources(), queue_pair_->queue().wake(),
        queue_pair_->core().barriers.across_processes, folder_);
    queue_pair_->core().monitor.watch(subscription_);
  }

  ShmDatagramQueuePair* queue_pair_;
  std::shared_ptr<const GroupFolder> folder_;
  std::chrono::steady_clock::time_point deadline_;
  std::unique_ptr<ShmAddressHandle> handle_;
  SenderName sender_name_;  // goes first: nobody finds the socket that closes next
  std::shared_ptr<DatagramSubscription> subscription_;
  bool joined_ = false;
};

}  // namespace

ShmAddressHandle::ShmAddressHandle(ShmDatagramQueuePair& queue_pair, const DatagramAddress& address)
    : AddressHandle(address),
      owner_(&queue_pair),
      publication_(std::make_shared<DatagramPublication>(
          queue_pair.address(), address.gid, queue_pair.layout(), queue_pair.core().barriers)) {}

void ShmAddressHandle::start() {
  owner_->core().monitor.watch(publication_);
  watched_ = true;
}

ShmAddressHandle::~ShmAddressHandle() {
  if (watched_) owner_->core().monitor.forget(*publication_);
  publication_->close();
}

ShmDatagramQueuePair::ShmDatagramQueuePair(std::shared_ptr<DeviceCore> core,
                                           ShmCompletionQueue& queue,
                                           const DatagramOptions& options)
    : queue_(&queue),
      local_regions_(&core->regions),
      inline_bytes_(std::min(options.inline_bytes, kInlineBytesMax)),
      send_depth_(options.send_depth),
      receive_depth_(options.receive_depth),
      layout_(layout_of(options)),
      address_{.gid = core->gid, .qp_number = next_datagram_number(), .q_key = options.q_key},
      send_mask_(std::bit_ceil(options.send_depth) - 1),
      receive_mask_(std::bit_ceil(options.receive_depth) - 1),
      done_(std::make_unique<SendDone[]>(send_mask_ + 1)),
      receives_(std::make_unique<Receive[]>(receive_mask_ + 1)),
      core_(std::move(core)),
      sources_(queue),
      inbox_(std::make_shared<DatagramInbox>(sources_, queue.wake(),
                                             core_->barriers.across_processes, address_)) {
  queue_->attach(*this);
  try {
    core_->monitor.watch(inbox_);
  } catch (const SetupError&) {
    queue_->detach(*this);
    throw;
  }
}

ShmDatagramQueuePair::~ShmDatagramQueuePair() {
  core_->monitor.forget(*inbox_);
  inbox_->close();
  queue_->detach(*this);
  queue_->return_room_later((done_tail_ - done_head_) + (receives_tail_ - receives_head_));
}

QueuePairState ShmDatagramQueuePair::state() const noexcept {
  return failure_.load(std::memory_order_acquire) == Failure::kNone ? QueuePairState::kReadyToSend
                                                                    : QueuePairState::kError;
}

std::string ShmDatagramQueuePair::error_text() const {
  switch (failure_.load(std::memory_order_acquire)) {
    case Failure::kNone:
      return {};
    case Failure::kSendProtection:
      return "local protection error (lkey or bounds of a send)";
    case Failure::kReceiveProtection:
      return "local protection error (lkey, bounds or rights of a receive)";
  }
  return {};
}

DatagramCounters ShmDatagramQueuePair::counters() const noexcept {
  return {.sent = executed_.get(),
          .received = received_.get(),
          .refused = refused_.get(),
          .wakeups = wakeups_.get(),
          .overrun = overrun_.get(),
          .without_receive = without_receive_.get(),
          .wrong_q_key = wrong_q_key_.get(),
          .too_long = too_long_.get(),
          .malformed = malformed_.get()};
}

std::unique_ptr<AddressHandle> ShmDatagramQueuePair::create_address_handle(
    const DatagramAddress& address) {
  auto handle = std::make_unique<ShmAddressHandle>(*this, address);
  UniqueFd receiver = connect_abstract(datagram_socket_name(address));
  // Nobody there: as on a network, what is sent goes nowhere.
  if (receiver.valid()) {
    const PeerIdentity peer = peer_identity(receiver);
    if (!peer_allowed(peer)) {
      throw SetupError(SetupCause::kPermission,
                       peer.text() + " has the datagram queue pair; shm reaches this user's only");
    }
    handle->publication().offer_to(std::move(receiver));
  }
  handle->start();
  return handle;
}

std::unique_ptr<MulticastMembership> ShmDatagramQueuePair::join(const std::string& group,
                                                                MulticastRole role) {
  return std::make_unique<ShmMembership>(*this, group, role);
}

}  // namespace tickpath::rdma::detail
