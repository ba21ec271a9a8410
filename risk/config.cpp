#include "risk/config.hpp"

#include <algorithm>
#include <array>

#include "common/wire/names.hpp"

namespace tickpath::risk {
namespace {

template <class Limits>
void add(config::Schema<Limits>& schema, const std::string& key, const LimitRow<Limits>& row,
         std::int64_t min) {
  if (row.unit == nullptr)
    schema.money(key, row.member, {static_cast<double>(min), config::kMoneyMax}, row.help);
  else
    schema.integer(key, row.member, {min, 1'000'000'000'000}, row.unit, row.help);
}

// min: 0, or -1 where "as in [limits]" is meant.
config::Schema<StrategyLimits> limits_schema(std::int64_t min) {
  config::Schema<StrategyLimits> schema;
  for (const auto& row : kStrategyLimits) add(schema, std::string(wire::name(row.kind)), row, min);
  return schema;
}

config::Schema<OwnLimits> own_limits_schema() {
  config::Schema<OwnLimits> schema;
  schema.integer("id", &OwnLimits::id, {0, 255}, "", "Strategy id").required();
  schema.include("", &OwnLimits::limits, limits_schema(-1));
  return schema;
}

config::Schema<TotalLimits> total_schema() {
  config::Schema<TotalLimits> schema;
  for (const auto& row : kTotalLimits) add(schema, std::string(wire::name(row.kind)), row, 0);
  return schema;
}

config::Schema<MonitorOptions> monitor_schema() {
  using M = MonitorOptions;
  config::Schema<M> schema;
  schema.flag(
      "kills.cancel_orders", &M::cancel_on_breach,
      "A limit that breaks also cancels what its strategy has open (a total limit: what all "
      "have)");
  schema.duration("reconcile.pending_max", &M::pending_max_ns, {0, 600'000'000'000},
                  "Of several venues: how long what was known last of one that is away, or not "
                  "compared with its oeg yet, is relied on; then it counts against limits alone");
  schema.integer("instruments_max", &M::instruments_max, {1, 65'536}, "instruments",
                 "Room in the tables; at least mdh's");
  schema.integer("strategies_max", &M::strategies_max, {1, 256}, "strategies", "Room for them");
  schema.integer("rows_max", &M::rows_max, {1, 1 << 24}, "rows",
                 "Pairs of strategy and instrument that ever traded");
  schema.integer("orders_max", &M::orders_max, {1, 1 << 24}, "orders",
                 "Open at one time, all strategies");
  schema.include("order_limits", &M::order_limits, market::order_limits_schema());
  schema.include("limits", &M::strategy, limits_schema(0));
  schema.include("", &M::total, total_schema());
  return schema;
}

// The endpoints of a configuration without [[venue]].
market::StackEndpoints only_stack(const RiskConfig& config) {
  return {config.feed.endpoint, config.feed.endpoint_b, config.gateway_endpoint,
          config.gateway_standby_endpoint};
}

// Keys of a configuration of one venue, which would be left unused; and what serves one pair.
void check_several(const RiskConfig& config, config::Problems& problems) {
  market::check_unused(only_stack(config), only_stack({}), problems);
  if (config.common.venue != 0)
    problems.add("venue_number", "this risk is of every [[venue]]; each has a number of its own");
  market::check_venues(config.venues, problems);
  const auto pairs = std::ranges::count_if(config.venues, [](const market::VenueConfig& venue) {
    return !venue.endpoints.gateway_standby.empty();
  });
  if (config.witness_enabled && pairs > 1)
    problems.add("witness.enabled",
                 "a witness keeps the word of one pair of oegs, and " + std::to_string(pairs) +
                     " venues have a pair: at one of them alone may there be one");
}

void check(const RiskConfig& config, config::Problems& problems) {
  std::array<bool, 256> seen{};
  for (const OwnLimits& strategy : config.strategies) {
    if (seen[strategy.id])
      problems.add("strategy", "strategy " + std::to_string(strategy.id) + " is there twice");
    seen[strategy.id] = true;
  }
  market::check_gateways(config.gateway_endpoint, config.gateway_standby_endpoint, problems);
  if (!config.venues.empty()) check_several(config, problems);
}

}  // namespace

namespace {

template <class Limits, class Rows>
bool are_all_off(const Limits& limits, const Rows& rows) {
  return std::ranges::all_of(rows, [&](const auto& row) { return limits.*row.member <= 0; });
}

}  // namespace

std::vector<std::string> advice(const RiskConfig& config) {
  std::vector<std::string> result;
  if (market::are_all_off(config.monitor.order_limits))
    result.emplace_back("every limit of [order_limits] is 0: oeg goes by its own alone");
  const bool none_of_one = are_all_off(config.monitor.strategy, kStrategyLimits) &&
                           std::ranges::all_of(config.strategies, [](const OwnLimits& own) {
                             return are_all_off(own.limits, kStrategyLimits);
                           });
  if (none_of_one && are_all_off(config.monitor.total, kTotalLimits))
    result.emplace_back(
        "every limit of [limits], [total] and [[strategy]] is 0: no loss and no "
        "exposure kills a strategy");
  return result;
}

config::Schema<RiskConfig> risk_schema() {
  using C = RiskConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  schema.include("feed", &C::feed, market::feed_schema());
  schema.text("gateway.endpoint", &C::gateway_endpoint, "Where oeg listens");
  schema.text("gateway.standby_endpoint", &C::gateway_standby_endpoint,
              "Where the other oeg of a pair listens: limits and kills go to both, orders and "
              "positions count of the one that leads; empty: there is none");
  schema
      .integer("gateway.ring_slots", &C::gateway_ring_slots, {64, 1 << 22}, "slots",
               "Ring of order events, 64 bytes a slot")
      .power_of_two();
  constexpr std::int64_t kMinute = 60'000'000'000;
  schema.duration("reconcile.interval", &C::reconcile_interval_ns, {1'000'000, kMinute},
                  "Between two passes over oeg's table of positions");
  schema.include("heartbeat", &C::heartbeat, market::heartbeat_schema());
  schema.path("kills.file", &C::kills_file,
              "Who is killed, since when and why: read at the start, so that a kill ends by "
              "`tickpath unkill` alone");
  schema.flag("witness.enabled", &C::witness_enabled,
              "Listen at fabric.endpoint for a pair of oegs, and keep the word that says which of "
              "them leads");
  schema.path("witness.file", &C::witness_file,
              "That word, as it was last: a restart begins with it");
  schema.tables("venue", &C::venues, market::venue_schema(), {0, kVenuesMax},
                "The venues that it watches, in place of feed.endpoint and gateway.endpoint; "
                "none: one venue");
  schema.include("", &C::monitor, monitor_schema());
  schema.tables("strategy", &C::strategies, own_limits_schema(), {0, 256},
                "Limits of one strategy where they differ from [limits]; -1: as there");
  schema.check(check);
  return schema;
}

std::vector<market::VenueConfig> venues_of(const RiskConfig& config) {
  if (!config.venues.empty()) return market::numbered(config.venues);
  return {{.name = {}, .number = config.common.venue, .endpoints = only_stack(config)}};
}

MonitorOptions monitor_options(const RiskConfig& config) {
  MonitorOptions options = config.monitor;
  options.venues = static_cast<std::uint32_t>(std::max<std::size_t>(config.venues.size(), 1));
  return options;
}

StrategyLimits strategy_limits(const RiskConfig& config, std::uint8_t strategy) {
  StrategyLimits limits = config.monitor.strategy;
  for (const OwnLimits& own : config.strategies)
    for (const auto& row : kStrategyLimits)
      if (own.id == strategy && own.limits.*row.member >= 0)
        limits.*row.member = own.limits.*row.member;
  return limits;
}

}  // namespace tickpath::risk
