#include "tools/doctor/doctor.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/base/names.hpp"
#include "common/config/table.hpp"
#include "common/config/values.hpp"

namespace tickpath::cli::doctor {
namespace {

namespace fs = std::filesystem;

std::string text_of(const toml::table& table, const char* group, const char* key,
                    const std::string& fallback) {
  return table[group][key].value_or(fallback);
}

config::ConfigError wrong(const std::string& file, const toml::node& node,
                          const std::string& what) {
  return config::ConfigError({config::position(node, file) + ": " + what});
}

int cpu_of(const toml::table& table, const std::string& file) {
  const auto node = table["datapath"]["cpu"];
  if (!node) return Pins::kUnpinned;
  if (node.value<std::string>() == "auto") return Pins::kAuto;
  if (const auto number = node.value<std::int64_t>())
    if (*number >= Pins::kUnpinned && *number < 4096) return static_cast<int>(*number);
  throw wrong(file, *node.node(), "datapath.cpu: allowed are a CPU number, -1 and \"auto\"");
}

std::uint64_t size_of(const toml::node_view<const toml::node>& node, const std::string& text,
                      const std::string& file) {
  try {
    return config::parse_size_bytes(text);
  } catch (const Error& error) {
    throw wrong(file, *node.node(), std::string("feed.receive_buffer: ") + error.what());
  }
}

Pins read_file(const fs::path& path) {
  const toml::table table = config::read_table(path.string());
  Pins pins;
  pins.file = path;
  pins.program = path.stem();
  pins.cpu = cpu_of(table, pins.file);
  pins.wait = text_of(table, "datapath", "wait", pins.wait);
  pins.provider = text_of(table, "fabric", "provider", pins.provider);
  pins.device = text_of(table, "fabric", "device", "");
  pins.traffic_class = table["fabric"]["traffic_class"].value_or(0);
  pins.relaxed_ordering = table["fabric"]["relaxed_ordering"].value_or(false);
  // Bytes: "8MiB", or a number.
  const auto buffer = table["feed"]["receive_buffer"];
  if (const auto number = buffer.value<std::int64_t>()) pins.receive_buffer_bytes = *number;
  if (const auto text = buffer.value<std::string>())
    pins.receive_buffer_bytes = static_cast<std::int64_t>(size_of(buffer, *text, pins.file));
  return pins;
}

const char* mark(State state) {
  using enum State;
  return name_in(state, {{kOk, "ok"}, {kWarn, "WARN"}, {kFail, "FAIL"}, {kUnknown, "?"}});
}

std::size_t count(const std::vector<Finding>& findings, State state) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [state](const Finding& finding) { return finding.state == state; }));
}

// "label text", further lines of the text below the first.
void add_line(std::string& text, const char* label, const std::string& value) {
  if (value.empty()) return;
  std::istringstream lines(value);
  bool first = true;
  for (std::string line; std::getline(lines, line); first = false)
    text += std::string("        ") + (first ? label : "        ") + line + "\n";
}

}  // namespace

std::vector<Pins> read_pins(const std::string& path) {
  std::vector<Pins> pins;
  std::error_code error;
  if (!fs::exists(path, error)) throw config::ConfigError({"no configuration at " + path});
  if (!fs::is_directory(path, error)) return {read_file(path)};
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".toml") pins.push_back(read_file(entry.path()));
  if (pins.empty()) throw config::ConfigError({"no *.toml files in " + path});
  std::sort(pins.begin(), pins.end(),
            [](const Pins& a, const Pins& b) { return a.program < b.program; });
  return pins;
}

CpuSet Subject::pinned_cpus() const {
  CpuSet cpus;
  for (const Pins& each : pins)
    if (each.cpu >= 0) cpus.insert(each.cpu);
  return cpus;
}

bool Subject::uses_verbs() const {
  return std::any_of(pins.begin(), pins.end(),
                     [](const Pins& each) { return each.provider == "verbs"; });
}

std::vector<Finding> examine(const Subject& subject) {
  std::vector<Finding> findings;
  for (const auto check : {check_memory, check_cpus, check_power, check_interrupts, check_clocks,
                           check_kernel, check_rdma, check_pins})
    for (Finding& finding : check(subject)) findings.push_back(std::move(finding));
  return findings;
}

std::string to_string(State state) {
  using enum State;
  return name_in(state, {{kOk, "ok"}, {kWarn, "warn"}, {kFail, "fail"}, {kUnknown, "unknown"}});
}

std::string to_text(const std::vector<Finding>& findings, bool all) {
  std::string text;
  for (const Finding& finding : findings) {
    text += formatted("%-5s   %-30s ", mark(finding.state), finding.id.c_str()) + finding.current +
            "\n";
    if (finding.state == State::kOk && !all) continue;
    add_line(text, "needed  ", finding.needed);
    add_line(text, "why     ", finding.why);
    if (finding.state != State::kOk) add_line(text, "do      ", finding.command);
  }
  text += "\n" + std::to_string(count(findings, State::kOk)) + " ok, " +
          std::to_string(count(findings, State::kWarn)) + " warnings, " +
          std::to_string(count(findings, State::kFail)) + " failed, " +
          std::to_string(count(findings, State::kUnknown)) + " unknown\n";
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json root;
  root["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    root["findings"].push_back({{"id", finding.id},
                                {"state", to_string(finding.state)},
                                {"current", finding.current},
                                {"needed", finding.needed},
                                {"why", finding.why},
                                {"command", finding.command}});
  for (const State state : {State::kOk, State::kWarn, State::kFail, State::kUnknown})
    root[to_string(state)] = count(findings, state);
  return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int exit_status(const std::vector<Finding>& findings, bool strict) {
  if (count(findings, State::kFail) != 0) return kExitFailed;
  return strict && count(findings, State::kWarn) != 0 ? kExitWarnings : kExitHealthy;
}

}  // namespace tickpath::cli::doctor
