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
  return judged(finding, *text == "tsc", *text);
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
  return judged(finding, constant && nonstop,
                std::string(constant ? "constant" : "not constant") + ", " +
                    (nonstop ? "nonstop" : "stops in sleep"),
                State::kFail);
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
  // A guest may get its time from the hypervisor, without a daemon.
  return judged(
      finding, good,
      (running.empty() ? "no daemon" : running) + (!synchronised   ? ", the kernel does not say"
                                                   : *synchronised ? ", synchronised"
                                                                   : ", not synchronised"));
}

}  // namespace

std::vector<Finding> check_clocks(const Subject& subject) {
  return {source(subject), counter(subject), synchronisation(subject)};
}

}  // namespace tickpath::cli::doctor
