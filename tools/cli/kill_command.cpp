#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/unreached_parts.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

struct KillArguments {
  std::string run_dir = "run";
  std::string risk;          // empty: the active one
  std::string oeg;           // empty: as risk says
  std::optional<int> venue;  // of several: whose risk
  std::string shard;         // of several that the venue has: whose
  std::optional<std::uint8_t> strategy;
  bool force = false;
  bool keep_orders = false;
  double timeout_s = 10;
};

std::string whom(const KillArguments& arguments) {
  const std::string who = arguments.strategy ? "strategy " + std::to_string(*arguments.strategy)
                                             : std::string("all strategies");
  // Venue 0: a risk of several venues.
  const int venue = arguments.venue.value_or(0);
  const std::string part = arguments.shard.empty() ? "" : "shard " + arguments.shard + ", ";
  return (venue != 0 ? "venue " + std::to_string(venue) + ", " : "") + part + who;
}

// As `status` shows it beside the kill.
std::string operator_name() {
  const uid_t user = ::geteuid();
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : "uid" + std::to_string(user);
}

Json kill_switch_of(const Json& status) {
  return status.is_object() ? status.value("kill_switch", Json::object()) : Json::object();
}

std::uint64_t number(const Json& json, const char* key) {
  return json.value(key, std::uint64_t{0});
}

// "strategy": a number, or "all".
bool is_of(const Json& kill, const std::optional<std::uint8_t>& strategy) {
  const Json& whose = kill.at("strategy");
  return strategy ? whose.is_number() && whose.get<unsigned>() == *strategy : whose.is_string();
}

// Where the switch has to arrive: at the oeg, or the pair, of a venue that risk watches.
struct Place {
  std::string name;           // of the venue; empty: risk watches one
  std::optional<int> number;  // of the venue; none: there is but one oeg to look for
  Json oegs = Json::array();  // as risk shows them, of a pair or of several venues
  std::uint64_t version = 0;  // that is in their memory
  std::string reason;         // why risk is not ready there

  std::string text(const std::string& what) const {
    return name.empty() || what.empty() ? what : name + ": " + what;
  }
};

// Throws Error where one oeg is asked for, and there are more.
std::vector<Place> places_of(const KillArguments& arguments, const Json& risk_status) {
  const Json status = risk_status.is_object() ? risk_status : Json::object();
  const Json kill_switch = kill_switch_of(status);
  std::vector<Place> places;
  for (const Json& venue : status.value("venues", Json::array()))
    places.push_back({venue.value("name", "?"), venue.value("number", 0),
                      venue.value("oegs", Json::array()), number(venue, "oeg_version"),
                      venue.value("not_ready_reason", std::string())});
  if (places.empty())
    places.push_back({{},
                      arguments.venue,
                      kill_switch.value("oegs", Json::array()),
                      number(kill_switch, "oeg_version"),
                      status.value("not_ready_reason", std::string())});
  if (places.size() > 1 && !arguments.oeg.empty())
    throw Error("--oeg names one oeg, and this risk is of " + std::to_string(places.size()) +
                " venues: leave it out");
  return places;
}

// The instance to ask: of a pair the one that leads.
std::string oeg_of(const KillArguments& arguments, const Place& place) {
  if (!arguments.oeg.empty()) return arguments.oeg;
  if (place.oegs.size() > 1)
    for (const Json& each : place.oegs)
      if (each.value("leads", false)) return each.value("name", std::string("oeg"));
  if (!place.number) return "oeg";
  for (const RunningProgram& each : running_programs(arguments.run_dir))
    if (each.program == "oeg" && !each.stands_by && each.venue == *place.number) return each.name;
  return "oeg of venue " + std::to_string(*place.number);
}

// visit(place, name of its oeg, that oeg's status or null) at each.
template <class Visit>
void at_each(const std::vector<Place>& places, const KillArguments& arguments, Visit&& visit) {
  for (const Place& place : places) {
    const std::string name = oeg_of(arguments, place);
    visit(place, name, try_status(arguments.run_dir, name));
  }
}

// Where a venue's shards have an oeg each, and each oeg a risk of its own: the same for each risk.
// Empty: there are no shards.
std::vector<KillArguments> of_each_shard(const KillArguments& arguments,
                                         const std::vector<RunningProgram>& running) {
  std::vector<KillArguments> all;
  std::set<std::string> risks;  // that an oeg obeys
  const auto is_there = [&](const RunningProgram& each) {
    return each.answers && (!arguments.venue || each.venue == *arguments.venue);
  };
  for (const RunningProgram& each : running) {
    if (each.program != "oeg" || each.stands_by || !is_there(each) || each.shard.empty()) continue;
    all.push_back(arguments);
    all.back().oeg = each.name;
    all.back().shard = each.shard;
    risks.insert(each.risk);
  }
  if (all.empty()) return all;
  // One whose oeg is down: it has to know when that comes back.
  for (const RunningProgram& each : running) {
    if (each.program != "risk" || each.stands_by || risks.contains(each.name)) continue;
    if (!is_there(each)) continue;
    all.push_back(arguments);
    all.back().risk = each.name;
  }
  return all;
}

// The same for each venue that a risk in the run directory is of.
std::vector<KillArguments> of_each_venue(const KillArguments& arguments,
                                         const std::vector<RunningProgram>& running,
                                         const UnreachedParts& unreached) {
  if (!arguments.risk.empty()) return {arguments};
  std::set<int> venues;
  for (const RunningProgram& each : running)
    if (each.program == "risk") venues.insert(each.venue);
  std::set<int> all_venues = venues;
  for (const auto& [where, programs] : unreached) all_venues.insert(where.venue);
  std::vector<KillArguments> all;
  for (const int venue : venues) {
    KillArguments of_venue = arguments;
    if (all_venues.size() > 1) of_venue.venue = venue;
    std::vector<KillArguments> shards;
    if (arguments.oeg.empty()) shards = of_each_shard(of_venue, running);
    all.insert(all.end(), shards.begin(), shards.end());
    if (shards.empty()) all.push_back(of_venue);
  }
  return all;
}

// A line for each: what the command could not reach there.
std::string unreached_text(const KillArguments& arguments, const UnreachedParts& unreached) {
  std::string text;
  for (const auto& [where, programs] : unreached) {
    KillArguments there = arguments;
    there.venue = where.venue;
    there.shard = where.shard;
    text += (text.empty() ? "" : "\n") + whom(there) + ": nobody could be asked there (" +
            programs + "): start its " + (where.shard.empty() ? "risk" : "oeg") +
            ", and give the command again";
  }
  return text;
}

// oeg knows a strategy from its first connection on, risk from its first order.
bool known_to_oeg(const KillArguments& arguments) {
  bool known = false;
  const Json risk = try_status(arguments.run_dir, arguments.risk);
  at_each(places_of(arguments, risk), arguments,
          [&](const Place&, const std::string&, const Json& status) {
            if (!status.is_object()) return;
            const Json strategies = status.value("strategies", Json::array());
            known |= std::any_of(strategies.begin(), strategies.end(), [&](const Json& each) {
              return each.at("id").get<unsigned>() == *arguments.strategy;
            });
          });
  return known;
}

// The command as it was given: to whom, and the number by which that risk says that it was carried
// out.
struct Given {
  std::string risk;
  std::uint64_t number = 0;
};

// Gives it to risk; `arguments.risk` is an instance. Throws Error.
std::uint64_t command_risk(const std::string& command, const KillArguments& arguments) {
  Json request{
      {"command", command}, {"operator", operator_name()}, {"keep_orders", arguments.keep_orders}};
  if (arguments.strategy) {
    request["strategy"] = *arguments.strategy;
    request["force"] = arguments.force || known_to_oeg(arguments);
  }
  const Json answer =
      control::admin_command(control::admin_path(arguments.run_dir, arguments.risk), request);
  return number(answer, "command_number");
}

std::string why_not_connected(const Place& place) {
  return place.reason.empty() ? "it has not come to it yet" : place.reason;
}

// The oegs of a pair in whose memory the change is not yet; else `name`.
std::string lacking(const Place& place, const std::string& name, std::uint64_t version) {
  std::string names;
  if (place.oegs.size() < 2) return name;
  for (const Json& each : place.oegs)
    if (each.value("connected", false) && number(each, "version") < version)
      names += (names.empty() ? "" : " and ") + each.value("name", std::string("oeg"));
  return names.empty() ? name : names;
}

bool is_killed(const KillArguments& arguments, const Json& kill_switch) {
  const Json kills = kill_switch.value("kills", Json::array());
  return std::any_of(kills.begin(), kills.end(),
                     [&](const Json& each) { return is_of(each, arguments.strategy); });
}

// What oeg has of it. Its version alone does not tell: where another risk has become the active
// one, that one's changes have raised it.
std::string missing_at_oeg(const KillArguments& arguments, const Json& risk,
                           const std::string& name, const Json& oeg) {
  if (is_killed(arguments, risk) != is_killed(arguments, oeg))
    return name + " acts on another kill switch than that of " + arguments.risk;
  // Whoever of a pair leads next has to know of it.
  return oeg.value("replicated", true) ? "" : "the standby of " + name + " has not confirmed it";
}

// What the oeg of one venue has not yet done.
std::string missing_at(const KillArguments& arguments, const Place& place, const Json& risk) {
  const std::uint64_t version = number(risk, "version");
  const bool written = place.version >= version;
  const std::string name = oeg_of(arguments, place);
  const Json oeg = try_status(arguments.run_dir, name);
  if (!oeg.is_object())
    return name + " does not answer in '" + arguments.run_dir + "'; " +
           (written ? "the change is in its memory, whether it acts on it is unknown"
                    : arguments.risk + " cannot write to its memory: " + why_not_connected(place));
  if (!written)
    return arguments.risk + " has not written it to " + lacking(place, name, version) + ": " +
           why_not_connected(place);
  if (number(kill_switch_of(oeg), "version") < version)
    return name + " has not taken the change from its memory";
  if (std::string what = missing_at_oeg(arguments, risk, name, kill_switch_of(oeg)); !what.empty())
    return what;
  // Else it could come back with what it had before, and risk would take that over.
  return number(kill_switch_of(oeg), "saved_version") >= version
             ? ""
             : name + " has not saved it: " +
                   kill_switch_of(oeg).value("error", std::string("its file is being written"));
}

// What stands between the command and its effect; empty: every oeg acts on it, and a restart will
// not undo it.
std::string missing_effect(const KillArguments& arguments, std::uint64_t command) {
  const Json risk_status = try_status(arguments.run_dir, arguments.risk);
  if (!risk_status.is_object()) return arguments.risk + " does not answer any more";
  if (stands_by(risk_status)) return arguments.risk + " is not the active risk any more";
  const Json risk = kill_switch_of(risk_status);
  if (number(risk, "command") < command) return arguments.risk + " has not carried it out";
  if (number(risk, "saved_version") < number(risk, "version"))
    return arguments.risk + " has not saved it, so that it would not survive a restart: " +
           risk.value("error", std::string("its file is being written"));
  std::string missing;
  for (const Place& place : places_of(arguments, risk_status))
    if (const std::string what = missing_at(arguments, place, risk); !what.empty())
      missing += (missing.empty() ? "" : "; ") + place.text(what);
  return missing;
}

// Looks until nothing is missing any more. Throws Error: what was still missing at the end.
void wait_until_nothing(const KillArguments& arguments, const std::string& done_so_far,
                        const std::function<std::string()>& missing) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.timeout_s);
  for (;;) {
    const std::string what = missing();
    if (what.empty()) return;
    if (std::chrono::steady_clock::now() >= end) {
      throw Error(done_so_far + formatted(", but after %g s: ", arguments.timeout_s) + what);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// A kill of risk's list; null: not killed.
Json kill_of(const KillArguments& arguments, const std::optional<std::uint8_t>& strategy) {
  const Json kills =
      kill_switch_of(try_status(arguments.run_dir, arguments.risk)).value("kills", Json::array());
  const auto found = std::find_if(kills.begin(), kills.end(),
                                  [&](const Json& kill) { return is_of(kill, strategy); });
  return found == kills.end() ? Json() : *found;
}

// Open orders that the kill concerns, by oeg's status.
struct OpenOrders {
  std::uint64_t count = 0;
  std::string text;  // "first: strategy 7: 3 orders (AAPL 300 to buy, MSFT 100 to sell)"
};

std::string shares_text(const Json& row) {
  std::string text = row.value("symbol", "?");
  if (number(row, "buy") != 0) text += " " + std::to_string(number(row, "buy")) + " to buy";
  if (number(row, "sell") != 0) text += " " + std::to_string(number(row, "sell")) + " to sell";
  return text;
}

void add_open_orders(OpenOrders& open, const KillArguments& arguments, const Place& place,
                     const Json& oeg_status) {
  for (const Json& each : kill_switch_of(oeg_status).value("open", Json::array())) {
    const auto strategy = each.at("strategy").get<unsigned>();
    if (arguments.strategy && strategy != *arguments.strategy) continue;
    const std::uint64_t orders = number(each, "orders");
    if (orders == 0) continue;
    open.count += orders;
    std::string shares;
    for (const Json& row : each.value("shares", Json::array()))
      shares += (shares.empty() ? " (" : ", ") + shares_text(row);
    open.text += (open.text.empty() ? "" : "; ") +
                 place.text("strategy " + std::to_string(strategy) + ": " + std::to_string(orders) +
                            " orders" + (shares.empty() ? "" : shares + ")"));
  }
}

// What the venues have not confirmed; empty: nothing is open.
std::string missing_cancels(const std::vector<Place>& places, const KillArguments& arguments) {
  std::string missing;
  at_each(places, arguments, [&](const Place& place, const std::string& name, const Json& status) {
    std::string what;
    OpenOrders open;
    if (!status.is_object()) {
      what = place.text(name + " does not answer any more");
    } else {
      add_open_orders(open, arguments, place, status);
      const bool up = status.value("venue", Json::object()).value("logged_on", false);
      if (open.count != 0)
        what = "the venue has not confirmed the cancels of " + open.text +
               (up ? "" : "; the FIX session is down, they are sent when it is up again");
    }
    if (!what.empty()) missing += (missing.empty() ? "" : "; ") + what;
  });
  return missing;
}

// Gives the command to the active risk, and again to the next where that one is gone before it took
// effect: who asks for a kill wants it, whoever is there to do it.
class Order {
 public:
  // Throws Error where the only risk that there is refuses.
  Order(KillArguments& arguments, bool kill)
      : arguments_(arguments), kill_(kill), finds_(arguments.risk.empty()) {
    try {
      give();
    } catch (const Error&) {
      if (!finds_ || !several()) throw;
    }
  }
  std::string missing() {
    try {
      if (given_.risk.empty()) give();
    } catch (const Error& error) {
      return error.what();
    }
    (void)places();
    std::string what = missing_effect(arguments_, given_.number);
    if (!what.empty() && finds_ && several() && is_gone()) given_ = {};
    return what;
  }
  const KillArguments& arguments() const { return arguments_; }
  // As risk said last: should it end now, what is of several venues must not pass for one.
  const std::vector<Place>& places() {
    const Json status = try_status(arguments_.run_dir, arguments_.risk);
    if (status.is_object() || places_.empty()) places_ = places_of(arguments_, status);
    return places_;
  }
  std::string risk() const { return given_.risk.empty() ? "risk" : given_.risk; }
  // Before it was given.
  bool was_killed() const { return was_killed_; }

 private:
  void give() {
    if (finds_) arguments_.risk = find();
    (void)places();
    was_killed_ = was_killed_ || !kill_of(arguments_, arguments_.strategy).is_null();
    given_.number = command_risk(kill_ ? "kill" : "unkill", arguments_);
    given_.risk = arguments_.risk;
  }
  // The risk that acts; empty: none does, and why.
  std::string active(std::string& why) const {
    if (arguments_.shard.empty()) return active_risk(arguments_.run_dir, why, arguments_.venue);
    why = "shard " + arguments_.shard + ": no risk holds the control block of " + arguments_.oeg;
    const Json status = try_status(arguments_.run_dir, arguments_.oeg);
    return status.is_object() ? status.value("risk", "") : "";
  }
  std::string find() {
    std::string why;
    std::string name = active(why);
    // The risk that has the program's plain name may be another venue's.
    if (name.empty() && (several() || arguments_.venue)) throw Error(why);
    return name.empty() ? "risk" : name;
  }
  bool several() const {
    if (!arguments_.shard.empty()) return true;
    const auto names = control::RunDirectory::names(arguments_.run_dir);
    return std::count_if(names.begin(), names.end(), [&](const std::string& name) {
             return program_of(name) == "risk" &&
                    (!arguments_.venue ||
                     control::RunDirectory::part(arguments_.run_dir, name).venue ==
                         *arguments_.venue);
           }) > 1;
  }
  // The program is not the one any more that could still do it.
  bool is_gone() const {
    std::string why;
    return active(why) != given_.risk;
  }

  KillArguments& arguments_;
  bool kill_;
  bool finds_;
  bool was_killed_ = false;
  std::vector<Place> places_;
  Given given_;
};

void await_kill(const KillArguments& arguments, Order& order) {
  wait_until_nothing(arguments, whom(arguments) + ": the kill was given to " + order.risk(),
                     [&] { return order.missing(); });
  const std::string killed = whom(arguments) + ": no new orders and replacements";
  if (arguments.keep_orders) {
    OpenOrders open;
    at_each(order.places(), arguments,
            [&](const Place& place, const std::string&, const Json& status) {
              add_open_orders(open, arguments, place, status);
            });
    std::printf("%s; %s\n", killed.c_str(),
                open.count == 0 ? "nothing is open" : ("open stays " + open.text).c_str());
    return;
  }
  wait_until_nothing(arguments, killed, [&] { return missing_cancels(order.places(), arguments); });
  std::printf("%s; nothing is open\n", killed.c_str());
}

void await_unkill(const KillArguments& arguments, Order& order) {
  wait_until_nothing(arguments, whom(arguments) + ": the unkill was given to " + order.risk(),
                     [&] { return order.missing(); });
  const Json again = kill_of(arguments, arguments.strategy);
  if (!again.is_null())
    throw Error(whom(arguments) + ": killed again since " + again.value("since", "?") + " by " +
                again.value("operator", again.value("by", "?")));
  const Json all = kill_of(arguments, std::nullopt);
  if (!order.was_killed()) std::printf("%s: there was no such kill\n", whom(arguments).c_str());
  if (!all.is_null())
    std::printf("%s: still stopped, for all strategies are killed since %s by %s\n",
                whom(arguments).c_str(), all.value("since", "?").c_str(),
                all.value("operator", all.value("by", "?")).c_str());
  else if (order.was_killed())
    std::printf("%s: may trade again\n", whom(arguments).c_str());
}

// To every venue first, and then it is waited for: what one venue lacks must not keep the kill from
// another. Throws Error: what is missing at any.
void run_switch(const KillArguments& arguments, bool kill) {
  // Once: a program that hangs holds up the kill.
  const std::vector<RunningProgram> running = running_programs(arguments.run_dir);
  UnreachedParts unreached;
  if (arguments.risk.empty() && arguments.oeg.empty())
    unreached = unreached_parts(arguments.run_dir, running);
  std::vector<KillArguments> venues = of_each_venue(arguments, running, unreached);
  if (venues.empty() && unreached.empty()) venues = {arguments};
  std::vector<std::unique_ptr<Order>> orders;
  std::string problems = unreached_text(arguments, unreached);
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (venues.size() == 1 && problems.empty()) throw;
      problems += (problems.empty() ? "" : "\n") + std::string(error.what());
    }
  };
  for (KillArguments& venue : venues)
    attempt([&] { orders.push_back(std::make_unique<Order>(venue, kill)); });
  for (const auto& order : orders)
    attempt([&] {
      kill ? await_kill(order->arguments(), *order) : await_unkill(order->arguments(), *order);
    });
  if (!problems.empty()) throw Error(problems);
}

CLI::App* add_switch(CLI::App& app, const std::string& name, const std::string& help,
                     const std::shared_ptr<KillArguments>& arguments) {
  auto* command = app.add_subcommand(name, help);
  command->add_option("--strategy", arguments->strategy, "Strategy id, 0 to 255 (default: all)");
  command->add_option("--run-dir", arguments->run_dir, "Where risk and oeg run")
      ->capture_default_str();
  command->add_option(
      "--risk", arguments->risk,
      "Instance name of risk (default: the one that runs; of two the active one; where each venue "
      "has one, that of each)");
  command->add_option("--oeg", arguments->oeg,
                      "Instance name of oeg (default: oeg; of a pair the one that leads)");
  command
      ->add_option("--timeout", arguments->timeout_s,
                   "Seconds to wait for the effect; then the exit status is 1 and the text says "
                   "what is missing")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return command;
}

}  // namespace

void add_kill_commands(CLI::App& app) {
  const auto kill = std::make_shared<KillArguments>();
  CLI::App* const command = add_switch(
      app, "kill", "Stop new orders now and cancel what is open, of one strategy or of all", kill);
  command->add_flag(
      "--force", kill->force,
      "Also a strategy that neither risk nor oeg has seen: it is killed when it comes");
  command->add_flag("--keep-orders", kill->keep_orders,
                    "Leave what is open in the market; else it is cancelled, and the command ends "
                    "when the venue has confirmed that");
  command->callback([kill] { run_switch(*kill, true); });
  const auto unkill = std::make_shared<KillArguments>();
  unkill->force = true;
  add_switch(app, "unkill", "Let a strategy, or all, trade again", unkill)->callback([unkill] {
    run_switch(*unkill, false);
  });
}

}  // namespace tickpath::cli
