// The full order-by-order book of every symbol of a feed, with exact queue positions.
//
// One thread owns a BookSet. Nothing allocates, throws or makes a system call after the
// constructor. Feed handlers use it for market data, the simulator for matching: an order's place
// in the queue of its price is kept as the venue keeps it (price, then time).
//
// DESIGN.md of this folder says why it is built this way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/book/detail/huge_array.hpp"
#include "common/book/detail/ladder_store.hpp"
#include "common/book/detail/pool.hpp"
#include "common/book/detail/prefetch.hpp"
#include "common/book/detail/reference_table.hpp"
#include "common/book/types.hpp"

namespace tickpath::book {

class BookSet {
 public:
  // Throws Error when the options make no sense or memory is short.
  explicit BookSet(const Options& options);
  BookSet(const BookSet&) = delete;
  BookSet& operator=(const BookSet&) = delete;

  // ------------------------------------------------------------------ changes (owning thread)
  // References are unique among resting orders, over all symbols. Prices are Price(4), not 0.

  // Rests a new order behind all others at its price.
  Change add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
             std::uint32_t price, std::uint64_t user = 0) noexcept;
  // Shares traded away (keeps its place) or taken back by its owner (likewise). An order without
  // remaining shares leaves the book. The two differ in the caller's eyes only.
  Change execute(std::uint64_t reference, std::uint32_t shares) noexcept {
    return take(reference, shares);
  }
  Change reduce(std::uint64_t reference, std::uint32_t shares) noexcept {
    return take(reference, shares);
  }
  Change remove(std::uint64_t reference) noexcept;
  // The old order leaves; a new one with its side, symbol and user word rests behind all others at
  // the new price, even if the price is the old one. new_reference may equal the old.
  Change replace(std::uint64_t reference, std::uint64_t new_reference, std::uint32_t shares,
                 std::uint32_t price) noexcept;
  // Drops every order of one symbol, of all. Time grows with the number of orders dropped.
  void clear(Locate locate) noexcept;
  void clear() noexcept;

  // ------------------------------------------------------------------ questions (owning thread)

  // Best price and the shares there; constant time. Price 0 when the side is empty.
  Quote best(Locate locate, Side side) const noexcept {
    const SideHead& head = symbols_[locate].side(side);
    return {head.best_price, head.best_shares};
  }
  // Price levels in use, and orders resting, on one side.
  std::uint32_t depth(Locate locate, Side side) const noexcept {
    return symbols_[locate].side(side).count;
  }
  std::uint32_t orders(Locate locate, Side side) const noexcept {
    return symbols_[locate].side(side).orders;
  }
  // The rank-th best level (0: the best); all zero when there is none.
  LevelView level(Locate locate, Side side, std::uint32_t rank) const noexcept;
  // The level at a price; all zero when nothing rests there.
  LevelView level_at(Locate locate, Side side, std::uint32_t price) const noexcept;
  // Fills `out` with the best levels, best first; returns how many there were.
  std::size_t levels(Locate locate, Side side, std::span<LevelView> out) const noexcept;

  // kNoOrder when no such order rests.
  Handle find(std::uint64_t reference) const noexcept {
    const std::size_t at = slot_of(reference);
    return references_.empty_at(at) ? kNoOrder : references_.node_at(at);
  }
  // handle: of a resting order, from find() or a walk since the last change.
  OrderView order(Handle handle) const noexcept;
  std::uint64_t user(Handle handle) const noexcept { return orders_[handle].user; }
  void set_user(Handle handle, std::uint64_t user) noexcept { orders_[handle].user = user; }

  // The queue of a price in order of time: front (trades first), then next until kNoOrder.
  Handle front(Locate locate, Side side) const noexcept;  // of the best price
  Handle front(Locate locate, Side side, std::uint32_t price) const noexcept;
  Handle next(Handle handle) const noexcept { return orders_[handle].next; }
  Handle previous(Handle handle) const noexcept { return orders_[handle].previous; }
  // Time grows with the answer.
  Ahead ahead_of(Handle handle) const noexcept;

  // ------------------------------------------------------------------ hints (owning thread)
  // For calls some messages ahead, stage after stage with work in between, as each reads what the
  // one before brought in. They change nothing, and whatever they are given or find is allowed: at
  // worst a hint helps nobody.
  //   1 prefetch_reference, prefetch_symbol
  //   2 prefetch_order, prefetch_ladders
  //   3 prefetch_neighbours for an order that rests, prefetch_level for one to be added
  //   4 prefetch_last for one to be added
  void prefetch_reference(std::uint64_t reference) const noexcept {
    references_.prefetch(reference);
  }
  void prefetch_symbol(Locate locate) const noexcept { detail::prefetch_line(&symbols_[locate]); }
  // The order probably meant, kNoOrder if there is none.
  Handle prefetch_order(std::uint64_t reference) const noexcept {
    const Handle handle = references_.guess(reference);
    detail::prefetch_line(&orders_[handle]);
    return handle;
  }
  void prefetch_ladders(Locate locate) const noexcept {
    for (const SideHead& head : symbols_[locate].sides) ladders_.prefetch(head.offset, head.count);
  }
  // handle: from prefetch_order(); its order may have left since.
  void prefetch_neighbours(Handle handle) const noexcept {
    const Order& order = orders_[handle];
    detail::prefetch_line(&levels_[order.level]);
    detail::prefetch_line(&orders_[order.next]);
    detail::prefetch_line(&orders_[order.previous]);
  }
  // The level where such an order would probably rest, for prefetch_last().
  std::uint32_t prefetch_level(Locate locate, Side side, std::uint32_t price) const noexcept {
    const SideHead& head = symbols_[locate].side(side);
    const std::uint32_t level = ladders_.guess(head.offset, head.count, key_of(side, price));
    detail::prefetch_line(&levels_[level]);
    return level;
  }
  void prefetch_last(std::uint32_t level) const noexcept {
    if (level <= levels_.capacity()) detail::prefetch_line(&orders_[levels_[level].last]);
  }

  // ------------------------------------------------------------------ counters (any thread)

  // Calls that ended so; kOk counts the good ones.
  std::uint64_t count(Status status) const noexcept {
    return counts_[static_cast<std::size_t>(status)].get();
  }
  std::uint64_t orders_resting() const noexcept { return resting_.get(); }
  std::uint64_t orders_resting_max() const noexcept { return resting_max_.get(); }
  const Options& options() const noexcept { return options_; }

  // Walks everything and CHECKs that sums, links, ranks and references agree. For tests.
  void verify() const;

 private:
  static constexpr std::uint32_t kNoLevel = 0;  // as kNoOrder: the pools' kNil

  // 32 bytes: two a cache line, and none straddles one.
  struct alignas(32) Order {
    std::uint64_t reference;
    std::uint64_t user;
    std::uint32_t next;  // in the queue; in the pool's list of free nodes
    std::uint32_t previous;
    std::uint32_t shares;
    std::uint32_t level;
  };
  struct alignas(32) Level {
    std::uint64_t shares;
    std::uint32_t price;
    std::uint32_t orders;
    std::uint32_t next;  // first of the queue; in the pool's list of free levels
    std::uint32_t last;
    Locate locate;
    Side side;
    std::uint8_t reserved[5];
  };
  struct SideHead {
    std::uint64_t best_shares;
    std::uint32_t best_price;
    std::uint32_t count;     // levels
    std::uint32_t offset;    // of the block in ladders_, valid when capacity > 0
    std::uint32_t capacity;  // of the block
    std::uint32_t orders;
    std::uint32_t reserved;
  };
  // Both sides of a symbol in one cache line.
  struct alignas(64) Symbol {
    SideHead sides[2];
    SideHead& side(Side side) noexcept { return sides[side == Side::kBuy ? 0 : 1]; }
    const SideHead& side(Side side) const noexcept { return sides[side == Side::kBuy ? 0 : 1]; }
  };
  static_assert(sizeof(Order) == 32 && sizeof(Level) == 32 && sizeof(Symbol) == 64);

  // Ascends towards the better price on both sides; signed, because AVX2 compares signed.
  static std::int32_t key_of(Side side, std::uint32_t price) noexcept {
    const std::uint32_t ascending = side == Side::kBuy ? price : ~price;
    return static_cast<std::int32_t>(ascending ^ 0x8000'0000u);
  }

  std::size_t slot_of(std::uint64_t reference) const noexcept {
    return references_.find(reference, [this, reference](std::uint32_t node) {
      return orders_[node].reference == reference;
    });
  }
  Change take(std::uint64_t reference, std::uint32_t shares) noexcept;
  Change place(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
               std::uint32_t price, std::uint64_t user) noexcept;
  void enqueue(SideHead& head, std::uint32_t level_index, std::uint32_t node, const Order& order,
               std::uint32_t price) noexcept;
  std::uint32_t level_for(SideHead& head, Locate locate, Side side, std::uint32_t price) noexcept;
  std::uint32_t open_level(SideHead& head, std::uint32_t at, Locate locate, Side side,
                           std::uint32_t price) noexcept;
  bool grow(SideHead& head) noexcept;
  void erase_level(SideHead& head, std::uint32_t level_index) noexcept;
  void unlink(std::size_t slot, std::uint32_t node) noexcept;
  void drop_side(SideHead& head) noexcept;
  std::uint32_t level_index_at(Locate locate, Side side, std::uint32_t price) const noexcept;
  void verify_side(Locate locate, Side side) const;
  void verify_level(const Level& level) const;

  Change refused(Status status, Change change = {}) noexcept {
    counts_[static_cast<std::size_t>(status)].add();
    change.status = status;
    return change;
  }
  Change done(const Change& change) noexcept {
    counts_[0].add();
    return change;
  }

  Options options_;
  detail::ReferenceTable references_;
  detail::Pool<Order> orders_;
  detail::Pool<Level> levels_;
  detail::LadderStore ladders_;
  detail::HugeArray<Symbol> symbols_;
  std::array<Counter, kStatusCount> counts_;
  Counter resting_;
  Counter resting_max_;
};

}  // namespace tickpath::book

#include "common/book/book_datapath.hpp"
