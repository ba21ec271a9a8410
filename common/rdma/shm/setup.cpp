#include "common/rdma/shm/setup.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kMessageBytes =
    sizeof(SetupHeader) + kGrantsMax * sizeof(RemoteRegion) + kHelloBytesMax;

std::vector<UniqueFd> take_descriptors(const msghdr& message) {
  std::vector<UniqueFd> descriptors;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(const_cast<msghdr*>(&message), control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

}  // namespace

std::string PeerIdentity::text() const {
  return "process " + std::to_string(pid) + " (user " + std::to_string(uid) + ")";
}

PeerIdentity peer_identity(const UniqueFd& socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    throw_system("cannot tell who the peer is", errno);
  }
  return {credentials.pid, credentials.uid};
}

bool peer_allowed(const PeerIdentity& peer) noexcept {
  return peer.uid == 0 || peer.uid == ::geteuid();
}

void send_bytes(const UniqueFd& socket, std::span<const std::byte> bytes,
                std::span<const int> descriptors) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* head = reinterpret_cast<cmsghdr*>(control.data());  // what CMSG_FIRSTHDR() gives
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  if (::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    const int error = errno;
    throw SetupError(SetupCause::kRefused,
                     std::string("the peer went away during set-up: ") + std::strerror(error));
  }
}

std::optional<SocketMessage> receive_bytes(const UniqueFd& socket) {
  std::array<std::byte, kMessageBytes> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t length = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // A peer that closed with unread bytes leaves an error in front of its last message.
  if (length < 0 && errno == ECONNRESET) {
    length = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (length < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::nullopt;
    throw SetupError(SetupCause::kRefused,
                     std::string("the peer went away during set-up: ") + std::strerror(errno));
  }
  std::vector<UniqueFd> descriptors = take_descriptors(message);
  if (length == 0) {
    throw SetupError(SetupCause::kRefused, "the peer closed the connection during set-up");
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    throw SetupError(SetupCause::kProtocol, "the peer's set-up message is too long");
  }
  return SocketMessage{{buffer.data(), buffer.data() + length}, std::move(descriptors)};
}

void send_setup(const UniqueFd& socket, const SetupHeader& header,
                std::span<const RemoteRegion> regions, std::span<const std::byte> body,
                std::span<const int> descriptors) {
  send_bytes(socket, encode(header, regions, body), descriptors);
}

std::optional<SetupMessage> receive_setup(const UniqueFd& socket) {
  std::optional<SocketMessage> message = receive_bytes(socket);
  if (!message) return std::nullopt;
  return SetupMessage{parse_frame<SetupHeader>(message->bytes), std::move(message->descriptors)};
}

}  // namespace tickpath::rdma::detail
