#include "common/net/socket_owner.hpp"

#include <charconv>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>

#include <arpa/inet.h>

namespace tickpath::net {
namespace {

constexpr unsigned kListen = 0x0a;  // TCP_LISTEN of Linux's <net/tcp_states.h>

struct Row {
  Endpoint local, remote;
  unsigned state = 0;
  uid_t user = 0;
  unsigned long inode = 0;  // 0: no program holds it (any more, or yet)
};

bool parse_hex(std::string_view text, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

// Linux, proc_net_tcp.txt: "0100007F:1F90", the address as a number of this host whose bytes are in
// network order. /proc/net/tcp6 has four of those; an IPv4 address there is the last of
// ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), and :: is every address of both families.
bool parse_endpoint_of_row(std::string_view text, Endpoint& endpoint) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || (colon != 8 && colon != 32)) return false;
  if (colon == 32 && text.substr(0, 24) != "0000000000000000FFFF0000" &&
      text.substr(0, 32).find_first_not_of('0') != std::string_view::npos)
    return false;
  std::uint32_t address = 0, port = 0;
  if (!parse_hex(text.substr(colon - 8, 8), address) || !parse_hex(text.substr(colon + 1), port))
    return false;
  endpoint = {ntohl(address), static_cast<std::uint16_t>(port)};
  return true;
}

// "sl local remote st tx:rx tr:when retransmits uid timeout inode ..."
bool parse_row(const std::string& line, Row& row) {
  std::istringstream words(line);
  std::string number, local, remote, skipped;
  words >> number >> local >> remote >> std::hex >> row.state >> std::dec;
  for (int i = 0; i < 3; ++i) words >> skipped;
  words >> row.user >> skipped >> row.inode;
  return words && parse_endpoint_of_row(local, row.local) &&
         parse_endpoint_of_row(remote, row.remote);
}

std::optional<uid_t> find(const std::function<bool(const Row&)>& wanted) {
  // The list is not read in one piece: while others come and go a row may be missed.
  for (int attempt = 0; attempt < 2; ++attempt)
    for (const char* const path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream file(path);
      Row row;
      for (std::string line; std::getline(file, line);)
        if (parse_row(line, row) && row.inode != 0 && wanted(row)) return row.user;
    }
  return {};
}

}  // namespace

std::optional<uid_t> socket_owner(const Endpoint& local, const Endpoint& remote) {
  return find([&](const Row& row) { return row.local == local && row.remote == remote; });
}

std::optional<uid_t> listener_owner(const Endpoint& endpoint) {
  return find([&](const Row& row) {
    return row.state == kListen && row.local.port == endpoint.port &&
           (row.local.address == endpoint.address || row.local.address == INADDR_ANY);
  });
}

}  // namespace tickpath::net
