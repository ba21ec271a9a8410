// Whether an order request makes sense, whoever asks: the engine refuses what does not, and so does
// oeg, which trusts nobody.
#pragma once

#include <cstdint>

#include "common/trading/order_terms.hpp"
#include "common/wire/order_messages.hpp"

namespace tickpath::wire {
namespace detail {

using trading::OrderType;
using trading::TimeInForce;

// The whole of it, out of the way of plain orders: a datapath that comes to an order once in a
// while reads its instructions from memory, line by line.
[[gnu::noinline]] constexpr bool all_terms_agree(const OrderRequest& r) noexcept {
  const bool side_ok = r.side == Side::kBuy || r.side == Side::kSell;
  if (!trading::is_known(r.time_in_force) || !side_ok || r.shares == 0) return false;
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
  if ((r.instructions & ~kPostOnly) != 0) return false;
  return trading::agree({r.type, r.time_in_force, (r.instructions & kPostOnly) != 0, r.shares,
                         r.display_shares, r.minimum_shares});
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
