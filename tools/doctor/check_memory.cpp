#include <sstream>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

// Regions of a pipeline with default ring sizes take about 100 MB.
constexpr std::int64_t kHugeBytesWanted = std::int64_t{256} << 20;
constexpr std::int64_t kLockedBytesWanted = std::int64_t{1} << 30;
constexpr int kCapIpcLock = 14;  // linux/capability.h

std::optional<std::int64_t> meminfo(const Machine& machine, const std::string& key) {
  const auto text = machine.read("/proc/meminfo");
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (line.compare(0, key.size() + 1, key + ":") == 0)
      return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  return std::nullopt;
}

Finding memlock(const Subject& subject) {
  Finding finding{"memory.memlock",
                  State::kUnknown,
                  "/proc/self/limits cannot be read",
                  "unlimited",
                  "RDMA memory is locked; a NIC cannot take a page fault, and a region that may "
                  "not be locked cannot be registered",
                  "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-tickpath.conf"
                  "   # then log in again"};
  const auto limit = subject.machine.limit("Max locked memory");
  if (!limit) return finding;
  if (*limit == "unlimited" || subject.machine.has_capability(kCapIpcLock).value_or(false)) {
    finding.state = State::kOk;
    finding.current = *limit == "unlimited" ? "unlimited" : *limit + " bytes, but CAP_IPC_LOCK";
    return finding;
  }
  finding.current = *limit + " bytes";
  const std::int64_t bytes = std::strtoll(limit->c_str(), nullptr, 10);
  if (bytes >= kLockedBytesWanted)
    finding.state = State::kOk;
  else
    finding.state = subject.uses_verbs() ? State::kFail : State::kWarn;
  return finding;
}

Finding huge_pages(const Subject& subject) {
  Finding finding{"memory.huge_pages",
                  State::kUnknown,
                  "/proc/meminfo says nothing of them",
                  "256 MB free",
                  "a region of 64 MB takes 16,384 TLB entries on 4 kB pages and 32 on huge ones",
                  "sudo sysctl -w vm.nr_hugepages=128   # and in /etc/sysctl.d/90-tickpath.conf"};
  const auto free_pages = meminfo(subject.machine, "HugePages_Free");
  const auto page_kb = meminfo(subject.machine, "Hugepagesize");
  if (!free_pages || !page_kb || *page_kb <= 0) return finding;
  finding.command =
      "sudo sysctl -w vm.nr_hugepages=" + std::to_string(kHugeBytesWanted / 1024 / *page_kb) +
      "   # and in /etc/sysctl.d/90-tickpath.conf";
  return judged(finding, *free_pages * *page_kb * 1024 >= kHugeBytesWanted,
                std::to_string(*free_pages) + " free of " + std::to_string(*page_kb) + " kB");
}

Finding transparent_huge_pages(const Subject& subject) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  Finding finding{"memory.transparent_huge_pages",
                  State::kUnknown,
                  path + " cannot be read",
                  "madvise or never",
                  "with `always` the kernel collapses pages behind a running thread's back, which "
                  "stops it for as long as that takes",
                  "echo madvise | sudo tee " + path};
  const auto text = subject.machine.read(path);
  if (!text) return finding;
  return judged(finding, text->find("[always]") == std::string::npos, *text);
}

Finding swap(const Subject& subject) {
  Finding finding{"memory.swap",
                  State::kUnknown,
                  "/proc/swaps cannot be read",
                  "none",
                  "memory that is not locked (books, logs, stacks) may go to disk; one page back "
                  "takes a hundred microseconds and more",
                  "sudo swapoff -a   # and remove it from /etc/fstab"};
  const auto text = subject.machine.read("/proc/swaps");
  if (!text) return finding;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);  // the headings
  std::string files;
  while (std::getline(lines, line)) {
    std::string name;
    std::istringstream(line) >> name;
    files += (files.empty() ? "" : ", ") + name;
  }
  return judged(finding, files.empty(), files.empty() ? "none" : files);
}

Finding numa_balancing(const Subject& subject) {
  const std::string path = "/proc/sys/kernel/numa_balancing";
  Finding finding{"memory.numa_balancing",
                  State::kOk,
                  "not in this kernel",
                  "0",
                  "it unmaps pages to see who uses them: page faults on the datapath",
                  "sudo sysctl -w kernel.numa_balancing=0"};
  const auto value = subject.machine.number(path);
  if (!value) return finding;  // a kernel without it does not do it
  return judged(finding, *value == 0, std::to_string(*value));
}

}  // namespace

std::vector<Finding> check_memory(const Subject& subject) {
  return {memlock(subject), huge_pages(subject), transparent_huge_pages(subject), swap(subject),
          numa_balancing(subject)};
}

}  // namespace tickpath::cli::doctor
