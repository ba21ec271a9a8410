// The changes of BookSet: what runs for every message of a feed. Included by book.hpp alone;
// inline, so that a feed handler's decoder and its book become one function.
#pragma once

#include "common/book/book.hpp"

namespace tickpath::book {

inline Change BookSet::add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
                           std::uint32_t price, std::uint64_t user) noexcept {
  const Change change = place(locate, reference, side, shares, price, user);
  return change.ok() ? done(change) : refused(change.status, change);
}

// Adds without counting.
inline Change BookSet::place(Locate locate, std::uint64_t reference, Side side,
                             std::uint32_t shares, std::uint32_t price,
                             std::uint64_t user) noexcept {
  const auto refuse = [=](Status status) { return Change{status, side, locate, price, 0, 0}; };
  if (shares == 0) [[unlikely]]
    return refuse(Status::kZeroShares);
  if (price == 0) [[unlikely]]
    return refuse(Status::kZeroPrice);
  const std::size_t slot = slot_of(reference);
  if (!references_.empty_at(slot)) [[unlikely]]
    return refuse(Status::kDuplicateReference);
  if (orders_.full()) [[unlikely]]
    return refuse(Status::kOrdersFull);
  SideHead& head = symbols_[locate].side(side);
  const std::uint32_t level_index = level_for(head, locate, side, price);
  if (level_index == kNoLevel) [[unlikely]]
    return refuse(Status::kLevelsFull);
  const std::uint32_t node = orders_.take();
  enqueue(head, level_index, node, {reference, user, kNoOrder, kNoOrder, shares, level_index},
          price);
  references_.insert_at(slot, reference, node);
  resting_.set(orders_.in_use());
  if (orders_.in_use() > resting_max_.get()) resting_max_.set(orders_.in_use());
  return {Status::kOk, side, locate, price, shares, shares};
}

// Whether there are neighbours in a queue, and whether a level is the best, is what a branch
// predictor cannot know. So these two write unconditionally (into kNil where there is nobody) and
// select instead of branching.
inline void BookSet::enqueue(SideHead& head, std::uint32_t level_index, std::uint32_t node,
                             const Order& order, std::uint32_t price) noexcept {
  Level& level = levels_[level_index];
  const std::uint32_t last = level.last;
  orders_[node] = order;
  orders_[node].previous = last;
  orders_[last].next = node;
  level.next = last == kNoOrder ? node : level.next;
  level.last = node;
  ++level.orders;
  level.shares += order.shares;
  ++head.orders;
  head.best_shares = price == head.best_price ? level.shares : head.best_shares;
}

// Takes an order out of its queue, its level out of the ladder if that was the last.
inline void BookSet::unlink(std::size_t slot, std::uint32_t node) noexcept {
  const Order order = orders_[node];
  Level& level = levels_[order.level];
  orders_[order.previous].next = order.next;
  orders_[order.next].previous = order.previous;
  level.next = order.previous == kNoOrder ? order.next : level.next;
  level.last = order.next == kNoOrder ? order.previous : level.last;
  SideHead& head = symbols_[level.locate].side(level.side);
  --head.orders;
  level.shares -= order.shares;
  head.best_shares = level.price == head.best_price ? level.shares : head.best_shares;
  if (--level.orders == 0) erase_level(head, order.level);
  references_.erase_at(slot);
  orders_.give_back(node);
  resting_.set(orders_.in_use());
}

// The level of a price, opened if need be; kNoLevel when there is no room.
inline std::uint32_t BookSet::level_for(SideHead& head, Locate locate, Side side,
                                        std::uint32_t price) noexcept {
  const std::int32_t key = key_of(side, price);
  const std::int32_t* keys = ladders_.keys(head.offset);
  const std::uint32_t at = detail::LadderStore::below(keys, head.count, key);
  if (at < head.count && keys[at] == key) return ladders_.levels(head.offset)[at];
  return open_level(head, at, locate, side, price);
}

inline std::uint32_t BookSet::open_level(SideHead& head, std::uint32_t at, Locate locate, Side side,
                                         std::uint32_t price) noexcept {
  if (levels_.full()) [[unlikely]]
    return kNoLevel;
  if (head.count == detail::LadderStore::room(head.capacity) && !grow(head)) [[unlikely]]
    return kNoLevel;
  const std::uint32_t index = levels_.take();
  levels_[index] = {0, price, 0, kNoOrder, kNoOrder, locate, side, {}};
  ladders_.open_gap(head.offset, at, head.count);
  ladders_.keys(head.offset)[at] = key_of(side, price);
  ladders_.levels(head.offset)[at] = index;
  ++head.count;
  // enqueue() follows and sets best_shares.
  head.best_price = at + 1 == head.count ? price : head.best_price;
  return index;
}

inline void BookSet::erase_level(SideHead& head, std::uint32_t level_index) noexcept {
  const Level& level = levels_[level_index];
  const std::uint32_t at = detail::LadderStore::below(ladders_.keys(head.offset), head.count,
                                                      key_of(level.side, level.price));
  ladders_.close_gap(head.offset, at, head.count);
  levels_.give_back(level_index);
  if (at != --head.count) return;  // not the best
  const std::uint32_t best = head.count == 0 ? kNoLevel : ladders_.levels(head.offset)[at - 1];
  head.best_price = levels_[best].price;  // kNoLevel is a level without price and shares
  head.best_shares = levels_[best].shares;
}

inline Change BookSet::take(std::uint64_t reference, std::uint32_t shares) noexcept {
  const std::size_t slot = slot_of(reference);
  if (references_.empty_at(slot)) [[unlikely]]
    return refused(Status::kUnknownReference);
  const std::uint32_t node = references_.node_at(slot);
  Order& order = orders_[node];
  Level& level = levels_[order.level];
  Change change{Status::kOk, level.side, level.locate, level.price, shares, 0};
  if (shares >= order.shares) {
    change.shares = order.shares;
    unlink(slot, node);
    return shares == change.shares ? done(change) : refused(Status::kSharesExceeded, change);
  }
  if (shares == 0) [[unlikely]] {
    change.remaining = order.shares;
    return refused(Status::kZeroShares, change);
  }
  order.shares -= shares;
  level.shares -= shares;
  SideHead& head = symbols_[level.locate].side(level.side);
  head.best_shares = level.price == head.best_price ? level.shares : head.best_shares;
  change.remaining = order.shares;
  return done(change);
}

inline Change BookSet::remove(std::uint64_t reference) noexcept {
  const std::size_t slot = slot_of(reference);
  if (references_.empty_at(slot)) [[unlikely]]
    return refused(Status::kUnknownReference);
  const std::uint32_t node = references_.node_at(slot);
  const Level& level = levels_[orders_[node].level];
  const Change change{Status::kOk, level.side, level.locate, level.price, orders_[node].shares, 0};
  unlink(slot, node);
  return done(change);
}

inline Change BookSet::replace(std::uint64_t reference, std::uint64_t new_reference,
                               std::uint32_t shares, std::uint32_t price) noexcept {
  const std::size_t slot = slot_of(reference);
  if (references_.empty_at(slot)) [[unlikely]]
    return refused(Status::kUnknownReference);
  const std::uint32_t node = references_.node_at(slot);
  const std::uint64_t user = orders_[node].user;
  const Level& level = levels_[orders_[node].level];
  const Side side = level.side;
  const Locate locate = level.locate;
  unlink(slot, node);
  return add(locate, new_reference, side, shares, price, user);
}

}  // namespace tickpath::book
