#include "tests/support/pipeline.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/config/config.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Groups of 239.255.0.0/16 (RFC 2365: IPv4 local scope), by process, on the loopback interface.
std::string own_group(std::uint16_t port) {
  const auto number = static_cast<unsigned>(::getpid());
  return "239.255." + std::to_string(number / 250 % 250 + 1) + "." +
         std::to_string(number % 250 + 1) + ":" + std::to_string(port);
}

// A changed line of configuration or two for each program: mdh and oeg listen at an address, and
// who depends on them connects there.
void put_on_network(std::map<std::string, std::string>& texts) {
  const std::string address = test_support::verbs_address();
  const std::string mdh = address + ":" + std::to_string(test_support::free_port(address));
  const std::string oeg = address + ":" + std::to_string(test_support::free_port(address));
  const std::string provider =
      "provider = \"" + provider_name() + "\"\ndevice = \"" + test_support::device_name() + "\"\n";
  for (auto& [program, text] : texts) {
    if (program == "sim") continue;
    replace_all(text, "provider = \"shm\"\n", provider);
    if (text.find("[fabric]") == std::string::npos) {
      text += "\n[fabric]\n" + provider;
      if (program == "oeg") text += "endpoint = \"{run_dir}/oeg.fabric\"\n";
    }
    text += "\n[security]\nmode = \"none\"\n";  // authentication has tests of its own
    replace_all(text, "{run_dir}/mdh.fabric", mdh);
    replace_all(text, "{run_dir}/oeg.fabric", oeg);
    if (provider_name() != "verbs") continue;
    // Emulated machines are slow: nobody counts as dead too early.
    replace_all(text, "dead_after = \"35ms\"", "dead_after = \"15s\"");
    replace_all(text, "[datapath]\n", "[datapath]\nhang_after = \"15s\"\n");
    replace_all(text, "absent_after = \"5s\"", "absent_after = \"15s\"");
  }
}

// Sets `key` of `section`, whether the text has it or not. "[section]" begins a line, "" is the
// text's head.
void set_key(std::string& text, const std::string& section, const std::string& key,
             const std::string& value) {
  if (!section.empty() && text.find("\n[" + section + "]\n") == std::string::npos) {
    text += "\n[" + section + "]\n";
  }
  const std::size_t head = section.empty() ? 0 : text.find("\n[" + section + "]\n") + 1;
  const std::size_t begin = section.empty() ? 0 : text.find('\n', head) + 1;
  const std::size_t end = std::min(text.find("\n[", begin == 0 ? 0 : begin - 1), text.size());
  std::string body = text.substr(begin, end - begin);
  body = std::regex_replace("\n" + body, std::regex("\n" + key + " = [^\n]*"), "").substr(1);
  text.replace(begin, end - begin, key + " = " + value + "\n" + body);
}

struct Setting {
  const char* program;
  const char* section;
  const char* key;
  const char* value;
};

constexpr Setting kLight[] = {
    // Programs touch their tables at the start. For a day's, which configurations hold, that takes
    // longer than most tests run: 440 MB and a second of sim's.
    {"sim", "trace", "capacity", "524288"},
    {"sim", "matching", "recorded_orders_max", "131072"},
    {"sim", "matching", "recorded_levels_max", "65536"},
    {"sim", "matching", "live_orders_max", "16384"},
    {"sim", "matching", "order_ids_max", "262144"},
    {"sim", "orders", "reports_pending_max", "32768"},
    {"mdh", "trace", "capacity", "1048576"},
    {"mdh", "book", "orders_max", "131072"},
    {"mdh", "book", "levels_max", "65536"},
    {"mdh", "store", "instruments", "1024"},
    {"strategy", "trace", "capacity", "524288"},
    {"oeg", "orders", "executions_max", "32768"},
    {"oeg", "journal", "records", "65536"},
    // A program that polls takes half of two processors from the tests beside it.
    {"sim", "datapath", "wait", "\"park\""},
    {"mdh", "datapath", "wait", "\"park\""},
    {"strategy", "datapath", "wait", "\"park\""},
    {"oeg", "datapath", "wait", "\"park\""},
    {"risk", "datapath", "wait", "\"park\""},
};

// "oeg-1" is an oeg.
void make_light(std::map<std::string, std::string>& texts) {
  for (auto& [name, text] : texts) {
    for (const Setting& each : kLight) {
      if (name.substr(0, name.find('-')) != each.program) continue;
      set_key(text, each.section, each.key, each.value);
    }
  }
}

}  // namespace

PipelineFolder::PipelineFolder(const std::string& config) : order_port_(test_support::free_port()) {
  std::filesystem::create_directories(config_dir());
  const std::string group = own_group(order_port_);
  const std::string snapshots = "127.0.0.1:" + std::to_string(test_support::free_port());
  const std::string feed_source =
      "127.0.0.1:" + std::to_string(order_port_);  // UDP's, beside TCP's
  // Ports of a second venue.
  const std::uint16_t port_2 = test_support::free_port();
  const std::string snapshots_2 = "127.0.0.1:" + std::to_string(test_support::free_port());
  const std::string address_2 = "127.0.0.1:" + std::to_string(port_2);
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(source(config))) {
    std::string& text = texts[entry.path().stem()];
    text = config::read_merged_text(entry.path());
    replace_all(text, "127.0.0.1:9878", "127.0.0.1:" + std::to_string(order_port_));
    replace_all(text, "127.0.0.1:7791", snapshots);
    replace_all(text, "239.255.7.1:7701", group);
    replace_all(text, "127.0.0.1:7700", feed_source);
    replace_all(text, "127.0.0.1:9888", address_2);
    replace_all(text, "127.0.0.1:7792", snapshots_2);
    replace_all(text, "239.255.7.3:7721", own_group(port_2));
    replace_all(text, "127.0.0.1:7720", address_2);
  }
  if (test_support::over_network()) put_on_network(texts);
  make_light(texts);
  for (const auto& [program, text] : texts) {
    write_file(config_dir() + "/" + program + ".toml", text);
  }
}

bool PipelineFolder::wait_listening(const std::string& program) const {
  return wait_until([&] { return std::filesystem::exists(endpoint(program)); });
}

std::string PipelineFolder::endpoint(const std::string& program) const {
  const std::string text = read_file(config_dir() + "/" + program + ".toml");
  std::string found = "{run_dir}/" + program + ".fabric";
  if (const std::size_t section = text.find("[fabric]"); section != std::string::npos) {
    const std::string key = "endpoint = \"";
    const std::size_t begin = text.find(key, section) + key.size();
    found = text.substr(begin, text.find('"', begin) - begin);
  }
  if (found.starts_with("{run_dir}")) found.replace(0, 9, run_dir());
  return found;
}

void PipelineFolder::edit(const std::string& program, const std::string& from,
                          const std::string& to) const {
  const std::string path = config_dir() + "/" + program + ".toml";
  std::string text = read_file(path);
  if (text.find(from) == std::string::npos) throw Error(path + " does not contain: " + from);
  replace_all(text, from, to);
  write_file(path, text);
}

void PipelineFolder::trade_only_by(const std::string& plugin, const std::string& more) const {
  const std::string path = config_dir() + "/strategy.toml", text = read_file(path);
  const std::size_t begin = std::min(text.find("[[plugin]]"), text.size());
  std::size_t end = begin;
  while (end < text.size() && text.compare(end, 8, "[[plugin") == 0)
    end = std::min(text.find("[[", end + 2), text.size());
  write_file(path, text.substr(0, begin) + text.substr(end) + "\n[[plugin]]\nid = 1\nfile = \"" +
                       program("../tests/plugins/" + plugin + ".so") + "\"\n" + more);
}

std::string PipelineFolder::generate(std::uint64_t messages, double seconds, int symbols,
                                     int seed) const {
  const std::string path = folder_ / "generated.itch50";
  const Finished made =
      run({program("tickpath"), "generate", path, "--messages", std::to_string(messages),
           "--symbols", std::to_string(symbols), "--seed", std::to_string(seed), "--duration",
           std::to_string(seconds)});
  if (made.exit_code != 0) throw Error("generate failed: " + made.output);
  return path;
}

std::vector<std::string> PipelineFolder::up(const std::string& recording,
                                            const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{
      program("tickpath"), "up",          config_dir(), "--run-dir",
      run_dir(),           "--until-end", "--set",      "sim:replay.file=" + recording};
  if (test_support::over_network()) {
    arguments.insert(arguments.end(), {"--ready-timeout", "120", "--stop-timeout", "60"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Finished PipelineFolder::run_up(const std::string& recording, const std::vector<std::string>& more,
                                std::chrono::milliseconds limit) const {
  Finished finished =
      run(up(recording, more), path(), test_support::over_network() ? 5 * limit : limit);
  check_logs();
  return finished;
}

Finished PipelineFolder::run_program(const std::string& name, const std::vector<std::string>& more,
                                     std::chrono::milliseconds limit) const {
  std::vector<std::string> arguments{program(name), config_dir() + "/" + name + ".toml",
                                     "--run-dir", run_dir()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments, path(), limit);
}

std::unique_ptr<Process> PipelineFolder::begin(const std::string& name,
                                               const std::vector<std::string>& settings) const {
  std::vector<std::string> arguments{program(name), config_dir() + "/" + name + ".toml",
                                     "--run-dir", run_dir()};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return std::make_unique<Process>(arguments, path());
}

void PipelineFolder::check_logs() const {
  for (const auto& entry : std::filesystem::directory_iterator(run_dir())) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream file(entry.path());
    // 18446...: a number below 0.
    static const std::regex kWrong("\\{\\}|18446[67][0-9]{14}");
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, kWrong))
        throw Error(entry.path().string() + " has a line that was not filled in: " + line);
  }
}

std::string PipelineFolder::logs() const {
  constexpr std::size_t kTail = 3000;
  std::string all;
  for (const char* const name : {"sim", "mdh", "oeg", "risk", "strategy"}) {
    std::ifstream file(run_dir() + "/" + name + ".log");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    all += std::string("--- ") + name + ".log\n" +
           text.substr(text.size() > kTail ? text.size() - kTail : 0);
  }
  return all;
}

std::string PipelineFolder::summary(const std::string& name) const {
  return read_file(run_dir() + "/" + name + ".summary.json");
}

std::map<std::string, HeldPosition> PipelineFolder::positions(const std::string& name) const {
  std::map<std::string, HeldPosition> held;
  const nlohmann::json all = nlohmann::json::parse(summary(name));
  for (const nlohmann::json& row : all.at("positions")) {
    const HeldPosition position{row.at("shares").get<std::int64_t>(),
                                row.at("cash").get<std::int64_t>()};
    if (position == HeldPosition{0, 0}) continue;
    held[row.at("strategy_id").dump() + " " + row.at("symbol").get<std::string>()] = position;
  }
  return held;
}

std::uint64_t PipelineFolder::counter(const std::string& name, const std::string& group,
                                      const std::string& counter) const {
  const Finished status = run({program("tickpath"), "status", "--run-dir", run_dir(), "--json"});
  const nlohmann::json all = nlohmann::json::parse(status.output, nullptr, false);
  if (!all.is_array()) return 0;
  for (const nlohmann::json& each : all) {
    if (each.value("name", "") != name || !each.contains("counters")) continue;
    const nlohmann::json& counters = each.at("counters");
    return counters.contains(group) ? counters.at(group).value(counter, std::uint64_t{0}) : 0;
  }
  return 0;
}

bool PipelineFolder::wait_counter_above(const std::string& name, const std::string& group,
                                        const std::string& what, std::uint64_t value) const {
  return test_support::wait_until([&] { return counter(name, group, what) > value; },
                                  std::chrono::minutes(1));
}

pid_t PipelineFolder::program_id(const std::string& name) const {
  const Finished status = run({program("tickpath"), "status", "--run-dir", run_dir(), "--json"});
  const nlohmann::json parsed = nlohmann::json::parse(status.output);
  for (const nlohmann::json& each : parsed.is_array() ? parsed : parsed.at("programs")) {
    if (each.at("name") == name) return each.at("pid").get<pid_t>();
  }
  return -1;
}

}  // namespace tickpath::test_support
