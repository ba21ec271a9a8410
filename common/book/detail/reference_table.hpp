// Order reference -> node: open addressing, one cache line holds eight slots.
//
// Feeds number orders upwards, so the references of one moment are neighbours. Eight references
// that differ in their low three bits only share one line, each with a place of its own; lines are
// spread by a multiplication. So additions run along warm lines, and an entry that finds its place
// taken goes to another line, not to its neighbours' places.
//
// Each slot knows whether an entry ever had to pass it. Where none did, which is nearly everywhere
// in a table that is mostly empty, a removal clears the slot and looks at no other: no second cache
// miss, and a branch that the predictor knows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "common/book/detail/huge_array.hpp"
#include "common/book/detail/prefetch.hpp"

namespace tickpath::book::detail {

class ReferenceTable {
 public:
  static constexpr std::uint32_t kEmpty = 0;  // the pool's kNil: never a node

  // At most half full at `entries_max` entries: a search then looks at 1.5 slots on average.
  explicit ReferenceTable(std::uint32_t entries_max)
      : slots_(std::bit_ceil(std::size_t{entries_max} * 2 < kLineSlots * 2
                                 ? kLineSlots * 2
                                 : std::size_t{entries_max} * 2),
               "the order reference table"),
        mask_(slots_.size() - 1),
        line_shift_(32 - static_cast<unsigned>(std::countr_zero(slots_.size() / kLineSlots))) {}

  void prefetch(std::uint64_t reference) const noexcept {
    prefetch_line(&slots_[home(tag_of(reference))]);
  }

  // The slot that holds `reference`, or the empty one that would take it.
  // same(node) tells whether the node carries the reference: tags are 32 bits of 64.
  template <class Same>
  std::size_t find(std::uint64_t reference, Same same) const noexcept {
    const std::uint32_t tag = tag_of(reference);
    for (std::size_t at = home(tag);; at = (at + kStep) & mask_) {
      const Slot slot = slots_[at];
      if (slot.node == kEmpty || (slot.tag == tag && same(slot.node & kNodeMask))) return at;
    }
  }
  // First candidate without looking at the node, for prefetching only: may be a wrong one, or
  // kEmpty.
  std::uint32_t guess(std::uint64_t reference) const noexcept {
    const std::uint32_t tag = tag_of(reference);
    const std::size_t at = home(tag);
    const Slot slot = slots_[at];
    if (slot.tag == tag || (slot.node & kPassed) == 0) [[likely]]
      return slot.tag == tag ? slot.node & kNodeMask : kEmpty;
    const Slot next = slots_[(at + kStep) & mask_];
    return next.tag == tag ? next.node & kNodeMask : kEmpty;
  }

  bool empty_at(std::size_t at) const noexcept { return slots_[at].node == kEmpty; }
  std::uint32_t node_at(std::size_t at) const noexcept { return slots_[at].node & kNodeMask; }

  // at: from find() of the same reference, empty.
  void insert_at(std::size_t at, std::uint64_t reference, std::uint32_t node) noexcept {
    const std::uint32_t tag = tag_of(reference);
    for (std::size_t passed = home(tag); passed != at; passed = (passed + kStep) & mask_)
      slots_[passed].node |= kPassed;
    slots_[at] = {tag, node};
  }

  // No tombstones: the hole is filled from what had to pass it.
  void erase_at(std::size_t hole) noexcept {
    if ((slots_[hole].node & kPassed) != 0) [[unlikely]]
      hole = close_up(hole);
    slots_[hole] = {0, kEmpty};
  }

 private:
  static constexpr std::uint32_t kPassed = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kNodeMask = kPassed - 1;

  struct Slot {
    std::uint32_t tag;   // bits 31-3: top of the mixed line number; bits 2-0: place in the line
    std::uint32_t node;  // and kPassed: the way to an entry's slot led over this one
  };
  static constexpr std::size_t kLineSlots = 8;
  static_assert(sizeof(Slot) * kLineSlots == 64);

  // To the next line and the next place in it. Odd, so that a run visits every slot before it ends.
  static constexpr std::size_t kStep = kLineSlots + 1;
  static constexpr std::size_t kInverse = 0x8e38'e38e'38e3'8e39;  // kStep x kInverse = 1 mod 2^64
  static_assert(kStep * kInverse == 1);
  std::size_t steps(std::size_t from, std::size_t to) const noexcept {
    return ((to - from) * kInverse) & mask_;
  }

  static std::uint32_t tag_of(std::uint64_t reference) noexcept {
    std::uint64_t line = reference >> 3;
    line ^= line >> 32;
    line *= 0x9e37'79b9'7f4a'7c15;  // 2^64 / golden ratio: consecutive lines land far apart
    // The place is mixed, too: references may be multiples of eight.
    const std::uint64_t place = (reference ^ (line >> 29)) & 7;
    return (static_cast<std::uint32_t>(line >> 32) & ~std::uint32_t{7}) |
           static_cast<std::uint32_t>(place);
  }
  std::size_t home(std::uint32_t tag) const noexcept {
    // 64-bit shift: line_shift_ is at most 31 because there are at least two lines.
    return (static_cast<std::size_t>(tag >> line_shift_) * kLineSlots) | (tag & 7);
  }

  // Moves entries that passed the hole into it, one after the other; returns the last hole. A tag
  // holds its own home, hence no node is read.
  std::size_t close_up(std::size_t hole) noexcept {
    for (std::size_t at = (hole + kStep) & mask_; slots_[at].node != kEmpty;
         at = (at + kStep) & mask_) {
      // In steps from its home; less than from the hole: its home lies behind the hole, it stays.
      if (steps(home(slots_[at].tag), at) < steps(hole, at)) continue;
      // The mark belongs to the place, not to the entry.
      slots_[hole].tag = slots_[at].tag;
      slots_[hole].node = (slots_[hole].node & kPassed) | (slots_[at].node & kNodeMask);
      hole = at;
    }
    return hole;
  }

  HugeArray<Slot> slots_;
  std::size_t mask_;
  unsigned line_shift_;
};

}  // namespace tickpath::book::detail
