// Where the sorted level arrays of every side of every symbol live: blocks of power-of-two size in
// one arena, taken and returned without the allocator.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "common/book/detail/huge_array.hpp"
#include "common/book/detail/prefetch.hpp"
#include "common/book/types.hpp"

namespace tickpath::book::detail {

// Two parallel arrays, `keys` and `levels`, share offsets. Keys ascend towards the best price,
// which stands last: insertions and removals happen near the top, so they move few entries.
//
//   block   8 x lowest key | keys, best last | free ... | at least 8 more
//           ^ the search may read eight keys    ^ a shift may move eight entries, whatever they are
//             wherever it stands
class LadderStore {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kLane = 8;             // entries in a 256-bit register
  static constexpr std::uint32_t kFirstCapacity = 32;   // of a block
  static constexpr std::uint32_t kMargins = 2 * kLane;  // of it, not for entries

  // A first block for every side of some thousands of symbols, and four entries a level above that:
  // a grown block may be half empty, blocks left behind by growth wait for another side.
  explicit LadderStore(std::size_t levels_max)
      : keys_(capacity_for(levels_max), "the price ladders"),
        levels_(capacity_for(levels_max), "the price ladders") {
    free_.fill(kNone);
  }

  // Of a block's first entry.
  std::int32_t* keys(std::uint32_t offset) noexcept { return &keys_[offset + kLane]; }
  const std::int32_t* keys(std::uint32_t offset) const noexcept { return &keys_[offset + kLane]; }
  std::uint32_t* levels(std::uint32_t offset) noexcept { return &levels_[offset + kLane]; }
  const std::uint32_t* levels(std::uint32_t offset) const noexcept {
    return &levels_[offset + kLane];
  }
  static constexpr std::uint32_t room(std::uint32_t capacity) noexcept {
    return capacity == 0 ? 0 : capacity - kMargins;
  }

  // capacity: a power of two, at least kFirstCapacity. kNone when the arena has no such block left.
  [[nodiscard]] std::uint32_t take(std::uint32_t capacity) noexcept {
    if (capacity == 0) return kNone;  // a doubling that left 32 bits
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    std::uint32_t offset = head;
    if (offset != kNone) {
      head = levels_[offset];
    } else {
      if (keys_.size() - used_ < capacity) return kNone;
      offset = static_cast<std::uint32_t>(used_);
      used_ += capacity;
    }
    for (std::uint32_t i = 0; i < kLane; ++i)
      keys_[offset + i] = std::numeric_limits<std::int32_t>::min();
    return offset;
  }
  void give_back(std::uint32_t offset, std::uint32_t capacity) noexcept {
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    levels_[offset] = head;
    head = offset;
  }

  // How many of the `count` keys of a block are below `key`. Starts at the back: most prices are
  // within a few levels of the best.
  static std::uint32_t below(const std::int32_t* keys, std::uint32_t count,
                             std::int32_t key) noexcept {
    auto end = static_cast<std::ptrdiff_t>(count);
    const __m256i wanted = _mm256_set1_epi32(key);
    for (int tries = 0; end > 0; end -= kLane) {
      const __m256i have = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + end - kLane));
      const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(wanted, have)));
      // Keys ascend, so those below are a prefix of the eight: its length is the answer. In front
      // of the first key stand the lowest keys, which count as below, too.
      if (mask != 0) [[likely]]
        return static_cast<std::uint32_t>(end - kLane + std::popcount(static_cast<unsigned>(mask)));
      if (++tries == kLanesSearched) return bisect(keys, end - kLane, key);
    }
    return 0;
  }

  // For prefetching: the lines around the top of a block; and the level at a key near the top,
  // which is garbage when there is none. offset, count: of any block, or 0.
  void prefetch(std::uint32_t offset, std::uint32_t count) const noexcept {
    prefetch_line(keys(offset) + count - 1);
    prefetch_line(levels(offset) + count - 1);
  }
  std::uint32_t guess(std::uint32_t offset, std::uint32_t count, std::int32_t key) const noexcept {
    const std::int32_t* const top = keys(offset) + count - kLane;
    const __m256i have = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(top));
    const int mask =
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(key), have)));
    return *(levels(offset) + count - kLane + std::popcount(static_cast<unsigned>(mask)));
  }

  // Opens or closes a gap of one entry at `at` in a block of `count` entries.
  void open_gap(std::uint32_t offset, std::uint32_t at, std::uint32_t count) noexcept {
    shift(keys(offset) + at + 1, keys(offset) + at, count - at);
    shift(levels(offset) + at + 1, levels(offset) + at, count - at);
  }
  void close_gap(std::uint32_t offset, std::uint32_t at, std::uint32_t count) noexcept {
    shift(keys(offset) + at, keys(offset) + at + 1, count - at - 1);
    shift(levels(offset) + at, levels(offset) + at + 1, count - at - 1);
  }

 private:
  // Beyond 48 levels from the best, halving beats looking at every eight.
  static constexpr int kLanesSearched = 6;

  static std::size_t capacity_for(std::size_t levels_max) noexcept {
    return levels_max * 4 + std::size_t{kFirstCapacity} * 2 * 8192;
  }
  static std::uint32_t bisect(const std::int32_t* keys, std::ptrdiff_t end,
                              std::int32_t key) noexcept {
    std::ptrdiff_t begin = 0;
    while (begin < end) {
      const std::ptrdiff_t middle = begin + (end - begin) / 2;
      if (keys[middle] < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return static_cast<std::uint32_t>(begin);
  }
  template <class T>
  static void shift(T* to, const T* from, std::size_t count) noexcept {
    static_assert(sizeof(T) * kLane == sizeof(__m256i));
    // Both lane loads stay in the block: that is what its upper margin is for.
    if (count <= kLane) [[likely]]
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    else
      std::memmove(to, from, count * sizeof(T));
  }

  HugeArray<std::int32_t> keys_;
  HugeArray<std::uint32_t> levels_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 32> free_;  // heads of the lists of returned blocks, by log2(capacity)
};

}  // namespace tickpath::book::detail
