// The programs of a pipeline: in which order they start and stop, and which of them run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/control/json.hpp"
#include "common/control/run_directory.hpp"

namespace tickpath::cli {

// Start: whoever is waited for comes first. sim, mdh, oeg, risk, strategy; programs of one kind
// together. A program is ready without any that starts after it.
std::size_t start_rank(const std::string& program);

// Stop: strategies first: they cancel what is open and wait for the reports while everybody they
// need is there. Then oeg, which has nothing left to do for anyone and logs out of sim. Then risk:
// the drop copy lies in its own memory, complete, and it reads it to the end. Then mdh, whose
// readers are all gone, so that its counts are final. sim last: it answers the logout.
std::size_t stop_rank(const std::string& program);

// "strategy", "strategy2", "strategy-b" and "strategy_b" are instances of "strategy": the program's
// name, and what follows it does not begin with a letter. Any other name is returned as it is.
std::string program_of(const std::string& instance);
bool is_known_program(const std::string& program);

// As <name>.pid has it; where that says nothing, the program by the name.
control::Part part_of_instance(const std::string& run_dir, const std::string& name);

// A <instance>.toml of a configuration directory.
struct ConfiguredProgram {
  std::string name;
  std::string program;
  std::string path;
  std::vector<std::string> settings;  // "key=value", those of the overrides that concern it
};

// Files *.toml of the directory that are no instance of any program, for a word about them.
std::vector<std::string> other_files(const std::string& config_dir);

// In start order. overrides: "key=value" for every program, "mdh:key=value" for one (an instance's
// name, or a program's). only: instances; empty: all. Throws config::ConfigError, SystemError.
std::vector<ConfiguredProgram> configured_programs(const std::string& config_dir,
                                                   const std::vector<std::string>& overrides,
                                                   const std::vector<std::string>& only);

struct RunningProgram {
  std::string name;
  std::string program;
  pid_t pid = 0;            // 0: it is of another container or host, and has its number there
  bool stands_by = false;   // one of a pair that does not lead, a risk beside the active one
  bool answers = false;     // else the rest is not known
  bool paired = false;      // one of a pair
  int venue = 0;            // CommonConfig::venue; known of one that does not answer, too
  std::vector<int> venues;  // of a risk of several: which
  std::string shard;        // of an oeg; empty: it trades the whole venue
  std::string risk;         // of an oeg: the instance that it obeys
};

// By its `status`: one of a pair that does not lead or has just begun, or a risk beside the active
// one. It ends first, or it would take over.
bool stands_by(const control::Json& status);

// The programs that hold their pid file in the run directory, in stop order. All are asked at once,
// so that several that hang take no longer than one (kStatusMs).
std::vector<RunningProgram> running_programs(const std::string& run_dir);

// Sends the signal, unless the process that has the program's name in the run directory has ended
// or is another one by now.
void signal_program(const std::string& run_dir, const RunningProgram& program, int number);

// "as process 4711".
std::string process_text(const RunningProgram& program);

// Through its admin socket; by signal where that does not answer. Notes it in the run directory
// first: an `up` that starts again what fails leaves out what was asked to stop, however it ends.
void ask_to_stop(const std::string& run_dir, const RunningProgram& program);
void note_stop(const std::string& run_dir, const std::string& name);
bool is_asked_to_stop(const std::string& run_dir, const std::string& name);
// Before its next start.
void forget_stop(const std::string& run_dir, const std::string& name);

// Waits until the process is gone; false after the limit. For any process, not only children.
bool wait_for_exit(pid_t pid, int timeout_ms);
bool wait_for_exit(const std::string& run_dir, const RunningProgram& program, int timeout_ms);

// Its `status`, or null where it does not answer within the time. A program that starts has a
// socket before it has time to answer: whoever watches several must not wait long for one.
constexpr int kStatusMs = 1000;
constexpr int kGlanceMs = 100;
control::Json try_status(const std::string& run_dir, const std::string& name,
                         int timeout_ms = kStatusMs);

// The instance of risk that has the kill switch: the only one that runs, whatever it says, or of
// several the active one. Empty: none; then `why` says what each of them does. venue: only of those
// that belong to it (CommonConfig::venue); each venue has an active one.
std::string active_risk(const std::string& run_dir, std::string& why,
                        std::optional<int> venue = std::nullopt);

// The `replay` of sim's status, or null.
control::Json replay_of(const std::string& run_dir, const std::string& sim,
                        int timeout_ms = kStatusMs);

// The progress of several sims as of one: the messages of all; the time and what is left of that
// which is furthest behind. It has ended when all have, and was halted when one was. Null where one
// of them does not answer, and for none.
control::Json replay_of_all(const std::string& run_dir, const std::vector<std::string>& sims,
                            int timeout_ms = kStatusMs);

// Waits until what the halted `sims` have sent has gone through each of `mdhs`. Their key counters
// stand still then; with one sim, each has taken or missed as much as that has sent. The last
// packets may still lie in a socket, and an mdh may have just begun. A strategy that left before
// they came out would never see updates that are published to it. At most 30 s, and 3 s without
// anything new; sims: may be none.
void await_rest(const std::string& run_dir, const std::vector<std::string>& sims,
                const std::vector<std::string>& mdhs);

// Which strategies are killed by the `status` of risk or oeg, a line each; empty for any other
// program or null.
std::string kill_lines(const control::Json& status);

// Which plugins cannot be used or have failed by the `status` of strategy, a line each; empty for
// any other program or null.
std::string plugin_lines(const control::Json& status);

// The last lines of a file, each indented; empty where there is none. Before them the last earlier
// line that contains `kept`: what follows the cause of an end must not hide it.
std::string last_lines(const std::string& path, std::size_t count, std::string_view kept = {});

}  // namespace tickpath::cli
