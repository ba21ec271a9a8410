// The connection to the other one of a pair, and its heartbeat. A leader has that of its standby,
// a standby that of its leader. Datapath thread.
#pragma once

#include <cstdint>
#include <utility>

#include "common/link/bare_connections.hpp"
#include "common/link/heartbeat.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {

class PairPeer {
 public:
  // Control thread. Throws rdma::SetupError.
  PairPeer(rdma::Device& device, link::BareConnections& connections,
           link::HeartbeatOptions heartbeat)
      : connections_(connections), watch_(device, quick(heartbeat), "oeg.peer_heartbeat") {}

  bool is_there() const noexcept { return connection_ != nullptr; }
  // is_there().
  link::Connection& connection() const noexcept { return *connection_->connection; }
  bool has_failed() const noexcept { return connection().failed(); }
  bool is_dead(std::uint64_t now_ns) noexcept {
    return watch_.evaluate(now_ns) == link::Liveness::kDead;
  }
  bool is_alive() const noexcept { return watch_.state() == link::Liveness::kAlive; }

  // The one before is dropped.
  void take(link::BareConnection& connection) noexcept {
    drop();
    connection_ = &connection;
  }
  void watch(const rdma::RemoteRegion& heartbeat, std::uint64_t now_ns) noexcept {
    watch_.attach(connection(), heartbeat, now_ns);
  }
  void drop() noexcept { give_back(connection_); }
  void lose() noexcept {
    watch_.detach(true);
    drop();
  }

  // The leader is given up, for this one leads. Its connection stays for the control thread, which
  // uses it until recovered().
  void depose() noexcept {
    watch_.detach(true);
    former_ = std::exchange(connection_, nullptr);
  }
  // Control thread, from depose() to drop_former(). nullptr: there is none.
  link::Connection* former() const noexcept {
    return former_ == nullptr ? nullptr : former_->connection.get();
  }
  void drop_former() noexcept { give_back(former_); }

 private:
  // The other one is looked at ten times as often as any other peer: what its death costs begins
  // with that.
  static link::HeartbeatOptions quick(link::HeartbeatOptions options) noexcept {
    options.interval_ns /= 10;
    options.by_life = true;
    return options;
  }
  void give_back(link::BareConnection*& connection) noexcept {
    if (connection != nullptr) connections_.give_back(std::exchange(connection, nullptr));
  }

  link::BareConnections& connections_;
  link::BareConnection* connection_ = nullptr;
  link::BareConnection* former_ = nullptr;
  link::HeartbeatMonitor watch_;
};

}  // namespace tickpath::oeg
