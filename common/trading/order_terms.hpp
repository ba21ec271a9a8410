// Which terms of an order go together: one answer for the engine, for oeg, which trusts nobody, and
// for the venue.
#pragma once

#include <cstdint>

#include "common/trading/vocabulary.hpp"

namespace tickpath::trading {

constexpr bool has_limit(OrderType type) noexcept {
  return type == OrderType::kLimit || type == OrderType::kStopLimit;
}
constexpr bool has_stop(OrderType type) noexcept {
  return type == OrderType::kStop || type == OrderType::kStopLimit;
}
// Trades on arrival what it can, and never rests.
constexpr bool is_immediate(TimeInForce time) noexcept {
  return time == TimeInForce::kImmediateOrCancel || time == TimeInForce::kFillOrKill;
}
// Works on at the venue when its day is over.
constexpr bool outlives_day(TimeInForce time) noexcept {
  return time == TimeInForce::kGoodTillCancel;
}
constexpr bool is_on_cross(TimeInForce time) noexcept {
  return time == TimeInForce::kAtTheOpening || time == TimeInForce::kAtTheClose;
}
// What waits at the venue for a price: its limit, its stop price and its size can be changed there.
constexpr bool is_replaceable(OrderType type) noexcept {
  return type == OrderType::kLimit || type == OrderType::kPegged || has_stop(type);
}

// What an order asks for, its prices apart.
struct Terms {
  OrderType type;
  TimeInForce time_in_force;
  bool post_only;
  std::uint32_t shares;
  std::uint32_t display_shares;  // shown at a time; 0: all
  std::uint32_t minimum_shares;  // at least so many at once; 0: any
};

// No two of them contradict each other.
constexpr bool agree(const Terms& terms) noexcept {
  const bool immediate = is_immediate(terms.time_in_force);
  const bool market = terms.type == OrderType::kMarket || terms.type == OrderType::kStop;
  const bool waits = has_stop(terms.type) || terms.type == OrderType::kPegged;
  const bool displays = terms.display_shares != 0;
  if (waits && immediate) return false;
  if (is_on_cross(terms.time_in_force) && (waits || terms.post_only || displays)) return false;
  if (terms.post_only && (immediate || terms.type != OrderType::kLimit)) return false;
  if (displays && (immediate || market)) return false;
  return terms.minimum_shares == 0 || (immediate && terms.minimum_shares <= terms.shares);
}

}  // namespace tickpath::trading
