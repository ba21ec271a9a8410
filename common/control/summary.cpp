#include "common/control/summary.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>

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
TICKPATH_JSON_STRUCT(PositionSummary, strategy_id, symbol, shares, cash, fills)
TICKPATH_JSON_STRUCT(ProfitSummary, strategy_id, symbol, realised, unrealised)
TICKPATH_JSON_STRUCT(RingFlow, peer, published, seen, lapped)
TICKPATH_JSON_STRUCT(StrategyFlow, strategy_id, connections, requests, reports, orders)

namespace {

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

template <class T>
void get(const Json& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json.at(key).get<T>();
}

}  // namespace

Json to_json(const Summary& summary) {
  Json json;
  json["program"] = summary.program;
  json["name"] = summary.name;
  put(json, "strategy_id", summary.strategy_id);
  put(json, "orders", summary.orders);
  put(json, "changes", summary.changes);
  put(json, "reports", summary.reports);
  json["strategies"] = summary.strategies;
  json["resumed"] = summary.resumed;
  json["has_positions"] = summary.has_positions;
  json["positions"] = summary.positions;
  if (summary.has_positions) json["money"] = "1/10,000 of the currency unit";
  if (!summary.profits.empty()) json["profits"] = summary.profits;
  json["ticks"] = summary.ticks;
  json["events"] = summary.events;
  json["open_orders"] = summary.open_orders;
  json["feed_messages"] = summary.feed_messages;
  json["feed_messages_missed"] = summary.feed_messages_missed;
  json["problems"] = summary.problems;
  json["details"] = summary.details;
  return json;
}

Summary summary_from_json(const Json& json) {
  try {
    Summary summary;
    json.at("program").get_to(summary.program);
    json.at("name").get_to(summary.name);
    get(json, "strategy_id", summary.strategy_id);
    get(json, "orders", summary.orders);
    get(json, "changes", summary.changes);
    get(json, "reports", summary.reports);
    json.at("strategies").get_to(summary.strategies);
    json.at("resumed").get_to(summary.resumed);
    json.at("has_positions").get_to(summary.has_positions);
    json.at("positions").get_to(summary.positions);
    if (json.contains("profits")) json.at("profits").get_to(summary.profits);
    json.at("ticks").get_to(summary.ticks);
    json.at("events").get_to(summary.events);
    json.at("open_orders").get_to(summary.open_orders);
    json.at("feed_messages").get_to(summary.feed_messages);
    json.at("feed_messages_missed").get_to(summary.feed_messages_missed);
    if (json.contains("problems")) json.at("problems").get_to(summary.problems);
    if (json.contains("details")) json.at("details").get_to(summary.details);
    return summary;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("not a summary: ") + error.what());
  }
}

void write_file_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "we"),
                                                               std::fclose);
    if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0)
      throw SystemError("cannot write '" + temporary + "'", errno);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    throw SystemError("cannot write '" + path + "'", errno);
}

}  // namespace tickpath::control
