// mdh -> anyone (READ): one row an instrument, in the order of the dense ids that mdh gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tickpath::wire {

struct DirectoryEntry {
  char symbol[16];  // space-padded on the right, as ITCH pads (8 characters used)
  std::uint32_t instrument_id;
  std::uint32_t round_lot_shares;
  std::uint16_t feed_locate;  // ITCH stock locate of the current session
  char market_category;       // ITCH 1.2.1 "Stock Directory"
  char financial_status;
  std::uint8_t reserved[4];

  std::string_view name() const noexcept {
    std::size_t length = sizeof(symbol);
    while (length > 0 && (symbol[length - 1] == ' ' || symbol[length - 1] == '\0')) --length;
    return {symbol, length};
  }
};
static_assert(std::is_trivially_copyable_v<DirectoryEntry>);
static_assert(sizeof(DirectoryEntry) == 32 && offsetof(DirectoryEntry, feed_locate) == 24);

}  // namespace tickpath::wire
