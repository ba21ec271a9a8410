#include "common/control/kill_keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/base/utc.hpp"
#include "common/log/log.hpp"
#include "common/wire/names.hpp"

namespace tickpath::control {
namespace {

constexpr int kFormat = 1;  // of the file
constexpr const char* kKept = "kept";
constexpr const char* kCancelled = "cancelled";

// "2026-03-31T14:02:11Z"
std::string utc(std::int64_t realtime_ns) { return utc_text(realtime_ns / 1'000'000'000); }

wire::KillCause cause_of(const std::string& name) {
  for (unsigned i = 1; i <= static_cast<unsigned>(wire::KillCause::kUnknown); ++i)
    if (wire::name(static_cast<wire::KillCause>(i)) == name) return static_cast<wire::KillCause>(i);
  throw Error("'" + name + "' is no reason to kill");
}

std::uint16_t id_of(const Json& strategy) {
  if (strategy.is_string() && strategy.get<std::string>() == "all")
    return static_cast<std::uint16_t>(wire::kKillAll);
  if (strategy.is_number_unsigned() && strategy.get<std::uint64_t>() < wire::kKillAll)
    return strategy.get<std::uint16_t>();
  throw Error("strategy: a number from 0 to 255 or \"all\" is wanted");
}

wire::KillRecord parsed(const Json& kill) {
  wire::KillRecord record{};
  record.id = id_of(kill.at("strategy"));
  record.cause = cause_of(kill.at("by").get<std::string>());
  record.since_ns = kill.at("since_ns").get<std::int64_t>();
  record.keep_orders = kill.value("orders", std::string(kCancelled)) == kKept ? 1 : 0;
  record.value = kill.value("value", std::int64_t{0});
  record.limit = kill.value("limit", std::int64_t{0});
  const std::string name = kill.value("operator", std::string());
  std::memcpy(record.operator_name, name.data(),
              std::min(name.size(), sizeof(record.operator_name) - 1));
  return record;
}

KeptKills parse(const std::string& text) {
  try {
    const Json file = Json::parse(text);
    if (file.at("format").get<int>() != kFormat) throw Error("another version wrote it");
    KeptKills kept;
    kept.version = file.at("version").get<std::uint64_t>();
    for (const Json& kill : file.at("kills")) kept.kills.push_back(parsed(kill));
    return kept;
  } catch (const Json::exception& error) {
    throw Error(error.what());
  }
}

}  // namespace

std::string whom(std::uint32_t id) {
  return id == wire::kKillAll ? "all strategies" : "strategy " + std::to_string(id);
}

Json shown(const wire::KillRecord& kill) {
  Json json = {{"by", std::string(wire::name(kill.cause))},
               {"since", utc(kill.since_ns)},
               {"since_ns", kill.since_ns},
               {"orders", kill.keep_orders != 0 ? kKept : kCancelled}};
  if (kill.id == wire::kKillAll)
    json["strategy"] = "all";
  else
    json["strategy"] = kill.id;
  if (kill.cause == wire::KillCause::kOperator)
    json["operator"] =
        std::string(kill.operator_name, ::strnlen(kill.operator_name, sizeof(kill.operator_name)));
  if (kill.limit != 0) {
    json["value"] = kill.value;
    json["limit"] = kill.limit;
  }
  return json;
}

KeptKills read_kills(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return {};
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string remedy =
      "; it says who may not trade. Mend it, or remove it only if nobody is to stay killed";
  if (!file) throw Error("cannot read '" + path + "'" + remedy);
  try {
    return parse(text);
  } catch (const Error& error) {
    throw Error("'" + path + "': " + error.what() + remedy);
  }
}

void write_kills(const std::string& path, const KeptKills& kept) {
  Json file = {{"format", kFormat}, {"version", kept.version}, {"kills", Json::array()}};
  for (const wire::KillRecord& kill : kept.kills) file["kills"].push_back(shown(kill));
  replace_file(path, {text_of(file, 2), "\n"});
}

KillKeeper::KillKeeper(std::string path, const KillTable& table)
    : path_(std::move(path)), table_(table) {}

KeptKills KillKeeper::restore() const {
  KeptKills kept = read_kills(path_);
  for (const wire::KillRecord& kill : kept.kills)
    log::warning("killed in an earlier run, and until `tickpath unkill`: {}", text_of(shown(kill)));
  return kept;
}

void KillKeeper::tick() {
  KillState state{};
  if (!table_.state(state)) return;
  const bool same = state.changes == state_.changes && state.version == state_.version;
  if (!same) {
    std::vector<wire::KillRecord> kills;
    if (!table_.kills(kills, state.changes)) return;
    kills_ = std::move(kills);
  }
  state_ = state;
  if (state_.changes == saved_changes_ && state_.version == saved_version_) return;
  try {
    write_kills(path_, {state_.version, kills_});
  } catch (const Error& error) {
    // Said once, tried each time.
    if (error_ != error.what()) log::error("kills would not survive a restart: {}", error.what());
    error_ = error.what();
    return;
  }
  error_.clear();
  saved_changes_ = state_.changes;
  saved_version_ = state_.version;
}

Json KillKeeper::describe() const {
  Json json = {{"version", state_.version},
               {"saved_version", saved_version_},
               {"command", state_.command},
               {"kills", Json::array()}};
  for (const wire::KillRecord& kill : kills_) json["kills"].push_back(shown(kill));
  if (!error_.empty()) json["error"] = error_;
  return json;
}

}  // namespace tickpath::control
