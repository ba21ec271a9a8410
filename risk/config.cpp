#include "risk/config.hpp"

#include <array>
#include <cmath>

#include "common/base/units.hpp"

namespace tickpath::risk {
namespace {

// Far above any book, and 10,000 times it still fits 64 bits.
constexpr double kMoneyMax = 9e14;

std::int64_t to_money(double value) {
  return static_cast<std::int64_t>(std::llround(value * static_cast<double>(kPriceScale)));
}

// min: 0, or -1 where "as in [limits]" is meant.
config::Schema<LimitsConfig> limits_schema(std::int64_t min) {
  using L = LimitsConfig;
  config::Schema<L> schema;
  const config::RealRange money{static_cast<double>(min), kMoneyMax};
  const config::IntegerRange count{min, 1'000'000'000'000};
  schema.real("loss_max", &L::loss_max, money, "currency",
              "Realised and unrealised together, since the start");
  schema.real("gross_notional_max", &L::gross_notional_max, money, "currency",
              "Sum of |position| x mark");
  schema.real("position_value_max", &L::position_value_max, money, "currency",
              "|position| x mark in one instrument");
  schema.integer("position_shares_max", &L::position_shares_max, count, "shares",
                 "|position| in one instrument");
  schema.integer("open_orders_max", &L::open_orders_max, count, "orders", "Open at one time");
  schema.integer("requests_per_second_max", &L::requests_per_second_max, count, "requests",
                 "New orders, cancels and replacements in any second");
  schema.integer("rejects_per_second_max", &L::rejects_per_second_max, count, "rejects",
                 "By oeg or the venue, in any second");
  return schema;
}

config::Schema<StrategyLimitsConfig> strategy_schema() {
  config::Schema<StrategyLimitsConfig> schema;
  schema.integer("id", &StrategyLimitsConfig::id, {0, 255}, "", "Strategy id").required();
  schema.include("", &StrategyLimitsConfig::limits, limits_schema(-1));
  return schema;
}

config::Schema<OrderLimitsConfig> order_limits_schema() {
  using O = OrderLimitsConfig;
  config::Schema<O> schema;
  const config::RealRange money{0, kMoneyMax};
  constexpr std::int64_t kCountMax = 0xffff'ffff;
  schema.real("order_value_max", &O::order_value_max, money, "currency", "Of one order");
  schema.real("position_value_max", &O::position_value_max, money, "currency",
              "Of a strategy in one instrument, if the order were filled");
  schema.integer("order_shares_max", &O::order_shares_max, {0, kCountMax}, "shares",
                 "Of one order");
  schema.integer("position_shares_max", &O::position_shares_max, {0, kCountMax}, "shares",
                 "Of a strategy in one instrument, if the order were filled");
  schema.integer("open_orders_max", &O::open_orders_max, {0, kCountMax}, "orders",
                 "Of a strategy at one time");
  schema.integer("messages_per_second_max", &O::messages_per_second_max, {0, kCountMax}, "messages",
                 "Of a strategy");
  schema.integer("collar_basis_points", &O::collar_basis_points, {0, 1'000'000}, "basis points",
                 "How far a limit price may lie beyond the opposite best price");
  return schema;
}

void check(const RiskConfig& config, config::Problems& problems) {
  std::array<bool, 256> seen{};
  for (const StrategyLimitsConfig& strategy : config.strategies) {
    if (seen[strategy.id])
      problems.add("strategy", "strategy " + std::to_string(strategy.id) + " is there twice");
    seen[strategy.id] = true;
  }
}

}  // namespace

config::Schema<RiskConfig> risk_schema() {
  using C = RiskConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  schema.include("feed", &C::feed, market::feed_schema());
  schema.text("gateway.endpoint", &C::gateway_endpoint, "Where oeg listens");
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
  schema.flag(
      "kills.cancel_orders", &C::kills_cancel_orders,
      "A limit that breaks also cancels what its strategy has open (a total limit: what all "
      "have)");
  schema.integer("instruments_max", &C::instruments_max, {1, 65'536}, "instruments",
                 "Room in the tables; at least mdh's");
  schema.integer("strategies_max", &C::strategies_max, {1, 256}, "strategies", "Room for them");
  schema.integer("rows_max", &C::rows_max, {1, 1 << 24}, "rows",
                 "Pairs of strategy and instrument that ever traded");
  schema.integer("orders_max", &C::orders_max, {1, 1 << 24}, "orders",
                 "Open at one time, all strategies");
  schema.include("order_limits", &C::order_limits, order_limits_schema());
  schema.include("limits", &C::limits, limits_schema(0));
  schema.real("total.loss_max", &C::total_loss_max, {0, kMoneyMax}, "currency",
              "All strategies together: beyond it everything is killed");
  schema.real("total.gross_notional_max", &C::total_gross_notional_max, {0, kMoneyMax}, "currency",
              "All strategies together");
  schema.tables("strategy", &C::strategies, strategy_schema(), {0, 256},
                "Limits of one strategy where they differ from [limits]; -1: as there");
  schema.check(check);
  return schema;
}

StrategyLimits strategy_limits(const RiskConfig& config, std::uint8_t strategy) {
  LimitsConfig merged = config.limits;
  for (const StrategyLimitsConfig& own : config.strategies) {
    if (own.id != strategy) continue;
    const auto lay_over = [](auto& value, auto other) {
      if (other >= 0) value = other;
    };
    lay_over(merged.loss_max, own.limits.loss_max);
    lay_over(merged.gross_notional_max, own.limits.gross_notional_max);
    lay_over(merged.position_value_max, own.limits.position_value_max);
    lay_over(merged.position_shares_max, own.limits.position_shares_max);
    lay_over(merged.open_orders_max, own.limits.open_orders_max);
    lay_over(merged.requests_per_second_max, own.limits.requests_per_second_max);
    lay_over(merged.rejects_per_second_max, own.limits.rejects_per_second_max);
  }
  return {to_money(merged.loss_max),
          to_money(merged.gross_notional_max),
          to_money(merged.position_value_max),
          merged.position_shares_max,
          merged.open_orders_max,
          merged.requests_per_second_max,
          merged.rejects_per_second_max};
}

MonitorOptions monitor_options(const RiskConfig& config) {
  MonitorOptions options;
  options.instruments_max = config.instruments_max;
  options.strategies_max = config.strategies_max;
  options.rows_max = config.rows_max;
  options.orders_max = config.orders_max;
  options.total = {to_money(config.total_loss_max), to_money(config.total_gross_notional_max)};
  options.cancel_on_breach = config.kills_cancel_orders;
  wire::ControlBlock& block = options.order_limits;
  block.order_value_max = to_money(config.order_limits.order_value_max);
  block.position_value_max = to_money(config.order_limits.position_value_max);
  block.order_shares_max = config.order_limits.order_shares_max;
  block.position_shares_max = config.order_limits.position_shares_max;
  block.open_orders_max = config.order_limits.open_orders_max;
  block.messages_per_second_max = config.order_limits.messages_per_second_max;
  block.collar_basis_points = config.order_limits.collar_basis_points;
  return options;
}

}  // namespace tickpath::risk
