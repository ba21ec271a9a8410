// Our own working orders, in price-time priority for each instrument and side.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/matching/types.hpp"

namespace tickpath::sim {

struct LiveOrder {
  std::uint64_t order_id = 0;  // the current one: a replacement changes it
  std::uint64_t exchange_order_id = 0;
  std::int64_t filled_value = 0;
  std::uint32_t number = 0;
  std::uint32_t locate = 0;
  std::uint32_t price = 0;  // 0: market
  std::uint32_t shares = 0;
  std::uint32_t cumulative = 0;
  std::uint32_t arrival = 0;  // place in time among recorded and live orders alike
  std::uint32_t next = 0;     // in its side's queue; in the list of free nodes
  std::uint32_t previous = 0;
  Party party;
  Side side = Side::kBuy;
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;

  std::uint32_t leaves() const noexcept { return shares - cumulative; }
};

// Better for its owner's place in the queue: higher bids, lower offers.
constexpr bool better(Side side, std::uint32_t a, std::uint32_t b) noexcept {
  return side == Side::kBuy ? a > b : a < b;
}

// One thread; nothing allocates after the constructor.
class LiveOrders {
 public:
  static constexpr std::uint32_t kNone = 0xffff'fffe;

  explicit LiveOrders(std::uint32_t orders_max);

  // kNone when full.
  std::uint32_t allocate() noexcept;
  void free(std::uint32_t node) noexcept;
  LiveOrder& operator[](std::uint32_t node) noexcept { return orders_[node]; }
  const LiveOrder& operator[](std::uint32_t node) const noexcept { return orders_[node]; }

  // Best price first, then earliest arrival. Time grows with the orders between ours and the nearer
  // end of the queue, from both of which the search starts.
  void rest(std::uint32_t node) noexcept;
  void unrest(std::uint32_t node) noexcept;
  std::uint32_t front(std::uint32_t locate, Side side) const noexcept {
    return queue(locate, side).head;
  }
  // Unrests all of an instrument and returns them linked by `next` in order of arrival.
  std::uint32_t detach_all(std::uint32_t locate) noexcept;

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  Queue& queue(std::uint32_t locate, Side side) noexcept {
    return queues_[locate * 2 + (side == Side::kBuy ? 0 : 1)];
  }
  const Queue& queue(std::uint32_t locate, Side side) const noexcept {
    return queues_[locate * 2 + (side == Side::kBuy ? 0 : 1)];
  }

  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  std::uint32_t free_ = kNone;
  std::unique_ptr<LiveOrder[]> orders_;
  std::unique_ptr<Queue[]> queues_;
};

}  // namespace tickpath::sim
