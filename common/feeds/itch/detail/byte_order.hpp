// Unaligned big-endian loads and stores.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace tickpath::itch::detail {

static_assert(std::endian::native == std::endian::little, "loads and stores swap bytes");

template <class Integer>
[[gnu::always_inline]] inline Integer swap_bytes(Integer value) noexcept {
  if constexpr (sizeof(Integer) == 8) {
    return __builtin_bswap64(value);
  } else if constexpr (sizeof(Integer) == 4) {
    return __builtin_bswap32(value);
  } else {
    static_assert(sizeof(Integer) == 2);
    return __builtin_bswap16(value);
  }
}

template <class Integer>
[[gnu::always_inline]] inline Integer load_big_endian(const std::byte* from) noexcept {
  Integer value;
  std::memcpy(&value, from, sizeof(value));
  return swap_bytes(value);
}

template <class Integer>
[[gnu::always_inline]] inline void store_big_endian(std::byte* to, Integer value) noexcept {
  value = swap_bytes(value);
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace tickpath::itch::detail
