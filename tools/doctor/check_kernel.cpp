// Rights and limits of the process, and socket buffers.
#include <algorithm>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

constexpr int kCapSysNice = 23;  // linux/capability.h
constexpr int kCapPerfmon = 38;
constexpr int kCapSysAdmin = 21;
// A burst of a busy market at 10 Gb/s for 10 ms.
constexpr std::int64_t kReceiveBytesWanted = std::int64_t{8} << 20;

Finding receive_buffer(const Subject& subject) {
  std::int64_t wanted = 0;
  for (const Pins& pins : subject.pins) wanted = std::max(wanted, pins.receive_buffer_bytes);
  if (wanted == 0) wanted = kReceiveBytesWanted;
  Finding finding{"net.rmem_max",
                  State::kUnknown,
                  "/proc/sys/net/core/rmem_max cannot be read",
                  std::to_string(wanted) + " bytes",
                  "mdh asks for feed.receive_buffer; the kernel grants no more than this, and "
                  "drops what does not fit",
                  "sudo sysctl -w net.core.rmem_max=" + std::to_string(wanted) +
                      "   # and in /etc/sysctl.d/90-tickpath.conf"};
  const auto value = subject.machine.number("/proc/sys/net/core/rmem_max");
  if (!value) return finding;
  return judged(finding, *value >= wanted, std::to_string(*value) + " bytes");
}

Finding real_time(const Subject& subject) {
  Finding finding{"limits.real_time",
                  State::kUnknown,
                  "/proc/self/limits cannot be read",
                  "a priority of 1 or more",
                  "each program's heartbeat comes from a thread with real-time priority; without "
                  "the right to it, a busy machine makes a living program look dead",
                  "echo '* - rtprio 10' | sudo tee -a /etc/security/limits.d/90-tickpath.conf"
                  "   # then log in again"};
  const auto limit = subject.machine.limit("Max realtime priority");
  if (!limit) return finding;
  const bool nice = subject.machine.has_capability(kCapSysNice).value_or(false);
  return judged(finding, nice || *limit != "0", *limit + (nice ? ", and CAP_SYS_NICE" : ""));
}

Finding perf(const Subject& subject) {
  const std::string path = "/proc/sys/kernel/perf_event_paranoid";
  Finding finding{"limits.perf",
                  State::kUnknown,
                  path + " cannot be read",
                  "1 or less, or CAP_PERFMON",
                  "to look for the cause of a slow hop with perf; the pipeline itself does not "
                  "need it",
                  "sudo sysctl -w kernel.perf_event_paranoid=1"};
  const auto value = subject.machine.number(path);
  if (!value) return finding;
  const bool capable = subject.machine.has_capability(kCapPerfmon).value_or(false) ||
                       subject.machine.has_capability(kCapSysAdmin).value_or(false);
  return judged(finding, capable || *value <= 1,
                std::to_string(*value) + (capable ? ", and CAP_PERFMON" : ""));
}

}  // namespace

std::vector<Finding> check_kernel(const Subject& subject) {
  return {receive_buffer(subject), real_time(subject), perf(subject)};
}

}  // namespace tickpath::cli::doctor
