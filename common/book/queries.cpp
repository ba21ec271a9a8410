// What can be asked of the books: levels, queues, and whether everything still agrees.
#include <limits>

#include "common/base/check.hpp"
#include "common/book/book.hpp"

namespace tickpath::book {

LevelView BookSet::level(Locate locate, Side side, std::uint32_t rank) const noexcept {
  const SideHead& head = symbols_[locate].side(side);
  if (rank >= head.count) return {};
  const Level& level = levels_[ladders_.levels(head.offset)[head.count - 1 - rank]];
  return {level.price, level.orders, level.shares};
}

std::size_t BookSet::levels(Locate locate, Side side, std::span<LevelView> out) const noexcept {
  const SideHead& head = symbols_[locate].side(side);
  const std::size_t filled = out.size() < head.count ? out.size() : head.count;
  if (filled == 0) return 0;
  const std::uint32_t* best = ladders_.levels(head.offset) + head.count - 1;
  for (std::size_t i = 0; i < filled; ++i) detail::prefetch_line(&levels_[*(best - i)]);
  for (std::size_t i = 0; i < filled; ++i) {
    const Level& level = levels_[*(best - i)];
    out[i] = {level.price, level.orders, level.shares};
  }
  return filled;
}

std::uint32_t BookSet::level_index_at(Locate locate, Side side,
                                      std::uint32_t price) const noexcept {
  const SideHead& head = symbols_[locate].side(side);
  if (head.count == 0) return kNoLevel;
  const std::int32_t key = key_of(side, price);
  const std::int32_t* keys = ladders_.keys(head.offset);
  const std::uint32_t at = detail::LadderStore::below(keys, head.count, key);
  return at < head.count && keys[at] == key ? ladders_.levels(head.offset)[at] : kNoLevel;
}

LevelView BookSet::level_at(Locate locate, Side side, std::uint32_t price) const noexcept {
  const std::uint32_t index = level_index_at(locate, side, price);
  if (index == kNoLevel) return {};
  const Level& level = levels_[index];
  return {level.price, level.orders, level.shares};
}

OrderView BookSet::order(Handle handle) const noexcept {
  const Order& order = orders_[handle];
  const Level& level = levels_[order.level];
  return {order.reference, order.user, level.price, order.shares, level.locate, level.side};
}

Handle BookSet::front(Locate locate, Side side) const noexcept {
  const SideHead& head = symbols_[locate].side(side);
  if (head.count == 0) return kNoOrder;
  return levels_[ladders_.levels(head.offset)[head.count - 1]].next;
}

Handle BookSet::front(Locate locate, Side side, std::uint32_t price) const noexcept {
  const std::uint32_t index = level_index_at(locate, side, price);
  return index == kNoLevel ? kNoOrder : levels_[index].next;
}

Ahead BookSet::ahead_of(Handle handle) const noexcept {
  Ahead ahead;
  for (Handle at = previous(handle); at != kNoOrder; at = previous(at)) {
    ++ahead.orders;
    ahead.shares += orders_[at].shares;
  }
  return ahead;
}

void BookSet::verify_level(const Level& level) const {
  std::uint64_t shares = 0;
  std::uint32_t orders = 0;
  std::uint32_t last = kNoOrder;
  for (std::uint32_t node = level.next; node != kNoOrder; node = orders_[node].next) {
    const Order& order = orders_[node];
    TICKPATH_CHECK(&levels_[order.level] == &level, "an order stands in the queue of its level");
    TICKPATH_CHECK(order.previous == last, "queue links agree both ways");
    TICKPATH_CHECK(order.shares > 0, "no empty order rests");
    TICKPATH_CHECK(find(order.reference) == node, "a resting order is found by its reference");
    shares += order.shares;
    ++orders;
    last = node;
  }
  TICKPATH_CHECK(level.last == last && orders > 0, "a level holds orders and knows its last");
  TICKPATH_CHECK(level.orders == orders && level.shares == shares, "sums of a level agree");
}

void BookSet::verify_side(Locate locate, Side side) const {
  const SideHead& head = symbols_[locate].side(side);
  std::int64_t last_key = std::numeric_limits<std::int64_t>::min();
  std::uint32_t orders = 0;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    const Level& level = levels_[ladders_.levels(head.offset)[i]];
    const std::int32_t key = ladders_.keys(head.offset)[i];
    TICKPATH_CHECK(key > last_key && key == key_of(side, level.price), "the ladder is sorted");
    TICKPATH_CHECK(level.locate == locate && level.side == side, "a level is on its own side");
    verify_level(level);
    orders += level.orders;
    last_key = key;
  }
  const LevelView best = level(locate, side, 0);
  TICKPATH_CHECK(head.best_price == best.price && head.best_shares == best.shares,
                 "the best quote is that of the best level");
  TICKPATH_CHECK(head.orders == orders, "orders of a side are counted");
}

void BookSet::verify() const {
  std::uint64_t orders = 0;
  std::uint64_t levels = 0;
  for (std::size_t i = 0; i < kLocatesMax; ++i) {
    for (const Side side : {Side::kBuy, Side::kSell}) {
      const auto locate = static_cast<Locate>(i);
      verify_side(locate, side);
      orders += symbols_[locate].side(side).orders;
      levels += symbols_[locate].side(side).count;
    }
  }
  TICKPATH_CHECK(orders == orders_.in_use() && levels == levels_.in_use(), "no node is lost");
}

}  // namespace tickpath::book
