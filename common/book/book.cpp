#include "common/book/book.hpp"

#include <cstring>
#include <string>

#include "common/base/error.hpp"

namespace tickpath::book {
namespace {

const Options& checked(const Options& options) {
  // Node numbers are 32 bits with two values reserved, and the reference table holds twice as many
  // slots, found by 29 bits of line number: 2^30 orders would need 48 GiB anyway.
  if (options.orders_max == 0 || options.orders_max > (1u << 30))
    throw Error("book: orders_max must be between 1 and 1073741824, not " +
                std::to_string(options.orders_max));
  if (options.levels_max == 0 || options.levels_max > (1u << 28))
    throw Error("book: levels_max must be between 1 and 268435456, not " +
                std::to_string(options.levels_max));
  return options;
}

}  // namespace

const char* to_string(Status status) noexcept {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kUnknownReference:
      return "unknown_reference";
    case Status::kDuplicateReference:
      return "duplicate_reference";
    case Status::kSharesExceeded:
      return "shares_exceeded";
    case Status::kZeroShares:
      return "zero_shares";
    case Status::kZeroPrice:
      return "zero_price";
    case Status::kOrdersFull:
      return "orders_full";
    case Status::kLevelsFull:
      return "levels_full";
  }
  return "?";
}

BookSet::BookSet(const Options& options)
    : options_(checked(options)),
      references_(options.orders_max),
      orders_(options.orders_max, "the orders"),
      levels_(options.levels_max, "the price levels"),
      ladders_(options.levels_max),
      symbols_(kLocatesMax, "the symbols") {}

Change BookSet::add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
                    std::uint32_t price, std::uint64_t user) noexcept {
  const Change change = place(locate, reference, side, shares, price, user);
  return change.ok() ? done(change) : refused(change.status, change);
}

// Adds without counting.
Change BookSet::place(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
                      std::uint32_t price, std::uint64_t user) noexcept {
  Change change{Status::kOk, side, locate, price, shares, shares};
  const auto refuse = [&change](Status status) {
    change.status = status;
    change.shares = change.remaining = 0;
    return change;
  };
  if (shares == 0) [[unlikely]]
    return refuse(Status::kZeroShares);
  if (price == 0) [[unlikely]]
    return refuse(Status::kZeroPrice);
  const std::size_t slot = slot_of(reference);
  if (!references_.empty_at(slot)) [[unlikely]]
    return refuse(Status::kDuplicateReference);
  if (orders_.full()) [[unlikely]]
    return refuse(Status::kOrdersFull);
  const std::uint32_t level_index = level_for(locate, side, price);
  if (level_index == kNoLevel) [[unlikely]]
    return refuse(Status::kLevelsFull);

  const std::uint32_t node = orders_.take();
  Level& level = levels_[level_index];
  orders_[node] = {reference, user, kNoOrder, level.tail, shares, level_index};
  if (level.tail != kNoOrder)
    orders_[level.tail].next = node;
  else
    level.next = node;
  level.tail = node;
  ++level.orders;
  level.shares += shares;
  SideHead& head = symbols_[locate].side(side);
  ++head.orders;
  if (price == head.best_price) head.best_shares = level.shares;
  references_.insert_at(slot, reference, node);
  resting_.set(orders_.in_use());
  if (orders_.in_use() > resting_max_.get()) resting_max_.set(orders_.in_use());
  return change;
}

// The level of a price, opened if need be; kNoLevel when there is no room.
std::uint32_t BookSet::level_for(Locate locate, Side side, std::uint32_t price) noexcept {
  SideHead& head = symbols_[locate].side(side);
  const std::int32_t key = key_of(side, price);
  std::uint32_t at = 0;
  if (head.count > 0) {
    const std::int32_t* keys = ladders_.keys(head.offset);
    at = detail::LadderStore::below(keys, head.count, key);
    if (at < head.count && keys[at] == key) return ladders_.levels(head.offset)[at];
  }
  return open_level(head, at, locate, side, price);
}

std::uint32_t BookSet::open_level(SideHead& head, std::uint32_t at, Locate locate, Side side,
                                  std::uint32_t price) noexcept {
  if (levels_.full()) [[unlikely]]
    return kNoLevel;
  if (head.count == head.capacity && !grow(head)) [[unlikely]]
    return kNoLevel;
  const std::uint32_t index = levels_.take();
  levels_[index] = {0, price, 0, kNoOrder, kNoOrder, locate, side, {}};
  std::int32_t* keys = ladders_.keys(head.offset);
  std::uint32_t* levels = ladders_.levels(head.offset);
  const std::size_t moved = head.count - at;
  std::memmove(keys + at + 1, keys + at, moved * sizeof(*keys));
  std::memmove(levels + at + 1, levels + at, moved * sizeof(*levels));
  keys[at] = key_of(side, price);
  levels[at] = index;
  if (++head.count == at + 1) head.best_price = price;  // the caller sets best_shares
  return index;
}

// Doubles the block of a side. False when the arena is used up.
bool BookSet::grow(SideHead& head) noexcept {
  const std::uint32_t capacity =
      head.capacity == 0 ? detail::LadderStore::kFirstCapacity : head.capacity * 2;
  const std::uint32_t offset = ladders_.take(capacity);
  if (offset == detail::LadderStore::kNone) return false;
  if (head.capacity > 0) {
    std::memcpy(ladders_.keys(offset), ladders_.keys(head.offset),
                head.count * sizeof(std::int32_t));
    std::memcpy(ladders_.levels(offset), ladders_.levels(head.offset),
                head.count * sizeof(std::uint32_t));
    ladders_.give_back(head.offset, head.capacity);
  }
  head.offset = offset;
  head.capacity = capacity;
  return true;
}

Change BookSet::take(std::uint64_t reference, std::uint32_t shares) noexcept {
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
  if (level.price == head.best_price) head.best_shares = level.shares;
  change.remaining = order.shares;
  return done(change);
}

Change BookSet::remove(std::uint64_t reference) noexcept {
  const std::size_t slot = slot_of(reference);
  if (references_.empty_at(slot)) [[unlikely]]
    return refused(Status::kUnknownReference);
  const std::uint32_t node = references_.node_at(slot);
  const Level& level = levels_[orders_[node].level];
  const Change change{Status::kOk, level.side, level.locate, level.price, orders_[node].shares, 0};
  unlink(slot, node);
  return done(change);
}

Change BookSet::replace(std::uint64_t reference, std::uint64_t new_reference, std::uint32_t shares,
                        std::uint32_t price) noexcept {
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

// Takes an order out of its queue, its level out of the ladder if that was the last.
void BookSet::unlink(std::size_t slot, std::uint32_t node) noexcept {
  const Order order = orders_[node];
  Level& level = levels_[order.level];
  if (order.previous != kNoOrder)
    orders_[order.previous].next = order.next;
  else
    level.next = order.next;
  if (order.next != kNoOrder)
    orders_[order.next].previous = order.previous;
  else
    level.tail = order.previous;
  SideHead& head = symbols_[level.locate].side(level.side);
  --head.orders;
  --level.orders;
  level.shares -= order.shares;
  if (level.orders == 0)
    erase_level(head, order.level);
  else if (level.price == head.best_price)
    head.best_shares = level.shares;
  references_.erase_at(slot);
  orders_.give_back(node);
  resting_.set(orders_.in_use());
}

void BookSet::erase_level(SideHead& head, std::uint32_t level_index) noexcept {
  const Level& level = levels_[level_index];
  std::int32_t* keys = ladders_.keys(head.offset);
  std::uint32_t* levels = ladders_.levels(head.offset);
  const std::uint32_t at =
      detail::LadderStore::below(keys, head.count, key_of(level.side, level.price));
  const std::size_t moved = --head.count - at;
  std::memmove(keys + at, keys + at + 1, moved * sizeof(*keys));
  std::memmove(levels + at, levels + at + 1, moved * sizeof(*levels));
  levels_.give_back(level_index);
  if (moved > 0) return;  // not the best
  if (head.count == 0) {
    head.best_price = 0;
    head.best_shares = 0;
    return;
  }
  const Level& best = levels_[levels[head.count - 1]];
  head.best_price = best.price;
  head.best_shares = best.shares;
}

void BookSet::drop_side(SideHead& head) noexcept {
  const std::uint32_t* levels = ladders_.levels(head.offset);
  for (std::uint32_t i = 0; i < head.count; ++i) {
    for (std::uint32_t node = levels_[levels[i]].next; node != kNoOrder;) {
      const std::uint32_t following = orders_[node].next;
      references_.erase_at(slot_of(orders_[node].reference));
      orders_.give_back(node);
      node = following;
    }
    levels_.give_back(levels[i]);
  }
  // Blocks of uncommon size go back; the side keeps none, so that a day of changing symbols cannot
  // use the arena up.
  if (head.capacity > 0) ladders_.give_back(head.offset, head.capacity);
  head = {};
  resting_.set(orders_.in_use());
}

void BookSet::clear(Locate locate) noexcept {
  for (SideHead& head : symbols_[locate].sides) drop_side(head);
}

void BookSet::clear() noexcept {
  for (std::size_t locate = 0; locate < kLocatesMax; ++locate) clear(static_cast<Locate>(locate));
}

}  // namespace tickpath::book
