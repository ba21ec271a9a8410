// The limits that oeg checks every order against: its own, and those of risk's control block, of
// which the smaller counts.
//
// ROW(key, type, the largest that a configuration may have, unit, reject reason, help), in the
// order of the checks. 64 bits are money in 1/10,000, without a unit and with config::kMoneyMax as
// the largest. A new limit is a row here, a field of wire::ControlBlock, and its check, which bears
// its key (oeg/risk_checks.hpp); what is missing does not compile.
#pragma once

#include <cstdint>

namespace tickpath::trading {

// clang-format off
#define TICKPATH_ORDER_LIMITS(ROW)                                                                 \
  ROW(order_shares_max, std::uint32_t, 0xffff'ffff, "shares", kOrderSize,                          \
      "Largest order; 0 here and below: no such limit")                                            \
  ROW(order_value_max, std::uint64_t, 0, "", kOrderValue,                                          \
      "Largest value of an order: shares times its limit; of a sell times the best bid if that "   \
      "is higher, of a market order times the worst price that the collar allows. Without a good " \
      "market a sell has no value and is refused")                                                 \
  /* beyond 10,000 % it is none */                                                                 \
  ROW(collar_basis_points, std::uint32_t, 1'000'000, "1/100 %", kPriceCollar,                      \
      "How much worse than the opposite best price a limit may be")                                \
  ROW(reference_basis_points, std::uint32_t, 1'000'000, "1/100 %", kNoMarket,                      \
      "How far beyond the last trade an opposite best price counts, for collar and value; before " \
      "the first trade, beyond the best price of its own side")                                    \
  ROW(open_orders_max, std::uint32_t, 0xffff'ffff, "orders", kOpenOrders,                          \
      "Open orders of a strategy")                                                                 \
  ROW(position_shares_max, std::uint32_t, 0xffff'ffff, "shares", kPositionLimit,                   \
      "Position of a strategy in an instrument if all that is open were filled")                   \
  ROW(position_value_max, std::uint64_t, 0, "", kPositionLimit,                                    \
      "The same position at the order's price")                                                    \
  ROW(gross_value_max, std::uint64_t, 0, "", kGrossLimit,                                          \
      "Value of a strategy's positions, long and short, in all instruments together, if all that " \
      "is open on the worse side of each were filled")                                             \
  ROW(total_gross_value_max, std::uint64_t, 0, "", kGrossLimit,                                    \
      "The same of all strategies of this gateway together")                                       \
  ROW(messages_per_second_max, std::uint32_t, 0xffff'ffff, "messages/s", kMessageRate,             \
      "New orders and replacements of a strategy; cancels always pass")
// clang-format on

// Every limit is inclusive; 0: no such limit.
struct OrderLimits {
#define TICKPATH_LIMIT(key, type, most, unit, reason, help) type key = 0;
  TICKPATH_ORDER_LIMITS(TICKPATH_LIMIT)
#undef TICKPATH_LIMIT
};

inline constexpr OrderLimits kOrderLimitsMost{
#define TICKPATH_MOST(key, type, most, unit, reason, help) .key = most,
    TICKPATH_ORDER_LIMITS(TICKPATH_MOST)
#undef TICKPATH_MOST
};

}  // namespace tickpath::trading
