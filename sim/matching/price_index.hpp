// Where the orders of a price end in a long queue: a ladder of the queue's prices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/huge_array.hpp"
#include "common/book/detail/ladder_store.hpp"

namespace tickpath::sim {

// A hint beside the queue, which is right without it. Without a rung for its price an order's place
// takes longer to find, no more. So only long queues have an index, and room may run out.
//
// Keys ascend towards the front of the queue. One thread; nothing allocates after the constructor.
class PriceIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffff'fffe;
  static constexpr std::size_t kBytesPerOrder = sizeof(book::detail::Rung);

  PriceIndex(std::uint32_t orders_max, std::size_t queues)
      : ladders_(orders_max / kOrdersPerLevel), heads_(queues, "the live orders' prices") {}

  bool has(std::size_t queue) const noexcept { return heads_[queue].capacity != 0; }

  // The last order at this key or at the next one towards the front that has a rung.
  std::uint32_t last_before(std::size_t queue, std::int32_t key) const noexcept {
    const Head& head = heads_[queue];
    const book::detail::Rung* const rungs = ladders_.rungs(head.offset);
    const std::uint32_t at = Ladders::below(rungs, head.count, key);
    return at == head.count ? kNone : book::detail::level_at(rungs[at]) - 1;
  }
  // `order` is the last one at the key. Without room for a rung nothing happens.
  void set_last(std::size_t queue, std::int32_t key, std::uint32_t order) noexcept {
    Head& head = heads_[queue];
    const book::detail::Rung rung = book::detail::rung_of(key, order + 1);  // no rung names 0
    book::detail::Rung* rungs = ladders_.rungs(head.offset);
    const std::uint32_t at = Ladders::below(rungs, head.count, key);
    if (at < head.count && book::detail::key_at(rungs[at]) == key) {
      rungs[at] = rung;
      return;
    }
    if (head.count == Ladders::room(head.capacity) &&
        !ladders_.grow(head.offset, head.capacity, head.count)) [[unlikely]]
      return;
    ladders_.open_gap(head.offset, at, head.count);
    ladders_.rungs(head.offset)[at] = rung;
    ++head.count;
  }
  // The key has no order any more.
  void erase(std::size_t queue, std::int32_t key) noexcept {
    Head& head = heads_[queue];
    const book::detail::Rung* const rungs = ladders_.rungs(head.offset);
    const std::uint32_t at = Ladders::below(rungs, head.count, key);
    if (at == head.count || book::detail::key_at(rungs[at]) != key) return;
    ladders_.close_gap(head.offset, at, head.count);
    if (--head.count != 0) return;
    ladders_.give_back(head.offset, head.capacity);
    head = {};
  }

 private:
  using Ladders = book::detail::LadderStore;
  // The store has four rungs a level: one for each order.
  static constexpr std::uint32_t kOrdersPerLevel = 4;

  struct Head {
    std::uint32_t count;  // keys
    std::uint32_t offset;
    std::uint32_t capacity;  // 0: no index
  };

  Ladders ladders_;
  HugeArray<Head> heads_;
};

}  // namespace tickpath::sim
