#include "common/net/peer_rule.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/socket_owner.hpp"

namespace tickpath::net {
namespace {

// 127.0.0.0/8 (RFC 6890, 2.2.2).
constexpr bool is_loopback(std::uint32_t address) { return address >> 24 == 127; }

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

PeerRule::PeerRule(const std::vector<std::string>& addresses, const std::vector<std::string>& users,
                   std::string key)
    : any_user_(std::ranges::find(users, "any") != users.end()), key_(std::move(key)) {
  for (const std::string& text : addresses) addresses_.push_back(parse_range(text, key_));
  for (const std::string& text : users)
    if (text != "any") users_.push_back(parse_user(text, key_));
  if (users.empty()) users_.push_back(::geteuid());
}

PeerRule::Range PeerRule::parse_range(const std::string& text, const std::string& key) {
  const std::size_t slash = text.find('/');
  unsigned bits = 32;
  if (slash != std::string::npos &&
      (!parse_whole(std::string_view(text).substr(slash + 1), bits) || bits > 32))
    throw NetError("\"" + text + "\" in " + key + ".peers: 0 to 32 bits are wanted behind the /");
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return {parse_address(text.substr(0, slash), key + ".peers") & mask, mask};
}

uid_t PeerRule::parse_user(const std::string& text, const std::string& key) {
  uid_t number = 0;
  if (parse_whole(text, number)) return number;
  const passwd* const entry = ::getpwnam(text.c_str());
  if (entry == nullptr)
    throw NetError("\"" + text + "\" in " + key +
                   ".users is no user of this host: a name, a number, or \"any\" is wanted");
  return entry->pw_uid;
}

bool PeerRule::takes_address(std::uint32_t address) const noexcept {
  return addresses_.empty() || std::ranges::any_of(addresses_, [address](const Range& range) {
           return (address & range.mask) == range.address;
         });
}

PeerRule::Ends PeerRule::ends(int socket) noexcept {
  sockaddr_in ours{}, peers{};
  socklen_t ours_bytes = sizeof ours, peers_bytes = sizeof peers;
  Ends result;
  result.internet = ::getsockname(socket, reinterpret_cast<sockaddr*>(&ours), &ours_bytes) == 0 &&
                    ::getpeername(socket, reinterpret_cast<sockaddr*>(&peers), &peers_bytes) == 0 &&
                    ours.sin_family == AF_INET && peers.sin_family == AF_INET;
  result.ours = {ntohl(ours.sin_addr.s_addr), ntohs(ours.sin_port)};
  result.peers = {ntohl(peers.sin_addr.s_addr), ntohs(peers.sin_port)};
  return result;
}

template <class Owner>
std::string PeerRule::refusal(const Ends& ends, Owner&& owner) const {
  if (any_user_ && addresses_.empty()) return {};
  if (!ends.internet) return "its address is not known";
  if (!takes_address(ends.peers.address)) return "its address is not one of " + key_ + ".peers";
  // Only of this host is it known who is who.
  const bool here = is_loopback(ends.peers.address) || ends.peers.address == ends.ours.address;
  if (any_user_ || !here) return {};
  const std::optional<uid_t> user = owner();
  if (!user)
    return "whose program it is cannot be found (" + key_ + ".users = [\"any\"] takes all)";
  if (std::ranges::find(users_, *user) != users_.end()) return {};
  return "it is a program of user " + std::to_string(*user) + ", not of one of " + key_ +
         ".users (none given: of our own, " + std::to_string(::geteuid()) + ")";
}

std::string PeerRule::refusal_of_client(int socket) const {
  const Ends both = ends(socket);
  return refusal(both, [&] { return socket_owner(both.peers, both.ours); });
}

std::string PeerRule::refusal_of_server(int socket) const {
  const Ends both = ends(socket);
  return refusal(both, [&] { return listener_owner(both.peers); });
}

}  // namespace tickpath::net
