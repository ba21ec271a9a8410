#include "tools/watch/money.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace tickpath::watch {
namespace {

using control::Json;

// Calls visit() with the active risk of each venue. What a risk says is about its own venue.
template <class Visit>
void for_each_risk(const Found& found, Visit&& visit) {
  for (const Json& status : found.statuses)
    if (status.value("program", "") == "risk" && status.value("role", "active") != "standby" &&
        status.contains("total"))
      visit(status);
}

// What `status` of a risk said of that strategy, or null.
Json of_strategy(const Json& risk, const Json& strategy) {
  for (const Json& each : list_at(risk, "strategies"))
    if (each.value("strategy", -1) == strategy.value("strategy", -1)) return each;
  return {};
}

// Growth of a count of risk's, per second.
double growth(const Json& risk, const Json& risk_before, const Json& now, const Json& then,
              const char* count) {
  if (!risk_before.is_object() || !then.is_object()) return 0;
  if (risk.value("pid", 0) != risk_before.value("pid", 0)) return 0;
  const auto ms =
      risk.value("uptime_ms", std::int64_t{0}) - risk_before.value("uptime_ms", std::int64_t{0});
  const double grown =
      static_cast<double>(now.value(count, std::int64_t{0}) - then.value(count, std::int64_t{0}));
  return ms <= 0 || grown <= 0 ? 0 : grown * 1000 / static_cast<double>(ms);
}

// The plugin of that number, or null.
Json plugin_of(const Found& found, int strategy) {
  for (const Json& status : found.statuses)
    for (const Json& plugin : list_at(status, "plugins"))
      if (plugin.value("strategy", -1) == strategy) return plugin;
  return {};
}

// The largest holding of that strategy in one symbol; -1: none is known.
std::int64_t largest_position(const Found& found, int strategy) {
  std::int64_t largest = -1;
  for (const Json& row : found.positions)
    if (row.value("strategy", -1) == strategy)
      largest = std::max(largest, std::abs(row.value("shares", std::int64_t{0})));
  return largest;
}

// What there is of the quantity that a limit bounds; below 0: not known from outside.
double value_of(const std::string& limit, const Json& row, std::int64_t position) {
  if (limit.ends_with("loss_max")) return std::max(0.0, -row.value("pnl", 0.0));
  if (limit.ends_with("gross_notional_max")) return row.value("gross_notional", 0.0);
  if (limit == "open_orders_max") return row.value("open_orders", 0.0);
  if (limit == "requests_per_second_max") return row.value("requests_per_second", 0.0);
  if (limit == "rejects_per_second_max") return row.value("rejects_per_second", 0.0);
  if (limit == "position_shares_max") return static_cast<double>(position);
  return -1;
}

void add_limits(const Json& limits, const Json& row, const std::string& whose, int strategy,
                std::int64_t position, Json& view) {
  for (const auto& [name, max] : limits.items()) {
    const double value = value_of(name, row, position);
    const double most = max.is_number() ? max.get<double>() : 0;
    if (value < 0 || most <= 0) continue;
    view["limits"].push_back({{"whose", whose},
                              {"strategy", strategy},
                              {"limit", name},
                              {"value", value},
                              {"max", most},
                              {"used", value / most}});
  }
}

// With the rates that its limits bound.
Json with_rates(const Json& risk, const Json& before, Json row, const Json& then) {
  for (const char* const count : {"requests", "rejects"})
    row[std::string(count) + "_per_second"] = growth(risk, before, row, then, count);
  return row;
}

void add_risk(const Found& found, const Json& risk, bool several, Json& view) {
  const Json& before = status_named(found.before, risk.value("name", ""));
  const std::string of_risk = several ? " (" + risk.value("name", "?") + ")" : "";
  for (const Json& each : list_at(risk, "strategies")) {
    const int id = each.value("strategy", -1);
    Json row =
        with_rates(risk, before, each, before.is_object() ? of_strategy(before, each) : Json());
    const Json plugin = plugin_of(found, id);
    row["name"] = plugin.is_object() ? plugin.value("name", "") : "";
    row["state"] = plugin.is_object() ? plugin.value("state", "") : "away";
    row["risk"] = risk.value("name", "?");
    add_limits(object_at(each, "limits"), row, "strategy " + std::to_string(id) + of_risk, id,
               largest_position(found, id), view);
    row.erase("limits");
    view["strategies"].push_back(std::move(row));
  }
  const Json total = with_rates(risk, before, object_at(risk, "total"),
                                before.is_object() ? object_at(before, "total") : Json());
  add_limits(object_at(total, "limits"), total, "all" + of_risk, -1, -1, view);
  // Sums over the risks of several venues: of what adds up.
  for (const char* const key : {"pnl", "realised", "unrealised", "gross_notional", "open_orders",
                                "requests", "fills", "rejects", "requests_per_second"})
    view["total"][key] = view["total"].value(key, 0.0) + total.value(key, 0.0);
  if (total.value("killed", false)) view["total"]["killed"] = true;
}

}  // namespace

void add_money(const Found& found, Json& view) {
  view["strategies"] = Json::array();
  view["limits"] = Json::array();
  view["total"] = Json::object();
  int risks = 0;
  for_each_risk(found, [&](const Json&) { ++risks; });
  for_each_risk(found, [&](const Json& risk) { add_risk(found, risk, risks > 1, view); });
  view["positions"] = found.positions;
  view["position_rows"] = found.position_rows;
}

}  // namespace tickpath::watch
