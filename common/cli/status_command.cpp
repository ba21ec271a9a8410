#include "common/cli/status_command.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/cli/programs.hpp"
#include "common/control/admin_client.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

struct StatusArguments {
  std::string run_dir = "run";
  bool json = false;
};

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
  char text[32];
  if (ms < 60'000)
    std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(ms) / 1000);
  else
    std::snprintf(text, sizeof(text), "%" PRId64 ":%02" PRId64 " min", ms / 60'000, ms / 1000 % 60);
  return text;
}

std::string counters_text(const Json& status) {
  std::string text = status.value("not_ready_reason", "");
  const Json counters = status.value("key_counters", Json::object());
  for (const auto& [name, value] : counters.items())
    text += (text.empty() ? "" : "  ") + name + "=" + value.dump();
  return text;
}

void run_status(const StatusArguments& arguments) {
  Json all = Json::array();
  for (const RunningProgram& program : running_programs(arguments.run_dir))
    all.push_back(status_of(arguments.run_dir, program));
  if (arguments.json) {
    std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else if (!all.empty()) {
    std::printf("%-12s %-9s %8s  %-9s %-13s %-20s %10s  %s\n", "name", "program", "process",
                "state", "wait", "cores", "uptime", "counters");
    for (const Json& status : all)
      std::printf("%-12s %-9s %8d  %-9s %-13s %-20s %10s  %s\n", status.value("name", "?").c_str(),
                  status.value("program", "?").c_str(), status.value("pid", 0),
                  status.value("state", "?").c_str(), wait_text(status).c_str(),
                  status.value("cores", "?").c_str(),
                  uptime_text(status.value("uptime_ms", std::int64_t{0})).c_str(),
                  counters_text(status).c_str());
    for (const Json& status : all) std::printf("%s", kill_lines(status).c_str());
  }
  if (all.empty()) throw Error("nothing runs in '" + arguments.run_dir + "'");
}

}  // namespace

void add_status_command(CLI::App& app) {
  auto* command = app.add_subcommand("status", "The programs of a run directory");
  auto arguments = std::make_shared<StatusArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where they run")->capture_default_str();
  command->add_flag("--json", arguments->json, "Everything that the programs tell");
  command->callback([arguments] { run_status(*arguments); });
}

}  // namespace tickpath::cli
