// Where the sorted level arrays of every side of every symbol live: blocks of power-of-two size in
// one arena, taken and returned without the allocator.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "common/book/detail/huge_array.hpp"
#include "common/book/types.hpp"

namespace tickpath::book::detail {

// Two parallel arrays, `keys` and `levels`, share offsets. Keys ascend towards the best price,
// which stands last: insertions and removals happen near the top, so they move few entries.
class LadderStore {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kFirstCapacity = 8;

  // A first block for every side of every symbol, and four entries a level above that: a grown
  // block may be half empty, blocks left behind by growth wait for another side, none ever shrinks.
  explicit LadderStore(std::size_t levels_max)
      : keys_(capacity_for(levels_max), "the price ladders"),
        levels_(capacity_for(levels_max), "the price ladders") {
    free_.fill(kNone);
  }

  std::int32_t* keys(std::uint32_t offset) noexcept { return &keys_[offset]; }
  const std::int32_t* keys(std::uint32_t offset) const noexcept { return &keys_[offset]; }
  std::uint32_t* levels(std::uint32_t offset) noexcept { return &levels_[offset]; }
  const std::uint32_t* levels(std::uint32_t offset) const noexcept { return &levels_[offset]; }

  // capacity: a power of two. kNone when the arena has no such block left.
  [[nodiscard]] std::uint32_t take(std::uint32_t capacity) noexcept {
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    if (head != kNone) {
      const std::uint32_t offset = head;
      head = levels_[offset];
      return offset;
    }
    if (keys_.size() - used_ < capacity) return kNone;
    const auto offset = static_cast<std::uint32_t>(used_);
    used_ += capacity;
    return offset;
  }
  void give_back(std::uint32_t offset, std::uint32_t capacity) noexcept {
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    levels_[offset] = head;
    head = offset;
  }

  // How many of the first `count` keys are below `key`. Starts at the back: most prices are within
  // a few levels of the best.
  static std::uint32_t below(const std::int32_t* keys, std::uint32_t count,
                             std::int32_t key) noexcept {
    std::uint32_t end = count;
#ifdef __AVX2__
    const __m256i wanted = _mm256_set1_epi32(key);
    for (int tries = 0; end >= 8 && tries < 6; ++tries, end -= 8) {
      const __m256i have = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + end - 8));
      const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(wanted, have)));
      // Keys ascend, so those below are a prefix of the eight: its length is the answer.
      if (mask != 0)
        return end - 8 + static_cast<std::uint32_t>(std::popcount(static_cast<unsigned>(mask)));
    }
#endif
    std::uint32_t begin = 0;
    while (begin < end) {
      const std::uint32_t middle = begin + (end - begin) / 2;
      if (keys[middle] < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

 private:
  static std::size_t capacity_for(std::size_t levels_max) noexcept {
    return levels_max * 4 + kFirstCapacity * 2 * kLocatesMax;
  }

  HugeArray<std::int32_t> keys_;
  HugeArray<std::uint32_t> levels_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 32> free_;  // heads of the lists of returned blocks, by log2(capacity)
};

}  // namespace tickpath::book::detail
