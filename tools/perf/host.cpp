#include "tools/perf/host.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::rdma::perf {

double memcpy_bytes_per_s(std::size_t size_bytes) {
  constexpr double kSeconds = 0.01;
  std::vector<char> from(size_bytes + 64, 1);
  std::vector<char> to(size_bytes + 64, 2);
  const auto copy = [&](std::uint64_t times) {
    const std::uint64_t before = tsc_now().value;
    for (std::uint64_t i = 0; i < times; ++i) {
      std::memcpy(to.data(), from.data(), size_bytes);
      // As far as the compiler knows, somebody has looked at the copy and changed the source.
      asm volatile("" ::"r"(to.data()), "r"(from.data()) : "memory");
    }
    return static_cast<double>(tsc_now().value - before) / static_cast<double>(clock::tsc_hz());
  };
  const std::uint64_t trial = std::max<std::uint64_t>(2, (std::uint64_t{1} << 20) / size_bytes);
  copy(trial);
  const double seconds = std::max(copy(trial), 1e-7);
  const auto times =
      static_cast<std::uint64_t>(std::max(2.0, static_cast<double>(trial) * kSeconds / seconds));
  const double total = std::max(copy(times), 1e-9);
  return static_cast<double>(times) * static_cast<double>(size_bytes) / total;
}

}  // namespace tickpath::rdma::perf
