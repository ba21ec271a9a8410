#include "common/clock/clock.hpp"

#include <fstream>
#include <string>

#include <cpuid.h>
#include <time.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/virtual_time.hpp"

namespace tickpath::clock {
namespace {

std::int64_t read_clock(clockid_t id) noexcept {
  if (is_virtual()) [[unlikely]] {
    const auto ticks = static_cast<std::int64_t>(tsc_now().value);
    return id == CLOCK_REALTIME ? VirtualTime::kEpochNs + ticks : ticks;
  }
  timespec now{};
  ::clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool tsc_is_invariant() noexcept {
  // CPUID 0x80000007, EDX bit 8 (AMD64 and Intel SDM: "Invariant TSC").
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x8000'0007, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 8 & 1) != 0;
}

// Emulated and some virtual CPUs do not tell. A kernel that keeps its own time by the TSC has found
// it steady and the same on every CPU (clocksource watchdog), or was told so ("tsc=reliable").
bool kernel_keeps_time_by_tsc() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return file >> source && source == "tsc";
}

Pair read_pair_of(clockid_t id) noexcept {
  Pair best{{0}, 0, ~std::uint64_t{0}};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const TscTicks before = tsc_now();
    const std::int64_t time = read_clock(id);
    const TscTicks after = tsc_now();
    const std::uint64_t width = (after - before).value;
    if (width < best.width_ticks) best = {{before.value + width / 2}, time, width};
  }
  return best;
}

std::uint64_t measure_tsc_hz() {
  if (!tsc_is_invariant() && !kernel_keeps_time_by_tsc()) {
    throw Error(
        "the time stamp counter of this CPU is not invariant (CPUID 0x80000007 EDX bit 8), and "
        "the kernel does not keep time by it: traces would be wrong; run on a CPU, or a hypervisor "
        "setting, that provides an invariant TSC");
  }
  constexpr std::int64_t kWindowNs = 20'000'000;
  const Pair first = read_pair_of(CLOCK_MONOTONIC_RAW);
  while (read_clock(CLOCK_MONOTONIC_RAW) - first.realtime_ns < kWindowNs) cpu_relax();
  const Pair second = read_pair_of(CLOCK_MONOTONIC_RAW);
  const auto ticks = static_cast<Uint128>((second.tsc - first.tsc).value);
  const auto elapsed_ns = static_cast<std::uint64_t>(second.realtime_ns - first.realtime_ns);
  return static_cast<std::uint64_t>(ticks * 1'000'000'000 / elapsed_ns);
}

}  // namespace

std::uint64_t tsc_hz() {
  if (is_virtual()) return 1'000'000'000;
  static const std::uint64_t hz = measure_tsc_hz();
  return hz;
}

Pair read_pair() noexcept { return read_pair_of(CLOCK_REALTIME); }
std::int64_t realtime_ns() noexcept { return read_clock(CLOCK_REALTIME); }
std::int64_t monotonic_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

}  // namespace tickpath::clock
