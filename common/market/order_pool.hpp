// Open orders in preallocated rows: found by any id that names them, and by age.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/id_map.hpp"

namespace tickpath::market {

// One thread; allocates in the constructor alone. Order has
//   std::uint64_t id;            // the live one
//   std::uint64_t pending_id;    // of the cancel or replacement on its way; 0: none
//   std::uint32_t older, newer;  // the pool's
// (pending_id only where a pool is given such requests). Each order is in one of `lists`.
template <class Order>
class OrderPool {
 public:
  explicit OrderPool(std::size_t orders_max, std::size_t lists = 1)
      : orders_(orders_max), ids_(orders_max * kIdsAnOrder), lists_(lists) {
    free_.reserve(orders_max);
    for (std::size_t at = orders_max; at-- > 0;) free_.push_back(static_cast<std::uint32_t>(at));
  }

  bool full() const noexcept { return free_.empty(); }
  std::size_t size() const noexcept { return orders_.size() - free_.size(); }
  std::size_t capacity() const noexcept { return orders_.size(); }

  // The newest of its list. nullptr: full, or the id is there already.
  Order* insert(const Order& order, std::size_t list = 0) noexcept {
    if (free_.empty()) return nullptr;
    const std::uint32_t at = free_.back();
    if (!ids_.insert(order.id, at)) return nullptr;
    free_.pop_back();
    Ends& ends = lists_[list];
    Order& added = orders_[at];
    added = order;
    added.older = ends.newest;
    added.newer = IdMap::kNone;
    (ends.newest == IdMap::kNone ? ends.oldest : orders_[ends.newest].newer) = at;
    ends.newest = at;
    return &added;
  }
  // Everything of another pool, which stays as it is, into this one, into which nothing was ever
  // inserted. Each order keeps its row. False: no room.
  [[nodiscard]] bool take(const OrderPool& other) noexcept {
    const std::size_t rows = other.rows_used();
    if (rows > capacity() || lists_.size() != other.lists_.size()) return false;
    std::copy_n(other.orders_.begin(), rows, orders_.begin());
    lists_ = other.lists_;
    // Both lists of free rows begin with those that were never used.
    free_.resize(capacity() - rows);
    free_.insert(free_.end(), other.free_.end() - (rows - other.size()), other.free_.end());
    for (std::size_t list = 0; list < lists_.size(); ++list)
      for_each(list, [this](const Order& order) {
        (void)ids_.insert(order.id, index(order));
        if (order.pending_id != 0) (void)ids_.insert(order.pending_id, index(order));
      });
    return true;
  }
  // The order has no pending request.
  void erase(Order& order, std::size_t list = 0) noexcept {
    ids_.erase(order.id);
    Ends& ends = lists_[list];
    (order.older == IdMap::kNone ? ends.oldest : orders_[order.older].newer) = order.newer;
    (order.newer == IdMap::kNone ? ends.newest : orders_[order.newer].older) = order.older;
    free_.push_back(index(order));
  }

  // The order's row, as long as it is in the pool, and the order in a row.
  std::uint32_t index(const Order& order) const noexcept {
    return static_cast<std::uint32_t>(&order - orders_.data());
  }
  Order& at(std::uint32_t index) noexcept { return orders_[index]; }
  // By its live id or that of its pending request; nullptr: not open.
  Order* find(std::uint64_t id) noexcept {
    const std::uint32_t at = ids_.find(id);
    return at == IdMap::kNone ? nullptr : &orders_[at];
  }
  // False: another order has this id, and this one keeps its own.
  bool rename(Order& order, std::uint64_t id) noexcept {
    if (id == order.id) return true;
    if (id == 0 || !ids_.insert(id, index(order))) return false;
    ids_.erase(order.id);
    order.id = id;
    return true;
  }
  // A cancel or replacement is on its way; one at a time.
  void set_pending(Order& order, std::uint64_t request_id) noexcept {
    order.pending_id = request_id;
    (void)ids_.insert(request_id, index(order));
  }
  void clear_pending(Order& order) noexcept {
    ids_.erase(order.pending_id);
    order.pending_id = 0;
  }
  // The pending request has replaced the order: its id is the live one now.
  void promote_pending(Order& order) noexcept {
    ids_.erase(order.id);
    order.id = order.pending_id;
    order.pending_id = 0;
  }

  // visit(Order&) of each in a list, oldest first; visit may erase that one, and none else.
  template <class Visit>
  void for_each(std::size_t list, Visit&& visit) noexcept {
    for (std::uint32_t at = lists_[list].oldest; at != IdMap::kNone;) {
      Order& order = orders_[at];
      at = order.newer;
      visit(order);
    }
  }
  template <class Visit>
  void for_each(std::size_t list, Visit&& visit) const noexcept {
    for (std::uint32_t at = lists_[list].oldest; at != IdMap::kNone; at = orders_[at].newer)
      visit(orders_[at]);
  }
  template <class Visit>
  void for_each(Visit&& visit) noexcept {
    for_each(0, visit);
  }

 private:
  static constexpr std::size_t kIdsAnOrder = 2;  // the live one and the pending one

  // All rows from this one on are free, and lie in free_ as in a new pool.
  std::size_t rows_used() const noexcept {
    std::size_t unused = 0;
    while (unused < free_.size() && free_[unused] == capacity() - 1 - unused) ++unused;
    return capacity() - unused;
  }

  struct Ends {
    std::uint32_t oldest = IdMap::kNone;
    std::uint32_t newest = IdMap::kNone;
  };
  std::vector<Order> orders_;
  std::vector<std::uint32_t> free_;
  IdMap ids_;
  std::vector<Ends> lists_;
};

}  // namespace tickpath::market
