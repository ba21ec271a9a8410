#include "tools/watch/alarms.hpp"

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

constexpr double kLimitNearlyUsed = 0.8;

// Counted losses: any at all is worth a look. New ones since the look before are an alarm.
struct Loss {
  const char* program;
  const char* group;
  const char* counter;
  const char* text;
};
constexpr std::array kLosses{
    Loss{"mdh", "feed", "missed_messages", "messages of the feed are lost"},
    Loss{"mdh", "feed", "kernel_drops", "packets of the feed found the socket's buffer full"},
    Loss{"mdh", "feed", "conflicting_messages", "messages differ between the lines of the feed"},
    Loss{"strategy", "feed", "overrun", "updates were overrun"},
    Loss{"risk", "feed", "overrun", "updates were overrun"},
    Loss{"oeg", "market", "overrun", "updates were overrun"},
    Loss{"risk", "orders", "events_overrun", "order events were overrun"},
    Loss{"risk", "reconcile", "mismatches", "positions differed from oeg's"},
    Loss{"oeg", "reports", "dropped", "reports found their strategy gone"},
    Loss{"oeg", "journal", "lost", "changes are not in the journal"},
    Loss{"oeg", "journal", "failures", "writes to the journal failed"},
};

class Alarms {
 public:
  explicit Alarms(const Found& found, const Json& view) : found_(found), view_(view) {}

  Json take() {
    for (const Json& name : found_.gone) alarm(name.get<std::string>(), "has ended");
    for (const Json& status : found_.statuses) of_program(status);
    for (const Json& status : found_.statuses) of_losses(status);
    of_limits();
    Json all = std::move(alarms_);
    for (Json& each : warnings_) all.push_back(std::move(each));
    return all;
  }

 private:
  void alarm(const std::string& name, const std::string& text) {
    alarms_.push_back({{"level", "alarm"}, {"name", name}, {"text", text}});
  }
  void warning(const std::string& name, const std::string& text) {
    warnings_.push_back({{"level", "warning"}, {"name", name}, {"text", text}});
  }

  void of_program(const Json& status) {
    const std::string name = status.value("name", "?");
    const std::string state = status.value("state", "?");
    const std::string reason = status.value("not_ready_reason", "");
    const std::string why = reason.empty() ? "" : ": " + reason;
    if (state == "silent") return alarm(name, "does not answer" + why);
    if (state == "denied" || state == "unknown") return alarm(name, "cannot be asked" + why);
    if (state == "hanging") alarm(name, "hangs" + why);
    if (state == "starting" || (state == "ready" && !reason.empty()))
      warning(name, "is not ready" + why);
    const std::string program = status.value("program", "");
    if (program == "mdh") of_mdh(name, status);
    if (program == "oeg") of_oeg(name, status);
    if (program == "risk") of_risk(name, status);
    of_lines(name, cli::plugin_lines(status));
  }

  // Each begins with the program's name, which stands in a column of its own.
  void of_lines(const std::string& name, const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const std::string prefix = name + ": ";
      const std::size_t at = line.find(prefix);
      alarm(name, at == std::string::npos ? line : line.substr(at + prefix.size()));
    }
  }

  void of_mdh(const std::string& name, const Json& status) {
    const std::string state = object_at(status, "feed").value("state", "good");
    if (state == "stale") alarm(name, "the feed is stale: books may be wrong");
    for (const Json& book : list_at(status, "crossed_books"))
      if (book.value("now", false))
        warning(name, "the book of " + book.value("symbol", "?") + " is crossed");
  }

  void of_oeg(const std::string& name, const Json& status) {
    const Json& pair = object_at(status, "pair");
    const bool leads = pair.empty() || pair.value("role", "") == "leader";
    if (leads && status.value("state", "") == "ready" && status.contains("venue")) {
      const Json& venue = object_at(status, "venue");
      if (!venue.value("logged_on", true)) alarm(name, "the FIX session is down");
      if (venue.value("behind_gap", false)) warning(name, "waits for reports that are missing");
    }
    if (!status.value("risk_alive", true)) alarm(name, "no risk: new orders stop");
    if (const auto open = status.value("exceptions_open", std::uint64_t{0}); open != 0)
      alarm(name, std::to_string(open) + " reports could not be booked: tickpath exceptions");
    if (pair.value("role", "") != "leader") return;
    if (pair.value("blocked", false))
      alarm(name, "is blocked: neither its standby nor the witness answers");
    else if (!pair.value("has_standby", false))
      warning(name, "leads without a standby: nothing is replicated");
    if (!pair.value("witness", true)) warning(name, "has no witness: nobody can take over");
  }

  void of_risk(const std::string& name, const Json& status) {
    if (status.value("role", "") == "standby") return;
    of_lines(name, cli::kill_lines(status));
    for (const Json& venue : list_at(status, "venues"))
      if (const std::string positions = venue.value("positions", "whole"); positions != "whole")
        warning(name, venue.value("name", "?") + ": positions are " + positions);
  }

  void of_losses(const Json& status) {
    const std::string name = status.value("name", "?");
    const Json& before = status_named(found_.before, name);
    for (const Loss& loss : kLosses) {
      if (status.value("program", "") != loss.program) continue;
      const std::uint64_t count = counter_of(status, loss.group, loss.counter);
      if (count == 0) continue;
      const std::string text = std::to_string(count) + " " + loss.text;
      if (rate_of(status, before, loss.group, loss.counter) > 0)
        alarm(name, text + ", some just now");
      else
        warning(name, text + " since its start");
    }
  }

  void of_limits() {
    for (const Json& limit : list_at(view_, "limits")) {
      const double used = limit.value("used", 0.0);
      if (used < kLimitNearlyUsed) continue;
      const std::string text = limit.value("whose", "") + ": " + limit.value("limit", "") +
                               formatted(" is used to %.0f %%", used * 100);
      used >= 1 ? alarm("", text) : warning("", text);
    }
  }

  const Found& found_;
  const Json& view_;
  Json alarms_ = Json::array();
  Json warnings_ = Json::array();
};

}  // namespace

Json alarms_of(const Found& found, const Json& view) { return Alarms(found, view).take(); }

}  // namespace tickpath::watch
