#include "common/rdma/shm/connection.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/names.hpp"

namespace tickpath::rdma::detail {
namespace {

const char* describe(FailureCause cause) {
  using enum FailureCause;
  return name_in(cause,
                 {{kNone, "no failure"},
                  {kPeerDied, "its peer ended"},
                  {kPeerFailed, "its peer failed"},
                  {kDisconnected, "disconnected"},
                  {kRemoteAccess, "remote access error (rkey, bounds or rights)"},
                  {kLocalProtection, "local protection error (lkey, bounds or rights)"},
                  {kRemoteInvalid, "a SEND larger than the receive buffer it met"},
                  {kLocalLength, "a message larger than the posted receive buffer"},
                  {kRnrExceeded, "no receive was posted for too long (RNR)"},
                  {kPeerProtocol, "the peer broke the protocol of the shm provider"}},
                 "an unknown failure");
}

constexpr int kEventsMax = 16;

void watch_for_input(const UniqueFd& epoll, const UniqueFd& watched) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = watched.get();
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, watched.get(), &event) != 0)
    throw_system("epoll_ctl", errno);
}

}  // namespace

void PatientLock::lock() noexcept {
  while (!try_lock()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

Wake::Wake()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_.valid() || !event_.valid()) throw_system("epoll_create1, eventfd", errno);
  watch_for_input(epoll_, event_);
}

void Wake::signal() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then it is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof(one));
}

void Wake::acknowledge() noexcept {
  // Somebody leaves this moment: what is not read now wakes once more.
  const std::unique_lock lock(closing_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  std::array<epoll_event, kEventsMax> ready;
  const int count = ::epoll_wait(epoll_.get(), ready.data(), kEventsMax, 0);
  for (int i = 0; i < count; ++i) drain(ready[static_cast<std::size_t>(i)].data.fd);
}

// One read: a peer that sends without end keeps itself from sleeping at our expense, as it could by
// its messages, but holds nothing up.
void Wake::drain(int descriptor) noexcept {
  std::array<std::byte, 256> bytes;
  const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
  const bool over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  // A peer that has gone would stay readable for as long as its connection is kept.
  if (over) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

WakeEnd::WakeEnd(std::shared_ptr<Wake> wake, UniqueFd& theirs) : wake_(std::move(wake)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw_system("socketpair", errno);
  ours_ = UniqueFd(ends[0]);
  theirs = UniqueFd(ends[1]);
  watch_for_input(wake_->epoll_, ours_);
}

WakeEnd& WakeEnd::operator=(WakeEnd&& other) noexcept {
  close();
  wake_ = std::move(other.wake_);
  ours_ = std::move(other.ours_);
  return *this;
}

void WakeEnd::close() noexcept {
  if (wake_ == nullptr) return;
  const std::lock_guard lock(wake_->closing_);
  ours_.reset();  // and leaves the epoll by that
}

void wake_by(const UniqueFd& end) noexcept {
  const char one = 1;
  // Fails where it is full, and then it is readable anyway; or where it is no socket of ours.
  [[maybe_unused]] const ssize_t sent = ::send(end.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string Connection::error_text() const {
  const std::uint32_t failure = failure_.load(std::memory_order_acquire);
  switch (static_cast<FailureCause>(failure & 0xff)) {
    case FailureCause::kNone:
      return {};
    case FailureCause::kPeerDied:
      return "peer " + peer_.text() + " ended";
    case FailureCause::kPeerFailed:
      return "peer " + peer_.text() + ": " +
             describe(static_cast<FailureCause>((failure >> 8) & 0xff));
    case FailureCause::kDisconnected:
      return "disconnected by this side";
    default:
      return std::string(describe(static_cast<FailureCause>(failure & 0xff))) +
             "; peer: " + peer_.text();
  }
}

void Connection::fail(FailureCause cause, FailureCause peer_cause) noexcept {
  const std::uint32_t value =
      static_cast<std::uint32_t>(cause) | (static_cast<std::uint32_t>(peer_cause) << 8);
  std::uint32_t seen = failure_.load(std::memory_order_acquire);
  // Release: pairs with failed(); the success of the exchange makes one caller the reporter.
  do {
    if ((seen & kFailureMask) != 0) return;
  } while (!failure_.compare_exchange_weak(seen, seen | value, std::memory_order_acq_rel));
  if (cause != FailureCause::kPeerDied) {
    SetupHeader notice;
    notice.type = SetupType::kNotice;
    notice.reason = static_cast<std::uint32_t>(cause);
    ::send(socket_.get(), &notice, sizeof(notice), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // The peer sees the end of the connection at once; so does our monitor, which then lets go.
  ::shutdown(socket_.get(), SHUT_RDWR);
  if (wake_ != nullptr) wake_->signal();
}

bool Connection::revoke(std::uint32_t region_index) noexcept {
  SetupHeader notice;
  notice.type = SetupType::kRevoke;
  notice.reason = region_index;
  const ssize_t sent = ::send(socket_.get(), &notice, sizeof(notice), MSG_DONTWAIT | MSG_NOSIGNAL);
  // A peer that cannot be told must not go on: without the connection it has no key either.
  if (sent == sizeof(notice)) return true;
  fail(FailureCause::kDisconnected);
  return false;
}

// False: the peer broke the protocol.
bool Connection::take_message(const SetupMessage& message) noexcept {
  const std::uint32_t reason = message.header.reason;
  if (message.header.type == SetupType::kNotice) {
    fail(FailureCause::kPeerFailed, static_cast<FailureCause>(reason & 0xff));
    return true;
  }
  if (message.header.type != SetupType::kRevoke || reason >= kGrantsMax) return false;
  // Relaxed: see take_revoked().
  failure_.fetch_or(1u << (kRevokedShift + reason), std::memory_order_relaxed);
  return true;
}

bool Connection::on_readable() noexcept {
  try {
    while (std::optional<SetupMessage> message = receive_setup(socket_)) {
      if (take_message(*message)) continue;
      fail(FailureCause::kPeerProtocol);
      return false;
    }
    return !failed();
  } catch (const SetupError& error) {
    fail(error.cause() == SetupCause::kProtocol ? FailureCause::kPeerProtocol
                                                : FailureCause::kPeerDied);
  } catch (const std::exception&) {
    fail(FailureCause::kPeerDied);  // out of memory while reading: the peer cannot be watched
  }
  return false;
}

}  // namespace tickpath::rdma::detail
