#include "tools/cli/traced_run.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/base/replace_file.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using trace::FileHeader;

constexpr const char* kFormat = "tickpath latencies";
constexpr int kVersion = 1;
// Runs whose ticks came in by rates further apart than this had another load.
constexpr double kRateFactorMax = 1.25;

// The times of files lag behind CLOCK_REALTIME by up to a tick of the kernel's.
constexpr std::int64_t kFileClockNs = 100'000'000;

std::size_t index(Condition condition) { return static_cast<std::size_t>(condition); }

template <std::size_t Size>
std::string text_of(const char (&field)[Size]) {
  return std::string(field, ::strnlen(field, Size));
}

// One value where all programs have the same, else "mdh spin, oeg park".
std::string by_program(const std::map<std::string, std::string>& values) {
  std::set<std::string> different;
  std::string all;
  for (const auto& [program, value] : values) {
    if (value.empty()) continue;
    different.insert(value);
    all += (all.empty() ? "" : ", ") + program + " " + value;
  }
  return different.size() == 1 ? *different.begin() : all;
}

// "lab-1 (Xeon ..., 2 processors, TSC 2.100 GHz)"; empty where the trace is of a version that did
// not say.
std::string machine_of(const FileHeader& header) {
  const std::string cpu = text_of(header.cpu_model);
  if (cpu.empty()) return {};
  return text_of(header.host_name) + formatted(" (%s, %u processors, TSC %.2f GHz)", cpu.c_str(),
                                               header.processors,
                                               static_cast<double>(header.tsc_hz) * 1e-9);
}

std::string machines_of(std::span<const trace::TraceFile> files) {
  std::set<std::string> machines;
  for (const trace::TraceFile& file : files) machines.insert(machine_of(file.header()));
  if (machines.contains("")) return {};
  std::string text;
  for (const std::string& machine : machines) text += (text.empty() ? "" : "; ") + machine;
  return text;
}

// A sim that was started again, or by hand, runs beside the ledger of its former life.
bool is_of_former_life(const fs::path& ledger, const std::string& trace_path) {
  std::error_code error;
  if (!fs::exists(trace_path, error)) return false;
  const auto points = trace::TraceFile(trace_path).sync_points();
  const auto written = fs::last_write_time(ledger, error);
  if (error || points.empty()) return false;
  const auto written_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::file_clock::to_sys(written).time_since_epoch());
  return written_ns.count() + kFileClockNs < points.front().realtime_ns;
}

// By the digest of what each sim read, whatever the file is called. Empty where a sim has left no
// ledger.
std::string recordings_in(const std::vector<std::string>& paths) {
  std::set<std::string> recordings;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename();
      constexpr std::string_view kEnding = ".ledger.json";
      if (!name.ends_with(kEnding)) continue;
      const std::string sim = name.substr(0, name.size() - kEnding.size());
      if (is_of_former_life(entry.path(), path + "/" + sim + ".trace")) return {};
      std::ifstream file(entry.path());
      const auto ledger = ordered_json::parse(file, nullptr, false);
      if (!ledger.is_object()) throw Error("not a ledger of sim: " + entry.path().string());
      const std::string digest = ledger.value("recording_digest", "");
      if (digest.empty()) return {};
      recordings.insert(grouped(ledger.value("recording_messages", std::uint64_t{0})) +
                        " messages with digest " + digest);
    }
  }
  std::string text;
  for (const std::string& each : recordings) text += (text.empty() ? "" : "; ") + each;
  return text;
}

bool rates_differ(const TracedRun& before, const TracedRun& now) {
  const auto [less, more] = std::minmax(before.latencies.ticks_per_s, now.latencies.ticks_per_s);
  return less <= 0 || more / less > kRateFactorMax;
}

std::string shown(const std::string& value) { return value.empty() ? "not known" : value; }

trace::Hop hop_in(const ordered_json& row, const char* key) {
  const trace::Hop hop = trace::hop_named(row.at(key).get<std::string>());
  if (hop == trace::Hop::kNone) throw Error("no hop is called " + row.at(key).dump());
  return hop;
}

trace::LatencyRow row_in(const ordered_json& json) {
  trace::LatencyRow row;
  row.name = json.at("name").get<std::string>();
  row.from = hop_in(json, "from");
  row.to = hop_in(json, "to");
  for (const ordered_json& ns : json.at("ns"))
    row.ns.push_back(ns.is_null() ? trace::kNoLatency : ns.get<std::int64_t>());
  return row;
}

TracedRun run_in(const ordered_json& json) {
  TracedRun run;
  run.name = json.at("name").get<std::string>();
  for (std::size_t i = 0; i < kConditions.size(); ++i)
    run.conditions[i] = json.at("conditions").at(kConditions[i].key).get<std::string>();
  run.cores = json.at("cores").get<std::string>();
  run.latencies.ticks_per_s = json.at("ticks_per_s").get<double>();
  for (const ordered_json& row : json.at("rows")) run.latencies.rows.push_back(row_in(row));
  for (const trace::LatencyRow& row : run.latencies.rows)
    if (row.ns.size() != run.latencies.orders())
      throw Error("a damaged baseline: " + row.name + " has another number of orders than " +
                  run.latencies.rows.front().name);
  return run;
}

ordered_json to_json(const TracedRun& run) {
  ordered_json json{{"name", run.name}};
  for (std::size_t i = 0; i < kConditions.size(); ++i)
    json["conditions"][kConditions[i].key] = run.conditions[i];
  json["cores"] = run.cores;
  json["ticks_per_s"] = run.latencies.ticks_per_s;
  json["rows"] = ordered_json::array();
  for (const trace::LatencyRow& row : run.latencies.rows) {
    ordered_json ns = ordered_json::array();
    for (const std::int64_t each : row.ns)
      ns.push_back(each == trace::kNoLatency ? ordered_json() : ordered_json(each));
    json["rows"].push_back({{"name", row.name},
                            {"from", info(row.from).name},
                            {"to", info(row.to).name},
                            {"ns", std::move(ns)}});
  }
  return json;
}

}  // namespace

TracedRun traced_run(const std::vector<std::string>& paths,
                     std::span<const trace::TraceFile> files) {
  TracedRun run;
  for (const std::string& path : paths) run.name += (run.name.empty() ? "" : "+") + path;
  std::map<std::string, std::string> providers, waits, cores;
  for (const trace::TraceFile& file : files) {
    const std::string program = text_of(file.header().program);
    providers[program] = text_of(file.header().provider);
    waits[program] = text_of(file.header().wait_mode);
    cores[program] = text_of(file.header().cores);
  }
  run.latencies = trace::latency_series(files);
  run.cores = by_program(cores);
  run.conditions[index(Condition::kProvider)] = by_program(providers);
  run.conditions[index(Condition::kWait)] = by_program(waits);
  run.conditions[index(Condition::kRecording)] = recordings_in(paths);
  run.conditions[index(Condition::kMachine)] = machines_of(files);
  if (run.latencies.ticks_per_s > 0)
    run.conditions[index(Condition::kRate)] = formatted("%.0f a second", run.latencies.ticks_per_s);
  return run;
}

void require_comparable(const TracedRun& first, std::span<const TracedRun> others,
                        const std::vector<std::string>& allowed) {
  for (const TracedRun& other : others) {
    std::string lines, keys;
    for (std::size_t i = 0; i < kConditions.size(); ++i) {
      const std::string& was = first.conditions[i];
      const std::string& is = other.conditions[i];
      const bool differ =
          i == index(Condition::kRate) ? rates_differ(first, other) : was.empty() || was != is;
      if (!differ || std::ranges::find(allowed, kConditions[i].key) != allowed.end()) continue;
      lines += formatted("\n  %s: %s; now: %s", kConditions[i].what, shown(was).c_str(),
                         shown(is).c_str());
      keys += (keys.empty() ? "" : ",") + std::string(kConditions[i].key);
    }
    if (lines.empty()) continue;
    throw Error("not compared: " + first.name + " and " + other.name +
                " were not measured under equal conditions" + lines +
                "\nto compare them all the same: --allow " + keys);
  }
}

std::string baseline_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const bool plain = std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (name.empty() || !plain || name.front() == '.')
    throw Error("'" + name +
                "' is no name of a baseline: letters, digits, '-', '_' and '.', or a path with a "
                "'/'");
  return "baselines/" + name + ".json";
}

std::string baseline_text(std::span<const TracedRun> runs) {
  ordered_json root{{"format", kFormat}, {"version", kVersion}};
  for (const TracedRun& run : runs) root["runs"].push_back(to_json(run));
  return root.dump() + "\n";
}

std::size_t save_baseline(const TracedRun& run, const std::string& path,
                          const std::vector<std::string>& allowed) {
  std::vector<TracedRun> runs;
  if (fs::exists(path)) runs = load_baseline(path);
  if (!runs.empty()) require_comparable(runs.front(), {&run, 1}, allowed);
  runs.push_back(run);
  const fs::path parent = fs::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) throw SystemError("cannot create " + parent.string(), error.value());
  replace_file(path, {baseline_text(runs)});
  return runs.size();
}

std::vector<TracedRun> parsed_baseline(const std::string& text) {
  const auto root = ordered_json::parse(text, nullptr, false);
  if (!root.is_object() || root.value("format", ordered_json()) != kFormat)
    throw Error("not a baseline of `tickpath trace --save`");
  std::vector<TracedRun> runs;
  try {
    if (root.at("version") != kVersion)
      throw Error("a baseline of version " + root.at("version").dump() + ", this tool reads " +
                  std::to_string(kVersion));
    for (const ordered_json& run : root.at("runs")) runs.push_back(run_in(run));
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("a damaged baseline: ") + error.what());
  }
  if (runs.empty()) throw Error("a damaged baseline: it has no run");
  return runs;
}

std::vector<TracedRun> load_baseline(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw SystemError("cannot read the baseline " + path, errno);
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return parsed_baseline(text.str());
  } catch (const Error& error) {
    throw Error(path + ": " + error.what() + " (remove it to begin a new one)");
  }
}

}  // namespace tickpath::cli
