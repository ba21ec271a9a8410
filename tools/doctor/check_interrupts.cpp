#include <algorithm>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

// The cores that interrupts must stay away from.
CpuSet kept_free(const Subject& subject) {
  CpuSet cpus = subject.pinned_cpus();
  if (cpus.empty())
    cpus = subject.machine.cpus("/sys/devices/system/cpu/isolated").value_or(CpuSet{});
  return cpus;
}

bool is_irq(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char each) { return each >= '0' && each <= '9'; });
}

Finding affinity(const Subject& subject) {
  const CpuSet cpus = kept_free(subject);
  Finding finding{"irq.affinity",
                  State::kUnknown,
                  "/proc/irq cannot be read",
                  cpus.empty() ? "no interrupt on a core with a datapath thread"
                               : "no interrupt on cpus " + to_text(cpus),
                  "an interrupt takes the core from the datapath thread for some microseconds",
                  ""};
  const std::vector<std::string> irqs = subject.machine.list("/proc/irq");
  if (irqs.empty()) return finding;
  std::string bad;
  std::size_t count = 0;
  for (const std::string& irq : irqs) {
    if (!is_irq(irq)) continue;
    const std::string folder = "/proc/irq/" + irq;
    auto list = subject.machine.cpus(folder + "/effective_affinity_list");
    if (!list || list->empty()) list = subject.machine.cpus(folder + "/smp_affinity_list");
    if (!list) continue;
    ++count;
    const bool hit =
        std::any_of(list->begin(), list->end(), [&](int cpu) { return cpus.count(cpu) != 0; });
    if (hit) bad += (bad.empty() ? "" : " ") + irq;
  }
  if (count == 0) {
    finding.current = "no interrupt tells its affinity";
    return finding;
  }
  if (cpus.empty()) {
    finding.current =
        std::to_string(count) + " interrupts; no core is isolated, and no configuration names one";
    finding.state = State::kUnknown;
    return finding;
  }
  finding.state = bad.empty() ? State::kOk : State::kWarn;
  finding.current = bad.empty() ? "none of " + std::to_string(count) : "interrupts " + bad;
  CpuSet others = subject.machine.online();
  for (const int cpu : cpus) others.erase(cpu);
  if (!bad.empty() && !others.empty())
    finding.command = "for irq in " + bad + "; do echo " + to_text(others) +
                      " | sudo tee /proc/irq/$irq/smp_affinity_list; done";
  return finding;
}

Finding balancer(const Subject& subject) {
  Finding finding{"irq.irqbalance",
                  State::kUnknown,
                  "/proc cannot be read",
                  "not running",
                  "it moves interrupts back onto the cores that you cleared",
                  "sudo systemctl disable --now irqbalance"};
  const std::set<std::string> processes = subject.machine.processes();
  if (processes.empty()) return finding;
  const bool runs = processes.count("irqbalance") != 0;
  finding.current = runs ? "running" : "not running";
  finding.state = runs ? State::kWarn : State::kOk;
  return finding;
}

}  // namespace

std::vector<Finding> check_interrupts(const Subject& subject) {
  return {affinity(subject), balancer(subject)};
}

}  // namespace tickpath::cli::doctor
