#include "sim/matching/types.hpp"

#include <array>

namespace tickpath::sim {

std::string_view describe(Reason reason) noexcept {
  static constexpr auto kTexts = std::to_array<std::string_view>({
      "",
      "unknown symbol",
      "duplicate ClOrdID",
      "instrument is not trading",
      "session is closed",
      "OrderQty (38) must be 1 to 999999 shares",
      "Price (44) must be above 0 and at most 199999.9900",
      "OrdType (40), Side (54) or TimeInForce (59) is not supported",
      "exchange tables are full",
      "unknown order",
      "order is done",
      "symbol or side differs from the order's",
      "new quantity is below what is filled",
      "nothing more to trade with at this price",
      "next in the book is an order of the same party",
      "end of session",
      "StopPx (99) must be above 0 and at most 199999.9900",
      "MaxFloor (111) is below the least display quantity",
      "ExecInst (18) 6: the order would trade on arrival",
      "fewer shares can trade than MinQty (110) or fill-or-kill asks for",
      "ExecInst (18), MaxFloor (111) or MinQty (110) does not go with 40 or 59",
      "Price (44) is outside the price bands",
      "the cross that the order is for is over",
      "more order messages than orders.rate_limit allows",
      "Price (44) is off the tick: whole cents from 1.00 up (Rule 612)",
      "StopPx (99) is off the tick: whole cents from 1.00 up (Rule 612)",
      "more than 255 accounts (1) or parties (448) in one session",
      "a term of the order is not supported",
  });
  static_assert(kTexts.size() == kReasonCount, "a text for each reason");
  const auto at = static_cast<std::size_t>(reason);
  return at < kTexts.size() ? kTexts[at] : "unknown reason";
}

std::string_view name(FillSource source) noexcept {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"none", "displayed", "execution", "crossing_add", "trade_through", "live", "cross"});
  static_assert(kNames.size() == kFillSourceCount, "a name for each source");
  const auto at = static_cast<std::size_t>(source);
  return at < kNames.size() ? kNames[at] : "unknown";
}

}  // namespace tickpath::sim
