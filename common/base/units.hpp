// Units that never convert silently. Everything here is trivially copyable and may go on the wire.
#pragma once

#include <compare>
#include <cstdint>

namespace tickpath {

// Fixed point, 1/10,000 of the currency unit: ITCH's Price(4) (Nasdaq TotalView-ITCH 5.0, "Data
// Types"), widened so that values times quantities cannot overflow.
struct Price {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Price, Price) = default;
  friend constexpr Price operator+(Price a, Price b) { return {a.value + b.value}; }
  friend constexpr Price operator-(Price a, Price b) { return {a.value - b.value}; }
  friend constexpr Price operator-(Price a) { return {-a.value}; }
};
inline constexpr std::int64_t kPriceScale = 10'000;

// What an execution was done at. Orders have Price(4); venues execute at the middle of two such
// prices, and at averages, and report five or six decimals.
struct ExecutedPrice {
  std::uint32_t price = 0;      // Price(4)
  std::uint8_t hundredths = 0;  // of 1/10,000: the fifth and sixth decimal

  friend constexpr auto operator<=>(ExecutedPrice, ExecutedPrice) = default;
};

// Cash that an execution moves, in 1/10,000: rounded once, for all its shares together, half away
// from zero. A cancellation of the execution gives back what it took. Below 2^64 for any argument.
constexpr std::uint64_t executed_value(std::uint32_t shares, ExecutedPrice at) noexcept {
  return std::uint64_t{shares} * at.price + (std::uint64_t{shares} * at.hundredths + 50) / 100;
}

// Raw time stamp counter; comparable on one host only (see common/clock).
struct TscTicks {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(TscTicks, TscTicks) = default;
  friend constexpr TscTicks operator-(TscTicks a, TscTicks b) { return {a.value - b.value}; }
};

enum class Side : std::uint8_t { kBuy = 1, kSell = 2 };  // the values of FIX tag 54

constexpr Side opposite(Side side) { return side == Side::kBuy ? Side::kSell : Side::kBuy; }

}  // namespace tickpath
