#include "common/net/endpoint.hpp"

#include <charconv>

#include <arpa/inet.h>

namespace tickpath::net {

sockaddr_in Endpoint::to_sockaddr() const noexcept {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(port);
  return result;
}

std::string Endpoint::text() const {
  const std::uint32_t a = address;
  return std::to_string(a >> 24) + "." + std::to_string(a >> 16 & 0xff) + "." +
         std::to_string(a >> 8 & 0xff) + "." + std::to_string(a & 0xff) + ":" +
         std::to_string(port);
}

std::uint32_t parse_address(std::string_view text, std::string_view what) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) {
    throw NetError("\"" + std::string(text) + "\" is not an IPv4 address for the " +
                   std::string(what) + ": write it as 127.0.0.1");
  }
  return ntohl(address.s_addr);
}

Endpoint parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    throw NetError("\"" + std::string(text) + "\" has no port: write it as 239.1.1.1:26400");
  }
  const std::string_view digits = text.substr(colon + 1);
  Endpoint endpoint;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || endpoint.port == 0) {
    throw NetError("\"" + std::string(text) + "\" has no port from 1 to 65535");
  }
  endpoint.address = parse_address(text.substr(0, colon), "endpoint");
  return endpoint;
}

}  // namespace tickpath::net
