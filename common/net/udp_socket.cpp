#include "common/net/udp_socket.hpp"

#include <cerrno>
#include <cstring>

namespace tickpath::net {
namespace {

[[noreturn]] void fail_udp(const std::string& what, const char* remedy = "") {
  throw NetError(what + ": " + std::strerror(errno) + remedy);
}

Endpoint from_sockaddr(const sockaddr_in& address) noexcept {
  return {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
}

}  // namespace

UdpSocket::UdpSocket(const Options& options)
    : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      connected_(options.remote.port != 0) {
  if (socket_.get() < 0) fail_udp("cannot open a UDP socket");
  // The kernel grants what it may; less is no error.
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &options.receive_buffer_bytes,
                     sizeof(int));
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &options.send_buffer_bytes, sizeof(int));
  const sockaddr_in local = options.local.to_sockaddr();
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&local), sizeof(local)) != 0)
    fail_udp("cannot bind UDP " + options.local.text(),
             errno == EADDRINUSE ? ": another program has it (`ss -ulpn` shows it): stop it or "
                                   "configure another port"
                                 : "");
  if (!connected_) return;
  const sockaddr_in remote = options.remote.to_sockaddr();
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&remote), sizeof(remote)) != 0)
    fail_udp("cannot send to UDP " + options.remote.text());
}

IoStatus UdpSocket::send(std::span<const std::byte> datagram, const Endpoint& to) noexcept {
  const sockaddr_in address = to.to_sockaddr();
  const auto* const where = connected_ ? nullptr : reinterpret_cast<const sockaddr*>(&address);
  const ssize_t sent = ::sendto(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT,
                                where, connected_ ? 0 : sizeof(address));
  if (sent >= 0) return IoStatus::kOk;
  last_errno_ = errno;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? IoStatus::kWouldBlock
                                                                     : IoStatus::kFailed;
}

IoStatus UdpSocket::receive(std::span<std::byte> buffer, std::size_t& size,
                            Endpoint& from) noexcept {
  sockaddr_in address{};
  iovec vector{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = sizeof(address);
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT);
  if (got < 0) {
    last_errno_ = errno;
    return errno == EAGAIN || errno == EWOULDBLOCK ? IoStatus::kWouldBlock : IoStatus::kFailed;
  }
  size = static_cast<std::size_t>(got);
  from = from_sockaddr(address);
  return (header.msg_flags & MSG_TRUNC) != 0 ? IoStatus::kTruncated : IoStatus::kOk;
}

Endpoint UdpSocket::local() const noexcept {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return from_sockaddr(address);
}

}  // namespace tickpath::net
