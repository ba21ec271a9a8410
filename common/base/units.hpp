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

// Cash in the same 1/10,000: price times shares.
struct Cash {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Cash, Cash) = default;
  friend constexpr Cash operator+(Cash a, Cash b) { return {a.value + b.value}; }
  friend constexpr Cash operator-(Cash a, Cash b) { return {a.value - b.value}; }
};
constexpr Cash operator*(Price price, std::int64_t shares) { return {price.value * shares}; }

// Raw time stamp counter; comparable on one host only (see common/clock).
struct TscTicks {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(TscTicks, TscTicks) = default;
  friend constexpr TscTicks operator-(TscTicks a, TscTicks b) { return {a.value - b.value}; }
};

enum class Side : std::uint8_t { kBuy = 1, kSell = 2 };  // the values of FIX tag 54

constexpr Side opposite(Side side) { return side == Side::kBuy ? Side::kSell : Side::kBuy; }

}  // namespace tickpath
