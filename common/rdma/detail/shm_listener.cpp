#include "common/rdma/detail/shm_listener.hpp"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/rdma/detail/shm_device.hpp"
#include "common/rdma/detail/shm_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

// A peer sends its hello right after connecting, and its half right after our answer; who takes
// longer is broken, and must not hold the control thread or a place in the queue.
constexpr auto kHelloTimeout = std::chrono::milliseconds(1000);
constexpr auto kConfirmTimeout = std::chrono::milliseconds(1000);
constexpr std::size_t kPendingMax = 64;

class ShmConnectionRequest final : public ConnectionRequest {
 public:
  ShmConnectionRequest(std::shared_ptr<DeviceCore> core, UniqueFd socket, PeerIdentity peer,
                       SetupMessage hello)
      : core_(std::move(core)), socket_(std::move(socket)), peer_(peer), hello_(std::move(hello)) {}

  std::span<const std::byte> hello() const noexcept override { return hello_.body; }
  std::string peer() const override { return peer_.text(); }
  std::string peer_role() const override { return {}; }

  std::unique_ptr<QueuePair> accept(CompletionQueue& queue, const QueuePairOptions& options,
                                    std::span<const std::byte> answer,
                                    std::span<const Grant> grants,
                                    std::span<const ReceiveRequest> initial_receives) override {
    if (!socket_.valid()) {
      throw SetupError(SetupCause::kProtocol, "this connection request was answered already");
    }
    if (answer.size() > kHelloBytesMax) {
      throw SetupError(SetupCause::kLimit,
                       "an answer has at most " + std::to_string(kHelloBytesMax) + " bytes");
    }
    auto& shm_queue = dynamic_cast<ShmCompletionQueue&>(queue);
    auto queue_pair = std::make_unique<ShmQueuePair>(core_, shm_queue, options, initial_receives,
                                                     (hello_.header.flags & kHasBarrier) != 0);
    UniqueFd socket = std::move(socket_);
    send_half(socket, SetupType::kAccept, *queue_pair, grants, answer);
    SetupMessage confirm = await_setup(socket, std::chrono::steady_clock::now() + kConfirmTimeout,
                                       "the confirmation of " + peer_.text());
    if (confirm.header.type != SetupType::kConfirm) {
      throw SetupError(SetupCause::kProtocol, "peer " + peer_.text() + " answered out of turn");
    }
    queue_pair->connect(std::move(socket), peer_, std::move(confirm));
    return queue_pair;
  }

  void reject(std::string_view reason) noexcept override {
    if (!socket_.valid()) return;
    try {
      SetupHeader header;
      header.type = SetupType::kReject;
      const std::string_view text = reason.substr(0, kHelloBytesMax);
      send_setup(socket_, header, {}, std::as_bytes(std::span(text)), {});
    } catch (const SetupError&) {
      // The peer is gone: there is nobody left to tell.
    }
    socket_.reset();
  }

 private:
  std::shared_ptr<DeviceCore> core_;
  UniqueFd socket_;
  PeerIdentity peer_;
  SetupMessage hello_;
};

}  // namespace

GrantedRegions grant_regions(const ShmQueuePair& queue_pair, int wake_descriptor,
                             std::span<const Grant> grants) {
  if (grants.size() > kGrantsMax) {
    throw SetupError(SetupCause::kLimit,
                     "a connection grants at most " + std::to_string(kGrantsMax) + " regions");
  }
  GrantedRegions granted;
  granted.descriptors.push_back(queue_pair.wire_descriptor().get());
  if (wake_descriptor >= 0) granted.descriptors.push_back(wake_descriptor);
  for (const Grant& grant : grants) {
    const auto& region = dynamic_cast<const ShmRegion&>(*grant.region);
    constexpr AccessFlags kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    if ((grant.access & ~(region.access() & kRemoteRights)) != 0) {
      throw SetupError(SetupCause::kPermission,
                       "a grant gives rights that its region was not allocated with");
    }
    // The region's index below, unguessable bits above: a key of another connection is worthless.
    const auto index = static_cast<std::uint32_t>(granted.regions.size());
    std::uint32_t rkey = 0;
    while (rkey < kGrantsMax) rkey = (random_key() & ~std::uint32_t{kGrantsMax - 1}) | index;
    granted.regions.push_back(
        {reinterpret_cast<std::uintptr_t>(region.data()), region.size_bytes(), rkey, grant.access});
    const bool writes = (grant.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    if (region.peer_writable() && !writes) {
      // Not sealed, because another peer may write: this one gets a descriptor that cannot.
      granted.owned.push_back(read_only_descriptor(region.descriptor()));
      granted.descriptors.push_back(granted.owned.back().get());
    } else {
      granted.descriptors.push_back(region.descriptor().get());
    }
  }
  return granted;
}

void send_half(const UniqueFd& socket, SetupType type, ShmQueuePair& queue_pair,
               std::span<const Grant> grants, std::span<const std::byte> body) {
  const UniqueFd wake = queue_pair.wake_for_peer();
  const GrantedRegions granted = grant_regions(queue_pair, wake.get(), grants);
  SetupHeader header;
  header.type = type;
  header.flags = queue_pair.setup_flags();
  header.wire_slots = queue_pair.wire_layout().slots;
  header.message_bytes_max = queue_pair.wire_layout().message_bytes_max;
  queue_pair.remember_grants(grants);
  send_setup(socket, header, granted.regions, body, granted.descriptors);
}

ShmListener::ShmListener(std::shared_ptr<DeviceCore> core, const std::string& endpoint)
    : core_(std::move(core)),
      endpoint_(endpoint),
      socket_(bind_socket(endpoint)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll_.valid() || !timer_.valid()) throw_system("epoll_create1, timerfd_create", errno);
  watch(socket_.get());
  watch(timer_.get());
  struct stat status {};
  if (::stat(endpoint_.c_str(), &status) == 0) inode_ = status.st_ino;
}

ShmListener::~ShmListener() {
  struct stat status {};
  if (::stat(endpoint_.c_str(), &status) == 0 && status.st_ino == inode_) {
    ::unlink(endpoint_.c_str());
  }
}

void ShmListener::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw_system("epoll_ctl", errno);
}

void ShmListener::take_connections() {
  while (pending_.size() < kPendingMax) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    const PeerIdentity peer = peer_identity(socket);
    if (!peer_allowed(peer)) {
      ++bad_peers_;
      continue;
    }
    watch(socket.get());
    pending_.push_back({std::move(socket), peer, std::chrono::steady_clock::now() + kHelloTimeout});
    itimerspec when{};
    when.it_value.tv_sec = 1;  // kHelloTimeout; re-armed by each newcomer, so the last one expires
    when.it_value.tv_nsec = 10'000'000;
    ::timerfd_settime(timer_.get(), 0, &when, nullptr);
  }
}

void ShmListener::drop_late() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &expirations, sizeof(expirations));
  const auto now = std::chrono::steady_clock::now();
  bad_peers_ += std::erase_if(pending_, [&](const Pending& each) { return each.deadline < now; });
}

// A request if this peer's hello is here. Drops the peer if it does not speak our language.
std::unique_ptr<ConnectionRequest> ShmListener::try_hello(std::size_t index) {
  Pending& pending = pending_[index];
  std::unique_ptr<ConnectionRequest> request;
  try {
    std::optional<SetupMessage> hello = receive_setup(pending.socket);
    if (!hello) return nullptr;
    if (hello->header.type == SetupType::kHello && hello->descriptors.empty() &&
        hello->regions.empty()) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pending.socket.get(), nullptr);
      request = std::make_unique<ShmConnectionRequest>(core_, std::move(pending.socket),
                                                       pending.peer, std::move(*hello));
    } else {
      ++bad_peers_;
    }
  } catch (const SetupError&) {
    ++bad_peers_;
  }
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  return request;
}

std::unique_ptr<ConnectionRequest> ShmListener::next() {
  drop_late();
  take_connections();
  for (std::size_t index = 0; index < pending_.size();) {
    const std::size_t before = pending_.size();
    if (std::unique_ptr<ConnectionRequest> request = try_hello(index)) return request;
    if (pending_.size() == before) ++index;
  }
  return nullptr;
}

}  // namespace tickpath::rdma::detail
