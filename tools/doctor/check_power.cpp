// What makes a core slow to answer: clock rates and sleep states.
#include <map>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

// Deeper states take longer to wake from than an order takes through the whole pipeline.
constexpr std::int64_t kExitLatencyUs = 10;

std::string folder_of(int cpu) { return kCpuFolder + std::string("cpu") + std::to_string(cpu); }

CpuSet relevant(const Subject& subject) {
  const CpuSet pinned = subject.pinned_cpus();
  return pinned.empty() ? subject.machine.online() : pinned;
}

Finding governor(const Subject& subject) {
  Finding finding{"cpu.governor",
                  State::kUnknown,
                  "no cpufreq: a virtual machine, or no driver for this CPU",
                  "performance",
                  "a core that was slowed down needs tens of microseconds to speed up again",
                  "sudo cpupower frequency-set -g performance"};
  std::map<std::string, CpuSet> by_name;
  for (const int cpu : relevant(subject))
    if (const auto name = subject.machine.read(folder_of(cpu) + "/cpufreq/scaling_governor"))
      by_name[*name].insert(cpu);
  if (by_name.empty()) return finding;
  finding.current.clear();
  for (const auto& [name, cpus] : by_name)
    finding.current += (finding.current.empty() ? "" : ", ") + name + " on cpus " + to_text(cpus);
  finding.state =
      by_name.size() == 1 && by_name.count("performance") != 0 ? State::kOk : State::kWarn;
  return finding;
}

Finding sleep_states(const Subject& subject) {
  Finding finding{
      "cpu.c_states",
      State::kUnknown,
      "no cpuidle: a virtual machine, or the kernel does not manage sleep states",
      "no state that takes longer than " + std::to_string(kExitLatencyUs) + " us to leave",
      "a core that fell asleep while its thread waits (wait = park, or between two "
      "packets on yield) wakes up late",
      "sudo cpupower idle-set -D " + std::to_string(kExitLatencyUs)};
  std::map<std::string, CpuSet> deep;
  bool any = false;
  for (const int cpu : relevant(subject)) {
    const std::string folder = folder_of(cpu) + "/cpuidle";
    for (const std::string& state : subject.machine.list(folder)) {
      const auto latency = subject.machine.number(folder + "/" + state + "/latency");
      if (!latency) continue;
      any = true;
      const bool disabled =
          subject.machine.number(folder + "/" + state + "/disable").value_or(0) != 0;
      if (disabled || *latency <= kExitLatencyUs) continue;
      const std::string name = subject.machine.read(folder + "/" + state + "/name").value_or(state);
      deep[name + " (" + std::to_string(*latency) + " us)"].insert(cpu);
    }
  }
  if (!any) return finding;
  finding.state = deep.empty() ? State::kOk : State::kWarn;
  finding.current = deep.empty() ? "none deeper" : "";
  for (const auto& [name, cpus] : deep)
    finding.current += (finding.current.empty() ? "" : ", ") + name + " on cpus " + to_text(cpus);
  return finding;
}

}  // namespace

std::vector<Finding> check_power(const Subject& subject) {
  return {governor(subject), sleep_states(subject)};
}

}  // namespace tickpath::cli::doctor
