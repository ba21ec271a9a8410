// The configuration of strategy; config/demo/strategy.toml shows it in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/market/config.hpp"
#include "common/market/venue_config.hpp"
#include "strategy/engine.hpp"

namespace tickpath::strategy {

// One [[plugin]].
struct PluginConfig : PluginSpec {
  std::string file;
  bool enabled = true;
};

// One [[venue]]: mdh and oeg of an exchange of its own, or of one shard of its symbols.
struct VenueConfig {
  std::string name;         // the same in all shards of a venue
  std::uint8_t number = 0;  // 0: its place among the venues, from 1
  std::string shard = {};   // "k/n"; empty: all symbols
  market::StackEndpoints endpoints;
  double maker_fee = 0;  // 1/10,000 of the currency unit a share
  double taker_fee = 0;
  std::string place = {};  // "config/venues/strategy.toml:20:1"

  VenueSpec spec() const;
  // "first", or of a shard "first 2/4".
  std::string title() const { return shard.empty() ? name : name + " " + shard; }
};

struct StrategyConfig {
  control::CommonConfig common;

  market::FeedConfig feed;

  std::string gateway_endpoint = "{run_dir}/oeg.fabric";
  std::string values_endpoint;  // empty: feed.endpoint, of several venues the first one's
  std::string gateway_standby_endpoint;
  std::uint32_t gateway_depth = 1024;

  // None: feed and gateway are the one venue.
  std::vector<VenueConfig> venues;

  std::uint64_t route_bytes_max = 256ull << 20;

  market::HeartbeatConfig heartbeat;

  EngineOptions engine;

  std::string plugin_dir;
  std::vector<PluginConfig> plugins;
};

config::Schema<StrategyConfig> strategy_schema();

// A stack each: every venue of `venues` with its number, its shards one behind the other in their
// order; or the one of feed and gateway.
std::vector<VenueConfig> stacks_of(const StrategyConfig& config);

}  // namespace tickpath::strategy
