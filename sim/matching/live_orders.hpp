// Our own working orders, in price-time priority for each instrument and side.
#pragma once

#include <cstdint>

#include "common/base/huge_array.hpp"
#include "sim/matching/price_index.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// Where a working order is. In one queue at most.
enum class Place : std::uint8_t {
  kBook,     // resting: best price first, then earliest arrival
  kStop,     // waiting for its stop price: the nearest to the market first, then earliest arrival
  kParked,   // pegged, and its side of the recorded book is empty: earliest arrival first
  kAuction,  // on-open and on-close: the best price first (none: any), then earliest arrival
  kNone,     // taking, or done
};
inline constexpr std::size_t kPlaces = 4;  // that are queues

// One cache line: all that matching reads.
struct alignas(64) LiveOrder {
  std::uint64_t order_id = 0;  // the current one: a replacement changes it
  std::int64_t filled_value = 0;
  std::uint32_t price = 0;  // 0: market; pegged: the current one, 0 while parked
  std::uint32_t shares = 0;
  std::uint32_t cumulative = 0;
  std::uint32_t arrival = 0;  // place in time among recorded and live orders alike
  std::uint32_t next = 0;     // in its side's queue; in the list of free nodes
  std::uint32_t previous = 0;
  std::uint32_t display = 0;  // shares shown at a time; 0: all
  std::uint32_t slice = 0;    // of `display`, what is left; 0 for an order that arrives
  std::uint32_t number = 0;   // the exchange's
  union {
    std::uint32_t stop_price = 0;  // of a stop order, also after its trigger
    std::uint32_t limit;           // pegged: the cap, 0 for none
  };
  book::Locate locate = 0;
  Party party;
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;
  Side side : 2 = Side::kBuy;
  Place place : 3 = Place::kNone;
  bool post_only : 1 = false;

  std::uint32_t leaves() const noexcept { return shares - cumulative; }
  std::uint32_t shown() const noexcept { return display == 0 ? leaves() : slice; }
  bool waits() const noexcept { return trading::has_stop(type); }
  bool on_cross() const noexcept { return trading::is_on_cross(time_in_force); }
  // The worst price that it takes.
  std::uint32_t worst_price() const noexcept {
    return type == OrderType::kMarket && side == Side::kBuy ? 0xffff'ffff : price;
  }
};

static_assert(sizeof(LiveOrder) == 64);

// An order on the feed, when our orders are published.
struct ShownOrder {
  std::uint64_t reference = 0;  // 0: it is not there
  std::uint32_t shares = 0;
  std::uint32_t arrival = 0;  // that its place on the feed stands for
};

// Better for its owner's place in the queue: higher bids, lower offers.
constexpr bool better(Side side, std::uint32_t a, std::uint32_t b) noexcept {
  return side == Side::kBuy ? a > b : a < b;
}

// One thread; nothing allocates after the constructor.
class LiveOrders {
 public:
  static constexpr std::uint32_t kNone = PriceIndex::kNone;

  explicit LiveOrders(std::uint32_t orders_max);

  // kNone when full.
  std::uint32_t allocate() noexcept;
  void free(std::uint32_t node) noexcept;
  LiveOrder& operator[](std::uint32_t node) noexcept { return orders_[node]; }
  const LiveOrder& operator[](std::uint32_t node) const noexcept { return orders_[node]; }
  // Null for kNone.
  const LiveOrder* find(std::uint32_t node) const noexcept {
    return node == kNone ? nullptr : &orders_[node];
  }

  // Behind those of its price that arrived before it. Time does not grow with the orders of a
  // queue. It grows with those of its price that arrived later. The first order at a price moves
  // eight bytes of memory for each better price.
  void enqueue(std::uint32_t node, Place place) noexcept;
  void dequeue(std::uint32_t node) noexcept;
  std::uint32_t front(std::uint32_t locate, Side side, Place place = Place::kBook) const noexcept {
    return queues_[index_of(locate, side, place)].head;
  }
  // Links orders by `next` in order of arrival; returns the first. They are in no queue.
  std::uint32_t sort_by_arrival(std::uint32_t first) noexcept;

  // `order` is one of these. A free one's reference is 0.
  ShownOrder& shown(const LiveOrder& order) noexcept {
    return asides_[static_cast<std::size_t>(&order - orders_.data())].shown;
  }

  // Pegged orders of a side in the order in which they were entered, wherever they are.
  void link_peg(std::uint32_t node) noexcept;
  void unlink_peg(std::uint32_t node) noexcept;
  std::uint32_t first_peg(std::uint32_t locate, Side side) const noexcept {
    return pegs_[locate * 2 + index_of(side)].head;
  }
  std::uint32_t next_peg(std::uint32_t node) const noexcept { return asides_[node].peg_next; }

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  // What few orders need.
  struct Aside {
    ShownOrder shown;
    std::uint32_t peg_next;
    std::uint32_t peg_previous;
  };
  static_assert(sizeof(LiveOrder) + sizeof(Aside) + PriceIndex::kBytesPerOrder <= 96);
  // Orders that are walked past, before a queue gets an index.
  static constexpr unsigned kWalkMax = 8;

  struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  static std::size_t index_of(Side side) noexcept { return side == Side::kBuy ? 0 : 1; }
  // Places apart, so that the books' heads, which every event reads, stay dense.
  static std::size_t index_of(std::uint32_t locate, Side side, Place place) noexcept {
    return (static_cast<std::size_t>(place) * book::kLocatesMax + locate) * 2 + index_of(side);
  }
  // Ascends towards the front of the queue. A rising market reaches the lowest stop price of buyers
  // first, as it reaches the lowest offer.
  [[gnu::always_inline]] static std::int32_t key_of(const LiveOrder& order, Place place) noexcept {
    const bool stop = place == Place::kStop;
    const std::uint32_t price = stop ? order.stop_price
                                : place == Place::kAuction
                                    ? order.worst_price()  // market orders, too
                                    : order.price;
    const std::uint32_t inverted = (order.side == Side::kSell) != stop ? ~0u : 0u;
    return static_cast<std::int32_t>(price ^ inverted ^ 0x8000'0000u);
  }
  bool has_key(std::uint32_t node, Place place, std::int32_t key) const noexcept {
    return node != kNone && key_of(orders_[node], place) == key;
  }
  void make_index(std::size_t at, Place place) noexcept;

  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  std::uint32_t free_ = kNone;
  HugeArray<LiveOrder> orders_;
  HugeArray<Aside> asides_;
  HugeArray<Queue> queues_;
  HugeArray<Queue> pegs_;
  PriceIndex index_;
};

}  // namespace tickpath::sim
