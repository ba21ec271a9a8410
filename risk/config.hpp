// The configuration of risk; config/demo/risk.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"
#include "common/wire/control_block.hpp"
#include "risk/limits.hpp"
#include "risk/monitor.hpp"

namespace tickpath::risk {

// Money in units of the currency here, in 1/10,000 everywhere else. 0: no such limit.
struct LimitsConfig {
  double loss_max = 0;
  double gross_notional_max = 0;
  double position_value_max = 0;
  std::int64_t position_shares_max = 0;
  std::int64_t open_orders_max = 0;
  std::int64_t requests_per_second_max = 0;
  std::int64_t rejects_per_second_max = 0;
};

// One [[strategy]]: what differs from [limits]. Below 0: as there.
struct StrategyLimitsConfig {
  std::uint8_t id = 0;
  LimitsConfig limits{-1, -1, -1, -1, -1, -1, -1};
};

struct OrderLimitsConfig {
  double order_value_max = 0;
  double position_value_max = 0;
  std::uint32_t order_shares_max = 0;
  std::uint32_t position_shares_max = 0;
  std::uint32_t open_orders_max = 0;
  std::uint32_t messages_per_second_max = 0;
  std::uint32_t collar_basis_points = 0;
};

struct RiskConfig {
  control::CommonConfig common;

  market::FeedConfig feed;
  std::string gateway_endpoint = "{run_dir}/oeg.fabric";
  std::uint32_t gateway_ring_slots = 1u << 14;
  std::int64_t reconcile_interval_ns = 500'000'000;

  market::HeartbeatConfig heartbeat;
  std::string kills_file = "{run_dir}/{name}.kills";
  bool kills_cancel_orders = true;

  std::uint32_t instruments_max = 16'384;
  std::uint32_t strategies_max = 16;
  std::uint32_t rows_max = 65'536;
  std::uint32_t orders_max = 65'536;

  OrderLimitsConfig order_limits;
  LimitsConfig limits;
  double total_loss_max = 0;
  double total_gross_notional_max = 0;
  std::vector<StrategyLimitsConfig> strategies;
};

config::Schema<RiskConfig> risk_schema();

// The limits of one strategy: [limits] with its own [[strategy]] laid over.
StrategyLimits strategy_limits(const RiskConfig& config, std::uint8_t strategy);
MonitorOptions monitor_options(const RiskConfig& config);

}  // namespace tickpath::risk
