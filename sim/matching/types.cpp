#include "sim/matching/types.hpp"

#include <array>

namespace tickpath::sim {

std::string_view describe(Reason reason) noexcept {
  static constexpr std::array<std::string_view, kReasonCount> kTexts{
      "",
      "unknown symbol",
      "duplicate ClOrdID",
      "instrument is not trading",
      "session is closed",
      "quantity must be 1 to 999999 shares",
      "price must be above 0 and at most 199999.9900",
      "order type, side or time in force is not supported",
      "exchange tables are full",
      "unknown order",
      "order is done",
      "symbol or side differs from the order's",
      "new quantity is below what is filled",
      "nothing more to trade with at this price",
      "next in the book is an order of the same strategy",
      "end of session",
  };
  const auto at = static_cast<std::size_t>(reason);
  return at < kTexts.size() ? kTexts[at] : "unknown reason";
}

std::string_view name(FillSource source) noexcept {
  static constexpr std::array<std::string_view, kFillSourceCount> kNames{
      "none", "displayed", "execution", "crossing_add", "trade_through", "live"};
  const auto at = static_cast<std::size_t>(source);
  return at < kNames.size() ? kNames[at] : "unknown";
}

}  // namespace tickpath::sim
