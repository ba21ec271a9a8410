// Every command of `tickpath`: adds itself to the command line, and runs while that is parsed.
#pragma once

#include <cstddef>
#include <string>

#include "common/control/json.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

// Thrown by a command, after it has said what there is to say; caught by main(), which ends with
// this status.
struct Exit {
  int status;
};

// A run.
void add_up_command(CLI::App& app);      // starts the programs, replays, stops them, checks
void add_down_command(CLI::App& app);    // stops the programs of a run directory in order
void add_attach_command(CLI::App& app);  // connects again to programs of other hosts
// What `up` runs itself, for hosts.toml: on this host, and on the other ones.
void add_proxy_command(CLI::App& app);
void add_agent_command(CLI::App& app);
void add_replay_command(CLI::App& app);  // steers the replay of a running sim, and watches it
// Adds `--deterministic` to `replay`, which must be there: the five programs in lockstep, and sim
// alone with a journal. With it the command ends while the command line is parsed (Exit).
void add_deterministic_replay(CLI::App& app);
void add_record_command(CLI::App& app);   // a live run as a packet capture and as a recording
void add_status_command(CLI::App& app);   // the programs of a run directory, with key counters
void add_book_command(CLI::App& app);     // a symbol at all venues, from the book home
void add_books_command(CLI::App& app);    // conservation over what several hosts left
void add_routes_command(CLI::App& app);   // the router's decisions, done again from what it saw
void add_trades_commands(CLI::App& app);  // orders, fills, positions: what a run traded, as CSV
void add_prices_command(CLI::App& app);   // recent trades, quotes and bars, READ from mdh's store
void add_value_command(CLI::App& app);    // values that strategies share, in an mdh that keeps them
void add_trace_command(CLI::App& app);    // tick-to-order and each hop, from a run's trace files
void add_history_command(CLI::App& app);  // runs in a column store, and SQL over them

void add_new_strategy_command(CLI::App& app);  // a project of one strategy, with a test

// People at a running pipeline.
// kill, unkill: by way of risk, who owns the switch. Each ends when oeg acts on it, and a kill when
// nothing is open any more, or says after a while what is missing.
void add_kill_commands(CLI::App& app);
void add_switch_command(CLI::App& app);      // leadership of a pair, by hand
void add_pair_command(CLI::App& app);        // who leads where the other one is lost
void add_exceptions_command(CLI::App& app);  // reports of the venue that oeg could not book
void add_trading_command(CLI::App& app);     // halts, pauses and resumes symbols at sim
void add_keys_command(CLI::App& app);        // makes and checks the keys of the roles
void add_revoke_commands(CLI::App& app);     // revoke, restore: a role's rights at a running oeg

// Measuring.
void add_lat_command(CLI::App& app);     // the fabric's latencies
void add_bw_command(CLI::App& app);      // its bandwidth and message rate
void add_scale_command(CLI::App& app);   // what several hosts carry: computed and simulated
void add_doctor_command(CLI::App& app);  // is this machine ready?

// Recordings.
void add_generate_command(CLI::App& app);  // a seeded, realistic one of many symbols
void add_convert_command(CLI::App& app);   // any that tickpath reads as ITCH 5.0 (BinaryFILE)
// What they hold: format, time range, symbols, messages by type, peak rates, gaps, damage. Ends
// with status 3 when one is damaged, after saying where.
void add_inspect_command(CLI::App& app);

// The `status` of every program of a run directory, in stop order, with the host of those that run
// on another one. A program that does not answer has "state" alone. Throws SystemError.
control::Json status_of_all(const std::string& run_dir);
// What a person reads of `status`: a line a program, what it counts below it, none longer than
// `columns`.
std::string status_text(const control::Json& all, std::size_t columns);
// What status_text() is to show of one look, given the look before: the growth of each key counter
// a second, without counters that are 0.
control::Json watched(control::Json all, const control::Json& before);
// Drawn over what stands on a terminal of this size. Lines that do not fit are counted.
std::string screen_text(const std::string& text, std::size_t rows, std::size_t columns);

}  // namespace tickpath::cli
