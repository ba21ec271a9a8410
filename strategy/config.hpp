// The configuration of strategy; config/demo/strategy.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"

namespace tickpath::strategy {

// One [[plugin]].
struct PluginConfig {
  std::uint8_t id = 0;
  std::string name;
  std::string file;
  bool enabled = true;
  config::Parameters parameters;
  std::string place;  // of its [[plugin]]: "config/demo/strategy.toml:40:1"
};

struct StrategyConfig {
  control::CommonConfig common;

  market::FeedConfig feed;
  bool feed_cancel_when_stale = true;

  std::string gateway_endpoint = "{run_dir}/oeg.fabric";
  std::uint32_t gateway_depth = 1024;

  market::HeartbeatConfig heartbeat;

  std::uint32_t instruments_max = 16'384;
  std::uint32_t orders_max = 4'096;
  std::uint32_t timers_max = 256;

  std::string plugin_dir;
  std::vector<PluginConfig> plugins;
};

config::Schema<StrategyConfig> strategy_schema();

}  // namespace tickpath::strategy
