// IPv4 address and port, as configuration files write them: "239.1.1.1:26400".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <netinet/in.h>

#include "common/base/error.hpp"

namespace tickpath::net {

// Sockets and addresses: what failed, the errno text, and what to do.
class NetError : public Error {
 public:
  using Error::Error;
};

struct Endpoint {
  std::uint32_t address = 0;  // host byte order
  std::uint16_t port = 0;

  bool is_multicast() const noexcept { return address >> 28 == 0xe; }  // 224.0.0.0/4 (RFC 5771)
  sockaddr_in to_sockaddr() const noexcept;
  std::string text() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Throws NetError for anything but a dotted address and a port from 1 to 65535.
Endpoint parse_endpoint(std::string_view text);

// A dotted address alone, host byte order. `what` names it in the error.
std::uint32_t parse_address(std::string_view text, std::string_view what);

}  // namespace tickpath::net
