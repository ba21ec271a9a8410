// An order of the reference market: recorded or ours.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/matching/types.hpp"

namespace tickpath::sim {

struct ReferenceOrder {
  bool recorded;
  std::uint64_t id;
  unsigned locate;
  Side side;
  std::uint32_t price;
  std::uint32_t shares;  // that remain; recorded: of which `taken` are ours already
  std::uint32_t taken = 0;
  std::uint32_t filled = 0;  // live, as all that follow
  std::uint64_t arrival = 0;
  Party party{};
  OrderType type = OrderType::kLimit;
  TimeInForce time_in_force = TimeInForce::kDay;
  std::uint32_t stop_price = 0;
  std::uint32_t limit = 0;    // pegged
  std::uint32_t display = 0;  // 0: all
  std::uint32_t slice = 0;
  bool post_only = false;
  std::uint64_t entry = 0;
  bool in_book = true;
  std::optional<CrossKind> on_cross = {};  // waits for it

  std::uint32_t worst = 0;  // price that it takes, while it takes

  bool waits() const { return type == OrderType::kStop || type == OrderType::kStopLimit; }
  std::uint32_t shown() const { return recorded ? shares - taken : display != 0 ? slice : shares; }
  bool accepts(std::uint32_t other_price) const {
    return side == Side::kBuy ? other_price <= worst : other_price >= worst;
  }
};

// Both on one side.
inline bool before(const ReferenceOrder& a, const ReferenceOrder& b) {
  if (a.price != b.price) return a.side == Side::kBuy ? a.price > b.price : a.price < b.price;
  return a.arrival < b.arrival;
}
inline bool stops_sooner(const ReferenceOrder& a, const ReferenceOrder& b) {
  if (a.stop_price == b.stop_price) return a.arrival < b.arrival;
  return a.side == Side::kBuy ? a.stop_price < b.stop_price : a.stop_price > b.stop_price;
}

inline bool replaced_in_place(const ReferenceOrder& o, const ReplaceOrder& r) {
  const bool fewer = r.shares < o.shares + o.filled;
  switch (o.type) {
    case OrderType::kPegged:
      return fewer && r.price.value == o.limit;
    case OrderType::kStop:
      return fewer && r.stop_price.value == o.stop_price;
    case OrderType::kStopLimit:
      return fewer && r.stop_price.value == o.stop_price && r.price.value == o.price;
    default:
      return fewer && r.price.value == o.price;
  }
}

}  // namespace tickpath::sim
