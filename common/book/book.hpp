// The books of every symbol of a feed that names orders: LevelBookSet keeps orders and levels, for
// market data; BookSet also keeps the place of every order in the queue of its price (price, then
// time), for matching.
//
// One thread owns a set of books. Nothing allocates, throws or makes a system call after the
// constructor.
//
// DESIGN.md of this folder says why it is built this way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "common/base/counter.hpp"
#include "common/base/huge_array.hpp"
#include "common/base/units.hpp"
#include "common/book/detail/ladder_store.hpp"
#include "common/book/detail/order_table.hpp"
#include "common/book/detail/pool.hpp"
#include "common/book/detail/prefetch.hpp"
#include "common/book/types.hpp"

namespace tickpath::book {

template <bool kQueues>
class BasicBookSet {
 public:
  // Throws Error when the options make no sense or memory is short.
  explicit BasicBookSet(const Options& options);
  BasicBookSet(const BasicBookSet&) = delete;
  BasicBookSet& operator=(const BasicBookSet&) = delete;

  // ------------------------------------------------------------------ changes (owning thread)
  // References are unique among resting orders, over all symbols. Prices are Price(4), not 0.

  // Rests a new order behind all others at its price. user: kept by a BookSet alone.
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
  // Drops every order of all symbols; the time is that of orders_max. Or of one symbol; time grows
  // with the number of orders dropped.
  void clear() noexcept;
  void clear(Locate locate) noexcept requires kQueues;

  // ------------------------------------------------------------------ questions (owning thread)

  // Best price and the shares there; constant time. Price 0 when the side is empty.
  Quote best(Locate locate, Side side) const noexcept {
    const SideHead& head = head_of(locate, side);
    return {head.best_price, head.best_shares};
  }
  // Price levels in use on one side.
  std::uint32_t depth(Locate locate, Side side) const noexcept {
    return head_of(locate, side).count;
  }
  // The rank-th best level (0: the best); all zero when there is none.
  LevelView level(Locate locate, Side side, std::uint32_t rank) const noexcept;
  // The level at a price; all zero when nothing rests there.
  LevelView level_at(Locate locate, Side side, std::uint32_t price) const noexcept;
  // Fills `out` with the best levels, best first; returns how many there were.
  std::size_t levels(Locate locate, Side side, std::span<LevelView> out) const noexcept;

  // kNoOrder when no such order rests.
  Handle find(std::uint64_t reference) const noexcept { return orders_.find(reference); }
  // handle: of a resting order, from find() or a walk since the last change.
  OrderView order(Handle handle) const noexcept;

  // ------------------------------------------------------------------ queues (owning thread)
  std::uint64_t user(Handle handle) const noexcept requires kQueues { return orders_[handle].user; }
  void set_user(Handle handle, std::uint64_t user) noexcept requires kQueues {
    orders_[handle].user = user;
  }
  // The queue of a price in order of time: front (trades first), then next until kNoOrder.
  Handle front(Locate locate, Side side) const noexcept  // of the best price
      requires kQueues;
  Handle front(Locate locate, Side side, std::uint32_t price) const noexcept requires kQueues;
  Handle next(Handle handle) const noexcept requires kQueues { return orders_[handle].next; }

  // ------------------------------------------------------------------ hints (owning thread)
  // For messages some way ahead, stage after stage with work in between, as each reads what the one
  // before brought in. They change nothing, and whatever they are given or find is allowed: at
  // worst a hint helps nobody.
  struct Hint {
    std::uint32_t node;  // of the order, if there is one
    std::uint32_t side;  // of one to be added, as its price
    std::int32_t key;
  };
  // Side and price matter for an order to be added alone.
  Hint prefetch_order(std::uint64_t reference, Locate locate, Side side,
                      std::uint32_t price) const noexcept {
    const Hint hint{orders_.home_of(reference).node, index_of(locate, side),
                    key_of(index_of(locate, side), price)};
    detail::prefetch_line(&orders_[hint.node]);
    detail::prefetch_line(&heads_[hint.side]);
    return hint;
  }
  // The level of the order, its neighbours in the queue; where one would be added.
  void prefetch_level(const Hint& hint) const noexcept {
    const Order& order = orders_[hint.node];  // or what stood there last
    detail::prefetch_line(&levels_[order.level]);
    if constexpr (kQueues) {
      detail::prefetch_line(&orders_[order.next]);
      detail::prefetch_line(&orders_[order.previous]);
    }
    const SideHead& head = heads_[hint.side];
    detail::prefetch_line(ladders_.best(head.offset, head.count));
  }
  // The level that one to be added would join.
  void prefetch_added(const Hint& hint) const noexcept {
    const SideHead& head = heads_[hint.side];
    const std::uint32_t level = ladders_.guess(head.offset, head.count, hint.key);
    detail::prefetch_line(&levels_[level]);
  }

  // ------------------------------------------------------------------ counters (any thread)

  // Calls that ended so; kOk counts the good ones.
  std::uint64_t count(Status status) const noexcept {
    return counts_[static_cast<std::size_t>(status)].get();
  }
  std::uint64_t orders_resting() const noexcept { return orders_.size().get(); }
  std::uint64_t orders_resting_max() const noexcept { return orders_.size_max().get(); }
  const Options& options() const noexcept { return options_; }

  // Walks everything and CHECKs that sums, links, ranks and references agree. For tests.
  void verify() const;

 private:
  static constexpr std::uint32_t kNoLevel = 0;  // the pool's kNil

  // What an order adds to these is as small as may be: sixteen bytes are four a cache line.
  struct alignas(16) LevelOrder {
    std::uint64_t key;  // the table's
    std::uint32_t shares;
    std::uint32_t level;
  };
  struct alignas(32) QueuedOrder : LevelOrder {
    std::uint64_t user;
    std::uint32_t next;  // in the queue
    std::uint32_t previous;
  };
  using Order = std::conditional_t<kQueues, QueuedOrder, LevelOrder>;
  struct alignas(32) Level {
    std::uint64_t shares;
    std::uint32_t price;
    std::uint32_t orders;
    std::uint32_t next;   // in the pool's list of free levels
    std::uint32_t side;   // index of its SideHead
    std::uint32_t first;  // of the queue, if there are any
    std::uint32_t last;
  };
  // The head of one side; both of a symbol are in one cache line.
  struct alignas(32) SideHead {
    std::uint64_t best_shares;
    std::uint32_t best_price;
    std::uint32_t count;     // levels
    std::uint32_t offset;    // of the block in ladders_, valid when capacity > 0
    std::uint32_t capacity;  // of the block
    std::uint32_t reserved[2];
  };
  static_assert(sizeof(LevelOrder) == 16 && sizeof(QueuedOrder) == 32);
  static_assert(sizeof(Level) == 32 && sizeof(SideHead) == 32);

  static std::uint32_t index_of(Locate locate, Side side) noexcept {
    return locate * 2u + (side != Side::kBuy ? 1u : 0u);
  }
  static_assert(static_cast<int>(Side::kBuy) == 1 && static_cast<int>(Side::kSell) == 2);
  static Side side_at(std::uint32_t index) noexcept { return static_cast<Side>(1 + (index & 1)); }
  static Locate locate_at(std::uint32_t index) noexcept { return static_cast<Locate>(index >> 1); }
  const SideHead& head_of(Locate locate, Side side) const noexcept {
    return heads_[index_of(locate, side)];
  }

  // Ascends towards the better price on both sides; signed, because AVX2 compares signed.
  static std::int32_t key_of(std::uint32_t side, std::uint32_t price) noexcept {
    const std::uint32_t inverted = -(side & 1);  // all bits, of a sell side
    return static_cast<std::int32_t>(price ^ inverted ^ 0x8000'0000u);
  }

  // The i-th worst of a side.
  const Level& level_of(const SideHead& head, std::uint32_t i) const noexcept {
    return levels_[detail::level_at(ladders_.rungs(head.offset)[i])];
  }

  // Without a branch: which it is, no predictor could know.
  static std::uint64_t select(bool first, std::uint64_t a, std::uint64_t b) noexcept {
    return b ^ ((a ^ b) & -std::uint64_t{first});
  }
  static std::uint32_t select(bool first, std::uint32_t a, std::uint32_t b) noexcept {
    return b ^ ((a ^ b) & -std::uint32_t{first});
  }

  Change take(std::uint64_t reference, std::uint32_t shares) noexcept;
  [[gnu::always_inline]] Status place(std::uint64_t reference, std::uint32_t side,
                                      std::uint32_t shares, std::uint32_t price,
                                      std::uint64_t user) noexcept;
  void enqueue(Level& level, std::uint32_t node, std::uint64_t user) noexcept requires kQueues;
  void unlink(std::uint32_t node) noexcept;
  void dequeue(Level& level, const Order& order) noexcept requires kQueues;
  std::uint32_t level_for(std::uint32_t side, std::uint32_t price) noexcept;
  std::uint32_t open_level(std::uint32_t side, std::uint32_t at, std::uint32_t price) noexcept;
  void erase_level(SideHead& head, std::uint32_t level_index) noexcept;
  void drop_side(SideHead& head) noexcept;
  std::uint32_t level_index_at(Locate locate, Side side, std::uint32_t price) const noexcept;
  void verify_side(std::uint32_t side) const;
  void verify_queue(std::uint32_t level_index) const;
  void verify_orders() const;
  // Best quote of the side, if the level is its best.
  static void note_shares(SideHead& head, const Level& level) noexcept {
    head.best_shares = select(level.price == head.best_price, level.shares, head.best_shares);
  }

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
  detail::OrderTable<Order> orders_;
  detail::Pool<Level> levels_;
  detail::LadderStore ladders_;
  HugeArray<SideHead> heads_;
  std::array<Counter, kStatusCount> counts_;
};

extern template class BasicBookSet<true>;
using LevelBookSet = BasicBookSet<false>;
using BookSet = BasicBookSet<true>;

}  // namespace tickpath::book

#include "common/book/book_datapath.hpp"
