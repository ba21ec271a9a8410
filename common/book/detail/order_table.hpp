// Order reference -> order: a window of records, each in the place that its reference names.
//
// Feeds count references upwards, so orders of one moment are neighbours in memory: an addition
// runs along lines that the hardware already fetches, and what leaves soon is still cached. Nothing
// is searched and nothing is linked: one line of memory holds all that is known of an order.
//
//   reference   | lap | place in the lap |      a lap is as long as the window
//   home        (place + offset(lap)) mod window length
//
// The offset is a hash of the lap: references that are all multiples of something, or as far apart
// as 64 bits allow, take places as random as any hash table's.
//
// An order whose home is taken by an older one goes to a list of its home's own, in the overflow
// behind the window; a bit of the home says that the list is not empty. So no order ever moves, an
// erased one leaves no tombstone, and whatever the references, as many orders fit as were asked
// for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/counter.hpp"
#include "common/base/huge_array.hpp"
#include "common/book/detail/prefetch.hpp"

namespace tickpath::book::detail {

// Order has a std::uint64_t `key`, which is the table's; the rest is its user's.
template <class Order>
class OrderTable {
 public:
  // No order. The record exists, so that whoever unlinks a list writes through its ends without
  // asking whether there is a neighbour: what lands there is never read.
  static constexpr std::uint32_t kNil = 0;

  explicit OrderTable(std::uint32_t orders_max)
      : capacity_(orders_max),
        window_(window_for(orders_max)),
        mask_(window_ - 1),
        lap_shift_(static_cast<unsigned>(std::countr_zero(window_))),
        offset_shift_(64 - lap_shift_),
        orders_(std::size_t{1} + window_ + orders_max, "the orders"),
        chained_(orders_max, "the orders"),
        chains_(window_, "the orders") {}

  Order& operator[](std::uint32_t node) noexcept { return orders_[node]; }
  const Order& operator[](std::uint32_t node) const noexcept { return orders_[node]; }

  // Where a reference belongs, and what an order says that carries it.
  struct Home {
    std::uint32_t node;
    std::uint64_t key;
  };
  Home home_of(std::uint64_t reference) const noexcept {
    const std::uint64_t lap = reference >> lap_shift_;
    const std::uint64_t place = (reference + offset(lap)) & mask_;
    // The key is never 0, which is nobody's.
    return {1 + static_cast<std::uint32_t>(place), (lap + 1) << 1 | kChained};
  }

  // kNil: there is none.
  std::uint32_t find(std::uint64_t reference) const noexcept {
    const Home home = home_of(reference);
    const std::uint64_t key = orders_[home.node].key;
    if ((key | kChained) == home.key) [[likely]]
      return home.node;
    return (key & kChained) != 0 ? find_chained(home) : kNil;
  }

  // Where an order of this home would stand, for insert(); kNil: the reference is there already.
  std::uint32_t vacancy(Home home) const noexcept {
    return orders_[home.node].key == 0 ? home.node : vacancy_beside(home);
  }
  // Orders that follow soon will stand behind this one.
  void prefetch_behind(std::uint32_t node) const noexcept {
    constexpr std::size_t kAheadBytes = 512;
    prefetch_line(&orders_[node] + kAheadBytes / sizeof(Order));
  }
  // Unless full(). node: from vacancy() of the same home. All but `key` is the caller's to fill.
  void insert(std::uint32_t node, Home home) noexcept {
    if (node > window_) [[unlikely]]
      chain(node, home.node);
    std::uint64_t& key = orders_[node].key;
    key = (home.key ^ kChained) | (key & kChained);
    size_.add();
    if (size_.get() > size_max_.get()) size_max_.set(size_.get());
  }
  void erase(std::uint32_t node) noexcept {
    if (node > window_) [[unlikely]]
      unchain(node);
    orders_[node].key &= kChained;
    size_.set(size_.get() - 1);
  }
  // Every order. Takes as long as the window is large, unless there are none.
  void clear() noexcept {
    if (size_.get() == 0) return;
    std::memset(static_cast<void*>(orders_.data()), 0, (std::size_t{1} + fresh_) * sizeof(Order));
    size_.set(0);
    fresh_ = window_;
    free_ = kNil;
  }

  // node: of an order that is there.
  std::uint64_t reference_of(std::uint32_t node) const noexcept {
    const std::uint32_t home = node > window_ ? link(node).home : node;
    const std::uint64_t lap = (orders_[node].key >> 1) - 1;
    return lap << lap_shift_ | ((home - 1 - offset(lap)) & mask_);
  }
  // For walks over all: nodes are 1 to last_node().
  bool in_use(std::uint32_t node) const noexcept { return orders_[node].key > kChained; }
  std::uint32_t last_node() const noexcept { return fresh_; }

  bool full() const noexcept { return size_.get() == capacity_; }
  const Counter& size() const noexcept { return size_; }
  const Counter& size_max() const noexcept { return size_max_; }  // ever

 private:
  // A bit of a home: orders that belong here are in its list. Never alone in the key of another
  // order.
  static constexpr std::uint64_t kChained = 1;
  static constexpr std::uint32_t kWindowMin = 64;

  // The link of a node behind the window.
  struct Link {
    std::uint32_t next;  // of the same home; in the list of free nodes
    std::uint32_t home;
  };

  // At most half full: one order in eight then finds its home taken, one in forty where a tenth of
  // orders_max rest.
  static std::uint32_t window_for(std::uint32_t orders_max) noexcept {
    return std::bit_ceil(orders_max * 2 < kWindowMin ? kWindowMin : orders_max * 2);
  }

  // Fibonacci hashing: offsets of laps that follow each other are far apart.
  std::uint64_t offset(std::uint64_t lap) const noexcept {
    return lap * 0x9e37'79b9'7f4a'7c15 >> offset_shift_;
  }
  Link& link(std::uint32_t node) noexcept { return chained_[node - window_ - 1]; }
  const Link& link(std::uint32_t node) const noexcept { return chained_[node - window_ - 1]; }
  std::uint32_t& chain_of(std::uint32_t home) noexcept { return chains_[home - 1]; }

  [[gnu::noinline]] std::uint32_t find_chained(Home home) const noexcept {
    std::uint32_t node = chains_[home.node - 1];
    while (node != kNil && (orders_[node].key | kChained) != home.key) node = link(node).next;
    return node;
  }
  [[gnu::noinline]] std::uint32_t vacancy_beside(Home home) const noexcept {
    const std::uint64_t key = orders_[home.node].key;
    if ((key | kChained) == home.key) return kNil;
    if ((key & kChained) != 0 && find_chained(home) != kNil) return kNil;
    if (!in_use(home.node)) return home.node;
    return free_ != kNil ? free_ : fresh_ + 1;
  }
  [[gnu::noinline]] void chain(std::uint32_t node, std::uint32_t home) noexcept {
    if (node == free_)
      free_ = link(node).next;
    else
      ++fresh_;
    const bool first = (orders_[home].key & kChained) == 0;
    link(node) = {first ? kNil : chain_of(home), home};
    chain_of(home) = node;
    orders_[home].key |= kChained;
  }
  [[gnu::noinline]] void unchain(std::uint32_t node) noexcept {
    const std::uint32_t home = link(node).home;
    std::uint32_t* at = &chain_of(home);
    while (*at != node) at = &link(*at).next;
    *at = link(node).next;
    if (chain_of(home) == kNil) orders_[home].key &= ~kChained;
    link(node).next = free_;
    free_ = node;
  }

  std::uint32_t capacity_;
  std::uint32_t window_;  // a power of two
  std::uint64_t mask_;
  unsigned lap_shift_;
  unsigned offset_shift_;
  HugeArray<Order> orders_;  // nobody; the window; the overflow
  HugeArray<Link> chained_;
  // By home: the first of its list, if the home says there is one.
  HugeArray<std::uint32_t> chains_;
  Counter size_;
  Counter size_max_;
  std::uint32_t free_ = kNil;
  std::uint32_t fresh_ = window_;  // nodes above were never used
};

}  // namespace tickpath::book::detail
