#include "strategy/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "common/control/feed_endpoints.hpp"
#include "strategy/plugin.h"

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
            "Shared object: absolute, or relative to plugin_dir, to the program's ../ or to its "
            "../lib/tickpath")
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
                 "Set at one time, by each plugin");
  return schema;
}

config::Schema<VenueConfig> venue_schema() {
  using V = VenueConfig;
  constexpr double kFeeMax = 10'000;  // a currency unit a share
  config::Schema<V> schema;
  schema.text("name", &V::name, "As plugins, logs and reports name it").required();
  schema.integer(
      "number", &V::number, {0, 255}, "",
      "Of its ticks in traces: `venue_number` in the files of its mdh and sim; 0: its place "
      "in the list, from 1");
  schema.text(
      "shard", &V::shard,
      "Which symbols of the venue these mdh and oeg have, as their feed.shard and mdh.shard: "
      "\"2/4\" is the second of four. There is a [[venue]] of the same name for each; to "
      "plugins they are one venue. Empty: all");
  schema.include("", &V::endpoints, market::stack_endpoints_schema());
  schema.real("fees.maker", &V::maker_fee, {-kFeeMax, kFeeMax}, "1/10,000 a share",
              "What it takes for a share that rested; below zero: what it pays");
  schema.real("fees.taker", &V::taker_fee, {-kFeeMax, kFeeMax}, "1/10,000 a share",
              "What it takes for a share that traded on arrival; below zero: what it pays");
  schema.place(&V::place);
  return schema;
}

// The endpoints of a configuration without [[venue]].
market::StackEndpoints only_stack(const StrategyConfig& config) {
  return {config.feed.endpoint, config.feed.endpoint_b, config.gateway_endpoint,
          config.gateway_standby_endpoint};
}

// [[venue]] of one name are the shards of one venue: each once, all of the same count, alike in
// what is the venue's.
void check_shards(const std::vector<VenueConfig>& venues, config::Problems& problems) {
  std::map<std::string, std::vector<const VenueConfig*>> by_name;
  for (const VenueConfig& venue : venues) {
    control::check_shard("venue.shard", venue.shard, problems);
    by_name[venue.name].push_back(&venue);
  }
  for (const auto& [name, shards] : by_name) {
    const VenueConfig& first = *shards.front();
    const unsigned count = control::shard_of(first.shard).count;
    std::set<unsigned> missing;
    for (unsigned number = 1; number <= count; ++number) missing.insert(number);
    for (const VenueConfig* each : shards) {
      const wire::Shard shard = control::shard_of(each->shard);
      if (shard.count != count)
        problems.add("venue.shard", first.title() + " and " + each->title() +
                                        " do not fit together: all shards of a venue are of the "
                                        "same number of shards");
      else if (missing.erase(shard.number) == 0)
        problems.add("venue.name",
                     "\"" + each->title() + "\" is given to two venues" +
                         (count == 1 ? "; the shards of one venue have a `shard` each" : ""));
      const bool alike = each->number == first.number && each->maker_fee == first.maker_fee &&
                         each->taker_fee == first.taker_fee;
      if (!alike && count > 1)
        problems.add("venue", each->title() + " has another number or other fees than " +
                                  first.title() + ", and is a shard of the same venue");
    }
    for (const unsigned number : missing)
      problems.add("venue.shard", "there is " + first.title() + " and no shard " +
                                      std::to_string(number) + "/" + std::to_string(count) +
                                      ": nobody would have its symbols. Add a [[venue]] for it");
  }
}

void check_venues(const StrategyConfig& config, config::Problems& problems) {
  if (config.venues.empty()) return;
  market::check_unused(only_stack(config), only_stack({}), problems);
  if (config.common.venue != 0)
    problems.add("venue_number",
                 "is of a configuration without [[venue]]; write it in the [[venue]]");
  check_shards(config.venues, problems);
  std::map<int, std::string> numbers;            // and whose they are
  std::map<std::string, std::string> endpoints;  // likewise
  for (const VenueConfig& venue : stacks_of(config)) {
    if (venue.name.empty()) problems.add("venue.name", "is empty at " + venue.place);
    market::check_given(venue.endpoints, venue.place, problems);
    if (numbers.emplace(venue.number, venue.name).first->second != venue.name)
      problems.add("venue.number", std::to_string(venue.number) + " is given to two venues");
    for (const std::string& endpoint : venue.endpoints.all()) {
      const std::string whose = venue.title();
      const auto [other, fresh] = endpoints.emplace(endpoint, whose);
      if (!fresh && !endpoint.empty())
        problems.add("venue", endpoint + " is in " + other->second + " and again in " + whose +
                                  "; each mdh and oeg listens at a place of its own");
    }
  }
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
  market::check_gateways(config.gateway_endpoint, config.gateway_standby_endpoint, problems);
  if (!any) problems.add("plugin", "no [[plugin]] is enabled; a strategy program needs one");
  check_venues(config, problems);
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
  schema.tables(
      "venue", &C::venues, venue_schema(), {0, TICKPATH_VENUES_MAX},
      "The venues that it trades on, in place of feed.endpoint and gateway.endpoint; none: "
      "one venue");
  schema.text("values.endpoint", &C::values_endpoint,
              "fabric.endpoint of the mdh that keeps the values which plugins share (values.keys "
              "there); empty: feed.endpoint, of several venues the first one's");
  schema.size("routes.bytes_max", &C::route_bytes_max, {0, std::int64_t{1} << 40},
              "{run_dir}/{name}.routes, in which every order that a plugin has the router place is "
              "recorded with the books that it saw (`tickpath routes` checks them), ends here; 0: "
              "nothing is recorded");
  schema.include("heartbeat", &C::heartbeat, market::heartbeat_schema());
  schema.path("plugin_dir", &C::plugin_dir, "Where relative plugin files are looked for first");
  schema.tables("plugin", &C::plugins, plugin_schema(), {1, kInstancesMax},
                "The strategies that this program runs");
  schema.check(check);
  return schema;
}

VenueSpec VenueConfig::spec() const {
  constexpr double kHundredths = 100;  // fees have two decimals of 1/10,000
  return {.name = name,
          .number = number,
          .maker_fee = static_cast<std::int32_t>(std::lround(maker_fee * kHundredths)),
          .taker_fee = static_cast<std::int32_t>(std::lround(taker_fee * kHundredths))};
}

std::vector<VenueConfig> stacks_of(const StrategyConfig& config) {
  std::vector<std::string> names;  // of venues, as listed
  std::vector<VenueConfig> stacks = config.venues;
  const auto place = [&](const VenueConfig& venue) {
    return std::ranges::find(names, venue.name) - names.begin();
  };
  for (const VenueConfig& venue : stacks)
    if (place(venue) == std::ssize(names)) names.push_back(venue.name);
  std::ranges::stable_sort(stacks, {}, [&](const VenueConfig& venue) {
    return std::pair(place(venue), control::shard_of(venue.shard).number);
  });
  for (VenueConfig& venue : stacks)
    if (venue.number == 0) venue.number = static_cast<std::uint8_t>(place(venue) + 1);
  if (stacks.empty()) stacks.push_back({.name = {}, .endpoints = only_stack(config)});
  return stacks;
}

}  // namespace tickpath::strategy
