// risk -> oeg (WRITE): limits and the kill switch. Only risk is granted the right to write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tickpath::wire {

inline constexpr std::size_t kMaxStrategies = 256;  // strategy ids are one byte

// Travels as a VersionedRecord (common/link): oeg sees a whole block or the one before. Every limit
// is inclusive ("at most"); 0 means "no such limit".
struct ControlBlock {
  std::uint64_t generation;         // raised by every write of risk
  std::uint64_t kill_all;           // 1: no new order, no replacement; cancels pass
  std::uint64_t kill_strategy[4];   // bit per strategy id
  std::int64_t order_value_max;     // 1/10,000 of the currency
  std::int64_t position_value_max;  // per instrument and strategy, 1/10,000
  std::uint32_t order_shares_max;
  std::uint32_t position_shares_max;      // per instrument and strategy, absolute
  std::uint32_t open_orders_max;          // per strategy
  std::uint32_t messages_per_second_max;  // per strategy
  std::uint32_t collar_basis_points;      // limit price against the opposite best price
  std::uint32_t reserved;

  bool killed(std::uint8_t strategy) const noexcept {
    return kill_all != 0 || (kill_strategy[strategy >> 6] >> (strategy & 63) & 1) != 0;
  }
};
static_assert(std::is_trivially_copyable_v<ControlBlock>);
static_assert(sizeof(ControlBlock) == 88 && offsetof(ControlBlock, order_shares_max) == 64);

}  // namespace tickpath::wire
