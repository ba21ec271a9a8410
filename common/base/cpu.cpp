#include "common/base/cpu.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw SystemError("cannot read the CPU affinity of this process", errno);
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> core_siblings(int cpu) {
  // The kernel's list format: "0-1" or "0,32" (Documentation/admin-guide/cputopology.rst).
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/topology/thread_siblings_list");
  std::vector<int> cpus;
  char separator = ',';
  for (int each = 0; file >> each; file >> separator) {
    if (separator == '-')
      for (int between = cpus.empty() ? each : cpus.back() + 1; between < each; ++between)
        cpus.push_back(between);
    cpus.push_back(each);
  }
  return cpus.empty() ? std::vector<int>{cpu} : cpus;
}

int numa_node_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  const std::string prefix = "node";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    int node = 0;
    const char* const end = name.data() + name.size();
    if (name.starts_with(prefix) && name != prefix &&
        std::from_chars(name.data() + prefix.size(), end, node).ptr == end)
      return node;
  }
  return -1;
}

bool prefer_memory_of(int node) noexcept {
  constexpr int kNodes = 64 * 16;  // Linux has at most 1024 (CONFIG_NODES_SHIFT)
  if (node < 0 || node >= kNodes) return false;
  unsigned long mask[kNodes / 64] = {};
  mask[node / 64] = 1UL << (node % 64);
  // The kernel reads one bit less than this count says.
  return ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask, kNodes + 1) == 0;
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (error != 0) {
    std::string allowed;
    for (const int each : allowed_cpus()) allowed += " " + std::to_string(each);
    throw SystemError("cannot pin a thread to CPU " + std::to_string(cpu) +
                          " (this process may use:" + allowed + ")",
                      error);
  }
}

void name_this_thread(const std::string& name) noexcept {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

namespace {
thread_local std::int64_t time_slice_ns = 0;  // what this thread asked for; 0: nothing
}  // namespace

bool set_real_time(bool on) noexcept {
  sched_param parameter{};
  parameter.sched_priority = on ? 1 : 0;
  if (pthread_setschedparam(pthread_self(), on ? SCHED_FIFO : SCHED_OTHER, &parameter) != 0)
    return false;
  if (!on && time_slice_ns != 0) (void)set_time_slice(time_slice_ns);  // the kernel forgot it
  return true;
}

bool set_time_slice(std::int64_t ns) noexcept {
  // The kernel's struct sched_attr in its first size, which C libraries have had only lately.
  struct Attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes{};
  static_assert(sizeof(Attributes) == 48);
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return false;
  if (attributes.policy != SCHED_OTHER) return false;
  attributes.runtime_ns = static_cast<std::uint64_t>(ns);
  time_slice_ns = ns;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace tickpath
