// Set-up of multicast sockets; what runs afterwards is in multicast_datapath.cpp.
#include "common/net/multicast.hpp"

#include <cerrno>
#include <cstring>

#include "common/base/check.hpp"

namespace tickpath::net {

namespace {

constexpr const char* kNoInterface =
    "does an interface of this host have that address? `ip address`";

[[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) {
  const int error = errno;
  throw NetError(what + ": " + std::strerror(error) + (remedy.empty() ? "" : ": " + remedy));
}

template <class Value>
void set_option(const FileDescriptor& socket, int level, int option, const Value& value,
                const std::string& what, const std::string& remedy = {}) {
  if (::setsockopt(socket.get(), level, option, &value, sizeof(value)) != 0) fail(what, remedy);
}

FileDescriptor open_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) fail("cannot open a UDP socket");
  return socket;
}

void require_multicast(const Endpoint& group) {
  if (group.is_multicast() && group.port != 0) return;
  throw NetError(group.text() +
                 " is not a multicast group: addresses run from 224.0.0.0 to 239.255.255.255");
}

std::string bind_remedy(int error, const Endpoint& group) {
  switch (error) {
    case EADDRINUSE:
      return ": another program has UDP port " + std::to_string(group.port) +
             " without sharing it: stop it (`ss -ulpn` shows it) or configure another port";
    case EACCES:
      return ": ports below 1024 need CAP_NET_BIND_SERVICE: configure a higher one";
    default:
      return {};
  }
}

int granted_buffer(const FileDescriptor& socket, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (::getsockopt(socket.get(), SOL_SOCKET, option, &value, &size) != 0) return 0;
  return value / 2;  // the kernel doubles what is asked for, to account for its own overhead
}

void join(const FileDescriptor& socket, const ReceiverOptions& options) {
  ip_mreqn request{};
  request.imr_multiaddr.s_addr = htonl(options.group.address);
  request.imr_address.s_addr = htonl(parse_address(options.interface, "interface"));
  const std::string what = "cannot join " + options.group.text() + " on " + options.interface;
  if (options.source_address == 0) {
    set_option(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, request, what, kNoInterface);
  } else {
    ip_mreq_source of_source{};
    of_source.imr_multiaddr = request.imr_multiaddr;
    of_source.imr_interface = request.imr_address;
    of_source.imr_sourceaddr.s_addr = htonl(options.source_address);
    set_option(socket, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, of_source, what, kNoInterface);
  }
  // Without it Linux delivers every group that any program of this host joined on this port.
  set_option(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0, what);
}

// Not shared (no SO_REUSEADDR): while we have the port, no other program of this host can send as
// us.
void bind_source(const FileDescriptor& socket, const Endpoint& source) {
  const sockaddr_in address = source.to_sockaddr();
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return;
  const int error = errno;
  const std::string remedy =
      error == EADDRNOTAVAIL ? std::string(": ") + kNoInterface : bind_remedy(error, source);
  throw NetError("cannot send from " + source.text() + ": " + std::strerror(error) + remedy);
}

}  // namespace

UdpMulticastReceiver::UdpMulticastReceiver(const ReceiverOptions& options)
    : line_(line_factory() != nullptr ? line_factory()->receiver(options.group) : nullptr),
      socket_(line_ != nullptr ? FileDescriptor() : open_socket()) {
  require_multicast(options.group);
  if (line_ != nullptr) {
    receive_buffer_bytes_ = options.receive_buffer_bytes;
    return;
  }
  if (options.shared_port) {
    set_option(socket_, SOL_SOCKET, SO_REUSEADDR, 1, "cannot share UDP port");
  }
  const sockaddr_in address = options.group.to_sockaddr();
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    throw NetError("cannot bind " + options.group.text() + ": " + std::strerror(error) +
                   bind_remedy(error, options.group));
  }
  set_option(socket_, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes,
             "cannot set the receive buffer");
  receive_buffer_bytes_ = granted_buffer(socket_, SO_RCVBUF);
  set_option(socket_, SOL_SOCKET, SO_RXQ_OVFL, 1, "cannot count dropped datagrams");
  if (options.kernel_timestamps) {
    set_option(socket_, SOL_SOCKET, SO_TIMESTAMPNS, 1, "cannot have kernel timestamps");
  }
  if (options.busy_poll_us > 0) {
    set_option(socket_, SOL_SOCKET, SO_BUSY_POLL, options.busy_poll_us, "cannot busy-poll",
               "it takes CAP_NET_ADMIN to raise it: leave it 0");
  }
  join(socket_, options);
}

UdpMulticastSender::UdpMulticastSender(const SenderOptions& options)
    : line_(line_factory() != nullptr ? line_factory()->sender(options.group) : nullptr),
      socket_(line_ != nullptr ? FileDescriptor() : open_socket()) {
  require_multicast(options.group);
  if (line_ != nullptr) return;
  ip_mreqn interface {};
  interface.imr_address.s_addr = htonl(parse_address(options.interface, "interface"));
  set_option(socket_, IPPROTO_IP, IP_MULTICAST_IF, interface,
             "cannot send multicast from " + options.interface, kNoInterface);
  set_option(socket_, IPPROTO_IP, IP_MULTICAST_TTL, options.ttl, "cannot set the multicast TTL");
  set_option(socket_, IPPROTO_IP, IP_MULTICAST_LOOP, options.loop ? 1 : 0,
             "cannot set multicast loop");
  set_option(socket_, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes,
             "cannot set the send buffer");
  if (options.source.port != 0) bind_source(socket_, options.source);
  // Connected: the kernel looks the route up once, not for each packet.
  const sockaddr_in address = options.group.to_sockaddr();
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail("cannot send to " + options.group.text() + " from " + options.interface);
  }
}

std::uint64_t sender_key(const Endpoint& sender) noexcept {
  return ReceiveBatch::key_of(sender.to_sockaddr());
}

Endpoint sender_of(std::uint64_t key) noexcept {
  sockaddr_in address{};
  std::memcpy(&address, &key, sizeof(key));
  return {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
}

ReceiveBatch::ReceiveBatch(std::size_t capacity, std::size_t datagram_bytes)
    : datagram_bytes_(datagram_bytes) {
  // 1024 is what one recvmmsg takes (UIO_MAXIOV).
  TICKPATH_CHECK(capacity >= 1 && capacity <= 1024, "a batch has 1 to 1024 datagrams");
  buffers_.resize(capacity * datagram_bytes);
  controls_.resize(capacity);
  vectors_.resize(capacity);
  headers_.resize(capacity);
  filled_ = capacity;
  senders_.resize(capacity);
  datagrams_.resize(capacity);
  for (std::size_t i = 0; i < capacity; ++i) {
    vectors_[i] = {buffers_.data() + i * datagram_bytes, datagram_bytes};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_iov = &vectors_[i];
    header.msg_iovlen = 1;
    header.msg_name = &senders_[i];
    header.msg_control = controls_[i].bytes.data();
  }
}

}  // namespace tickpath::net
