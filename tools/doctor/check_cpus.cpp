// Whose cores they are: isolation, quotas, sibling threads.
#include <algorithm>
#include <sstream>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

CpuSet without(const CpuSet& all, const CpuSet& some) {
  CpuSet rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

// The CPUs that the pipeline is pinned to; without any, all but the first, which the kernel keeps.
CpuSet wanted(const Subject& subject) {
  CpuSet cpus = subject.pinned_cpus();
  if (!cpus.empty()) return cpus;
  cpus = subject.machine.online();
  if (cpus.size() > 1) cpus.erase(cpus.begin());
  return cpus;
}

std::string boot_command(const CpuSet& cpus) {
  const std::string list = to_text(cpus);
  return "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&isolcpus=managed_irq,domain," + list +
         " nohz_full=" + list + " rcu_nocbs=" + list +
         " /' /etc/default/grub && sudo update-grub   # then reboot";
}

Finding kernel_list(const Subject& subject, const std::string& id, const std::string& file,
                    const std::string& why) {
  const CpuSet cpus = wanted(subject);
  const bool pinned = !subject.pinned_cpus().empty();
  Finding finding{
      id,
      State::kUnknown,
      kCpuFolder + file + " cannot be read",
      pinned ? "cpus " + to_text(cpus) : "the cores that datapath threads are pinned to",
      why,
      boot_command(cpus)};
  const auto list = subject.machine.cpus(kCpuFolder + file);
  if (!list) return finding;
  finding.current = list->empty() ? "none" : "cpus " + to_text(*list);
  const bool enough = pinned ? without(cpus, *list).empty() : !list->empty();
  finding.state = enough ? State::kOk : State::kWarn;
  return finding;
}

CpuSet siblings(const Machine& machine, int cpu) {
  return machine
      .cpus(kCpuFolder + std::string("cpu") + std::to_string(cpu) +
            "/topology/thread_siblings_list")
      .value_or(CpuSet{cpu});
}

// Two polling threads on one core, or a core shared with whatever the kernel puts beside it.
Finding smt(const Subject& subject) {
  Finding finding{"cpu.smt",
                  State::kUnknown,
                  "",
                  "no two threads of a core in use",
                  "two threads of one core share its caches and execution units; a busy neighbour "
                  "costs up to half of the speed, at random",
                  "echo off | sudo tee /sys/devices/system/cpu/smt/control"};
  const auto active = subject.machine.number(std::string(kCpuFolder) + "smt/active");
  if (!active) {
    finding.current = std::string(kCpuFolder) + "smt/active cannot be read";
    return finding;
  }
  if (*active == 0) {
    finding.state = State::kOk;
    finding.current = "off";
    return finding;
  }
  const CpuSet pinned = subject.pinned_cpus();
  const CpuSet isolated =
      subject.machine.cpus(std::string(kCpuFolder) + "isolated").value_or(CpuSet{});
  finding.state = pinned.empty() ? State::kWarn : State::kOk;
  finding.current = "on";
  for (const int cpu : pinned) {
    for (const int other : siblings(subject.machine, cpu)) {
      if (other == cpu) continue;
      if (pinned.count(other) != 0 && cpu < other) {
        finding.state = State::kFail;
        finding.current += "; cpus " + std::to_string(cpu) + " and " + std::to_string(other) +
                           " are one core and both pinned to";
      } else if (pinned.count(other) == 0 && isolated.count(other) == 0) {
        if (finding.state == State::kOk) finding.state = State::kWarn;
        finding.current += "; cpu " + std::to_string(other) + " beside pinned cpu " +
                           std::to_string(cpu) + " is open to anyone";
      }
    }
  }
  return finding;
}

struct Quota {
  std::string file;
  double cpus = 0;  // 0: none
};

// The tightest of the groups that we are in; both versions of the interface (cgroups(7)).
std::optional<Quota> quota_of(const Machine& machine) {
  const auto groups = machine.read("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  Quota tightest;
  bool found = false;
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool second_version = controllers.empty();
    if (!second_version && controllers.find("cpu") == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    while (true) {  // up to the root: every level may limit
      const std::string folder = (second_version ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu") + path;
      std::string quota;
      double period = 0;
      if (const auto text = machine.read(folder + "/cpu.max")) {
        std::istringstream(*text) >> quota >> period;
      } else if (const auto old = machine.read(folder + "/cpu.cfs_quota_us")) {
        quota = *old == "-1" ? "max" : *old;
        period =
            static_cast<double>(machine.number(folder + "/cpu.cfs_period_us").value_or(100'000));
      }
      if (!quota.empty()) found = true;
      if (!quota.empty() && quota != "max" && period > 0) {
        const double cpus = std::strtod(quota.c_str(), nullptr) / period;
        if (tightest.cpus == 0 || cpus < tightest.cpus) tightest = {folder, cpus};
      }
      if (path.empty() || path == "/") break;
      path.erase(path.rfind('/'));
    }
  }
  // The root group has no such file: nothing limits it.
  return found || machine.exists("/sys/fs/cgroup") ? std::optional(tightest) : std::nullopt;
}

Finding quota(const Subject& subject) {
  Finding finding{"cpu.quota",
                  State::kUnknown,
                  "/proc/self/cgroup cannot be read",
                  "none",
                  "a thread that polls uses its whole core; when the group's quota is used up it "
                  "stands still until the next period, some 50 ms",
                  "run it outside of the limit (docker: without --cpus)"};
  const auto limit = quota_of(subject.machine);
  if (!limit) return finding;
  if (limit->cpus == 0) {
    finding.state = State::kOk;
    finding.current = "none";
    return finding;
  }
  std::ostringstream text;
  text << limit->cpus << " cpus by " << limit->file;
  finding.current = text.str();
  finding.state = State::kFail;
  finding.command = "echo max | sudo tee " + limit->file + "/cpu.max";
  return finding;
}

}  // namespace

std::vector<Finding> check_cpus(const Subject& subject) {
  return {kernel_list(subject, "cpu.isolated", "isolated",
                      "the scheduler puts other threads on a core that is not isolated; "
                      "each takes it for a millisecond or more"),
          kernel_list(subject, "cpu.nohz_full", "nohz_full",
                      "the timer tick interrupts a running thread 250 times a second "
                      "for some microseconds"),
          smt(subject), quota(subject)};
}

}  // namespace tickpath::cli::doctor
