// What every ITCH message begins with.
#pragma once

#include <cstdint>

#include "common/base/units.hpp"

namespace tickpath::itch {

// Nasdaq TotalView-ITCH 5.0, "Message Formats": every message starts with
//   0 message type (1) | 1 stock locate (2) | 3 tracking number (2) | 5 timestamp (6)
// All integers are unsigned and big-endian. The type is each message struct's kType.
struct Header {
  std::uint16_t stock_locate = 0;  // the instrument's number for this day; 0: no instrument
  std::uint16_t tracking_number = 0;
  std::uint64_t timestamp = 0;  // ns since midnight; 48 bits on the wire

  friend constexpr bool operator==(const Header&, const Header&) = default;
};
inline constexpr std::size_t kHeaderBytes = 11;

// The Buy/Sell indicator as the rest of the pipeline has it; anything but 'B' sells.
constexpr Side side_of(char buy_sell_indicator) noexcept {
  return buy_sell_indicator == 'B' ? Side::kBuy : Side::kSell;
}
constexpr char indicator_of(Side side) noexcept { return side == Side::kBuy ? 'B' : 'S'; }

}  // namespace tickpath::itch
