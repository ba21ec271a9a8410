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

#include "common/base/huge_array.hpp"
#include "common/book/types.hpp"

namespace tickpath::book::detail {

// A level as its ladder names it: eight of them in a cache line.
//
//   63        32 31       0
//   | key       | level    |    key: of the price, signed; level: its number, never 0
using Rung = std::int64_t;

constexpr Rung rung_of(std::int32_t key, std::uint32_t level) noexcept {
  return std::int64_t{key} << 32 | level;
}
constexpr std::int32_t key_at(Rung rung) noexcept { return static_cast<std::int32_t>(rung >> 32); }
constexpr std::uint32_t level_at(Rung rung) noexcept { return static_cast<std::uint32_t>(rung); }

// Keys ascend towards the best price, which stands last: insertions and removals happen near the
// top, so they move few rungs.
//
//   block   8 x lowest rung | rungs, best last | free ... | at least 8 more
//           ^ the search may read eight         ^ a shift may move eight rungs, whatever they are
//             rungs wherever it stands
class LadderStore {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kLane = 8;             // rungs looked at, or moved, at a time
  static constexpr std::uint32_t kFirstCapacity = 32;   // of a block
  static constexpr std::uint32_t kMargins = 2 * kLane;  // of it, not for rungs

  // A first block for every side of some thousands of symbols, and four rungs a level above that: a
  // grown block may be half empty, blocks left behind by growth wait for another side.
  explicit LadderStore(std::size_t levels_max)
      : rungs_(levels_max * 4 + std::size_t{kFirstCapacity} * 2 * 8192, "the price ladders") {
    free_.fill(kNone);
  }

  // The lowest rung of a block.
  Rung* rungs(std::uint32_t offset) noexcept { return &rungs_[offset + kLane]; }
  const Rung* rungs(std::uint32_t offset) const noexcept { return &rungs_[offset + kLane]; }
  static constexpr std::uint32_t room(std::uint32_t capacity) noexcept {
    return capacity == 0 ? 0 : capacity - kMargins;
  }

  // capacity: a power of two, at least kFirstCapacity. kNone when the arena has no such block left.
  [[nodiscard]] std::uint32_t take(std::uint32_t capacity) noexcept {
    if (capacity == 0) return kNone;  // a doubling that left 32 bits
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    std::uint32_t offset = head;
    if (offset != kNone) {
      head = level_at(*rungs(offset));
    } else {
      if (rungs_.size() - used_ < capacity) return kNone;
      offset = static_cast<std::uint32_t>(used_);
      used_ += capacity;
    }
    for (std::uint32_t i = 0; i < kLane; ++i) rungs_[offset + i] = std::numeric_limits<Rung>::min();
    return offset;
  }
  // Doubles the block of a side (capacity 0: it has none yet). False when the arena is used up.
  [[nodiscard]] bool grow(std::uint32_t& offset, std::uint32_t& capacity,
                          std::uint32_t count) noexcept {
    const std::uint32_t doubled = capacity == 0 ? kFirstCapacity : capacity * 2;
    const std::uint32_t fresh = take(doubled);
    if (fresh == kNone) return false;
    if (capacity > 0) {
      std::memcpy(rungs(fresh), rungs(offset), count * sizeof(Rung));
      give_back(offset, capacity);
    }
    offset = fresh;
    capacity = doubled;
    return true;
  }
  // The margin stays as it is: sides without a block search in front of the first one.
  void give_back(std::uint32_t offset, std::uint32_t capacity) noexcept {
    std::uint32_t& head = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    *rungs(offset) = rung_of(0, head);
    head = offset;
  }

  // How many of the `count` rungs of a block are below `key`. Most prices are within a few levels
  // of the best.
  static std::uint32_t below(const Rung* rungs, std::uint32_t count, std::int32_t key) noexcept {
    const std::ptrdiff_t top = std::ptrdiff_t{count} - kLane;
    const std::uint32_t found = below_of_lane(rungs + top, key);
    if (found != 0) [[likely]]
      return static_cast<std::uint32_t>(top) + found;
    return below_top(rungs, top, key);
  }

  // For prefetching: the rung of the best price of any block, or of what was one; and the level at
  // a key near the top, which is garbage when there is none.
  const Rung* best(std::uint32_t offset, std::uint32_t count) const noexcept {
    return rungs(offset) + count - 1;
  }
  std::uint32_t guess(std::uint32_t offset, std::uint32_t count, std::int32_t key) const noexcept {
    const Rung* const top = rungs(offset) + count - kLane;
    return level_at(top[below_of_lane(top, key)]);
  }

  // Opens or closes a gap of one rung at `at` in a block of `count` rungs.
  void open_gap(std::uint32_t offset, std::uint32_t at, std::uint32_t count) noexcept {
    shift(rungs(offset) + at + 1, rungs(offset) + at, count - at);
  }
  void close_gap(std::uint32_t offset, std::uint32_t at, std::uint32_t count) noexcept {
    shift(rungs(offset) + at, rungs(offset) + at + 1, count - at - 1);
  }

 private:
  // Beyond 48 levels from the best, halving beats looking at every eight.
  static constexpr int kLanesSearched = 6;

  // Rungs ascend, so those below are a prefix of the eight: its length is the answer. In front of
  // the first stand the lowest, which count as below, too. No level has number 0, so that the
  // wanted key's own rung is not below.
  static std::uint32_t below_of_lane(const Rung* lane, std::int32_t key) noexcept {
    const __m256i wanted = _mm256_set1_epi64x(rung_of(key, 0));
    const auto* const at = reinterpret_cast<const __m256i*>(lane);
    const auto mask = [&](__m256i have) {
      return static_cast<unsigned>(
          _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(wanted, have))));
    };
    return static_cast<std::uint32_t>(
        std::popcount(mask(_mm256_loadu_si256(at)) | mask(_mm256_loadu_si256(at + 1)) << 4));
  }
  [[gnu::noinline]] static std::uint32_t below_top(const Rung* rungs, std::ptrdiff_t end,
                                                   std::int32_t key) noexcept {
    for (int tries = 1; end > 0; end -= kLane) {
      const std::uint32_t found = below_of_lane(rungs + end - kLane, key);
      if (found != 0) return static_cast<std::uint32_t>(end - kLane + found);
      if (++tries == kLanesSearched) return bisect(rungs, end - kLane, key);
    }
    return 0;
  }
  static std::uint32_t bisect(const Rung* rungs, std::ptrdiff_t end, std::int32_t key) noexcept {
    std::ptrdiff_t begin = 0;
    while (begin < end) {
      const std::ptrdiff_t middle = begin + (end - begin) / 2;
      if (key_at(rungs[middle]) < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return static_cast<std::uint32_t>(begin);
  }
  static void shift(Rung* to, const Rung* from, std::size_t count) noexcept {
    // Both loads stay in the block: that is what its upper margin is for.
    if (count <= kLane) [[likely]] {
      const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + 1);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + 1, high);
    } else {
      std::memmove(to, from, count * sizeof(Rung));
    }
  }

  HugeArray<Rung> rungs_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 32> free_;  // heads of the lists of returned blocks, by log2(capacity)
};

}  // namespace tickpath::book::detail
