#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/remote_up.hpp"
#include "tools/cli/run_dir_check.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

struct StatusArguments {
  std::string run_dir = "run";
  bool json = false;
  bool watch = false;
};

// Where it is another one, also of those that nobody can ask at the moment.
void add_hosts(Json& all, const std::string& run_dir) {
  for (Json& status : all)
    if (const std::string host = host_name_of(run_dir, status.value("name", "")); !host.empty())
      status["host"] = host;
  for (const std::string& name : lost_programs(run_dir))
    all.push_back({{"program", program_of(name)},
                   {"name", name},
                   {"state", "unknown"},
                   {"host", host_name_of(run_dir, name)},
                   {"not_ready_reason", "no connection to it from here: tickpath attach"}});
}

// One whose control thread does not answer, or not to us, is shown all the same.
Json status_of(const std::string& run_dir, const RunningProgram& program) {
  Json status = {{"program", program.program}, {"name", program.name}, {"pid", program.pid}};
  try {
    return control::admin_command(control::admin_path(run_dir, program.name),
                                  {{"command", "status"}}, 1000);
  } catch (const SystemError& error) {
    const bool denied = error.errno_value() == EACCES || error.errno_value() == EPERM;
    status["state"] = denied ? "denied" : "silent";
    if (denied) status["not_ready_reason"] = error.what();
  } catch (const Error&) {
    status["state"] = "silent";
  }
  return status;
}

std::string wait_text(const Json& status) {
  const std::string mode = status.value("wait_mode", "?");
  const std::string configured = status.value("wait_configured", mode);
  return mode == configured ? mode : mode + " (" + configured + ")";
}

std::string uptime_text(std::int64_t ms) {
  if (ms < 60'000) return formatted("%.1f s", static_cast<double>(ms) / 1000);
  return formatted("%" PRId64 ":%02" PRId64 " min", ms / 60'000, ms / 1000 % 60);
}

std::vector<std::string> counters_of(const Json& status) {
  std::vector<std::string> words;
  if (const std::string reason = status.value("not_ready_reason", ""); !reason.empty())
    words.push_back(reason);
  const Json counters = status.value("key_counters", Json::object());
  const Json rates = status.value("rates", Json::object());
  for (const auto& [name, value] : counters.items()) {
    const double rate = rates.value(name, 0.0);
    words.push_back(name + "=" + value.dump() +
                    (rate == 0 ? "" : formatted(rate < 10 ? " +%.1f/s" : " +%.0f/s", rate)));
  }
  return words;
}

// The line of a strategy, from risk's status.
std::string profit_line(const Json& strategy) {
  return formatted("    strategy %d: P&L %.2f currency units, %d fills, %d open orders",
                   strategy.value("strategy", 0), strategy.value("pnl", 0.0),
                   strategy.value("fills", 0), strategy.value("open_orders", 0));
}

// What risk knows of each of several venues.
std::vector<std::string> venue_lines(const Json& risk) {
  static const std::map<std::string, std::string> kMeanings{
      {"whole", "positions are whole"},
      {"pending", "positions not confirmed; the last known ones count"},
      {"unknown", "positions NOT KNOWN yet: limits that they may relieve wait"},
      {"doubtful", "positions DOUBTFUL: they count against limits alone"}};
  std::vector<std::string> lines;
  for (const Json& venue : risk.value("venues", Json::array())) {
    const std::string positions = venue.value("positions", "?");
    const auto meaning = kMeanings.find(positions);
    lines.push_back("    " + venue.value("name", "?") + ": " +
                    (meaning == kMeanings.end() ? positions : meaning->second));
    if (!venue.value("mdh_alive", true)) lines.emplace_back("      NO MDH: the last marks count");
    if (const std::string reason = venue.value("not_ready_reason", ""); !reason.empty())
      lines.push_back("      " + reason);
  }
  return lines;
}

// From one step to the next; "-" where either did not happen.
std::string step_text(const Json& times, const char* from, const char* to) {
  const auto begin = times.value(from, std::uint64_t{0});
  const auto end = times.value(to, std::uint64_t{0});
  if (begin == 0 || end < begin) return "-";
  const double us = static_cast<double>(end - begin) / 1000;
  return us < 1000 ? formatted("%.0f us", us) : formatted("%.1f ms", us / 1000);
}

// Which oeg leads, which stands by and how far behind, and what the last takeover took.
std::vector<std::string> pair_lines(const Json& pair) {
  std::vector<std::string> lines;
  const std::string role = pair.value("role", "?");
  std::string text = formatted("    pair: %s, epoch %d", role.c_str(), pair.value("epoch", 0));
  if (role == "leader" && pair.value("blocked", false))
    text += ", BLOCKED: neither its standby nor the witness answers";
  else if (role == "leader" && !pair.value("has_standby", false))
    text += ", WITHOUT STANDBY: what it does is not replicated";
  else if (role == "leader")
    text += formatted(", standby behind by %d records, %.0f us", pair.value("lag_records", 0),
                      pair.value("lag_us", 0.0));
  if (!pair.value("witness", false)) text += ", NO WITNESS: nobody can take over";
  lines.push_back(std::move(text));
  const Json times = pair.value("takeover", Json::object());
  if (role != "leader" || times.value("decided_ns", std::uint64_t{0}) == 0) return lines;
  lines.push_back("    takeover (fence: " + pair.value("fence", "none") + "): decided " +
                  step_text(times, "suspected_ns", "decided_ns") + ", recovered " +
                  step_text(times, "decided_ns", "recovered_ns") + ",");
  lines.push_back("      logged on " + step_text(times, "recovered_ns", "logged_on_ns") +
                  ", first order " + step_text(times, "logged_on_ns", "first_order_ns"));
  return lines;
}

std::string whole_text(const Json& all) {
  std::string text = status_text(all, terminal_columns());
  for (const Json& status : all) text += kill_lines(status);
  return text;
}

// The height of the terminal behind stdout, as it is now; 0: there is none.
std::size_t terminal_rows() {
  winsize size{};
  const bool known = ::isatty(STDOUT_FILENO) != 0 &&
                     ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0;
  return known ? size.ws_row : 0;
}

// By the program's own clock, for a look at many programs takes its time.
void add_rates(Json& status, const Json& before) {
  const auto ms =
      status.value("uptime_ms", std::int64_t{0}) - before.value("uptime_ms", std::int64_t{0});
  if (ms <= 0) return;
  const Json counted = before.value("key_counters", Json::object());
  const Json counters = status.value("key_counters", Json::object());
  for (const auto& [name, value] : counters.items()) {
    const auto now = value.get<std::uint64_t>(), then = counted.value(name, now);
    if (now > then)
      status["rates"][name] = static_cast<double>(now - then) * 1000 / static_cast<double>(ms);
  }
}

// Each second, with what each program has counted in it, until Ctrl-C or until all have ended.
void watch_status(const StatusArguments& arguments) {
  Json before = Json::array();
  for (;;) {
    const Json all = status_of_all(arguments.run_dir);
    if (all.empty()) {
      if (before.empty()) throw Error(nothing_runs(arguments.run_dir));
      std::printf("all programs of '%s' have ended\n", arguments.run_dir.c_str());
      return;
    }
    const std::string text = whole_text(watched(all, before));
    const std::size_t rows = terminal_rows();
    std::fputs(
        rows == 0 ? (text + "\n").c_str() : screen_text(text, rows, terminal_columns()).c_str(),
        stdout);
    std::fflush(stdout);
    before = all;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

void run_status(const StatusArguments& arguments) {
  if (arguments.watch) return watch_status(arguments);
  const Json all = status_of_all(arguments.run_dir);
  if (arguments.json)
    std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  else if (!all.empty())
    std::fputs(whole_text(all).c_str(), stdout);
  if (all.empty()) throw Error(nothing_runs(arguments.run_dir));
}

}  // namespace

Json status_of_all(const std::string& run_dir) {
  Json all = Json::array();
  // Writers are asked ahead of their readers: what a reader has not taken is never too many.
  const std::vector<RunningProgram> programs = running_programs(run_dir);
  for (auto program = programs.rbegin(); program != programs.rend(); ++program)
    all.push_back(status_of(run_dir, *program));
  std::reverse(all.begin(), all.end());
  add_hosts(all, run_dir);
  return all;
}

Json watched(Json all, const Json& before) {
  for (Json& status : all) {
    const auto same = std::ranges::find_if(before, [&](const Json& other) {
      return other.value("name", "") == status.value("name", "") &&
             other.value("pid", 0) == status.value("pid", 0);
    });
    if (same != before.end()) add_rates(status, *same);
    // Most stay at 0, and a terminal has few lines.
    const Json counters = status.value("key_counters", Json::object());
    for (const auto& [name, value] : counters.items())
      if (value == 0) status["key_counters"].erase(name);
  }
  return all;
}

std::string screen_text(const std::string& text, std::size_t rows, std::size_t columns) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  // The cursor stands on the line behind the last one.
  const std::size_t shown = lines < rows ? lines : rows - std::min<std::size_t>(rows, 2);
  std::string screen = "\x1b[H";
  std::size_t at = 0;
  for (std::size_t line = 0; line < shown; ++line) {
    const std::size_t end = text.find('\n', at);
    screen += text.substr(at, std::min(end - at, columns - 1)) + "\x1b[K\n";
    at = end + 1;
  }
  if (shown < lines) screen += formatted("... %zu more lines\x1b[K\n", lines - shown);
  return screen + "\x1b[J";
}

std::string status_text(const Json& all, std::size_t columns) {
  const std::string head = "name         program   process   state     wait          uptime";
  std::string text = head.substr(0, columns - 1) + "\n";
  for (const Json& status : all) {
    const std::string line =
        formatted("%-12s %-9s %-9d %-9s %-13s %s", status.value("name", "?").c_str(),
                  status.value("program", "?").c_str(), status.value("pid", 0),
                  status.value("state", "?").c_str(), wait_text(status).c_str(),
                  uptime_text(status.value("uptime_ms", std::int64_t{0})).c_str());
    std::vector<std::string> words = counters_of(status);
    words.insert(words.begin(), status.value("cores", "?"));
    if (status.contains("host")) words.insert(words.begin(), "on " + status.value("host", "?"));
    constexpr std::size_t kIndent = 2;
    for (std::string& word : words)
      word.resize(std::min(word.size(), columns - 1 - std::min(columns - 1, kIndent)));
    text += line.substr(0, columns - 1) + "\n" + wrapped(words, columns - 1, kIndent, 2);
    if (const std::string role = status.value("role", ""); !role.empty())
      text += "    " + (role == "standby" ? "stands by: another risk is active" : role) + "\n";
    if (status.contains("pair"))
      for (const std::string& pair_line : pair_lines(status["pair"]))
        text += pair_line.substr(0, columns - 1) + "\n";
    if (status.value("program", "") == "risk")
      for (const std::string& venue_line : venue_lines(status))
        text += venue_line.substr(0, columns - 1) + "\n";
    for (const Json& strategy : status.value("strategies", Json::array()))
      if (strategy.contains("pnl")) text += profit_line(strategy).substr(0, columns - 1) + "\n";
  }
  return text;
}

void add_status_command(CLI::App& app) {
  auto* command = app.add_subcommand("status", "The programs of a run directory");
  auto arguments = std::make_shared<StatusArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where they run")->capture_default_str();
  auto* json = command->add_flag("--json", arguments->json, "Everything that the programs tell");
  command
      ->add_flag("--watch", arguments->watch,
                 "Each second, with what was counted in it, until Ctrl-C")
      ->excludes(json);
  command->callback([arguments] { run_status(*arguments); });
}

}  // namespace tickpath::cli
