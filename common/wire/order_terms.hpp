// Which terms of an order go together: one answer for the engine, which refuses what it is asked
// for, and for oeg, which trusts nobody. sim's matching has the venue's own (sim/matching).
#pragma once

#include <cstdint>

#include "common/wire/order_messages.hpp"

namespace tickpath::wire {

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

namespace detail {

// Beyond a plain limit or market order.
constexpr bool special_terms_agree(const OrderRequest& r) noexcept {
  const bool market = r.type == OrderType::kMarket || r.type == OrderType::kStop;
  const bool waits = has_stop(r.type) || r.type == OrderType::kPegged;
  const bool post_only = (r.instructions & kPostOnly) != 0;
  if ((r.instructions & ~kPostOnly) != 0) return false;
  if (waits && is_immediate(r.time_in_force)) return false;
  if (is_on_cross(r.time_in_force) && (waits || post_only || r.display_shares != 0)) return false;
  if (post_only && (is_immediate(r.time_in_force) || r.type != OrderType::kLimit)) return false;
  if (r.display_shares != 0 && (is_immediate(r.time_in_force) || market)) return false;
  return r.minimum_shares == 0 || (is_immediate(r.time_in_force) && r.minimum_shares <= r.shares);
}

// The whole of it, out of the way of plain orders: a datapath that comes to an order once in a
// while reads its instructions from memory, line by line.
[[gnu::noinline]] constexpr bool all_terms_agree(const OrderRequest& r) noexcept {
  constexpr std::uint32_t kTimes = 1u << static_cast<unsigned>(TimeInForce::kDay) |
                                   1u << static_cast<unsigned>(TimeInForce::kGoodTillCancel) |
                                   1u << static_cast<unsigned>(TimeInForce::kAtTheOpening) |
                                   1u << static_cast<unsigned>(TimeInForce::kImmediateOrCancel) |
                                   1u << static_cast<unsigned>(TimeInForce::kFillOrKill) |
                                   1u << static_cast<unsigned>(TimeInForce::kAtTheClose);
  const auto time = static_cast<unsigned>(r.time_in_force);
  const bool time_ok = time < 32 && (kTimes >> time & 1) != 0;
  const bool side_ok = r.side == Side::kBuy || r.side == Side::kSell;
  if (!time_ok || !side_ok || r.shares == 0) return false;
  const bool price_fits = r.price.value >= 0 && r.price.value <= 0xffff'ffff;
  const bool priced = r.price.value != 0;
  switch (r.type) {
    case OrderType::kLimit:
    case OrderType::kStopLimit:
      if (!price_fits || !priced) return false;
      break;
    case OrderType::kMarket:
    case OrderType::kStop:
      if (priced) return false;
      break;
    case OrderType::kPegged:  // the price is a limit to it, if there is one
      if (!price_fits) return false;
      break;
    default:
      return false;
  }
  if (has_stop(r.type) != (r.stop_price != 0)) return false;
  return special_terms_agree(r);
}

// A limit order that rests, post-only or not, or trades on arrival, and asks for nothing else.
constexpr bool is_plain(const OrderRequest& r) noexcept {
  const unsigned allowed = r.time_in_force == TimeInForce::kDay ? unsigned{kPostOnly} : 0u;
  return r.type == OrderType::kLimit &&
         (r.time_in_force == TimeInForce::kDay ||
          r.time_in_force == TimeInForce::kImmediateOrCancel) &&
         ((r.instructions & ~allowed) | r.stop_price | r.display_shares | r.minimum_shares) == 0;
}

}  // namespace detail

// The terms of a new order or a replacement; prices are at most 32 bits.
constexpr bool terms_agree(const OrderRequest& r) noexcept {
  if (!detail::is_plain(r)) [[unlikely]]
    return detail::all_terms_agree(r);
  return (r.side == Side::kBuy || r.side == Side::kSell) && r.shares != 0 && r.price.value > 0 &&
         r.price.value <= 0xffff'ffff;
}

}  // namespace tickpath::wire
