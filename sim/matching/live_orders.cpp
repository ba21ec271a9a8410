#include "sim/matching/live_orders.hpp"

#include "common/base/error.hpp"

namespace tickpath::sim {

LiveOrders::LiveOrders(std::uint32_t orders_max)
    : capacity_(orders_max),
      orders_(std::make_unique<LiveOrder[]>(orders_max)),
      queues_(std::make_unique<Queue[]>(book::kLocatesMax * 2)) {
  if (orders_max == 0 || orders_max > 1u << 30)
    throw Error("live orders: between 1 and 2^30 must be allowed for");
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

void LiveOrders::rest(std::uint32_t node) noexcept {
  LiveOrder& order = orders_[node];
  Queue& line = queue(order.locate, order.side);
  const auto ahead = [&order](const LiveOrder& other) {
    return better(order.side, other.price, order.price) ||
           (other.price == order.price && other.arrival < order.arrival);
  };
  std::uint32_t before = line.tail;  // the order that ours will stand behind
  std::uint32_t after = line.head;
  while (before != kNone && !ahead(orders_[before])) {
    if (!ahead(orders_[after])) {
      before = orders_[after].previous;
      break;
    }
    before = orders_[before].previous;
    after = orders_[after].next;
  }
  order.previous = before;
  order.next = before == kNone ? line.head : orders_[before].next;
  (before == kNone ? line.head : orders_[before].next) = node;
  (order.next == kNone ? line.tail : orders_[order.next].previous) = node;
}

void LiveOrders::unrest(std::uint32_t node) noexcept {
  const LiveOrder& order = orders_[node];
  Queue& line = queue(order.locate, order.side);
  (order.previous == kNone ? line.head : orders_[order.previous].next) = order.next;
  (order.next == kNone ? line.tail : orders_[order.next].previous) = order.previous;
}

std::uint32_t LiveOrders::detach_all(std::uint32_t locate) noexcept {
  std::uint32_t first = kNone;
  for (const Side side : {Side::kBuy, Side::kSell}) {
    while (front(locate, side) != kNone) {
      const std::uint32_t node = front(locate, side);
      unrest(node);
      std::uint32_t* at = &first;
      while (*at != kNone && orders_[*at].arrival < orders_[node].arrival) at = &orders_[*at].next;
      orders_[node].next = *at;
      *at = node;
    }
  }
  return first;
}

}  // namespace tickpath::sim
