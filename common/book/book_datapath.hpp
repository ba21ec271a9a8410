// The changes of a set of books: what runs for every message of a feed. Included by book.hpp alone;
// inline, so that a feed handler's decoder and its book become one function.
#pragma once

#include "common/book/book.hpp"

namespace tickpath::book {

template <bool kQueues>
inline Change BasicBookSet<kQueues>::add(Locate locate, std::uint64_t reference, Side side,
                                         std::uint32_t shares, std::uint32_t price,
                                         std::uint64_t user) noexcept {
  const Status status = place(reference, index_of(locate, side), shares, price, user);
  counts_[static_cast<std::size_t>(status)].add();
  const std::uint32_t added = status == Status::kOk ? shares : 0;
  return {status, side, locate, price, added, added};
}

template <bool kQueues>
inline Status BasicBookSet<kQueues>::place(std::uint64_t reference, std::uint32_t side,
                                           std::uint32_t shares, std::uint32_t price,
                                           std::uint64_t user) noexcept {
  if (shares == 0) [[unlikely]]
    return Status::kZeroShares;
  if (price == 0) [[unlikely]]
    return Status::kZeroPrice;
  const auto home = orders_.home_of(reference);
  const std::uint32_t node = orders_.vacancy(home);
  if (node == kNoOrder) [[unlikely]]
    return Status::kDuplicateReference;
  if (orders_.full()) [[unlikely]]
    return Status::kOrdersFull;
  orders_.prefetch_behind(node);
  const std::uint32_t level_index = level_for(side, price);
  if (level_index == kNoLevel) [[unlikely]]
    return Status::kLevelsFull;
  orders_.insert(node, home);
  orders_[node].shares = shares;
  orders_[node].level = level_index;
  Level& level = levels_[level_index];
  ++level.orders;
  level.shares += shares;
  note_shares(heads_[side], level);
  if constexpr (kQueues) enqueue(level, node, user);
  return Status::kOk;
}

// Whether there are neighbours in a queue is what a branch predictor cannot know. So these two
// write unconditionally, into kNoOrder where there is nobody, and select instead of branching.
template <bool kQueues>
inline void BasicBookSet<kQueues>::enqueue(Level& level, std::uint32_t node,
                                           std::uint64_t user) noexcept requires kQueues {
  const std::uint32_t last = level.last;
  Order& order = orders_[node];
  order.user = user;
  order.next = kNoOrder;
  order.previous = last;
  orders_[last].next = node;
  level.first = select(last == kNoOrder, node, level.first);
  level.last = node;
}

template <bool kQueues>
inline void BasicBookSet<kQueues>::dequeue(Level& level,
                                           const Order& order) noexcept requires kQueues {
  const std::uint32_t previous = order.previous;
  const std::uint32_t next = order.next;
  orders_[previous].next = next;
  orders_[next].previous = previous;
  level.first = select(previous == kNoOrder, next, level.first);
  level.last = select(next == kNoOrder, previous, level.last);
}

// Takes an order out, and its level out of the ladder if that was the last.
template <bool kQueues>
inline void BasicBookSet<kQueues>::unlink(std::uint32_t node) noexcept {
  const Order& order = orders_[node];
  const std::uint32_t level_index = order.level;
  Level& level = levels_[level_index];
  if constexpr (kQueues) dequeue(level, order);
  SideHead& head = heads_[level.side];
  level.shares -= order.shares;
  orders_.erase(node);
  note_shares(head, level);
  if (--level.orders == 0) erase_level(head, level_index);
}

// The level of a price, opened if need be; kNoLevel when there is no room.
template <bool kQueues>
inline std::uint32_t BasicBookSet<kQueues>::level_for(std::uint32_t side,
                                                      std::uint32_t price) noexcept {
  const SideHead& head = heads_[side];
  const std::int32_t key = key_of(side, price);
  const detail::Rung* const rungs = ladders_.rungs(head.offset);
  const std::uint32_t at = detail::LadderStore::below(rungs, head.count, key);
  if (at < head.count && detail::key_at(rungs[at]) == key) return detail::level_at(rungs[at]);
  return open_level(side, at, price);
}

template <bool kQueues>
inline std::uint32_t BasicBookSet<kQueues>::open_level(std::uint32_t side, std::uint32_t at,
                                                       std::uint32_t price) noexcept {
  SideHead& head = heads_[side];
  if (levels_.full()) [[unlikely]]
    return kNoLevel;
  if (head.count == detail::LadderStore::room(head.capacity) &&
      !ladders_.grow(head.offset, head.capacity, head.count)) [[unlikely]]
    return kNoLevel;
  const std::uint32_t index = levels_.take();
  levels_[index] = {0, price, 0, 0, side, kNoOrder, kNoOrder};
  ladders_.open_gap(head.offset, at, head.count);
  ladders_.rungs(head.offset)[at] = detail::rung_of(key_of(side, price), index);
  ++head.count;
  // note_shares() follows and sets best_shares.
  head.best_price = select(at + 1 == head.count, price, head.best_price);
  return index;
}

template <bool kQueues>
inline void BasicBookSet<kQueues>::erase_level(SideHead& head, std::uint32_t level_index) noexcept {
  const Level& level = levels_[level_index];
  const detail::Rung* const rungs = ladders_.rungs(head.offset);
  const std::uint32_t at =
      detail::LadderStore::below(rungs, head.count, key_of(level.side, level.price));
  ladders_.close_gap(head.offset, at, head.count);
  levels_.give_back(level_index);
  if (at != --head.count) return;  // not the best
  const std::uint32_t best = head.count == 0 ? kNoLevel : detail::level_at(rungs[at - 1]);
  head.best_price = levels_[best].price;  // kNoLevel is a level without price and shares
  head.best_shares = levels_[best].shares;
}

template <bool kQueues>
inline Change BasicBookSet<kQueues>::take(std::uint64_t reference, std::uint32_t shares) noexcept {
  const std::uint32_t node = orders_.find(reference);
  if (node == kNoOrder) [[unlikely]]
    return refused(Status::kUnknownReference);
  Order& order = orders_[node];
  Level& level = levels_[order.level];
  Change change{Status::kOk, side_at(level.side), locate_at(level.side), level.price, shares, 0};
  if (shares >= order.shares) {
    change.shares = order.shares;
    unlink(node);
    return shares == change.shares ? done(change) : refused(Status::kSharesExceeded, change);
  }
  if (shares == 0) [[unlikely]] {
    change.remaining = order.shares;
    return refused(Status::kZeroShares, change);
  }
  order.shares -= shares;
  level.shares -= shares;
  note_shares(heads_[level.side], level);
  change.remaining = order.shares;
  return done(change);
}

template <bool kQueues>
inline Change BasicBookSet<kQueues>::remove(std::uint64_t reference) noexcept {
  const std::uint32_t node = orders_.find(reference);
  if (node == kNoOrder) [[unlikely]]
    return refused(Status::kUnknownReference);
  const Order& order = orders_[node];
  const Level& level = levels_[order.level];
  const Change change{Status::kOk, side_at(level.side), locate_at(level.side),
                      level.price, order.shares,        0};
  unlink(node);
  return done(change);
}

template <bool kQueues>
inline Change BasicBookSet<kQueues>::replace(std::uint64_t reference, std::uint64_t new_reference,
                                             std::uint32_t shares, std::uint32_t price) noexcept {
  const std::uint32_t node = orders_.find(reference);
  if (node == kNoOrder) [[unlikely]]
    return refused(Status::kUnknownReference);
  std::uint64_t user = 0;
  if constexpr (kQueues) user = orders_[node].user;
  const std::uint32_t side = levels_[orders_[node].level].side;
  unlink(node);
  return add(locate_at(side), new_reference, side_at(side), shares, price, user);
}

}  // namespace tickpath::book
