#include "tools/cli/pipeline.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/config/config.hpp"
#include "common/config/values.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/crash_report.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/cross_check.hpp"
#include "tools/cli/misplaced_settings.hpp"
#include "tools/cli/port_offset.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_messages.hpp"
#include "tools/cli/remote_proxy.hpp"
#include "tools/cli/run_dir_check.hpp"
#include "tools/cli/shared_processes.hpp"

namespace tickpath::cli {

namespace fs = std::filesystem;
using control::Json;

namespace {

// Before a program that failed is started again. Where it did not live long, what made it fail may
// last (a device that is away), and must not fill logs.
constexpr std::int64_t kRestartPauseNs = 1'000'000'000;
constexpr std::int64_t kShortPauseNs = 100'000'000;
constexpr std::int64_t kLongLifeNs = 5'000'000'000;

const std::map<std::string, std::string> kNoEnvironment;

// Lines of a log that explain a failure without filling the screen.
constexpr std::size_t kTailLines = 8;

}  // namespace

Pipeline::Pipeline(PipelineOptions options)
    : options_(std::move(options)), remote_output_(options_.run_dir) {
  if (!options_.here) hosts_ = read_hosts(options_.config_dir);
  find_members();
  if (options_.only.empty()) owner_.emplace(options_.run_dir);
  const bool joins = joins_others();
  probe();
  if (options_.port_offset != 0) shift_ports();
  check_members();
  if (!joins) clean_run_dir();  // else each program removes what it left itself
}

Pipeline::~Pipeline() = default;

void Pipeline::tell_verdict(const std::string& verdict) const {
  if (owner_) owner_->tell(verdict);
}

// A proxy stands here for it, and is told by a file what it stands for.
void Pipeline::find_remote(Member& member, const Host& host,
                           const std::vector<std::string>& settings) {
  member.remote = RemoteProgram{.host = host,
                                .name = member.name,
                                .program = member.program,
                                .config = config::read_merged_text(member.config_path),
                                .settings = settings,
                                .detached = options_.detached};
  remote_output_.add(member.name, host.name);
}

// Before anything is written here: an earlier run's programs may still need it.
void Pipeline::probe() {
  std::vector<Host> asked;
  for (Host host : hosts_) {
    std::erase_if(host.programs, [&](const std::string& name) { return !is_member(name); });
    if (!host.programs.empty()) asked.push_back(std::move(host));
  }
  machines_ = probe_hosts(asked);
  if (asked.empty()) return;
  machines_[""] = machine_id();
  if (options_.run_dir.find(':') != std::string::npos)
    throw config::ConfigError({"--run-dir " + options_.run_dir +
                               ": ssh forwards no socket whose path has a ':'; give another"});
  if (!options_.preload.empty())
    throw config::ConfigError({"--preload is for programs of this host; hosts.toml has others"});
}

// As all programs of the directory have them, also those that run already.
void Pipeline::shift_ports() {
  if (!hosts_.empty())
    throw config::ConfigError(
        {"--port-offset is for programs of this host; hosts.toml has others (--here leaves it "
         "out)"});
  const auto programs = configured_programs(options_.config_dir, options_.overrides, {});
  const auto settings = shifted_ports(
      effective_configs(programs, options_.binary_dir, options_.run_dir), options_.port_offset);
  for (Member& member : members_)
    if (const auto found = settings.find(member.name); found != settings.end())
      member.settings.insert(member.settings.end(), found->second.begin(), found->second.end());
}

void Pipeline::find_members() {
  for (const ConfiguredProgram& program :
       configured_programs(options_.config_dir, options_.overrides, options_.only)) {
    Member member;
    member.name = program.name;
    member.program = program.program;
    member.config_path = program.path;
    member.settings = {"name=" + member.name};
    member.settings.insert(member.settings.end(), program.settings.begin(), program.settings.end());
    if (const Host* const host = host_of(hosts_, member.name))
      find_remote(member, *host, program.settings);
    members_.push_back(std::move(member));
  }
}

// Each by its own program, several at a time: on other hosts that takes a connection each. An sshd
// turns away some of more than ten that are not let in yet (MaxStartups).
void Pipeline::check_members() {
  std::vector<CheckOutput> told;
  std::vector<EffectiveConfig> configs;
  std::vector<std::unique_ptr<Child>> checks;
  control::make_run_directory(options_.run_dir);
  const auto output = [&](const Member& member) {
    return options_.run_dir + "/" + member.name + ".check";
  };
  for (Member& member : members_) {
    std::vector<std::string> arguments = arguments_of({&member});
    arguments.emplace_back("--print-config");
    if (member.remote) write_remote(options_.run_dir, *member.remote);
    constexpr std::size_t kAtATime = 8;
    if (checks.size() >= kAtATime)
      (void)checks[checks.size() - kAtATime]->wait(options_.ready_timeout_ms);
    checks.push_back(std::make_unique<Child>(arguments, output(member), kNoEnvironment));
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const std::string host = member.remote ? member.remote->host.name : "";
    told.push_back({member.program, host, {}});
    if (!checks[i]->wait(options_.ready_timeout_ms) || !checks[i]->succeeded()) {
      told.back().text = last_lines(output(member), 40);
      if (told.back().text.empty())
        told.back().text = "    " + member.name + " " + checks[i]->how_it_ended() + "\n";
    } else {
      std::ostringstream text;
      text << std::ifstream(output(member)).rdbuf();
      configs.push_back(
          {member.name, member.program, member.config_path, text.str(), host, machines_[host]});
      members_[i].process = process_of(configs.back());
      if (members_[i].remote) members_[i].remote->part = part_of(configs.back());
    }
    std::error_code error;
    fs::remove(output(member), error);
    if (member.remote) forget_remote(options_.run_dir, member.name);
  }
  std::string problems;
  for (const std::string& problem : misplaced_settings(options_.overrides, told))
    problems += "\n    " + problem;
  for (const CheckOutput& each : told)
    if (!each.text.empty())
      problems += "\n" + (each.host.empty() ? "" : each.host + ":\n") + each.text;
  // Nothing is known of programs that run elsewhere.
  if (problems.empty()) {
    for (const std::string& problem : cross_check(configs, options_.only.empty()))
      problems += "\n    " + problem;
    for (const std::string& problem : foreign_stores(configs)) problems += "\n    " + problem;
  }
  if (!problems.empty()) throw config::ConfigError({"the configuration is wrong:" + problems});
  for (const std::string& line : taken_ports(configs)) problems += "\n    " + line;
  if (!problems.empty())
    throw Error("other programs have ports of this run:" + problems +
                "\n  stop them (`ss -lntup` shows them), or start this run beside them: "
                "--run-dir DIR --port-offset 100");
}

bool Pipeline::is_member(const std::string& name) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.name == name; });
}

bool Pipeline::joins_others() const {
  bool joins = false;
  for (const RunningProgram& other : running_programs(options_.run_dir)) {
    if (options_.only.empty() || is_member(other.name))
      throw Error("'" + other.name + "' already runs in '" + options_.run_dir + "' " +
                  process_text(other) + ": tickpath down --run-dir " + options_.run_dir);
    joins = true;
  }
  return joins;
}

// What an earlier run left must not pass for this one's: a trace of a program that this run does
// not have would join its table. A part of a pipeline (`only`) may join what runs already.
void Pipeline::clean_run_dir() {
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(options_.run_dir)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".trace") || name.ends_with(".summary.json") || name.ends_with(".out") ||
        name.ends_with(".routes") || name.ends_with(".ledger.json") || name.ends_with(kRanOn))
      old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path);
  // Programs of an earlier run, which `kill` could not reach and the auditor would miss.
  if (owner_)
    for (const std::string& name : control::RunDirectory::names(options_.run_dir))
      if (is_known_program(program_of(name))) control::RunDirectory::forget(options_.run_dir, name);
}

std::string Pipeline::title(const Member& member) {
  return member.remote ? member.name + " on " + member.remote->host.name : member.name;
}

// A proxy has the program killed; what it cannot reach it leaves, and says so.
void Pipeline::kill(Member& member) {
  constexpr int kThereMs = 5000;
  if (member.remote) {
    member.child->signal(kProxyKill);
    if (member.child->wait(kThereMs)) return;
  }
  member.child->signal(SIGKILL);
}

std::vector<Pipeline::Member*> Pipeline::mates(const Member& member) {
  std::vector<Member*> result;
  for (Member& each : members_)
    if (&each == &member || (!member.process.empty() && each.process == member.process))
      result.push_back(&each);
  return result;
}

std::vector<std::string> Pipeline::arguments_of(const std::vector<Member*>& mates) const {
  const Member& first = *mates.front();
  if (first.remote)
    return {fs::read_symlink("/proc/self/exe"), "proxy", options_.run_dir, first.name};
  std::vector<std::string> arguments{options_.binary_dir + "/" + first.program};
  for (const Member* each : mates) arguments.push_back(each->config_path);
  arguments.insert(arguments.end(), {"--run-dir", options_.run_dir});
  for (const Member* each : mates) {
    const std::string scope = mates.size() == 1 ? "" : each->name + ":";
    for (const std::string& assignment : each->settings)
      arguments.insert(arguments.end(), {"--set", scope + assignment});
  }
  return arguments;
}

void Pipeline::launch(Member& member) {
  if (member.remote) write_remote(options_.run_dir, *member.remote);
  std::map<std::string, std::string> environment;
  if (!options_.preload.empty()) environment["LD_PRELOAD"] = options_.preload;
  // Logs are appended to; this run's last lines are looked for in its output first.
  const std::vector<Member*> together = mates(member);
  for (const Member* each : together) forget_stop(options_.run_dir, each->name);
  const auto child = std::make_shared<Child>(
      arguments_of(together), options_.run_dir + "/" + together.front()->name + ".out",
      environment);
  for (Member* each : together) {
    each->child = child;
    each->launched_ns = clock::monotonic_ns();
    each->restart_at_ns = 0;
    each->reported = false;
  }
}

std::size_t Pipeline::together_with(std::size_t first) const {
  const auto is = [&](std::size_t at, const char* program) {
    return at < members_.size() && members_[at].program == program;
  };
  std::size_t end = first + 1;
  // In a part of a pipeline one oeg may be of a pair, too: the other one runs elsewhere.
  const bool pair = is(end, "oeg") || !options_.only.empty();
  if (!is(first, "oeg") || !pair) return end;
  while (is(end, "oeg") || is(end, "risk")) ++end;
  return end;
}

std::string Pipeline::log_tail(const Member& member) const {
  const std::string stem = options_.run_dir + "/" + member.name;
  std::string tail = last_lines(stem + ".out", kTailLines, control::kCrashedBy);
  if (member.remote) {
    const Host& host = member.remote->host;
    return tail + "  log: " + host.name + ":" + host.there(host.run_dir) + "/" + member.name +
           ".log";
  }
  if (tail.empty()) tail = last_lines(stem + ".log", kTailLines);
  return tail + "  log: " + stem + ".log";
}

// Waits a short while for either answer: a program that is not ready yet keeps the question open.
// Another process of the name does not count: then ours is about to end.
bool Pipeline::is_ready(Member& member) {
  constexpr int kAskMs = 100;
  std::string reason = "its admin socket does not answer";
  try {
    const Json answer =
        control::admin_command(control::admin_path(options_.run_dir, member.name),
                               {{"command", "ready"}, {"timeout_ms", kAskMs}}, kAskMs + 2000);
    const bool ours = member.remote || answer.value("pid", 0) == member.child->pid();
    if (ours && answer.value("ready", false)) return true;
    reason = ours ? answer.value("reason", reason) : "another process has its name";
  } catch (const Error&) {
    // No socket yet: its end shows at once, else it is asked again.
    constexpr int kAgainMs = 5;
    (void)member.child->wait(kAgainMs);
  }
  if (member.child->ended()) {
    member.reported = true;
    throw Error(title(member) + " " + member.child->how_it_ended() + " before it was ready\n" +
                log_tail(member));
  }
  const std::int64_t waited_ns = clock::monotonic_ns() - member.launched_ns;
  if (waited_ns > std::int64_t{options_.ready_timeout_ms} * 1'000'000)
    throw Error(title(member) + " is not ready after " +
                std::to_string(options_.ready_timeout_ms / 1000) + " s: " + reason + "\n" +
                log_tail(member));
  return false;
}

void Pipeline::announce(const Member& member) {
  const auto ms = (clock::monotonic_ns() - member.launched_ns) / 1'000'000;
  const Json status = try_status(options_.run_dir, member.name);
  const int process =
      member.remote && status.is_object() ? status.value("pid", 0) : member.child->pid();
  std::fprintf(stderr, "%-10s ready after %lld ms (process %d%s)\n", member.name.c_str(),
               static_cast<long long>(ms), process,
               member.remote ? (" on " + member.remote->host.name).c_str() : "");
  // Kills of an earlier run: else one looks long for the reason why nothing trades.
  if (member.program == "risk") std::fprintf(stderr, "%s", kill_lines(status).c_str());
  if (member.program == "strategy") std::fprintf(stderr, "%s", plugin_lines(status).c_str());
}

std::vector<Pipeline::Member*> Pipeline::sims() {
  std::vector<Member*> running;
  for (Member& member : members_)
    if (member.program == "sim" && member.child && !member.child->ended())
      running.push_back(&member);
  return running;
}

bool Pipeline::has_sim() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.program == "sim"; });
}

bool Pipeline::all_asked_to_stop() const {
  return std::ranges::all_of(members_, [&](const Member& member) {
    return is_asked_to_stop(options_.run_dir, member.name);
  });
}

std::vector<std::string> Pipeline::sim_names() const {
  std::vector<std::string> names;
  for (const Member& member : members_)
    if (member.program == "sim") names.push_back(member.name);
  return names;
}

bool Pipeline::begin_replay() {
  const std::vector<Member*> exchanges = sims();
  for (const Member* exchange : exchanges)
    control::admin_command(control::admin_path(options_.run_dir, exchange->name),
                           {{"command", "start"}});
  return !exchanges.empty();
}

Json Pipeline::replay(int timeout_ms) {
  std::vector<std::string> names;
  for (const Member* exchange : sims()) names.push_back(exchange->name);
  return replay_of_all(options_.run_dir, names, timeout_ms);
}

std::vector<Pipeline::Ended> Pipeline::newly_ended() {
  std::vector<Ended> result;
  for (Member& member : members_) {
    if (!member.child || member.reported || !member.child->ended()) continue;
    member.reported = true;
    Ended ended;
    ended.name = member.name;
    ended.program = member.program;
    ended.failed = !member.child->succeeded();
    ended.text = title(member) + " " + member.child->how_it_ended();
    const bool asked = was_asked_to_stop(member);
    ended.restarts =
        ended.failed && options_.restart && !stopping_ && member.program != "sim" && !asked;
    if (ended.failed && options_.restart && asked)
      ended.text += "; it was asked to stop, and is not started again";
    if (ended.restarts) {
      const std::int64_t now_ns = clock::monotonic_ns();
      const bool lived = now_ns - member.launched_ns > kLongLifeNs;
      const std::int64_t pause_ns = lived ? kShortPauseNs : kRestartPauseNs;
      ended.text += ", is started again in " + std::to_string(pause_ns / 1'000'000) + " ms";
      member.restart_at_ns = now_ns + pause_ns;
    }
    if (ended.failed) ended.text += "\n" + log_tail(member);
    if (ended.failed && !ended.restarts)
      problems_.push_back(title(member) + " " + member.child->how_it_ended());
    result.push_back(std::move(ended));
  }
  return result;
}

// By `tickpath down`. Those of one process end together.
bool Pipeline::was_asked_to_stop(const Member& member) {
  const std::vector<Member*> together = mates(member);
  return std::any_of(together.begin(), together.end(), [&](const Member* each) {
    return is_asked_to_stop(options_.run_dir, each->name);
  });
}

void Pipeline::restart_due() {
  const std::int64_t now_ns = clock::monotonic_ns();
  for (Member& member : members_) {
    if (member.restart_at_ns == 0 || now_ns < member.restart_at_ns) continue;
    was_asked_to_stop(member) ? give_up_restart(member) : launch(member);
  }
}

void Pipeline::give_up_restart(Member& member) {
  member.restart_at_ns = 0;
  problems_.push_back(title(member) + " " + member.child->how_it_ended() +
                      " and was not started again before the end");
}

std::vector<int> Pipeline::exit_descriptors() const {
  std::vector<int> result;
  for (const Member& member : members_)
    if (member.child && !member.reported) result.push_back(member.child->exit_descriptor());
  return result;
}

bool Pipeline::any_runs() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.restart_at_ns != 0 || (member.child && !member.child->ended());
  });
}

void Pipeline::halt_replay() {
  for (Member* const exchange : sims()) {
    try {
      control::admin_command(control::admin_path(options_.run_dir, exchange->name),
                             {{"command", "halt"}});
    } catch (const Error& error) {
      // The exchange may be ending (tickpath down): then its end says all there is to say.
      constexpr int kLeavingMs = 1000;
      if (!exchange->child->wait(kLeavingMs))
        problems_.push_back(std::string("halting the replay: ") + error.what());
    }
  }
}

void Pipeline::settle() {
  std::vector<std::string> mdhs;
  for (const Member& member : members_)
    if (member.program == "mdh" && member.child && !member.child->ended())
      mdhs.push_back(member.name);
  std::vector<std::string> names;
  for (const Member* exchange : sims()) names.push_back(exchange->name);
  await_rest(options_.run_dir, names, mdhs);
}

void Pipeline::stop() {
  if (stopping_) return;
  stopping_ = true;
  for (Member& member : members_)
    if (member.restart_at_ns != 0) give_up_restart(member);
  halt_replay();
  settle();
  std::map<std::size_t, std::vector<Member*>> groups;
  for (Member& member : members_) groups[stop_rank(member.program)].push_back(&member);
  for (auto& [rank, group] : groups) {
    if (options_.only.empty() && started_) stop_outsiders(rank);
    stop_group(group);
  }
}

// Beside those that we started: they cannot do without them, and must settle what they have open.
void Pipeline::stop_outsiders(std::size_t rank) {
  for (const RunningProgram& other : running_programs(options_.run_dir)) {
    if (stop_rank(other.program) != rank || is_member_process(other.pid)) continue;
    ask_to_stop(options_.run_dir, other);
    if (!wait_for_exit(options_.run_dir, other, options_.stop_timeout_ms))
      problems_.push_back(other.name + " (" + process_text(other) +
                          ", started by somebody else) does not stop");
  }
}

bool Pipeline::is_member_process(pid_t pid) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.child && !member.child->ended() && member.child->pid() == pid;
  });
}

void Pipeline::stop_group(std::vector<Member*> group) {
  // Standbys first, one a venue: else they would take the places of those that end.
  const auto others = std::stable_partition(group.begin(), group.end(), [&](const Member* member) {
    return member->child && !member->child->ended() &&
           stands_by(try_status(options_.run_dir, member->name));
  });
  stop_members({group.begin(), others});
  stop_members({others, group.end()});
}

void Pipeline::stop_members(const std::vector<Member*>& group) {
  for (Member* member : group)
    if (member->child && asked_.insert(member->child.get()).second) member->child->signal(SIGTERM);
  for (Member* member : group) {
    if (!member->child) continue;
    if (!member->child->wait(options_.stop_timeout_ms)) {
      problems_.push_back(title(*member) + " did not stop within " +
                          std::to_string(options_.stop_timeout_ms / 1000) + " s and was killed");
      kill(*member);
      (void)member->child->wait(options_.stop_timeout_ms);
      member->reported = true;
    }
  }
  for (const Ended& ended : newly_ended())
    if (ended.failed) std::fprintf(stderr, "%s\n", ended.text.c_str());
}

std::vector<std::string> Pipeline::names() const {
  std::vector<std::string> result;
  for (const Member& member : members_) result.push_back(member.name);
  if (!options_.only.empty()) return result;
  const std::string ending = ".summary.json";
  for (const auto& entry : fs::directory_iterator(options_.run_dir)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(ending)) continue;
    const std::string name = file.substr(0, file.size() - ending.size());
    if (!is_member(name)) result.push_back(name);
  }
  return result;
}

}  // namespace tickpath::cli
