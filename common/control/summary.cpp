#include "common/control/summary.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace tickpath::control {

// The library's own macro serves its unordered type only. Found through the types' namespace.
#define TICKPATH_JSON_STRUCT(Type, ...)                                        \
  void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))   \
  }                                                                            \
  void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {         \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__)) \
  }
TICKPATH_JSON_STRUCT(RequestFlow, received, refused, sent, accepted, rejected, unanswered, own,
                     lost)
TICKPATH_JSON_STRUCT(ReportFlow, received, sent, fills, dropped)
TICKPATH_JSON_STRUCT(RingFlow, peer, published, seen, overrun)
TICKPATH_JSON_STRUCT(StrategyFlow, strategy_id, connections, requests, reports, orders)

void to_json(Json& json, const PositionSummary& row) {
  json = {{"strategy_id", row.strategy_id},
          {"symbol", row.symbol},
          {"shares", row.shares},
          {"cash", row.cash},
          {"fills", row.fills},
          {"fees", row.fees}};
}
// The summary of an older version has no fees, and no mark.
void from_json(const Json& json, PositionSummary& row) {
  json.at("strategy_id").get_to(row.strategy_id);
  json.at("symbol").get_to(row.symbol);
  json.at("shares").get_to(row.shares);
  json.at("cash").get_to(row.cash);
  json.at("fills").get_to(row.fills);
  row.fees = json.value("fees", std::int64_t{0});
}

void to_json(Json& json, const ProfitSummary& row) {
  json = {
      {"strategy_id", row.strategy_id}, {"symbol", row.symbol}, {"realised", row.realised},
      {"unrealised", row.unrealised},   {"fees", row.fees},     {"mark_doubled", row.mark_doubled}};
}
void from_json(const Json& json, ProfitSummary& row) {
  json.at("strategy_id").get_to(row.strategy_id);
  json.at("symbol").get_to(row.symbol);
  json.at("realised").get_to(row.realised);
  json.at("unrealised").get_to(row.unrealised);
  row.fees = json.value("fees", std::int64_t{0});
  row.mark_doubled = json.value("mark_doubled", std::int64_t{-1});
}

namespace {

// visit(key, member, whether a file may lack it) for each.
template <class AnySummary, class Visit>
void for_each_key(AnySummary& summary, Visit&& visit) {
  visit("program", summary.program, false);
  visit("name", summary.name, false);
  visit("venue", summary.venue, true);
  visit("venue_name", summary.venue_name, true);
  visit("strategy_id", summary.strategy_id, true);
  visit("orders", summary.orders, true);
  visit("changes", summary.changes, true);
  visit("reports", summary.reports, true);
  visit("strategies", summary.strategies, false);
  visit("resumed", summary.resumed, false);
  visit("stood_by", summary.stood_by, true);
  visit("has_positions", summary.has_positions, false);
  visit("positions", summary.positions, false);
  visit("profits", summary.profits, true);
  visit("ticks", summary.ticks, false);
  visit("events", summary.events, false);
  visit("open_orders", summary.open_orders, false);
  visit("feed_messages", summary.feed_messages, false);
  visit("feed_messages_missed", summary.feed_messages_missed, false);
  visit("journal", summary.journal, true);
  visit("exceptions", summary.exceptions, true);
  visit("files", summary.files, true);
  visit("problems", summary.problems, true);
  visit("details", summary.details, true);
}

template <class T>
constexpr bool is_optional = requires(T value) {
  value.has_value();
};

}  // namespace

Json to_json(const Summary& summary) {
  Json json;
  for_each_key(summary, [&]<class T>(const char* key, const T& value, bool) {
    if constexpr (!is_optional<T>)
      json[key] = value;
    else if (value)
      json[key] = *value;
  });
  if (summary.has_positions) json["money"] = "1/10,000 of the currency unit";
  for (const Summary& venue : summary.venues) json["venues"].push_back(to_json(venue));
  return json;
}

Summary summary_from_json(const Json& json) {
  try {
    Summary summary;
    for_each_key(summary, [&]<class T>(const char* key, T& value, bool optional) {
      if (optional && !json.contains(key)) return;
      if constexpr (is_optional<T>)
        json.at(key).get_to(value.emplace());
      else
        json.at(key).get_to(value);
    });
    if (json.contains("venues"))
      for (const Json& venue : json.at("venues"))
        summary.venues.push_back(summary_from_json(venue));
    return summary;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("not a summary: ") + error.what());
  }
}

}  // namespace tickpath::control
