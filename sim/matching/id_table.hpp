// Every order id that the exchange has seen, and what became of it.
#pragma once

#include <cstdint>

#include "common/base/huge_array.hpp"
#include "common/wire/order_state.hpp"

namespace tickpath::sim {

// Insert-only open addressing: ids never return, so nothing is ever erased. Half full at most, so
// that probes stay short. Ids count upwards, so that those of one moment are neighbours: a run of
// 64 has its places side by side, and runs are spread. One thread; nothing allocates after the
// constructor.
class IdTable {
 public:
  struct Entry {
    std::uint64_t order_id;
    // A node of the live orders, or closed(), or kRequest.
    std::uint32_t node;
    std::uint32_t number;  // of the exchange's order; 0 for a free entry
  };
  // An order that is done has this, its final state and the shares that it has filled, which are
  // below 2^20 (kOrderSharesMax).
  static constexpr std::uint32_t kClosedBase = 0x8000'0000;
  static constexpr std::uint32_t kFilledMask = (1u << 20) - 1;
  // The id named a cancel, a refused replace, or an order's earlier life: not an order any more.
  static constexpr std::uint32_t kRequest = 0xffff'ffff;

  static constexpr bool live(const Entry& entry) noexcept { return entry.node < kClosedBase; }
  static constexpr std::uint32_t closed(trading::OrderState state,
                                        std::uint32_t filled = 0) noexcept {
    return kClosedBase | static_cast<std::uint32_t>(state) << 20 | filled;
  }
  static constexpr std::uint32_t filled(const Entry& entry) noexcept {
    return entry.node == kRequest ? 0 : entry.node & kFilledMask;
  }
  static constexpr trading::OrderState final_state(const Entry& entry) noexcept {
    return entry.node == kRequest ? trading::OrderState::kRejected
                                  : static_cast<trading::OrderState>(entry.node >> 20 & 7);
  }

  explicit IdTable(std::uint32_t ids_max);

  // Null when unknown. Stays valid for ever.
  Entry* find(std::uint64_t order_id) noexcept;
  // The entry of an id that is not in the table. Null when ids_max are.
  Entry* insert(std::uint64_t order_id, std::uint32_t number, std::uint32_t node) noexcept;

  std::uint32_t size() const noexcept { return size_; }
  bool full() const noexcept { return size_ == ids_max_; }

 private:
  static constexpr unsigned kRunBits = 6;
  static constexpr std::size_t kRun = std::size_t{1} << kRunBits;

  std::size_t home(std::uint64_t order_id) const noexcept {
    // Fibonacci hashing: the high bits of the product mix all of the run's number, which is a
    // counter below a strategy and an incarnation.
    const std::uint64_t run = (order_id >> kRunBits) * 0x9e37'79b9'7f4a'7c15ull >> shift_;
    return static_cast<std::size_t>(run << kRunBits | (order_id & (kRun - 1)));
  }
  // The same place and one more, of the next run: a run that meets another passes it at once. Odd,
  // so that every entry is reached.
  std::size_t after(std::size_t at) const noexcept { return (at + kRun + 1) & mask_; }

  std::uint32_t ids_max_;
  std::uint32_t size_ = 0;
  HugeArray<Entry> entries_;
  std::size_t mask_;
  unsigned shift_;
};

}  // namespace tickpath::sim
