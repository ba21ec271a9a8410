// The keys of [latency] and of the order sessions' rate limit.
#pragma once

#include <cstdint>

#include "common/config/config.hpp"
#include "sim/latency/latency_model.hpp"
#include "sim/latency/rate_window.hpp"
#include "sim/latency/session_delay.hpp"

namespace tickpath::sim {

struct LatencyConfig {
  LatencyOptions market_data;  // from the match to the feed lines, each packet
  LatencyOptions order_entry;  // from the socket to the session, each message
  LatencyOptions reports;      // from the session to the socket
  std::uint64_t seed = 1;
};

// Keys: market_data, order_entry and reports, each {model, delay, spread, sigma, limit, file};
// seed.
config::Schema<LatencyConfig> latency_schema();
// Keys: rate_limit, rate_interval, rate_rule.
config::Schema<RateLimit> rate_schema();

// The options of session number `session`: each draws by itself.
SessionDelayOptions session_delay_options(const LatencyConfig& latency, const RateLimit& rate,
                                          std::size_t session);

}  // namespace tickpath::sim
