// A pipeline's configuration against the machine.
#include <algorithm>

#include "common/rdma/rdma.hpp"
#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

std::string wait_text(const Pins& pins) {
  std::string text = "wait " + pins.wait;
  if (pins.cpu == Pins::kUnpinned) return text + ", not pinned";
  if (pins.cpu == Pins::kAuto) return text + ", cpu auto";
  return text + ", cpu " + std::to_string(pins.cpu);
}

CpuSet allowed(const Machine& machine) {
  const auto status = machine.read("/proc/self/status");
  const std::string key = "Cpus_allowed_list:";
  const std::size_t at = status ? status->find(key) : std::string::npos;
  if (at == std::string::npos) return machine.online();
  return parse_cpus(status->substr(at + key.size(), status->find('\n', at) - at - key.size()));
}

// Whom a program shares its core with.
std::string shared_with(const Subject& subject, const Pins& pins) {
  std::string names;
  for (const Pins& other : subject.pins)
    if (&other != &pins && pins.cpu >= 0 && other.cpu == pins.cpu && other.wait != "park")
      names += (names.empty() ? "" : ", ") + other.program;
  return names;
}

Finding judge(const Subject& subject, const Pins& pins) {
  Finding finding{"config." + pins.program,
                  State::kOk,
                  wait_text(pins),
                  "a core of its own, among those that this process may use",
                  "a polling thread that shares its core waits for the other's time slice: "
                  "milliseconds",
                  ""};
  const CpuSet may = allowed(subject.machine);
  if (may.empty()) {
    finding.state = State::kUnknown;
    finding.current += "; the machine does not tell its cores";
    return finding;
  }
  const auto fails = [&](State state, const std::string& text, const std::string& command) {
    if (state == State::kFail || finding.state == State::kOk) finding.state = state;
    finding.current += "; " + text;
    finding.command += (finding.command.empty() ? "" : "\n") + command;
  };
  const std::string edit = "in " + pins.file + ": ";
  if (pins.cpu >= 0 && may.count(pins.cpu) == 0)
    fails(State::kFail, "this process may run on cpus " + to_text(may) + " only",
          edit + "datapath.cpu = " + std::to_string(*may.rbegin()));
  const std::string others = pins.wait == "park" ? "" : shared_with(subject, pins);
  if (!others.empty())
    fails(pins.wait == "spin" ? State::kFail : State::kWarn, "shared with " + others,
          edit + "another datapath.cpu, or \"auto\"");
  if (pins.wait == "spin" && pins.cpu == Pins::kUnpinned)
    fails(State::kWarn, "it spins wherever the scheduler puts it",
          edit + "datapath.cpu = \"auto\"");
  if (pins.cpu == 0 && may.size() > 1)
    fails(State::kWarn, "cpu 0 takes most of the kernel's own work", edit + "another datapath.cpu");
  const std::vector<std::string_view> providers = rdma::provider_names();
  if (std::ranges::find(providers, pins.provider) == providers.end())
    fails(State::kFail, "no provider \"" + pins.provider + "\"",
          edit + "fabric.provider: one of " + rdma::provider_list());
  return finding;
}

// More spinning threads than cores: each steals from the others.
Finding cores(const Subject& subject) {
  std::size_t polling = 0;
  std::size_t spinning = 0;
  for (const Pins& pins : subject.pins) {
    polling += pins.wait != "park" ? 1 : 0;
    spinning += pins.wait == "spin" ? 1 : 0;
  }
  const std::size_t there = allowed(subject.machine).size();
  Finding finding{"config.cores",
                  State::kOk,
                  std::to_string(polling) + " polling threads, " + std::to_string(there) + " cores",
                  std::to_string(polling + 1) + " cores: one for each, and one for the rest",
                  "on fewer, threads with wait = auto yield to each other: microseconds instead of "
                  "hundreds of nanoseconds a hop",
                  "a machine with more cores, or some of the programs on another host"};
  if (there == 0) {
    finding.state = State::kUnknown;
    finding.current += " as far as known";
  } else if (spinning >= there) {
    finding.state = State::kFail;
    finding.command = "datapath.wait = \"auto\" for all";
  } else if (polling + 1 > there) {
    finding.state = State::kWarn;
  }
  return finding;
}

}  // namespace

std::vector<Finding> check_pins(const Subject& subject) {
  if (subject.pins.empty()) return {};
  std::vector<Finding> findings{cores(subject)};
  for (const Pins& pins : subject.pins) findings.push_back(judge(subject, pins));
  return findings;
}

}  // namespace tickpath::cli::doctor
