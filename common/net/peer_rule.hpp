// Which peers may be at the other end of a TCP connection, where no key proves it. The rule is by
// address, and on this host by the user whose program it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/net/endpoint.hpp"

namespace tickpath::net {

class PeerRule {
 public:
  // Takes everybody.
  PeerRule() = default;
  // addresses: "10.77.0.2" or "10.77.0.0/24" each; none: any. users: names or numbers of those who
  // may connect within this host, "any" among them: no matter who; none: our own user alone. `key`
  // is in whose configuration both are, for the texts. Throws NetError.
  PeerRule(const std::vector<std::string>& addresses, const std::vector<std::string>& users,
           std::string key);

  bool takes_address(std::uint32_t address) const noexcept;

  // Why the peer of a connected socket is not taken; empty: it is. Control threads.
  // The peer has connected to us.
  std::string refusal_of_client(int socket) const;
  // We have connected to the peer: the user is the one who listens there. (Our connection itself
  // has no owner before it is accepted.)
  std::string refusal_of_server(int socket) const;

 private:
  struct Range {
    std::uint32_t address;
    std::uint32_t mask;
  };
  struct Ends {
    Endpoint ours, peers;
    bool internet = false;
  };
  static Ends ends(int socket) noexcept;
  static Range parse_range(const std::string& text, const std::string& key);
  static uid_t parse_user(const std::string& text, const std::string& key);
  template <class Owner>
  std::string refusal(const Ends& ends, Owner&& owner) const;

  std::vector<Range> addresses_;
  std::vector<uid_t> users_;
  bool any_user_ = true;
  std::string key_;
};

}  // namespace tickpath::net
