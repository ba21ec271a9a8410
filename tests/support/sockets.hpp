// The two ends of a stream, in place of a network.
#pragma once

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "common/base/error.hpp"

namespace tickpath::test_support {

// Whoever takes an end closes it.
inline std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0)
    throw SystemError("socketpair", errno);
  return ends;
}

}  // namespace tickpath::test_support
