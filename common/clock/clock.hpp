// Clocks of one host: the TSC that stamps use, CLOCK_REALTIME that the kernel uses, and the
// conversion between them.
#pragma once

#include <cstdint>

#include "common/base/units.hpp"

namespace tickpath::clock {

// Ticks a second, measured once against CLOCK_MONOTONIC_RAW (about 20 ms at the first call);
// the error is below 20 ppm. Throws Error if neither the CPU calls the TSC invariant
// nor the kernel keeps its own time by it. Any thread.
std::uint64_t tsc_hz();

// TSC and CLOCK_REALTIME read together: the TSC is read before and after, the tightest of several
// attempts is taken, and `tsc` is their middle.
struct Pair {
  TscTicks tsc;
  std::int64_t realtime_ns;
  std::uint64_t width_ticks;  // the reading took this long: the uncertainty of the pair
};
Pair read_pair() noexcept;

__extension__ typedef unsigned __int128 Uint128;  // a GNU type: products of two 64-bit values

std::int64_t realtime_ns() noexcept;
std::int64_t monotonic_ns() noexcept;

// Ticks to nanoseconds by a fixed-point multiplication; no division, fit for the datapath.
class TickConverter {
 public:
  explicit TickConverter(std::uint64_t hz = tsc_hz()) noexcept
      : multiplier_((std::uint64_t{1'000'000'000} << kShift) / hz), hz_(hz) {}
  std::uint64_t to_ns(TscTicks ticks) const noexcept {
    return static_cast<std::uint64_t>((static_cast<Uint128>(ticks.value) * multiplier_) >> kShift);
  }
  TscTicks from_ns(std::uint64_t ns) const noexcept {
    return {static_cast<std::uint64_t>(static_cast<Uint128>(ns) * hz_ / 1'000'000'000)};
  }

 private:
  // 32 fractional bits: relative error below 1e-9 for clocks above 1 GHz.
  static constexpr unsigned kShift = 32;
  std::uint64_t multiplier_;
  std::uint64_t hz_;
};

}  // namespace tickpath::clock
