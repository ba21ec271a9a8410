#include "common/net/socket_owner.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/net/file_descriptor.hpp"

namespace tickpath::net {
namespace {

constexpr unsigned kListen = 0x0a;  // TCP_LISTEN of Linux's <net/tcp_states.h>

// ---- one socket, by sock_diag(7)

struct Request {
  nlmsghdr header{};
  inet_diag_req_v2 wanted{};
};
struct Answer {
  nlmsghdr header;
  union {
    nlmsgerr error;
    inet_diag_msg socket;
  };
  std::array<char, 512> attributes;  // behind either, of no interest
};
enum class Asked : std::uint8_t { kFound, kNoEntry, kNone, kCannotSay };

Request request_for(const Endpoint& local, const Endpoint& remote) {
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  // Sockets of IPv6 that talk IPv4 are found as well.
  request.wanted.sdiag_family = AF_INET;
  request.wanted.sdiag_protocol = IPPROTO_TCP;
  request.wanted.idiag_states = ~0u;
  inet_diag_sockid& id = request.wanted.id;
  id.idiag_src[0] = htonl(local.address);
  id.idiag_sport = htons(local.port);
  id.idiag_dst[0] = htonl(remote.address);
  id.idiag_dport = htons(remote.port);
  id.idiag_cookie[0] = id.idiag_cookie[1] = static_cast<std::uint32_t>(INET_DIAG_NOCOOKIE);
  return request;
}

// What is connected so, or listens where `remote` is nowhere.
Asked ask_kernel(const Endpoint& local, const Endpoint& remote, inet_diag_msg& found) {
  const FileDescriptor kernel(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const Request request = request_for(local, remote);
  if (kernel.get() < 0 ||
      ::send(kernel.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request))
    return Asked::kCannotSay;
  Answer answer;
  // The answer is there when send() returns.
  const ssize_t got = ::recv(kernel.get(), &answer, sizeof answer, MSG_DONTWAIT);
  const auto holds = [&](std::size_t payload) {
    return got >= static_cast<ssize_t>(offsetof(Answer, error) + payload);
  };
  if (holds(sizeof answer.socket) && answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
    found = answer.socket;
    return Asked::kFound;
  }
  const bool none = holds(sizeof answer.error) && answer.header.nlmsg_type == NLMSG_ERROR &&
                    answer.error.error == -ENOENT;
  return none ? Asked::kNoEntry : Asked::kCannotSay;
}

// A kernel whose module tcp_diag is not there answers as if there were no such socket (ENOENT for
// both): it is asked once for one that there is.
bool knows_tcp() {
  static const bool knows = [] {
    const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    inet_diag_msg found;
    return ::bind(listener.get(), general, sizeof address) == 0 &&
           ::listen(listener.get(), 1) == 0 &&
           ::getsockname(listener.get(), general, &length) == 0 &&
           ask_kernel({INADDR_LOOPBACK, ntohs(address.sin_port)}, {}, found) == Asked::kFound;
  }();
  return knows;
}

Asked ask(const Endpoint& local, const Endpoint& remote, inet_diag_msg& found) {
  const Asked asked = ask_kernel(local, remote, found);
  if (asked != Asked::kNoEntry) return asked;
  return knows_tcp() ? Asked::kNone : Asked::kCannotSay;
}

// ---- all sockets, by /proc/net/tcp

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

std::optional<uid_t> find_listed(const std::function<bool(const Row&)>& wanted) {
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

std::optional<uid_t> listed_socket_owner(const Endpoint& local, const Endpoint& remote) {
  return find_listed([&](const Row& row) { return row.local == local && row.remote == remote; });
}

std::optional<uid_t> listed_listener_owner(const Endpoint& endpoint) {
  return find_listed([&](const Row& row) {
    return row.state == kListen && row.local.port == endpoint.port &&
           (row.local.address == endpoint.address || row.local.address == INADDR_ANY);
  });
}

std::optional<uid_t> socket_owner(const Endpoint& local, const Endpoint& remote) {
  inet_diag_msg found;
  const Asked asked = ask(local, remote, found);
  if (asked == Asked::kCannotSay) return listed_socket_owner(local, remote);
  // A listener is what is found where nothing is connected.
  if (asked == Asked::kNone || found.idiag_state == kListen || found.idiag_inode == 0) return {};
  return found.idiag_uid;
}

std::optional<uid_t> listener_owner(const Endpoint& endpoint) {
  inet_diag_msg found;
  const Asked asked = ask(endpoint, {}, found);
  if (asked == Asked::kCannotSay) return listed_listener_owner(endpoint);
  if (asked == Asked::kNone || found.idiag_state != kListen || found.idiag_inode == 0) return {};
  return found.idiag_uid;
}

}  // namespace tickpath::net
