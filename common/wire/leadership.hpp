// Which oeg of a pair leads: the word that its witness keeps, and that rides where a reader must
// know.
#pragma once

#include <cstdint>

namespace tickpath::wire {

// As a word: 63-32 epoch | 15-8 leader | 0 alone. 0: nobody has ever led.
struct Leadership {
  std::uint32_t epoch = 0;  // from 1; raised by every change
  std::uint8_t leader = 0;  // 1 or 2, the program's place in its pair
  bool alone = false;       // without a standby

  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{epoch} << 32 | std::uint64_t{leader} << 8 | (alone ? 1u : 0u);
  }
  static constexpr Leadership of_word(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint8_t>(word >> 8),
            (word & 1) != 0};
  }
  friend constexpr bool operator==(const Leadership&, const Leadership&) = default;
};
static_assert(Leadership::of_word(Leadership{7, 2, true}.word()) == Leadership{7, 2, true});
static_assert(Leadership{}.word() == 0);

}  // namespace tickpath::wire
