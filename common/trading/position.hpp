// What an execution does to a position and its cash. All who keep positions call apply_fill(), so
// that their sums are equal to the last digit.
#pragma once

#include <cstdint>

#include "common/base/saturating.hpp"
#include "common/base/units.hpp"

namespace tickpath::trading {

// An execution, or the end of one.
struct Fill {
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
  ExecutedPrice price{};
  bool stands = true;  // false: the venue takes it back

  constexpr bool adds_shares() const noexcept { return (side == Side::kBuy) == stands; }
};

// shares: bought less sold. cash: sold less bought, in 1/10,000. Both saturate instead of wrapping,
// so that a limit still sees something enormous; from then on they are not exact.
constexpr void apply_fill(const Fill& fill, std::int64_t& shares, std::int64_t& cash) noexcept {
  const std::uint64_t value = executed_value(fill.shares, fill.price);
  if (fill.adds_shares()) {
    shares = saturating_add(shares, fill.shares);
    cash = saturating_subtract(cash, value);
  } else {
    shares = saturating_subtract(shares, fill.shares);
    cash = saturating_add(cash, value);
  }
}

// fills counts the executions that stand.
template <class Count>
constexpr void apply_fill(const Fill& fill, std::int64_t& shares, std::int64_t& cash,
                          Count& fills) noexcept {
  apply_fill(fill, shares, cash);
  fill.stands ? ++fills : --fills;
}

}  // namespace tickpath::trading
