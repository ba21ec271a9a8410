// Sums that stay at the highest or lowest value where they would wrap around.
#pragma once

#include <cstdint>
#include <utility>

namespace tickpath {

constexpr std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) noexcept {
  return b > UINT32_MAX - a ? UINT32_MAX : a + b;
}

// Sums of shares and of money. b: any integer of at most 64 bits.
template <class Integer>
constexpr std::int64_t saturating_add(std::int64_t a, Integer b) noexcept {
  std::int64_t sum = 0;
  return !__builtin_add_overflow(a, b, &sum) ? sum : std::cmp_less(b, 0) ? INT64_MIN : INT64_MAX;
}
template <class Integer>
constexpr std::int64_t saturating_subtract(std::int64_t a, Integer b) noexcept {
  std::int64_t difference = 0;
  return !__builtin_sub_overflow(a, b, &difference) ? difference
         : std::cmp_less(b, 0)                      ? INT64_MAX
                                                    : INT64_MIN;
}

}  // namespace tickpath
