#include "strategy/on_demand_connection.hpp"

#include <utility>

#include "common/link/handshake.hpp"

namespace tickpath::strategy {

bool OnDemandConnection::maintain(std::uint64_t now_ns) {
  connections_.collect();
  if (!wanted_.load(std::memory_order_relaxed)) return false;
  const bool made = reconnect_.step(now_ns, [this] {
    if (!connections_.connecting())
      connections_.start_connect(endpoint_, link::bytes_of(hello_), {}, 0, "mdh");
    return connections_.poll_connect().has_value();
  });
  if (made || !reconnect_.error().empty()) refused_.store(!made, std::memory_order_relaxed);
  return made;
}

std::unique_ptr<link::Connection> OnDemandConnection::connect(std::uint32_t timeout_ms) const {
  return link::connect_tables(device_, endpoint_, link::bytes_of(hello_), {}, timeout_ms, "mdh")
      .connection;
}

OnDemandConnection::State OnDemandConnection::look() noexcept {
  wanted_.store(true, std::memory_order_relaxed);
  if (connection_ != nullptr) {
    if (!connection_->connection->failed()) return State::kUp;
    connections_.give_back(std::exchange(connection_, nullptr));
    reconnect_.mark_down();
    return State::kLost;
  }
  connection_ = connections_.take();
  return connection_ == nullptr ? State::kNone : State::kNew;
}

}  // namespace tickpath::strategy
