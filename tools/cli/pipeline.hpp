// The programs of one configuration directory as `tickpath up` runs them: started in order,
// watched, stopped in order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/control/json.hpp"
#include "tools/cli/child.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/remote_up.hpp"
#include "tools/cli/run_owner.hpp"

namespace tickpath::cli {

struct PipelineOptions {
  std::string config_dir;
  std::string run_dir;     // empty, for `up` alone: that of the programs' files
  std::string binary_dir;  // where sim, mdh, ... are
  // "key=value" for every program, "mdh:key=value" for one (an instance's name, or a program's).
  std::vector<std::string> overrides;
  std::vector<std::string> only;  // instances to start; empty: all
  std::string preload;            // LD_PRELOAD of the programs
  int port_offset = 0;            // added to every port that the programs listen at
  bool here = false;              // hosts.toml is left out: all of it runs on this host
  bool detached = false;          // what runs on other hosts goes on where this one is gone
  bool restart = false;           // start again what fails; never sim, which forgets its day
  int ready_timeout_ms = 30'000;  // for each program
  int stop_timeout_ms = 20'000;   // for each program
};

// One thread.
class Pipeline {
 public:
  // Takes the run directory for itself where it is a whole one (RunOwner); a part may join what
  // runs. Finds <config_dir>/<instance>.toml and who runs where (remote_hosts.hpp), asks the other
  // hosts whether they can, checks each file (by its own program, on its host) and how they fit
  // together (cross_check.hpp). Throws ConfigError telling everything that is wrong.
  explicit Pipeline(PipelineOptions options);
  ~Pipeline();

  // One after the other, each once the one before is ready; a pair of oegs, or what may be one of a
  // pair, and risk, which is its witness, together. Throws Error telling which failed, why, and
  // where its log is. `interrupted` is asked while waiting; true throws Interrupted.
  struct Interrupted {};
  template <class Callback>
  void start(Callback interrupted) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t each = i; each < together_with(i); ++each)
        if (!members_[each].child) launch(members_[each]);
      while (!is_ready(members_[i]))
        if (interrupted()) throw Interrupted{};
      announce(members_[i]);
    }
    started_ = true;
  }

  // Asks each sim; false where there is none.
  bool begin_replay();
  // The "replay" object of all sims together (replay_of_all()); null where one of them does not
  // answer within the time, or there is none.
  control::Json replay(int timeout_ms);
  bool has_sim() const;
  // Somebody stops the whole of it (tickpath down).
  bool all_asked_to_stop() const;
  std::vector<std::string> sim_names() const;  // of the instances

  // Programs that have ended since the last call: (what to print). Remembers failures; one that
  // will be started again is none.
  struct Ended {
    std::string name;
    std::string program;
    bool failed = false;
    bool restarts = false;
    std::string text;
  };
  std::vector<Ended> newly_ended();
  // Starts those again whose pause is over; `restart` only. Call it several times a second.
  void restart_due();
  // To poll(2) on: readable when a program ends.
  std::vector<int> exit_descriptors() const;
  bool any_runs() const;

  // Halts the replay, lets mdh publish what is under way, then stops program after program in stop
  // order; also those that somebody else started in the run directory, unless this is a part of a
  // pipeline (`only`) or not all of it came up. Every failure becomes a line of problems().
  void stop();

  // For `tickpath down`, which waits for it: what went wrong with the run; empty: nothing.
  void tell_verdict(const std::string& verdict) const;

  // The names of this pipeline's programs, and, where it is a whole one, of those that somebody
  // else started in its run directory.
  std::vector<std::string> names() const;
  const std::vector<std::string>& problems() const noexcept { return problems_; }
  // What programs of other hosts have printed since the last call, their host's name ahead.
  std::vector<std::string> remote_output() { return remote_output_.look(); }
  const PipelineOptions& options() const noexcept { return options_; }

 private:
  struct Member {
    std::string name;
    std::string program;
    std::string config_path;
    std::optional<RemoteProgram> remote;  // then `child` is its proxy here
    std::vector<std::string> settings;    // "key=value", its name included
    std::string process;                  // shared by all that have the same; empty: its own
    std::shared_ptr<Child> child;
    bool reported = false;  // its end
    std::int64_t launched_ns = 0;
    std::int64_t restart_at_ns = 0;  // 0: not waiting for it
  };

  void find_members();
  void find_remote(Member& member, const Host& host, const std::vector<std::string>& settings);
  void probe();
  void shift_ports();
  bool is_member(const std::string& name) const;
  bool is_member_process(pid_t pid) const;
  void check_members();
  bool joins_others() const;  // throws Error where one of ours runs already
  void clean_run_dir();
  static std::string title(const Member& member);  // "oeg", "oeg on order"
  static void kill(Member& member);
  // With all that share its process.
  void launch(Member& member);
  std::vector<Member*> mates(const Member& member);
  // The arguments of the process of these; for one that runs elsewhere, of its proxy.
  std::vector<std::string> arguments_of(const std::vector<Member*>& mates) const;
  // The end of those that member `first` is not ready without.
  std::size_t together_with(std::size_t first) const;
  bool is_ready(Member& member);
  bool was_asked_to_stop(const Member& member);
  void give_up_restart(Member& member);
  void announce(const Member& member);
  void halt_replay();
  void settle();
  void stop_group(std::vector<Member*> group);
  void stop_members(const std::vector<Member*>& group);
  void stop_outsiders(std::size_t rank);
  std::string log_tail(const Member& member) const;
  std::vector<Member*> sims();  // that run

  PipelineOptions options_;
  std::vector<Member> members_;  // in start order
  std::vector<std::string> problems_;
  std::vector<Host> hosts_;
  std::map<std::string, std::string> machines_;  // by host; "": this one
  RemoteOutput remote_output_;
  std::set<const Child*> asked_;  // to stop; a second signal would say not to settle
  bool started_ = false;
  bool stopping_ = false;
  std::optional<RunOwner> owner_;
};

}  // namespace tickpath::cli
