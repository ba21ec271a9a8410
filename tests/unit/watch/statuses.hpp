// What the five programs say of themselves, as far as a view needs it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tools/watch/view.hpp"

namespace tickpath::watch {

// Ready and without any trouble; `second`: a second later, with what was counted in it.
inline control::Json five_statuses(bool second = false) {
  const int more = second ? 1000 : 0;
  const auto program = [&](const std::string& name, control::Json rest) {
    control::Json status = {{"program", name},
                            {"name", name},
                            {"pid", 4711},
                            {"state", "ready"},
                            {"uptime_ms", 5000 + more},
                            {"not_ready_reason", ""},
                            {"wait_mode", "yield"},
                            {"cores", "cpu 1"}};
    status.update(rest);
    status["counters"]["datapath"] = {{"turns", 4 * more}, {"idle_turns", 3 * more}};
    return status;
  };
  return {
      program("sim", {{"counters", {{"feed", {{"messages", 500 + more}}}}},
                      {"replay",
                       {{"state", "running"},
                        {"position", "09:30:05.143"},
                        {"messages_sent", 500},
                        {"messages_total", 1000}}},
                      {"sessions",
                       {{{"target", "TICKPATH"}, {"logged_on", true}, {"reports_pending", 0}}}}}),
      program("mdh",
              {{"counters",
                {{"feed", {{"messages", 500 + more}, {"missed_messages", 0}}},
                 {"publish", {{"published", 502 + more}}}}},
               {"feed", {{"state", "good"}, {"session", "SIM1"}}},
               {"subscribers",
                {{{"name", "strategy"}, {"mode", "poll"}, {"ring_slots", 64}, {"joined_at", 2}}}}}),
      program("oeg", {{"counters",
                       {{"orders", {{"received", 7 + more / 10}, {"refused", 0}}},
                        {"reports", {{"received", 9}, {"fills", 4}, {"queued", 0}}}}},
                      {"venue", {{"logged_on", true}, {"behind_gap", false}}},
                      {"risk_alive", true},
                      {"exceptions_open", 0}}),
      program("risk", {{"role", "active"},
                       {"strategies",
                        {{{"strategy", 2},
                          {"pnl", -400.5},
                          {"realised", -0.5},
                          {"gross_notional", 90.0},
                          {"open_orders", 3},
                          {"requests", 70 + more / 20},
                          {"fills", 4},
                          {"rejects", 0},
                          {"killed", false},
                          {"limits",
                           {{"loss_max", 500.0},
                            {"position_shares_max", 1000},
                            {"position_value_max", 5.0},
                            {"requests_per_second_max", 200}}}}}},
                       {"total",
                        {{"pnl", -400.5},
                         {"gross_notional", 90.0},
                         {"open_orders", 3},
                         {"requests", 70 + more / 20},
                         {"fills", 4},
                         {"killed", false},
                         {"limits", {{"total.loss_max", 4005.0}}}}},
                       {"kill_switch", {{"kills", control::Json::array()}}}}),
      program("strategy",
              {{"counters",
                {{"engine", {{"updates", 500 + more}}},
                 {"feed", {{"seen", 500 + more}, {"overrun", 0}, {"mdh_losses", 0}}}}},
               {"plugins", {{{"strategy", 2}, {"name", "quoter"}, {"state", "running"}}}}}),
  };
}

inline Found two_looks() {
  Found found;
  found.before = five_statuses();
  found.statuses = five_statuses(true);
  found.positions = {{{"strategy", 2},
                      {"symbol", "ZAAA"},
                      {"shares", -250},
                      {"cash", 1234.5},
                      {"fills", 4},
                      {"open_buy", 100},
                      {"open_sell", 0}}};
  found.position_rows = 1;
  found.no_hops = "no message passed in the last seconds";
  return found;
}

inline control::Json& status_of(Found& found, const std::string& name) {
  for (control::Json& status : found.statuses)
    if (status.at("name") == name) return status;
  throw Error("no status of " + name);
}

}  // namespace tickpath::watch
