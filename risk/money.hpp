// Sums of price times shares that cannot overflow.
//
// A price has 32 bits, a position of 64-bit shares times it fits 96: sums of all rows stay far
// below 128. They are narrowed, saturating, only where someone else's format wants 64 bits.
#pragma once

#include <cstdint>
#include <limits>

namespace tickpath::risk {

__extension__ typedef __int128 Int128;  // a GNU type

constexpr std::int64_t saturate(Int128 value) noexcept {
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  constexpr Int128 kMin = std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value > kMax ? kMax : value < kMin ? kMin : value);
}

constexpr Int128 magnitude(Int128 value) noexcept { return value < 0 ? -value : value; }

}  // namespace tickpath::risk
