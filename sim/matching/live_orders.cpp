#include "sim/matching/live_orders.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace tickpath::sim {

namespace {

std::uint32_t checked_orders(std::uint32_t orders_max) {
  if (orders_max == 0 || orders_max > 1u << 30)
    throw Error("live orders: between 1 and 2^30 must be allowed for");
  return orders_max;
}

}  // namespace

LiveOrders::LiveOrders(std::uint32_t orders_max)
    : capacity_(checked_orders(orders_max)),
      orders_(orders_max, "the live orders"),
      asides_(orders_max, "the live orders"),
      queues_(book::kLocatesMax * 2 * kPlaces, "the live orders' queues"),
      pegs_(book::kLocatesMax * 2, "the live orders' queues"),
      index_(orders_max, queues_.size()) {
  for (HugeArray<Queue>* const queues : {&queues_, &pegs_})
    std::fill_n(queues->data(), queues->size(), Queue{});
  for (std::uint32_t node = orders_max; node-- > 0;) {
    orders_[node].next = free_;
    free_ = node;
  }
}

std::uint32_t LiveOrders::allocate() noexcept {
  if (free_ == kNone) return kNone;
  const std::uint32_t node = free_;
  free_ = orders_[node].next;
  orders_[node] = LiveOrder{};
  ++size_;
  return node;
}

void LiveOrders::free(std::uint32_t node) noexcept {
  orders_[node].next = free_;
  free_ = node;
  --size_;
}

void LiveOrders::enqueue(std::uint32_t node, Place place) noexcept {
  LiveOrder& order = orders_[node];
  const std::size_t at = index_of(order.locate, order.side, place);
  Queue& line = queues_[at];
  const std::int32_t key = key_of(order, place);
  const auto ahead = [&](std::uint32_t other) {
    const std::int32_t its = key_of(orders_[other], place);
    return its > key || (its == key && orders_[other].arrival < order.arrival);
  };
  std::uint32_t before = index_.last_before(at, key);
  std::uint32_t after = before == kNone ? line.head : orders_[before].next;
  unsigned walked = 0;
  for (; after != kNone && ahead(after); ++walked) {
    before = after;
    after = orders_[after].next;
  }
  for (; before != kNone && !ahead(before); before = orders_[before].previous) after = before;
  order.place = place;
  order.previous = before;
  order.next = after;
  (before == kNone ? line.head : orders_[before].next) = node;
  (after == kNone ? line.tail : orders_[after].previous) = node;
  if (index_.has(at)) {
    if (!has_key(after, place, key)) index_.set_last(at, key, node);
  } else if (walked > kWalkMax) {
    make_index(at, place);
  }
}

void LiveOrders::dequeue(std::uint32_t node) noexcept {
  LiveOrder& order = orders_[node];
  const Place place = order.place;
  const std::size_t at = index_of(order.locate, order.side, place);
  Queue& line = queues_[at];
  (order.previous == kNone ? line.head : orders_[order.previous].next) = order.next;
  (order.next == kNone ? line.tail : orders_[order.next].previous) = order.previous;
  order.place = Place::kNone;
  if (!index_.has(at)) return;
  const std::int32_t key = key_of(order, place);
  if (has_key(order.next, place, key)) return;
  if (has_key(order.previous, place, key))
    index_.set_last(at, key, order.previous);
  else
    index_.erase(at, key);
}

// From the back, so that each price comes with its last order first, and better than those before.
void LiveOrders::make_index(std::size_t at, Place place) noexcept {
  std::int32_t key = 0;
  for (std::uint32_t node = queues_[at].tail; node != kNone; node = orders_[node].previous) {
    const std::int32_t next = key_of(orders_[node], place);
    if (node != queues_[at].tail && next == key) continue;
    key = next;
    index_.set_last(at, key, node);
    if (!index_.has(at)) return;
  }
}

// Merge sort: halves are found by a second pointer at double speed.
std::uint32_t LiveOrders::sort_by_arrival(std::uint32_t first) noexcept {
  if (first == kNone || orders_[first].next == kNone) return first;
  std::uint32_t middle = first;
  for (std::uint32_t ahead = orders_[first].next; ahead != kNone;) {
    ahead = orders_[ahead].next;
    if (ahead == kNone) break;
    ahead = orders_[ahead].next;
    middle = orders_[middle].next;
  }
  std::uint32_t b = orders_[middle].next;
  orders_[middle].next = kNone;
  std::uint32_t a = sort_by_arrival(first);
  b = sort_by_arrival(b);
  std::uint32_t merged = kNone;
  std::uint32_t* at = &merged;
  while (a != kNone && b != kNone) {
    std::uint32_t& least = orders_[a].arrival < orders_[b].arrival ? a : b;
    *at = least;
    at = &orders_[least].next;
    least = *at;
  }
  *at = a != kNone ? a : b;
  return merged;
}

void LiveOrders::link_peg(std::uint32_t node) noexcept {
  const LiveOrder& order = orders_[node];
  Queue& line = pegs_[order.locate * 2 + index_of(order.side)];
  asides_[node].peg_previous = line.tail;
  asides_[node].peg_next = kNone;
  (line.tail == kNone ? line.head : asides_[line.tail].peg_next) = node;
  line.tail = node;
}

void LiveOrders::unlink_peg(std::uint32_t node) noexcept {
  const LiveOrder& order = orders_[node];
  Queue& line = pegs_[order.locate * 2 + index_of(order.side)];
  const Aside& aside = asides_[node];
  (aside.peg_previous == kNone ? line.head : asides_[aside.peg_previous].peg_next) = aside.peg_next;
  (aside.peg_next == kNone ? line.tail : asides_[aside.peg_next].peg_previous) = aside.peg_previous;
}

}  // namespace tickpath::sim
