#include "tools/doctor/machine.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <sys/timex.h>

namespace tickpath::cli::doctor {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const char* const white = " \t\n\r";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char each) { return each >= '0' && each <= '9'; });
}

}  // namespace

std::optional<std::string> Machine::bytes(const std::string& path) const {
  std::ifstream file(root_ + path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return text.str();
}

std::optional<std::string> Machine::read(const std::string& path) const {
  const std::optional<std::string> text = bytes(path);
  if (!text) return std::nullopt;
  return trimmed(*text);
}

std::optional<std::int64_t> Machine::number(const std::string& path) const {
  const std::optional<std::string> text = read(path);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<CpuSet> Machine::cpus(const std::string& path) const {
  const std::optional<std::string> text = read(path);
  if (!text) return std::nullopt;
  return parse_cpus(*text);
}

bool Machine::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(root_ + path, error);
}

std::vector<std::string> Machine::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(root_ + folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::set<std::string> Machine::processes() const {
  std::set<std::string> names;
  for (const std::string& entry : list("/proc"))
    if (is_number(entry))
      if (const auto name = read("/proc/" + entry + "/comm")) names.insert(*name);
  return names;
}

std::optional<std::string> Machine::limit(const std::string& name) const {
  const std::optional<std::string> limits = read("/proc/self/limits");
  if (!limits) return std::nullopt;
  std::istringstream lines(*limits);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string soft;
    if (rest >> soft) return soft;
  }
  return std::nullopt;
}

std::optional<bool> Machine::has_capability(int bit) const {
  const std::optional<std::string> status = read("/proc/self/status");
  if (!status) return std::nullopt;
  const std::size_t at = status->find("CapEff:");
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(status->substr(at + 7));
  std::uint64_t bits = 0;
  if (!(rest >> std::hex >> bits)) return std::nullopt;
  return (bits >> bit & 1) != 0;
}

CpuSet Machine::online() const { return cpus("/sys/devices/system/cpu/online").value_or(CpuSet{}); }

int Machine::node_of(int cpu) const {
  for (const std::string& name : list("/sys/devices/system/node")) {
    if (name.compare(0, 4, "node") != 0 || !is_number(name.substr(4))) continue;
    const auto cpus_of = cpus("/sys/devices/system/node/" + name + "/cpulist");
    if (cpus_of && cpus_of->count(cpu) != 0) return std::stoi(name.substr(4));
  }
  return -1;
}

std::optional<bool> Machine::clock_synchronised() const {
  if (!root_.empty()) {
    const auto written = number("/clock_synchronised");
    return written ? std::optional<bool>(*written != 0) : std::nullopt;
  }
  timex state{};
  if (::adjtimex(&state) < 0) return std::nullopt;
  return (state.status & STA_UNSYNC) == 0;
}

DcbAnswer Machine::dcb(const std::string& interface) const {
  if (root_.empty()) return ask_dcb(interface);
  const std::optional<std::string> text = read("/dcb/" + interface);
  if (!text) return {std::nullopt, "the driver of " + interface + " has no DCB settings"};
  return {parse_dcb_text(*text), {}};
}

CpuSet parse_cpus(const std::string& text) {
  CpuSet result;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    part = trimmed(part);
    const std::size_t dash = part.find('-');
    const std::string first = part.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : part.substr(dash + 1);
    // Four digits: the kernel numbers at most 8192 CPUs; more is not a list of CPUs.
    if (!is_number(first) || !is_number(last) || first.size() > 4 || last.size() > 4) continue;
    for (int cpu = std::stoi(first); cpu <= std::stoi(last); ++cpu) result.insert(cpu);
  }
  return result;
}

std::string to_text(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const int first = *at;
    int last = first;
    while (++at != cpus.end() && *at == last + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

}  // namespace tickpath::cli::doctor
