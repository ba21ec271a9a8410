// The configuration of strategy; config/demo/strategy.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"
#include "strategy/engine.hpp"

namespace tickpath::strategy {

// One [[plugin]].
struct PluginConfig : PluginSpec {
  std::string file;
  bool enabled = true;
};

struct StrategyConfig {
  control::CommonConfig common;

  market::FeedConfig feed;

  std::string gateway_endpoint = "{run_dir}/oeg.fabric";
  std::string gateway_standby_endpoint;
  std::uint32_t gateway_depth = 1024;

  market::HeartbeatConfig heartbeat;

  EngineOptions engine;

  std::string plugin_dir;
  std::vector<PluginConfig> plugins;
};

config::Schema<StrategyConfig> strategy_schema();

}  // namespace tickpath::strategy
