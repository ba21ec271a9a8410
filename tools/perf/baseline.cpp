#include "tools/perf/baseline.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"

namespace tickpath::rdma::perf {
namespace {

using Json = nlohmann::json;

struct Metric {
  const char* tool;
  const char* key;
  bool more_is_better;
};
// The ratio rather than the time where there is one: it holds when a hypervisor moves the CPUs.
constexpr Metric kMetrics[] = {{"lat_floor", "ratio_to_floor", false},
                               {"lat", "t_typical_us", false},
                               {"bw", "average_mb_s", true}};

Json parse(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("tool") ||
      !json.contains("rows") || !json["tool"].is_string() || !json["rows"].is_array()) {
    throw Error(std::string(what) + " is not the JSON of `tickpath lat` or `tickpath bw`");
  }
  return json;
}

std::map<std::string, double> values(const Json& json, const Metric& metric, const char* what) {
  std::map<std::string, double> rows;
  for (const Json& row : json["rows"]) {
    if (!row.is_object() || !row.contains("operation") || !row["operation"].is_string() ||
        !row.contains("size_bytes") || !row["size_bytes"].is_number() ||
        !row.contains(metric.key) || !row[metric.key].is_number()) {
      throw Error(std::string(what) + " has a row without operation, size_bytes or " + metric.key);
    }
    if (row.value("provider", "") == "memory") continue;  // the floor itself
    rows[row["operation"].get<std::string>() + " " +
         std::to_string(row["size_bytes"].get<std::uint64_t>())] = row[metric.key].get<double>();
  }
  return rows;
}

// What makes figures hard to compare.
void note_differences(const Json& before, const Json& now, std::vector<std::string>& notes) {
  for (const char* key : {"provider", "device", "cpu", "mode", "bidirectional", "tx_depth",
                          "rate_per_s", "cpus_share_a_core"}) {
    const Json was = before.value(key, Json());
    const Json is = now.value(key, Json());
    if (was != is) notes.push_back(std::string(key) + " was " + was.dump() + ", is " + is.dump());
  }
}

}  // namespace

bool BaselineResult::within() const noexcept {
  return std::all_of(rows.begin(), rows.end(), [](const Comparison& row) { return row.within; });
}

BaselineResult compare(const std::string& baseline_json, const std::string& now_json,
                       double tolerance) {
  const Json before = parse(baseline_json, "the baseline");
  const Json now = parse(now_json, "this measurement");
  const std::string tool = before["tool"].get<std::string>();
  if (tool != now["tool"].get<std::string>()) {
    throw Error("the baseline is one of `" + tool + "`, this measurement one of `" +
                now["tool"].get<std::string>() + "`");
  }
  const auto metric = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                   [&](const Metric& each) { return tool == each.tool; });
  if (metric == std::end(kMetrics)) throw Error("the baseline is of an unknown tool, " + tool);
  BaselineResult result;
  result.metric = metric->key;
  note_differences(before, now, result.notes);
  const std::map<std::string, double> old_rows = values(before, *metric, "the baseline");
  const std::map<std::string, double> new_rows = values(now, *metric, "this measurement");
  for (const auto& [row, value] : new_rows) {
    const auto old = old_rows.find(row);
    if (old == old_rows.end()) {
      result.notes.push_back(row + " is not in the baseline");
      continue;
    }
    if (old->second <= 0 || value <= 0) continue;
    const double worse = metric->more_is_better ? old->second / value - 1 : value / old->second - 1;
    result.rows.push_back({row, old->second, value, worse, worse <= tolerance});
  }
  if (result.rows.empty()) throw Error("the baseline has none of the rows measured now");
  return result;
}

std::string to_text(const BaselineResult& result, double tolerance) {
  std::string text = formatted("\nbaseline: %s, up to %.0f %% worse is accepted\n",
                               result.metric.c_str(), tolerance * 100);
  for (const Comparison& row : result.rows) {
    text += formatted("%-24s %12.3f -> %12.3f  %+7.1f %%  %s\n", row.row.c_str(), row.before,
                      row.now, row.worse_by * 100, row.within ? "ok" : "WORSE");
  }
  for (const std::string& note : result.notes) text += "baseline: " + note + "\n";
  return text;
}

std::string read_text_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw SystemError("cannot read " + path, errno);
  return text.str();
}

void write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.flush();
  if (!file) throw SystemError("cannot write " + path, errno);
}

}  // namespace tickpath::rdma::perf
