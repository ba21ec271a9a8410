// The open orders of one strategy, oldest first, found by any id that oeg may name them by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"

namespace tickpath::strategy {

struct Order {
  std::uint64_t id = 0;          // the live one; a replacement changes it
  std::uint64_t pending_id = 0;  // the cancel or replace on its way; 0: none
  std::uint32_t instrument = 0;
  std::uint32_t price = 0;  // limit in effect, 0: market
  std::uint32_t shares = 0;
  std::uint32_t leaves = 0;
  std::uint32_t cumulative = 0;
  Side side = Side::kBuy;
  wire::OrderType type = wire::OrderType::kLimit;
  wire::TimeInForce time_in_force = wire::TimeInForce::kDay;
  wire::OrderState state = wire::OrderState::kPendingNew;
  bool cancel_wanted = false;  // by the engine: on failure, stop, stale feed, recovery
  bool uncertain = false;      // oeg went away while it was open: only a cancel settles it

  std::uint32_t older = IdMap::kNone;
  std::uint32_t newer = IdMap::kNone;
};

// Datapath thread; preallocated. Final orders leave at once, so its size is the open orders.
class OrderTable {
 public:
  explicit OrderTable(std::size_t orders_max) : orders_(orders_max), ids_(orders_max * 2) {
    free_.reserve(orders_max);
    for (std::size_t i = orders_max; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
  }

  // nullptr when full.
  Order* insert(const Order& order) noexcept {
    if (free_.empty()) return nullptr;
    const std::uint32_t at = free_.back();
    if (!ids_.insert(order.id, at)) return nullptr;
    free_.pop_back();
    orders_[at] = order;
    orders_[at].older = newest_;
    orders_[at].newer = IdMap::kNone;
    (newest_ == IdMap::kNone ? oldest_ : orders_[newest_].newer) = at;
    newest_ = at;
    ++size_;
    return &orders_[at];
  }

  // By its live id or the id of its pending request; nullptr: not open.
  Order* find(std::uint64_t id) noexcept { return at(ids_.find(id)); }

  // A cancel or replace is on its way. One at a time, so two ids an order are enough.
  void set_pending(Order& order, std::uint64_t request_id) noexcept {
    clear_pending(order);
    if (ids_.insert(request_id, index(order))) order.pending_id = request_id;
  }
  void clear_pending(Order& order) noexcept {
    if (order.pending_id != order.id) ids_.erase(order.pending_id);
    order.pending_id = 0;
  }
  // The pending request replaced the order: its id is the live one now.
  void promote_pending(Order& order) noexcept {
    ids_.erase(order.id);
    order.id = order.pending_id;
    order.pending_id = 0;
  }

  void erase(Order& order) noexcept {
    clear_pending(order);
    ids_.erase(order.id);
    (order.older == IdMap::kNone ? oldest_ : orders_[order.older].newer) = order.newer;
    (order.newer == IdMap::kNone ? newest_ : orders_[order.newer].older) = order.older;
    free_.push_back(index(order));
    order = Order{};
    --size_;
  }

  // Oldest first. `visit(Order&)` must not erase.
  template <class Visit>
  void for_each(Visit&& visit) noexcept {
    for (std::uint32_t i = oldest_; i != IdMap::kNone; i = orders_[i].newer) visit(orders_[i]);
  }

  std::size_t size() const noexcept { return size_; }
  bool full() const noexcept { return free_.empty(); }

 private:
  Order* at(std::uint32_t i) noexcept { return i == IdMap::kNone ? nullptr : &orders_[i]; }
  std::uint32_t index(const Order& order) const noexcept {
    return static_cast<std::uint32_t>(&order - orders_.data());
  }

  std::vector<Order> orders_;
  std::vector<std::uint32_t> free_;
  IdMap ids_;
  std::uint32_t oldest_ = IdMap::kNone;
  std::uint32_t newest_ = IdMap::kNone;
  std::size_t size_ = 0;
};

}  // namespace tickpath::strategy
