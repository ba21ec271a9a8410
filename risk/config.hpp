// The configuration of risk; config/demo/risk.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"
#include "common/market/venue_config.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

// One [[strategy]]: what differs from [limits]. Below 0: as there.
struct OwnLimits {
  std::uint8_t id = 0;
  StrategyLimits limits{-1, -1, -1, -1, -1, -1, -1};
};

struct RiskConfig {
  control::CommonConfig common;

  market::FeedConfig feed;
  std::string gateway_endpoint = "{run_dir}/oeg.fabric";
  std::string gateway_standby_endpoint;
  std::uint32_t gateway_ring_slots = 1u << 14;
  std::int64_t reconcile_interval_ns = 500'000'000;

  // None: feed and gateway are the one venue.
  std::vector<market::VenueConfig> venues;

  market::HeartbeatConfig heartbeat;
  std::string kills_file = "{run_dir}/{name}.kills";

  bool witness_enabled = false;
  std::string witness_file = "{run_dir}/{name}.witness";

  MonitorOptions monitor;
  std::vector<OwnLimits> strategies;
};

config::Schema<RiskConfig> risk_schema();
// What is allowed and seldom meant.
std::vector<std::string> advice(const RiskConfig& config);

MonitorOptions monitor_options(const RiskConfig& config);

// The configuration of every venue: those of `venues`, with their numbers, or the one of feed and
// gateway.
std::vector<market::VenueConfig> venues_of(const RiskConfig& config);

// The limits of one strategy: [limits] with its own [[strategy]] laid over.
StrategyLimits strategy_limits(const RiskConfig& config, std::uint8_t strategy);

}  // namespace tickpath::risk
