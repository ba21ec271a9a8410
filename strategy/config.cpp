#include "strategy/config.hpp"

#include <array>
#include <bit>

#include "strategy/engine.hpp"

namespace tickpath::strategy {
namespace {

config::Schema<PluginConfig> plugin_schema() {
  using P = PluginConfig;
  config::Schema<P> schema;
  schema
      .integer("id", &P::id, {0, 255}, "",
               "Strategy id: unique in the pipeline; oeg and risk know the strategy by it")
      .required();
  schema.text("name", &P::name, "For logs and status; empty: the plugin's own");
  schema
      .path("file", &P::file,
            "Shared object: absolute, or relative to plugin_dir, to the program's ../ or to the "
            "current directory")
      .required();
  schema.flag("enabled", &P::enabled, "false: as if this [[plugin]] were not here");
  schema.parameters("parameters", &P::parameters, "What the plugin asks for; its source says what");
  return schema;
}

void check(const StrategyConfig& config, config::Problems& problems) {
  std::array<bool, 256> taken{};
  bool any = false;
  for (const PluginConfig& plugin : config.plugins) {
    if (!plugin.enabled) continue;
    any = true;
    if (taken[plugin.id]) {
      problems.add("plugin", "strategy id " + std::to_string(plugin.id) +
                                 " is given to two plugins; each needs an id of its own");
    }
    taken[plugin.id] = true;
  }
  if (!any) problems.add("plugin", "no [[plugin]] is enabled; a strategy program needs one");
  if (!std::has_single_bit(config.feed_ring_slots))
    problems.add("feed.ring_slots", "must be a power of two");
  if (!std::has_single_bit(config.gateway_depth))
    problems.add("gateway.depth", "must be a power of two");
  if (config.heartbeat_suspect_after_ns > config.heartbeat_dead_after_ns)
    problems.add("heartbeat.suspect_after", "must not exceed heartbeat.dead_after");
}

}  // namespace

config::Schema<StrategyConfig> strategy_schema() {
  using C = StrategyConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  schema.text("feed.endpoint", &C::feed_endpoint, "Where mdh listens");
  schema.integer("feed.ring_slots", &C::feed_ring_slots, {64, 1 << 22}, "slots",
                 "Update ring, 64 bytes a slot: what may wait before this program is lapped; a "
                 "power of two");
  schema.flag("feed.cancel_when_stale", &C::feed_cancel_when_stale,
              "Cancel every resting order when mdh dies or calls its feed stale");
  schema.text("gateway.endpoint", &C::gateway_endpoint, "Where oeg listens");
  schema.integer("gateway.depth", &C::gateway_depth, {8, 1 << 14}, "messages",
                 "Reports that oeg may send ahead, for each plugin; a power of two");
  constexpr std::int64_t kMinute = 60'000'000'000;
  schema.duration("heartbeat.interval", &C::heartbeat_interval_ns, {10'000, kMinute},
                  "Between two looks at the heartbeats of mdh and oeg");
  schema.duration("heartbeat.suspect_after", &C::heartbeat_suspect_after_ns, {10'000, kMinute},
                  "Silence after which a peer is suspected");
  schema.duration("heartbeat.dead_after", &C::heartbeat_dead_after_ns, {10'000, kMinute},
                  "Silence after which a peer counts as dead");
  schema.integer("instruments_max", &C::instruments_max, {1, 65'536}, "instruments",
                 "Room in the tables; at least mdh's");
  schema.integer("orders_max", &C::orders_max, {1, 1 << 20}, "orders",
                 "Open at one time, for each plugin");
  schema.integer("timers_max", &C::timers_max, {0, 65'536}, "timers",
                 "Set at one time, by all plugins");
  schema.path("plugin_dir", &C::plugin_dir, "Where relative plugin files are looked for first");
  schema.tables("plugin", &C::plugins, plugin_schema(), {1, kInstancesMax},
                "The strategies that this program runs");
  schema.check(check);
  return schema;
}

}  // namespace tickpath::strategy
