// Makes the TCP connection to the exchange, again and again until stopped. Control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/config/values.hpp"
#include "common/control/runtime.hpp"
#include "common/net/peer_rule.hpp"
#include "oeg/backoff.hpp"

namespace tickpath::oeg {

class VenueConnector {
 public:
  // venue: who may listen there. use(socket): a connected socket, now the callee's; false: it has
  // no use for it (it is closed). After a failure to connect it pauses for `pause_ns`; after a
  // connection that ended before the logon twice as long each time, up to `pause_max_ns`.
  VenueConnector(control::Runtime& runtime, config::Address address, net::PeerRule venue,
                 std::int64_t pause_ns, std::int64_t pause_max_ns,
                 std::function<bool(int socket)> use);
  ~VenueConnector();
  VenueConnector(const VenueConnector&) = delete;
  VenueConnector& operator=(const VenueConnector&) = delete;

  // Every tick: starts or continues an attempt. `wanted`: there is no connection; `logons`: how
  // often the venue has answered a Logon. A count, since a session may be shorter than a tick.
  void tick(bool wanted, std::uint64_t logons);
  // When the next attempt may start, on clock::monotonic_ns().
  std::int64_t next_try_ns() const noexcept { return next_try_ns_; }
  // Why the last attempt failed; empty after a success.
  const std::string& last_error() const noexcept { return last_error_; }

 private:
  struct Resolver;

  void start();
  void resolve();
  void connect_to(std::uint32_t address);  // IPv4, host byte order
  void check();
  void fail(const std::string& why);

  control::Runtime& runtime_;
  config::Address address_;
  net::PeerRule venue_;
  std::int64_t pause_ns_;
  Backoff logon_pauses_;
  std::function<bool(int)> use_;
  std::unique_ptr<Resolver> resolver_;
  bool resolving_ = false;
  int socket_ = -1;
  std::int64_t started_ns_ = 0;
  std::uint64_t logons_ = 0;  // seen so far
  std::int64_t connected_ns_ = 0;
  std::int64_t next_try_ns_ = 0;
  std::string last_error_;
  std::string logged_error_;
};

}  // namespace tickpath::oeg
