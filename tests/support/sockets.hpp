// The two ends of a stream, in place of a network.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::test_support {

// Whoever takes an end closes it.
inline std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0)
    throw SystemError("socketpair", errno);
  return ends;
}

// The port that a TCP socket of this host is bound to.
inline std::uint16_t port_of(int socket) {
  sockaddr_in at{};
  socklen_t bytes = sizeof at;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &bytes) != 0)
    throw SystemError("getsockname", errno);
  return ntohs(at.sin_port);
}

// To a port of the loopback. Whoever asks for it closes it.
inline int connect_to(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connecting = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(connecting, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw SystemError("connect", errno);
  return connecting;
}

// As socket_pair(), over TCP on the loopback: ends that have addresses. First whoever accepted.
inline std::array<int, 2> tcp_pair() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listener, 1) != 0)
    throw SystemError("a listener on the loopback", errno);
  const int connecting = connect_to(port_of(listener));
  const int accepted = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  return {accepted, connecting};
}

}  // namespace tickpath::test_support
