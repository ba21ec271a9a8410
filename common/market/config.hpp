// The keys that every reader of mdh has. Each includes them under its own section:
// `schema.include("feed", &Config::feed, market::feed_schema());`.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/link/heartbeat.hpp"

namespace tickpath::market {

// Where the market data comes from. Keys: endpoint, endpoint_b, ring_slots.
struct FeedConfig {
  std::string endpoint = "{run_dir}/mdh.fabric";
  std::string endpoint_b = {};  // of the other mdh of a pair; empty: there is one
  std::uint32_t ring_slots = 1u << 16;
};
config::Schema<FeedConfig> feed_schema();

// Checks the endpoints of a program with channels to oeg. Keys: gateway.{endpoint,
// standby_endpoint}.
void check_gateways(const std::string& endpoint, const std::string& standby_endpoint,
                    config::Problems& problems);

// How a program judges the life of those it depends on. Keys: interval, suspect_after, dead_after.
struct HeartbeatConfig {
  std::int64_t interval_ns = 1'000'000;
  std::int64_t suspect_after_ns = 20'000'000;
  std::int64_t dead_after_ns = 35'000'000;  // see link::HeartbeatOptions

  link::HeartbeatOptions options() const noexcept {
    return {static_cast<std::uint64_t>(interval_ns), static_cast<std::uint64_t>(suspect_after_ns),
            static_cast<std::uint64_t>(dead_after_ns)};
  }
};
config::Schema<HeartbeatConfig> heartbeat_schema();

}  // namespace tickpath::market
