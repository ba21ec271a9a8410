// The orders of a LOBSTER recording that are open, by id and by place in the book.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "common/base/units.hpp"

namespace tickpath::itch::detail {

// How good a price is: less is better, on either side.
constexpr std::uint32_t rank_of(Side side, std::uint32_t price) noexcept {
  return side == Side::kBuy ? std::numeric_limits<std::uint32_t>::max() - price : price;
}
constexpr std::uint32_t price_of(Side side, std::uint32_t rank) noexcept {
  return rank_of(side, rank);  // it is its own inverse
}
// Whether an order could trade with one of the other side at `other`.
constexpr bool crosses(Side side, std::uint32_t price, std::uint32_t other) noexcept {
  return side == Side::kBuy ? price >= other : price <= other;
}

struct LobsterOrder {
  std::uint64_t id = 0;
  std::uint32_t shares = 0;
};
struct LobsterPlace {
  Side side = Side::kBuy;
  std::uint32_t price = 0;
};
using LobsterQueue = std::vector<LobsterOrder>;  // the order that came first is first

// Ids that LOBSTER does not give: of shares in its orderbook file whose orders it does not name.
// From 2^63 on are sim's own numbers (feed_sink.hpp), which no recording may have.
inline constexpr std::uint64_t kUnnamedId = std::uint64_t{1} << 62;
constexpr bool is_unnamed(std::uint64_t id) noexcept { return (id & kUnnamedId) != 0; }

class LobsterOrders {
 public:
  using Levels = std::map<std::uint32_t, LobsterQueue>;  // by rank: the best level is first

  const Levels& levels(Side side) const noexcept { return levels_[index(side)]; }
  // Where the order with this id is; nullptr: it is not open.
  const LobsterPlace* find(std::uint64_t id) const noexcept;
  // Empty for a price without orders.
  const LobsterQueue& queue(LobsterPlace place) const noexcept;
  // The shares of an open order.
  std::uint32_t shares_of(std::uint64_t id) const noexcept;

  // False: an order with this id is open already.
  bool add(std::uint64_t id, std::uint32_t shares, LobsterPlace place);
  // Takes shares from an open order, which has as many at least; without any left it is gone.
  void take(std::uint64_t id, std::uint32_t shares);

 private:
  static std::size_t index(Side side) noexcept { return side == Side::kBuy ? 0 : 1; }

  std::unordered_map<std::uint64_t, LobsterPlace> places_;
  Levels levels_[2];
};

}  // namespace tickpath::itch::detail
