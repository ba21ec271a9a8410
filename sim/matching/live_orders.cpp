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
      queues_(book::kLocatesMax * 2 * kPlaces, "the live orders' queues"),
      pegs_(book::kLocatesMax * 2, "the live orders' queues") {
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

// A rising market reaches the lowest stop price of buyers first, as it reaches the lowest offer.
bool LiveOrders::ahead(const LiveOrder& a, const LiveOrder& b, Place place) noexcept {
  const bool stop = place == Place::kStop;
  const bool auction = place == Place::kAuction;  // of market orders, too
  const std::uint32_t of_a = stop ? a.stop_price : auction ? a.worst_price() : a.price;
  const std::uint32_t of_b = stop ? b.stop_price : auction ? b.worst_price() : b.price;
  if (of_a == of_b) return a.arrival < b.arrival;
  return better(stop ? opposite(a.side) : a.side, of_a, of_b);
}

void LiveOrders::enqueue(std::uint32_t node, Place place) noexcept {
  LiveOrder& order = orders_[node];
  Queue& line = queue(order.locate, order.side, place);
  std::uint32_t before = line.tail;  // the order that ours will stand behind
  std::uint32_t after = line.head;
  while (before != kNone && !ahead(orders_[before], order, place)) {
    if (!ahead(orders_[after], order, place)) {
      before = orders_[after].previous;
      break;
    }
    before = orders_[before].previous;
    after = orders_[after].next;
  }
  order.place = place;
  order.previous = before;
  order.next = before == kNone ? line.head : orders_[before].next;
  (before == kNone ? line.head : orders_[before].next) = node;
  (order.next == kNone ? line.tail : orders_[order.next].previous) = node;
}

void LiveOrders::dequeue(std::uint32_t node) noexcept {
  LiveOrder& order = orders_[node];
  Queue& line = queue(order.locate, order.side, order.place);
  (order.previous == kNone ? line.head : orders_[order.previous].next) = order.next;
  (order.next == kNone ? line.tail : orders_[order.next].previous) = order.previous;
  order.place = Place::kNone;
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
  LiveOrder& order = orders_[node];
  Queue& line = pegs_[order.locate * 2 + index_of(order.side)];
  order.peg_previous = line.tail;
  order.peg_next = kNone;
  (line.tail == kNone ? line.head : orders_[line.tail].peg_next) = node;
  line.tail = node;
}

void LiveOrders::unlink_peg(std::uint32_t node) noexcept {
  const LiveOrder& order = orders_[node];
  Queue& line = pegs_[order.locate * 2 + index_of(order.side)];
  (order.peg_previous == kNone ? line.head : orders_[order.peg_previous].peg_next) = order.peg_next;
  (order.peg_next == kNone ? line.tail : orders_[order.peg_next].peg_previous) = order.peg_previous;
}

}  // namespace tickpath::sim
