#include "tools/watch/view.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "tools/watch/alarms.hpp"
#include "tools/watch/money.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

std::string text_at(const Json& json, const char* key, const char* otherwise = "") {
  return json.value(key, std::string(otherwise));
}

// What says at a glance whether a program of this kind has work.
struct MainRate {
  const char* program;
  const char* group;
  const char* counter;
  const char* unit;
};
constexpr std::array kMainRates{MainRate{"sim", "feed", "messages", "messages"},
                                MainRate{"mdh", "feed", "messages", "messages"},
                                MainRate{"strategy", "engine", "updates", "updates"},
                                MainRate{"oeg", "orders", "received", "orders"},
                                MainRate{"risk", "orders", "events", "events"}};

const MainRate* main_rate(const std::string& program) {
  const auto found = std::ranges::find(kMainRates, program, &MainRate::program);
  return found == kMainRates.end() ? nullptr : &*found;
}

// "leader, epoch 3", "active", "stands by"; empty: it is alone.
std::string role_of(const Json& status) {
  const Json& pair = object_at(status, "pair");
  if (!pair.empty()) return text_at(pair, "role", "?");
  const std::string role = text_at(status, "role");
  return role == "active" ? "" : role;
}

// The share of turns that found work, since the look before; below 0: not known.
double busy_share(const Json& status, const Json& before) {
  const double turns = rate_of(status, before, "datapath", "turns");
  if (turns <= 0) return -1;
  return std::clamp(1 - rate_of(status, before, "datapath", "idle_turns") / turns, 0.0, 1.0);
}

Json program_row(const Json& status, const Json& before) {
  Json row = {{"name", text_at(status, "name", "?")},
              {"program", text_at(status, "program", "?")},
              {"state", text_at(status, "state", "?")},
              {"pid", status.value("pid", 0)},
              {"uptime_ms", status.value("uptime_ms", std::int64_t{0})},
              {"wait", text_at(status, "wait_mode")},
              {"cores", text_at(status, "cores")},
              {"role", role_of(status)},
              {"text", text_at(status, "not_ready_reason")},
              {"busy", busy_share(status, before)}};
  if (status.contains("host")) row["host"] = status["host"];
  if (const MainRate* const rate = main_rate(row["program"]); rate != nullptr) {
    row["rate"] = rate_of(status, before, rate->group, rate->counter);
    row["unit"] = rate->unit;
  }
  return row;
}

// Sums over all programs of a kind, but for those that do not lead their pair.
struct SummedRate {
  const char* name;
  const char* program;
  const char* group;
  const char* counter;
};
constexpr std::array kSummedRates{
    SummedRate{"orders", "oeg", "orders", "received"},
    SummedRate{"fills", "oeg", "reports", "fills"},
    SummedRate{"changes", "oeg", "changes", "received"},
    SummedRate{"reports", "oeg", "reports", "received"},
    SummedRate{"feed", "mdh", "feed", "messages"},
    SummedRate{"refused", "oeg", "orders", "refused"},
};

Json summed_rates(const Found& found) {
  Json rates = Json::array();
  for (const SummedRate& each : kSummedRates) {
    double sum = 0;
    for (const Json& status : found.statuses)
      if (text_at(status, "program") == each.program)
        sum += rate_of(status, status_named(found.before, text_at(status, "name")), each.group,
                       each.counter);
    rates.push_back({{"name", each.name}, {"per_second", sum}});
  }
  return rates;
}

// The group of a reader's counters that are about an mdh, where it has one mdh.
const char* reader_group(const Json& reader) {
  return text_at(reader, "program") == "oeg" ? "market" : "feed";
}

// What mdh had published when it was asked, and the reader, asked later, had not taken.
void add_reader_queues(const Found& found, const Json& mdh, Json& queues) {
  for (const Json& subscriber : list_at(mdh, "subscribers")) {
    const std::string name = text_at(subscriber, "name");
    const Json& reader = status_named(found.statuses, name);
    if (!reader.is_object() || text_at(subscriber, "mode") == "multicast") continue;
    const char* const group = reader_group(reader);
    const Json& counted = object_at(object_at(reader, "counters"), group);
    // With two mdhs, or after one was lost, what it has seen is not of this one alone.
    if (!counted.contains("seen") || counter_of(reader, group, "mdh_losses") != 0) continue;
    const std::uint64_t published = counter_of(mdh, "publish", "published");
    const std::uint64_t taken = counter_of(reader, group, "seen") +
                                counter_of(reader, group, "overrun") +
                                subscriber.value("joined_at", std::uint64_t{0});
    queues.push_back({{"name", text_at(mdh, "name") + " -> " + name},
                      {"depth", published > taken ? published - taken : 0},
                      {"room", subscriber.value("ring_slots", 0)}});
  }
}

Json queues_of(const Found& found) {
  Json queues = Json::array();
  for (const Json& status : found.statuses) {
    const std::string program = text_at(status, "program");
    const std::string name = text_at(status, "name");
    if (program == "mdh") {
      add_reader_queues(found, status, queues);
      queues.push_back({{"name", name + " held for a gap"},
                        {"depth", counter_of(status, "arbiter", "held")},
                        {"room", 0}});
    }
    if (program == "oeg") {
      queues.push_back({{"name", name + " reports to strategies"},
                        {"depth", counter_of(status, "reports", "queued")},
                        {"room", 0}});
      if (const Json& pair = object_at(status, "pair"); !pair.empty())
        queues.push_back({{"name", name + " -> standby"},
                          {"depth", pair.value("lag_records", std::uint64_t{0})},
                          {"room", 0}});
    }
    for (const Json& session : list_at(status, "sessions"))
      queues.push_back({{"name", name + " reports to " + text_at(session, "target", "?")},
                        {"depth", session.value("reports_pending", std::uint64_t{0})},
                        {"room", 0}});
  }
  return queues;
}

void add_feeds(const Found& found, Json& view) {
  view["feeds"] = Json::array();
  view["replays"] = Json::array();
  for (const Json& status : found.statuses) {
    const std::string name = text_at(status, "name");
    if (const Json& feed = object_at(status, "feed"); !feed.empty())
      view["feeds"].push_back(
          {{"name", name},
           {"state", text_at(feed, "state", "?")},
           {"session", text_at(feed, "session")},
           {"messages_per_second",
            rate_of(status, status_named(found.before, name), "feed", "messages")},
           {"gaps", counter_of(status, "feed", "gaps")},
           {"missed", counter_of(status, "feed", "missed_messages")}});
    if (Json replay = object_at(status, "replay"); !replay.empty()) {
      replay["name"] = name;
      view["replays"].push_back(std::move(replay));
    }
  }
}

Json sessions_of(const Found& found) {
  Json sessions = Json::array();
  for (const Json& status : found.statuses) {
    const std::string name = text_at(status, "name");
    if (text_at(status, "program") == "oeg" && status.contains("venue"))
      sessions.push_back({{"name", name},
                          {"with", "the venue"},
                          {"logged_on", object_at(status, "venue").value("logged_on", false)}});
    for (const Json& session : list_at(status, "sessions"))
      sessions.push_back({{"name", name},
                          {"with", text_at(session, "target", "?")},
                          {"logged_on", session.value("logged_on", false)}});
  }
  return sessions;
}

std::string pair_text(const Json& pair) {
  if (text_at(pair, "role") != "leader") return "";
  if (!pair.value("has_standby", false)) return "without standby";
  return formatted("standby behind by %d records, %.0f us", pair.value("lag_records", 0),
                   pair.value("lag_us", 0.0));
}

Json pairs_of(const Found& found) {
  Json pairs = Json::array();
  for (const Json& status : found.statuses) {
    const Json& pair = object_at(status, "pair");
    if (!pair.empty())
      pairs.push_back({{"name", text_at(status, "name")},
                       {"program", text_at(status, "program")},
                       {"role", text_at(pair, "role", "?")},
                       {"epoch", pair.value("epoch", std::uint64_t{0})},
                       {"text", pair_text(pair)}});
    else if (text_at(status, "program") == "risk" && status.contains("witness"))
      pairs.push_back({{"name", text_at(status, "name")},
                       {"program", text_at(status, "program")},
                       {"role", text_at(status, "role", "?")},
                       {"epoch", object_at(status, "witness").value("epoch", std::uint64_t{0})},
                       {"text", "witness: " + text_at(object_at(status, "witness"), "state")}});
  }
  return pairs;
}

}  // namespace

const Json& status_named(const Json& statuses, const std::string& name) {
  static const Json kNone;
  const auto found = std::ranges::find_if(
      statuses, [&](const Json& status) { return text_at(status, "name") == name; });
  return found == statuses.end() ? kNone : *found;
}

const Json& object_at(const Json& json, const char* key) {
  static const Json kNone = Json::object();
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : kNone;
}

const Json& list_at(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : kNone;
}

std::uint64_t counter_of(const Json& status, const std::string& group, const std::string& counter) {
  if (!status.is_object()) return 0;
  return object_at(object_at(status, "counters"), group.c_str()).value(counter, std::uint64_t{0});
}

double rate_of(const Json& status, const Json& before, const std::string& group,
               const std::string& counter) {
  if (!before.is_object() || before.value("pid", 0) != status.value("pid", 0)) return 0;
  const auto ms =
      status.value("uptime_ms", std::int64_t{0}) - before.value("uptime_ms", std::int64_t{0});
  const std::uint64_t now = counter_of(status, group, counter);
  const std::uint64_t then = counter_of(before, group, counter);
  if (ms <= 0 || now <= then) return 0;
  return static_cast<double>(now - then) * 1000 / static_cast<double>(ms);
}

Json view_of(const Found& found) {
  Json view = {{"programs", Json::array()}};
  for (const Json& status : found.statuses)
    view["programs"].push_back(
        program_row(status, status_named(found.before, text_at(status, "name"))));
  view["rates"] = summed_rates(found);
  view["queues"] = queues_of(found);
  view["hops"] = found.hops;
  view["no_hops"] = found.no_hops;
  add_money(found, view);
  add_feeds(found, view);
  view["sessions"] = sessions_of(found);
  view["pairs"] = pairs_of(found);
  view["alarms"] = alarms_of(found, view);
  return view;
}

}  // namespace tickpath::watch
