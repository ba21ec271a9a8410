// oeg -> risk (READ): what each strategy holds, to reconcile with the drop copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tickpath::wire {

// One for each (strategy, instrument) that ever had an order.
struct PositionRow {
  std::uint32_t instrument_id;
  std::uint8_t strategy_id;
  std::uint8_t reserved[3];
  std::int64_t position_shares;  // bought less sold
  std::int64_t cash;             // 1/10,000: sold less bought
  std::uint32_t open_buy_shares;
  std::uint32_t open_sell_shares;
  std::uint32_t events;  // drop-copy events included: those up to this OrderEvent::row_event
  std::uint32_t fills;
  std::int64_t fees;  // 1/1,000,000: paid to the venue, below 0 received; in no cash
};
static_assert(std::is_trivially_copyable_v<PositionRow>);
static_assert(sizeof(PositionRow) == 48 && offsetof(PositionRow, position_shares) == 8 &&
              offsetof(PositionRow, fees) == 40);

// Travels as a VersionedRecord row of a remote table; 56 bytes, so that with its version it fills
// one line. A position outlives mdh's runs, and what mdh calls by its id then may be another
// symbol.
struct NamedPosition {
  PositionRow row;
  std::uint64_t symbol;  // symbol_word(): what oeg knows the id as; 0: nothing yet
};
static_assert(std::is_trivially_copyable_v<NamedPosition>);
static_assert(sizeof(NamedPosition) == 56 && offsetof(NamedPosition, symbol) == 48);

}  // namespace tickpath::wire
