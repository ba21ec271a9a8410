#include "tools/cli/programs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <tuple>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/config/values.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/command_line.hpp"
#include "common/control/run_directory.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::cli {
namespace {

constexpr std::array<std::string_view, 5> kStartOrder{"sim", "mdh", "oeg", "risk", "strategy"};
constexpr std::array<std::string_view, 5> kStopOrder{"strategy", "oeg", "risk", "mdh", "sim"};

std::size_t rank(const std::array<std::string_view, 5>& order, const std::string& program) {
  const auto found = std::find(order.begin(), order.end(), program);
  return static_cast<std::size_t>(found - order.begin());
}

bool concerns(const std::string& scope, const std::string& name, const std::string& program) {
  return scope.empty() || scope == name || scope == program;
}

}  // namespace

std::size_t start_rank(const std::string& program) { return rank(kStartOrder, program); }
std::size_t stop_rank(const std::string& program) { return rank(kStopOrder, program); }

std::string program_of(const std::string& instance) {
  for (const std::string_view program : kStartOrder) {
    if (!instance.starts_with(program)) continue;
    const char next = instance.size() == program.size() ? '-' : instance[program.size()];
    if (std::isalpha(static_cast<unsigned char>(next)) == 0) return std::string(program);
  }
  return instance;
}

bool is_known_program(const std::string& program) {
  return start_rank(program) < kStartOrder.size();
}

std::vector<std::string> other_files(const std::string& config_dir) {
  std::vector<std::string> others;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(config_dir, error))
    if (entry.path().extension() == ".toml" && entry.path().stem() != "hosts" &&
        !is_known_program(program_of(entry.path().stem())))
      others.push_back(entry.path());
  std::sort(others.begin(), others.end());
  return others;
}

std::vector<ConfiguredProgram> configured_programs(const std::string& config_dir,
                                                   const std::vector<std::string>& overrides,
                                                   const std::vector<std::string>& only) {
  std::vector<ConfiguredProgram> programs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(config_dir, error)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().stem();
    const std::string program = program_of(name);
    if (!is_known_program(program)) continue;
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    programs.push_back({name, program, entry.path(), {}});
  }
  if (error)
    throw SystemError("cannot read the configuration directory '" + config_dir + "'",
                      error.value());
  if (programs.empty())
    throw config::ConfigError(
        {"no sim.toml, mdh.toml, oeg.toml, risk.toml or strategy.toml in '" + config_dir + "'"});
  std::sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) {
    return std::pair(start_rank(a.program), a.name) < std::pair(start_rank(b.program), b.name);
  });
  for (const std::string& setting : overrides) {
    const auto [scope, assignment] = control::split_scope(setting);
    bool used = false;
    for (ConfiguredProgram& program : programs) {
      if (!concerns(scope, program.name, program.program)) continue;
      used = true;
      program.settings.push_back(assignment);
    }
    if (!used)
      throw config::ConfigError(
          {"--set " + setting + ": no program of that name in '" + config_dir + "'"});
  }
  return programs;
}

bool stands_by(const control::Json& status) {
  if (!status.is_object()) return false;
  if (status.value("program", "") == "risk") return status.value("role", "") == "standby";
  // One that has begun and looks for its pair may stand by, or lead, before it is asked to end.
  return status.value("state", "") == "starting" ||
         status.value("pair", control::Json::object()).value("role", "leader") != "leader";
}

control::Part part_of_instance(const std::string& run_dir, const std::string& name) {
  control::Part part = control::RunDirectory::part(run_dir, name);
  if (part.program.empty()) part.program = program_of(name);
  return part;
}

namespace {

RunningProgram by_its_status(const std::string& run_dir, const std::string& name, pid_t pid) {
  const control::Json status = try_status(run_dir, name);
  RunningProgram program;
  const control::Part part = part_of_instance(run_dir, name);
  program.name = name;
  program.program = part.program;
  program.pid = pid;
  program.venue = part.venue;
  program.shard = part.shard;
  program.stands_by = stands_by(status);
  if (!status.is_object()) return program;
  program.program = status.value("program", program.program);
  program.answers = true;
  program.paired = status.contains("pair");
  program.venue = status.value("venue_number", 0);
  for (const control::Json& venue : status.value("venues", control::Json::array()))
    if (program.program == "risk") program.venues.push_back(venue.value("number", 0));
  if (program.program != "oeg") return program;
  program.shard = status.value("shard", "");
  program.risk = status.value("risk", "");
  return program;
}

}  // namespace

std::vector<RunningProgram> running_programs(const std::string& run_dir) {
  std::vector<std::future<RunningProgram>> answers;
  for (const std::string& name : control::RunDirectory::names(run_dir)) {
    const pid_t pid = control::RunDirectory::holder(run_dir, name);
    if (pid <= 0 && !control::RunDirectory::held_elsewhere(run_dir, name)) continue;
    answers.push_back(std::async(std::launch::async, by_its_status, run_dir, name, pid));
  }
  std::vector<RunningProgram> running;
  for (std::future<RunningProgram>& answer : answers) running.push_back(answer.get());
  std::stable_sort(running.begin(), running.end(), [](const auto& a, const auto& b) {
    return std::tuple(stop_rank(a.program), !a.stands_by) <
           std::tuple(stop_rank(b.program), !b.stands_by);
  });
  return running;
}

void signal_program(const std::string& run_dir, const RunningProgram& program, int number) {
  if (program.pid <= 0) return;
  // The descriptor is of one process for good; only then is it looked which one that is.
  const net::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, program.pid, 0)));
  if (process.get() < 0) return;
  if (control::RunDirectory::holder(run_dir, program.name) != program.pid) return;
  (void)::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

std::string process_text(const RunningProgram& program) {
  return program.pid > 0 ? "as process " + std::to_string(program.pid)
                         : std::string("in another container or on another host");
}

namespace {

std::string stop_path(const std::string& run_dir, const std::string& name) {
  return run_dir + "/" + name + ".stop";
}

}  // namespace

void note_stop(const std::string& run_dir, const std::string& name) {
  std::ofstream(stop_path(run_dir, name)) << "asked to stop\n";
}

bool is_asked_to_stop(const std::string& run_dir, const std::string& name) {
  std::error_code none;
  return std::filesystem::exists(stop_path(run_dir, name), none);
}

void forget_stop(const std::string& run_dir, const std::string& name) {
  std::error_code none;
  std::filesystem::remove(stop_path(run_dir, name), none);
}

void ask_to_stop(const std::string& run_dir, const RunningProgram& program) {
  note_stop(run_dir, program.name);
  try {
    control::admin_command(control::admin_path(run_dir, program.name), {{"command", "stop"}}, 2000);
  } catch (const Error&) {
    signal_program(run_dir, program, SIGTERM);
  }
}

bool wait_for_exit(pid_t pid, int timeout_ms) {
  const int file = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (file < 0) return errno == ESRCH;
  pollfd polled{file, POLLIN, 0};
  const int ready = ::poll(&polled, 1, timeout_ms);
  ::close(file);
  return ready > 0;
}

// The lock says whether a program without a number here has ended.
bool wait_for_exit(const std::string& run_dir, const RunningProgram& program, int timeout_ms) {
  if (program.pid > 0) return wait_for_exit(program.pid, timeout_ms);
  constexpr auto kBetween = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (control::RunDirectory::held_elsewhere(run_dir, program.name)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kBetween);
  }
  return true;
}

control::Json try_status(const std::string& run_dir, const std::string& name, int timeout_ms) {
  try {
    return control::admin_command(control::admin_path(run_dir, name), {{"command", "status"}},
                                  timeout_ms);
  } catch (const Error&) {
    return nullptr;
  }
}

std::string active_risk(const std::string& run_dir, std::string& why, std::optional<int> venue) {
  std::vector<std::string> names;
  for (const std::string& name : control::RunDirectory::names(run_dir))
    if (program_of(name) == "risk" &&
        (control::RunDirectory::holder(run_dir, name) > 0 ||
         control::RunDirectory::held_elsewhere(run_dir, name)) &&
        (!venue || control::RunDirectory::part(run_dir, name).venue == *venue))
      names.push_back(name);
  if (names.size() == 1) return names.front();
  why = "no risk runs in '" + run_dir + "'";
  std::string each;
  for (const std::string& name : names) {
    // One that hangs must not keep a kill from the other one for long.
    const control::Json status = try_status(run_dir, name, kGlanceMs);
    const std::string role = status.is_object() ? status.value("role", "?") : "";
    if (role == "active") return name;
    each += (each.empty() ? "" : ", ") + name +
            (role.empty()        ? " does not answer"
             : role == "standby" ? " stands by"
                                 : " waits for oeg");
  }
  if (!each.empty()) why = "no risk is active in '" + run_dir + "': " + each;
  return {};
}

control::Json replay_of(const std::string& run_dir, const std::string& sim, int timeout_ms) {
  const control::Json status = try_status(run_dir, sim, timeout_ms);
  return status.is_object() && status.contains("replay") ? status["replay"]
                                                         : control::Json(nullptr);
}

control::Json replay_of_all(const std::string& run_dir, const std::vector<std::string>& sims,
                            int timeout_ms) {
  control::Json all;
  for (const std::string& sim : sims) {
    const control::Json one = replay_of(run_dir, sim, timeout_ms);
    if (!one.is_object()) return nullptr;
    if (all.is_null()) {
      all = one;
      continue;
    }
    for (const char* sum : {"messages_sent", "messages_total", "rate"})
      all[sum] = all.value(sum, std::uint64_t{0}) + one.value(sum, std::uint64_t{0});
    all["position_ns"] = std::min(all.value("position_ns", std::uint64_t{0}),
                                  one.value("position_ns", std::uint64_t{0}));
    all["remaining_ns"] = std::max(all.value("remaining_ns", std::int64_t{-1}),
                                   one.value("remaining_ns", std::int64_t{-1}));
    // A sim that is not at the end speaks for all.
    for (const char* state : {"running", "paused", "waiting", "halted"})
      if (all.value("state", "") == state || one.value("state", "") == state) {
        all["state"] = state;
        break;
      }
    if (one.contains("damage") && all.value("damage", "").empty()) all["damage"] = one["damage"];
  }
  return all;
}

namespace {

// What a `status` counts of the feed: sent, or taken and missed. None where it does not say.
std::optional<std::uint64_t> feed_count(const control::Json& status) {
  if (!status.is_object()) return std::nullopt;
  const control::Json counters = status.value("key_counters", control::Json::object());
  if (!counters.contains("feed.messages")) return std::nullopt;
  std::uint64_t sum = 0;
  for (const char* part : {"feed.messages", "feed.missed_messages", "feed.bridged_messages"})
    sum += counters.value(part, std::uint64_t{0});
  return sum;
}

}  // namespace

void await_rest(const std::string& run_dir, const std::vector<std::string>& sims,
                const std::vector<std::string>& mdhs) {
  using control::Json;
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongest = std::chrono::seconds(30);
  constexpr auto kBetween = std::chrono::milliseconds(50);
  // An mdh that has just started learns of what it lacks by the feed's next beat, a second later.
  constexpr auto kNothingNew = std::chrono::seconds(3);
  // Not every feed says that its session ends.
  constexpr auto kEndOfSession = std::chrono::seconds(1);
  constexpr int kQuietLooks = 3;
  const Json last = replay_of_all(run_dir, sims);
  const bool replay_ended = !last.is_object() || last.value("state", "") == "ended";
  // Which mdh hears which of several sims is not known here.
  const std::optional<std::uint64_t> sent =
      sims.size() == 1 ? feed_count(try_status(run_dir, sims.front())) : std::nullopt;
  const Clock::time_point begin = Clock::now();
  Clock::time_point news = begin;
  int quiet = 0;
  Json before;
  while (quiet < kQuietLooks && Clock::now() - begin < kLongest &&
         Clock::now() - news < kNothingNew) {
    Json now = Json::array();
    bool done = true;
    for (const std::string& mdh : mdhs) {
      const Json status = try_status(run_dir, mdh);
      done &= status.is_object();
      if (!status.is_object()) continue;
      now.push_back(status.value("key_counters", Json()));
      const std::optional<std::uint64_t> taken = feed_count(status);
      if (sent && taken) done &= *taken >= *sent;
      if (replay_ended && Clock::now() - begin < kEndOfSession)
        done &= status.value("feed", Json::object()).value("state", "") == "ended";
    }
    if (now != before) news = Clock::now();
    quiet = done && now == before ? quiet + 1 : 0;
    before = std::move(now);
    if (quiet < kQuietLooks) std::this_thread::sleep_for(kBetween);
  }
}

namespace {

// "risk: all strategies are killed since 2026-03-31T14:02:11Z by alice, open orders are cancelled"
std::string kill_line(const std::string& program, const control::Json& kill) {
  const control::Json& whose = kill.at("strategy");
  const std::string who =
      whose.is_string() ? "all strategies are" : "strategy " + whose.dump() + " is";
  std::string text = program + ": " + who + " killed since " + kill.value("since", "?") + " by " +
                     kill.value("operator", kill.value("by", "?"));
  if (kill.contains("limit"))
    text += " (" + kill.at("value").dump() + " is over " + kill.at("limit").dump() + ")";
  return text + ", open orders are " + kill.value("orders", "?") + "\n";
}

}  // namespace

std::string kill_lines(const control::Json& status) {
  if (!status.is_object()) return {};
  const control::Json kill_switch = status.value("kill_switch", control::Json::object());
  const std::string name = status.value("name", "?");
  std::string lines;
  for (const control::Json& kill : kill_switch.value("kills", control::Json::array()))
    lines += kill_line(name, kill);
  for (const control::Json& open : kill_switch.value("open", control::Json::array()))
    if (const auto orders = open.value("orders", std::uint64_t{0}); orders != 0)
      lines += name + ": strategy " + open.at("strategy").dump() + " is killed and has " +
               std::to_string(orders) + " orders open\n";
  return lines;
}

std::string plugin_lines(const control::Json& status) {
  if (!status.is_object()) return {};
  std::string lines;
  for (const control::Json& plugin : status.value("plugins", control::Json::array())) {
    const std::string state = plugin.value("state", "");
    if (state != "unusable" && state != "failed") continue;
    lines += status.value("name", "?") + ": strategy " +
             std::to_string(plugin.value("strategy", 0)) + " is " + state;
    const std::string error = plugin.value("error", "");
    lines += error.empty() ? ": its log says why\n" : ": " + error + "\n";
  }
  return lines;
}

std::string last_lines(const std::string& path, std::size_t count, std::string_view kept) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  std::string above;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() <= count) continue;
    if (!kept.empty() && lines.front().find(kept) != std::string::npos) above = lines.front();
    lines.pop_front();
  }
  if (!above.empty()) lines.push_front(above);
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

}  // namespace tickpath::cli
