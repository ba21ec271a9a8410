#include "common/feeds/recordings/detail/lobster_orders.hpp"

#include <algorithm>

namespace tickpath::itch::detail {

const LobsterPlace* LobsterOrders::find(std::uint64_t id) const noexcept {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &found->second;
}

const LobsterQueue& LobsterOrders::queue(LobsterPlace place) const noexcept {
  static const LobsterQueue kNone;
  const Levels& side = levels(place.side);
  const auto level = side.find(rank_of(place.side, place.price));
  return level == side.end() ? kNone : level->second;
}

std::uint32_t LobsterOrders::shares_of(std::uint64_t id) const noexcept {
  const LobsterPlace* place = find(id);
  if (place == nullptr) return 0;
  return std::ranges::find(queue(*place), id, &LobsterOrder::id)->shares;
}

bool LobsterOrders::add(std::uint64_t id, std::uint32_t shares, LobsterPlace place) {
  if (!places_.emplace(id, place).second) return false;
  levels_[index(place.side)][rank_of(place.side, place.price)].push_back({id, shares});
  return true;
}

void LobsterOrders::take(std::uint64_t id, std::uint32_t shares) {
  const auto found = places_.find(id);
  const LobsterPlace place = found->second;
  Levels& side = levels_[index(place.side)];
  const auto level = side.find(rank_of(place.side, place.price));
  const auto order = std::ranges::find(level->second, id, &LobsterOrder::id);
  order->shares -= shares;
  if (order->shares > 0) return;
  level->second.erase(order);
  if (level->second.empty()) side.erase(level);
  places_.erase(found);
}

}  // namespace tickpath::itch::detail
