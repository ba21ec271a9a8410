#include "common/rdma/shm/listener.hpp"

#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/rdma/shm/device.hpp"
#include "common/rdma/shm/pending.hpp"

namespace tickpath::rdma::detail {
namespace {

// A peer sends its hello right after connecting; who takes longer is broken.
constexpr auto kHelloTimeout = std::chrono::milliseconds(1000);
// Peers that connected and said nothing yet. One more, and the peer that is silent for longest
// goes: silence must not keep out who speaks. Also how many newcomers one next() looks at.
constexpr std::size_t kPendingMax = 64;
constexpr auto kTimerSlack = std::chrono::milliseconds(10);
// Before newcomers are accepted again where no descriptors were left.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

class ShmConnectionRequest final : public ConnectionRequest {
 public:
  ShmConnectionRequest(std::shared_ptr<DeviceCore> core, UniqueFd socket, PeerIdentity peer,
                       SetupMessage hello)
      : core_(std::move(core)), socket_(std::move(socket)), peer_(peer), hello_(std::move(hello)) {}

  std::span<const std::byte> hello() const noexcept override { return hello_.body; }
  std::string peer() const override { return peer_.text(); }
  std::string peer_role() const override { return {}; }

  std::unique_ptr<PendingConnection> start_accept(
      CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
      std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) override {
    if (!socket_.valid()) {
      throw SetupError(SetupCause::kProtocol, "this connection request was answered already");
    }
    require_sendable(answer, "an answer");
    auto& shm_queue = dynamic_cast<ShmCompletionQueue&>(queue);
    auto queue_pair = std::make_unique<ShmQueuePair>(core_, shm_queue, options, initial_receives,
                                                     (hello_.header.flags & kHasBarrier) != 0);
    UniqueFd socket = std::move(socket_);
    send_half(socket, SetupType::kAccept, *queue_pair, grants, answer);
    return std::make_unique<ShmAccepting>(std::move(socket), peer_, std::move(queue_pair));
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

void ShmListener::set_timer(std::chrono::milliseconds after) noexcept {
  itimerspec when{};
  when.it_value.tv_sec = after.count() / 1000;
  when.it_value.tv_nsec = after.count() % 1000 * 1'000'000;
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

// Newcomers keep the socket readable, and who watches it would spin.
void ShmListener::pause_accepting() {
  const std::string why = std::strerror(errno);
  core_->note_once("accept", "newcomers on " + endpoint_ + " cannot be accepted (" + why +
                                 "): they wait until there is room; raise `ulimit -n`");
  ++bad_peers_;
  paused_ = true;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
  set_timer(kAcceptPause);
}

// Takes newcomers in, up to the first whose hello is here.
std::unique_ptr<ConnectionRequest> ShmListener::take_newcomers() {
  for (std::size_t taken = 0; taken < kPendingMax; ++taken) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting();
      return nullptr;
    }
    const PeerIdentity peer = peer_identity(socket);
    if (!peer_allowed(peer)) {
      turn_away(peer, "it runs as another user, and is neither ours nor root");
      continue;
    }
    watch(socket.get());
    pending_.push_back({std::move(socket), peer, std::chrono::steady_clock::now() + kHelloTimeout});
    set_timer(kHelloTimeout + kTimerSlack);  // by each newcomer, so the last one expires
    if (std::unique_ptr<ConnectionRequest> request = try_hello(pending_.size() - 1)) return request;
    if (pending_.size() <= kPendingMax) continue;
    // The oldest was asked for its hello by this next() already.
    turn_away(pending_.front().peer, "made room for others that connected");
    pending_.erase(pending_.begin());
  }
  return nullptr;
}

void ShmListener::drop_late() {
  std::uint64_t expirations = 0;
  const bool expired =
      ::read(timer_.get(), &expirations, sizeof(expirations)) == sizeof(expirations);
  if (expired && paused_) {
    watch(socket_.get());
    paused_ = false;
    set_timer(kHelloTimeout + kTimerSlack);  // of those who were silent before the pause
  }
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(pending_, [&](const Pending& each) {
    const bool late = each.deadline < now;
    if (late) turn_away(each.peer, "said no hello in time");
    return late;
  });
}

// Counts the peer, and keeps it for the log while there is room: strangers in numbers must not cost
// memory.
void ShmListener::turn_away(const PeerIdentity& peer, std::string why) {
  constexpr std::size_t kUntoldMax = 32;
  ++bad_peers_;
  if (untold_.size() < kUntoldMax) untold_.push_back({peer.text(), std::move(why)});
}

std::optional<BadPeer> ShmListener::next_bad_peer() {
  if (untold_.empty()) return std::nullopt;
  BadPeer peer = std::move(untold_.front());
  untold_.pop_front();
  return peer;
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
      turn_away(pending.peer, "a hello was expected");
    }
  } catch (const SetupError& error) {
    turn_away(pending.peer, error.what());
  }
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  return request;
}

std::unique_ptr<ConnectionRequest> ShmListener::next() {
  drop_late();
  for (std::size_t index = 0; index < pending_.size();) {
    const std::size_t before = pending_.size();
    if (std::unique_ptr<ConnectionRequest> request = try_hello(index)) return request;
    if (pending_.size() == before) ++index;
  }
  return paused_ ? nullptr : take_newcomers();
}

}  // namespace tickpath::rdma::detail
