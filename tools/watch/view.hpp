// A view of a running pipeline, made from the `status` of its programs
// (common/control/admin_protocol.md). Terminal, page and metrics show this one view.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "common/control/json.hpp"

namespace tickpath::watch {

// What one look at the pipeline found.
struct Found {
  // A `status` each, in start order. Writers were asked ahead of their readers.
  control::Json statuses = control::Json::array();
  control::Json before = control::Json::array();     // those of the look before, for rates
  control::Json positions = control::Json::array();  // rows of every oeg that leads (`positions`)
  std::uint64_t position_rows = 0;                   // how many there are
  control::Json hops = control::Json::array();       // see Watch
  std::string no_hops;                               // why there are none; empty: there are
  control::Json gone = control::Json::array();       // names of programs that ran before
};

// An object of the following. Rates are per second, since the look before; of a program that was
// not there then there are none. Money is in currency units.
//   "programs"    name, program, state, pid, uptime_ms, wait, cores, role, text, rate, unit, busy
//   "rates"       name, per_second
//   "queues"      name, depth, room (0: none is known). A depth is a lower bound: the reader was
//                 asked after the writer.
//   "hops"        from, to, count, p50_ns, p99_ns, max_ns: of the last "window_s" seconds
//   "strategies"  strategy, name, state, pnl, realised, unrealised, gross_notional, open_orders,
//                 fills, rejects, requests_per_second, killed, killed_by; and "total" of the same
//   "limits"      whose, strategy (0 to 255; -1: all), limit, value, max, used (1: all of it)
//   "positions"   strategy, symbol, shares, cash, fills, open_buy, open_sell; "position_rows"
//   "feeds"       name, state, session, messages_per_second, missed; "replays" of sims
//   "sessions"    name, with, logged_on
//   "pairs"       name, program, role, epoch, text
//   "alarms"      level ("alarm", "warning"), name (of the program; empty: of all), text
// Watch adds "run_dir", "utc", "time_ms" (Unix), "window_s", and "nothing_runs" where that is so.
control::Json view_of(const Found& found);

// By the program's own clock; 0 where it was not there before, or has started anew.
double rate_of(const control::Json& status, const control::Json& before, const std::string& group,
               const std::string& counter);
// "counters"."group"."name"; 0 where there is none.
std::uint64_t counter_of(const control::Json& status, const std::string& group,
                         const std::string& counter);
// The status of that name in a list of them, or null.
const control::Json& status_named(const control::Json& statuses, const std::string& name);
// The object below the key, or an empty one.
const control::Json& object_at(const control::Json& json, const char* key);
// The list below the key, or an empty one.
const control::Json& list_at(const control::Json& json, const char* key);

}  // namespace tickpath::watch
