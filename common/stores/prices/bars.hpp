// How a bar grows by a trade.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/wire/prices.hpp"

namespace tickpath::prices {

inline void add_trade(wire::PriceBar& bar, std::uint64_t start_ns, std::uint32_t price,
                      std::uint32_t shares) noexcept {
  if (bar.trades == 0) {
    bar.start_ns = start_ns;
    bar.open = bar.high = bar.low = price;
  }
  bar.high = std::max(bar.high, price);
  bar.low = std::min(bar.low, price);
  bar.close = price;
  bar.volume += shares;
  const std::uint64_t value = std::uint64_t{price} * shares;
  // 4.3e9 shares at the highest Price(4) in one bar: more than any venue has traded.
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bar.notional = most - bar.notional < value ? most : bar.notional + value;
  ++bar.trades;
}

// Where the bar begins that a trade of that time counts in.
constexpr std::uint64_t bar_start(wire::HistoryKind kind, std::uint64_t time_ns) noexcept {
  return time_ns - time_ns % wire::length_ns(kind);
}

}  // namespace tickpath::prices
