#include "common/feeds/generator/detail/generated_book.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace tickpath::itch::detail {

std::uint32_t OrderPool::take() {
  if (free_.empty()) {
    orders_.emplace_back();
    return static_cast<std::uint32_t>(orders_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

// Index of the level with this price, or of the place where it belongs: everything before it is
// worse. Searched from the best, where prices mostly are.
std::size_t GeneratedBook::find_level(Side side, std::uint32_t price) const noexcept {
  const Levels& levels = levels_[slot(side)];
  std::size_t i = levels.size();
  while (i > 0 && is_better(side, levels[i - 1].price, price)) --i;
  return i > 0 && levels[i - 1].price == price ? i - 1 : i;
}

std::uint32_t GeneratedBook::add(std::uint64_t reference, Side side, std::uint32_t price,
                                 std::uint32_t shares) {
  const std::uint32_t other = best_price(opposite(side));
  // A bid below the best offer is what a better offer would be, and the other way round.
  TICKPATH_CHECK(other == 0 || is_better(opposite(side), price, other), "locked or crossed");
  Levels& levels = levels_[slot(side)];
  const std::size_t at = find_level(side, price);
  const std::uint32_t index = pool_->take();
  GeneratedOrder& order = (*pool_)[index];
  order = {.reference = reference,
           .shares = shares,
           .price = price,
           .next = kNoOrder,
           .previous = kNoOrder,
           .live_slot = static_cast<std::uint32_t>(live_.size()),
           .older = youngest_,
           .younger = kNoOrder,
           .side = side};
  if (youngest_ != kNoOrder) (*pool_)[youngest_].younger = index;
  youngest_ = index;
  if (at < levels.size() && levels[at].price == price) {
    order.previous = levels[at].last;
    (*pool_)[order.previous].next = index;
    levels[at].last = index;
  } else {
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(at), Level{price, index, index});
  }
  live_.push_back(index);
  ++orders_[slot(side)];
  return index;
}

void GeneratedBook::remove(std::uint32_t index) {
  const GeneratedOrder& order = (*pool_)[index];
  Levels& levels = levels_[slot(order.side)];
  const std::size_t at = find_level(order.side, order.price);
  Level& level = levels[at];
  if (order.previous != kNoOrder) (*pool_)[order.previous].next = order.next;
  if (order.next != kNoOrder) (*pool_)[order.next].previous = order.previous;
  if (level.first == index) level.first = order.next;
  if (level.last == index) level.last = order.previous;
  if (level.first == kNoOrder) levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(at));
  if (order.older != kNoOrder) (*pool_)[order.older].younger = order.younger;
  if (order.younger != kNoOrder) (*pool_)[order.younger].older = order.older;
  if (youngest_ == index) youngest_ = order.older;
  (*pool_)[live_.back()].live_slot = order.live_slot;
  live_[order.live_slot] = live_.back();
  live_.pop_back();
  --orders_[slot(order.side)];
  pool_->give_back(index);
}

std::uint32_t GeneratedBook::best_price(Side side) const noexcept {
  const Levels& levels = levels_[slot(side)];
  return levels.empty() ? 0 : levels.back().price;
}

std::uint32_t GeneratedBook::front(Side side) const noexcept {
  const Levels& levels = levels_[slot(side)];
  return levels.empty() ? kNoOrder : levels.back().first;
}

std::size_t GeneratedBook::orders_up_to(Side side, std::uint32_t price) const noexcept {
  const Levels& levels = levels_[slot(side)];
  std::size_t count = 0;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (is_better(side, price, level->price)) break;
    for (std::uint32_t i = level->first; i != kNoOrder; i = (*pool_)[i].next) ++count;
  }
  return count;
}

std::uint32_t GeneratedBook::pick(Random& random, std::size_t age_rank) const noexcept {
  if (age_rank >= kWalkMax || age_rank >= live_.size()) return live_[random.below(live_.size())];
  std::uint32_t index = youngest_;
  for (; age_rank > 0; --age_rank) index = (*pool_)[index].older;
  return index;
}

}  // namespace tickpath::itch::detail
