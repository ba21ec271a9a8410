#include "strategy/config.hpp"

#include <array>

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
  schema.place(&P::place);
  return schema;
}

config::Schema<EngineOptions> engine_schema() {
  using E = EngineOptions;
  config::Schema<E> schema;
  schema.flag("feed.cancel_when_stale", &E::cancel_when_feed_stale,
              "Cancel every resting order when mdh dies or calls its feed stale, and those in one "
              "instrument when its book alone is stale");
  schema.integer("instruments_max", &E::instruments_max, {1, 65'536}, "instruments",
                 "Room in the tables; at least mdh's");
  schema.integer("orders_max", &E::orders_max, {1, 1 << 20}, "orders",
                 "Open at one time, for each plugin");
  schema.integer("timers_max", &E::timers_max, {0, 65'536}, "timers",
                 "Set at one time, by all plugins");
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
  if (config.gateway_standby_endpoint == config.gateway_endpoint)
    problems.add("gateway.standby_endpoint",
                 "it is gateway.endpoint; the two oegs of a pair listen at different places");
  if (!any) problems.add("plugin", "no [[plugin]] is enabled; a strategy program needs one");
}

}  // namespace

config::Schema<StrategyConfig> strategy_schema() {
  using C = StrategyConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  schema.include("feed", &C::feed, market::feed_schema());
  schema.text("gateway.endpoint", &C::gateway_endpoint, "Where oeg listens");
  schema.text("gateway.standby_endpoint", &C::gateway_standby_endpoint,
              "Where the other oeg of a pair listens: the strategies go with the one that leads; "
              "empty: there is none");
  schema
      .integer("gateway.depth", &C::gateway_depth, {8, 1 << 14}, "messages",
               "Reports that oeg may send ahead, for each plugin")
      .power_of_two();
  schema.include("", &C::engine, engine_schema());
  schema.include("heartbeat", &C::heartbeat, market::heartbeat_schema());
  schema.path("plugin_dir", &C::plugin_dir, "Where relative plugin files are looked for first");
  schema.tables("plugin", &C::plugins, plugin_schema(), {1, kInstancesMax},
                "The strategies that this program runs");
  schema.check(check);
  return schema;
}

}  // namespace tickpath::strategy
