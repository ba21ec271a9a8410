#include "common/rdma/shm/datagram_setup.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kReadyAtOnce = 16;

sockaddr_un abstract_address(const std::string& name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path))
    throw SetupError(SetupCause::kAddress, "the socket name " + name + " is too long");
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading 0: abstract (unix(7))
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

UniqueFd new_datagram_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) throw_system("cannot create a Unix socket", errno);
  return socket;
}

}  // namespace

void send_datagram_setup(const UniqueFd& socket, const DatagramSetup& setup,
                         std::span<const int> descriptors) {
  send_bytes(socket, std::as_bytes(std::span(&setup, 1)), descriptors);
}

std::optional<DatagramSetupMessage> receive_datagram_setup(const UniqueFd& socket) {
  std::optional<SocketMessage> message = receive_bytes(socket);
  if (!message) return std::nullopt;
  return DatagramSetupMessage{parse_frame<DatagramSetup>(message->bytes).header,
                              std::move(message->descriptors)};
}

UniqueFd listen_abstract(const std::string& name) {
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  UniqueFd socket = new_datagram_socket();
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw_system("cannot listen on the abstract socket " + name, errno);
  return socket;
}

UniqueFd connect_abstract(const std::string& name) {
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  UniqueFd socket = new_datagram_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
    return socket;
  if (errno == ECONNREFUSED) return {};
  throw SetupError(
      SetupCause::kAddress,
      "cannot reach the datagram queue pair behind " + name + ": " + std::strerror(errno) +
          (errno == EAGAIN ? "; its process does not take connections: is it stopped?" : ""));
}

Acceptor::Acceptor(UniqueFd listening)
    : listening_(std::move(listening)), spare_(::fcntl(listening_.get(), F_DUPFD_CLOEXEC, 0)) {
  if (!spare_.valid()) throw_system("no descriptor left", errno);
}

UniqueFd Acceptor::next() {
  for (;;) {
    UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid() && peer_allowed(peer_identity(socket))) return socket;
    if (socket.valid() || errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EMFILE && errno != ENFILE) return socket;
    spare_.reset();
    const UniqueFd turned_away(
        ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool nobody = !turned_away.valid();
    spare_ = UniqueFd(::fcntl(listening_.get(), F_DUPFD_CLOEXEC, 0));
    if (nobody) return {};
  }
}

std::string datagram_socket_name(const DatagramAddress& address) {
  std::string name = "tickpath.datagrams.";
  std::array<char, 3> digits{};
  for (const std::byte each : address.gid) {
    std::snprintf(digits.data(), digits.size(), "%02x", std::to_integer<unsigned>(each));
    name += digits.data();
  }
  return name + "." + std::to_string(address.qp_number);
}

EventSet::EventSet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw_system("epoll_create1", errno);
}

void EventSet::add(int fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw_system("epoll_ctl", errno);
}

std::vector<std::uint64_t> EventSet::ready() const {
  std::array<epoll_event, kReadyAtOnce> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), kReadyAtOnce, 0);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;  // packed: no reference
    ids.push_back(id);
  }
  return ids;
}

}  // namespace tickpath::rdma::detail
