#include <array>
#include <sstream>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

Finding source(const Subject& subject) {
  const std::string path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  Finding finding{"clock.source",
                  State::kUnknown,
                  path + " cannot be read",
                  "tsc",
                  "with any other source, reading the time is a system call or a device access of "
                  "a microsecond, and the kernel's packet stamps are coarse",
                  "echo tsc | sudo tee " + path + "   # or boot with tsc=reliable"};
  const auto text = subject.machine.read(path);
  if (!text) return finding;
  finding.current = *text;
  finding.state = *text == "tsc" ? State::kOk : State::kWarn;
  return finding;
}

Finding counter(const Subject& subject) {
  Finding finding{"clock.tsc",
                  State::kUnknown,
                  "/proc/cpuinfo names no flags",
                  "constant_tsc and nonstop_tsc",
                  "every stamp is a TSC reading; one that changes its rate or stops in sleep makes "
                  "traces wrong",
                  "use a CPU, or a setting of the hypervisor, with an invariant TSC"};
  const auto text = subject.machine.read("/proc/cpuinfo");
  if (!text) return finding;
  const std::size_t at = text->find("flags");
  if (at == std::string::npos) return finding;
  std::istringstream line(text->substr(at, text->find('\n', at) - at));
  bool constant = false;
  bool nonstop = false;
  for (std::string word; line >> word;) {
    constant = constant || word == "constant_tsc";
    nonstop = nonstop || word == "nonstop_tsc";
  }
  finding.current = std::string(constant ? "constant" : "not constant") + ", " +
                    (nonstop ? "nonstop" : "stops in sleep");
  finding.state = constant && nonstop ? State::kOk : State::kFail;
  return finding;
}

Finding synchronisation(const Subject& subject) {
  Finding finding{"clock.synchronised",
                  State::kUnknown,
                  "the kernel does not say",
                  "a time daemon, and the kernel's clock synchronised",
                  "the exchange's and the log's times mean something only then; between hosts of "
                  "one pipeline tickpath measures the offset itself",
                  "sudo apt-get install chrony   # ptp4l and phc2sys where the NIC has a clock"};
  constexpr std::array<const char*, 6> kDaemons{"chronyd",         "ntpd",  "ntpsec",
                                                "systemd-timesyn", "ptp4l", "phc2sys"};
  std::string running;
  const std::set<std::string> processes = subject.machine.processes();
  for (const char* const daemon : kDaemons)
    if (processes.count(daemon) != 0)
      running += (running.empty() ? "" : ", ") + std::string(daemon);
  const auto synchronised = subject.machine.clock_synchronised();
  if (!synchronised && running.empty()) return finding;
  const bool good = synchronised.value_or(!running.empty());
  finding.current =
      (running.empty() ? "no daemon" : running) + (!synchronised   ? ", the kernel does not say"
                                                   : *synchronised ? ", synchronised"
                                                                   : ", not synchronised");
  // A guest may get its time from the hypervisor, without a daemon.
  finding.state = good ? State::kOk : State::kWarn;
  return finding;
}

}  // namespace

void check_clocks(const Subject& subject, std::vector<Finding>& findings) {
  findings.push_back(source(subject));
  findings.push_back(counter(subject));
  findings.push_back(synchronisation(subject));
}

}  // namespace tickpath::cli::doctor
