// What the datapath needs to know about the CPU it runs on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/units.hpp"

namespace tickpath {

// x86-64 moves memory between cores in lines of 64 bytes; data shared between threads is laid out
// by it, and a ring slot is exactly one. Changing it changes every wire format.
inline constexpr std::size_t kCacheLineBytes = 64;

// Instructions by the builtins of GCC and clang: <immintrin.h> costs each file that includes it
// half a second of a compiler's time, and nearly all include this.

// Tells the core that this is a spin loop: frees the pipeline for a sibling hyper-thread and avoids
// the memory-order machine clear when the awaited line changes.
inline void cpu_relax() noexcept { __builtin_ia32_pause(); }

// One TSC read, not serialising: about 10 ns on current hardware. Neighbouring instructions may
// move across it: by a few ns in general, but a load ahead of it that misses the cache may take its
// value later than the counter was read, by as long as the line takes to come. Where an order
// between hosts or threads is concluded from it: tsc_after_loads().
//
// In virtual time (clock::VirtualTime: deterministic replay, never a live program) it reads a word
// instead. The branch is always predicted and its pointer, written before any other thread exists,
// stays in the cache.
namespace detail {
inline constinit const std::atomic<std::uint64_t>* virtual_ticks = nullptr;
}
inline TscTicks tsc_now() noexcept {
  // Relaxed: the thread that turns the datapaths moves the time itself; others want any recent one.
  if (detail::virtual_ticks != nullptr) [[unlikely]]
    return {detail::virtual_ticks->load(std::memory_order_relaxed)};
  return {__builtin_ia32_rdtsc()};
}

// No load behind it takes its value, and no counter is read, before each one ahead of it has.
inline void load_fence() noexcept { __builtin_ia32_lfence(); }

// The same once each load ahead of it has its value: LFENCE; RDTSC (Intel SDM volume 2B, RDTSC; AMD
// orders by it, too, as Linux sets it up). What was read was there by the time that this returns.
// Some 10 ns more; not for the datapath's stamps.
inline TscTicks tsc_after_loads() noexcept {
  load_fence();
  return tsc_now();
}

// Binds the calling thread to one CPU. Throws SystemError naming the CPU and the CPUs allowed.
void pin_this_thread(int cpu);

// Names the calling thread for top, perf and gdb (15 characters at most are kept).
void name_this_thread(const std::string& name) noexcept;

// Puts the calling thread above all ordinary ones, below everything else (SCHED_FIFO, 1), or back
// among them, with the time slice that it asked for. False: it may not (root, CAP_SYS_NICE, or
// RLIMIT_RTPRIO of 1). For one that sleeps nearly always.
bool set_real_time(bool on) noexcept;

// Asks that the calling thread, and those that it starts, be scheduled in slices of `ns` (100 us to
// 100 ms) instead of the kernel's 3 ms or so: beside others on a CPU a thread gets it sooner and
// more often, and for no longer in all. sched_setattr(2), sched_runtime of SCHED_OTHER: Linux 6.12
// and later; earlier ones disregard it. False: refused, or the thread is not SCHED_OTHER.
bool set_time_slice(std::int64_t ns) noexcept;

// The NUMA node of a CPU (Linux: Documentation/ABI/stable/sysfs-devices-node). -1: the kernel does
// not say.
int numa_node_of(int cpu);

// The calling thread's new pages come from that node while it has free memory (set_mempolicy(2),
// MPOL_PREFERRED). Threads that it starts from now on inherit this. False: the kernel refused; a
// container's seccomp profile may.
bool prefer_memory_of(int node) noexcept;

// CPUs that share a core with this one, itself included; itself alone where the kernel does not
// say.
std::vector<int> core_siblings(int cpu);

// CPUs that this process may run on (affinity mask and cgroup cpuset applied), ascending.
std::vector<int> allowed_cpus();

}  // namespace tickpath
