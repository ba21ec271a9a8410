// Sums that stay at the highest value where they would wrap around.
#pragma once

#include <cstdint>

namespace tickpath {

constexpr std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) noexcept {
  return b > UINT32_MAX - a ? UINT32_MAX : a + b;
}

}  // namespace tickpath
