// risk -> oeg (WRITE): limits and the kill switch. Only risk is granted the right to write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/kill.hpp"

namespace tickpath::wire {

inline constexpr std::size_t kMaxStrategies = 256;  // strategy ids are one byte

// Travels as a VersionedRecord (common/link): oeg sees a whole block or the one before. Every limit
// is inclusive ("at most"); 0 means "no such limit".
//
// Before its first write on a connection risk READs what is there: kills that it does not know it
// takes over, and goes on from their kill_version.
struct ControlBlock {
  std::uint64_t generation;            // raised by every write of risk
  std::uint64_t kill_all;              // 1: no new order, no replacement; cancels pass
  std::uint64_t kill_strategy[4];      // bit per strategy id
  std::int64_t order_value_max;        // 1/10,000 of the currency
  std::int64_t position_value_max;     // per instrument and strategy, 1/10,000
  std::int64_t gross_value_max;        // per strategy, over all instruments, 1/10,000
  std::int64_t total_gross_value_max;  // of all strategies, 1/10,000
  std::uint32_t order_shares_max;
  std::uint32_t position_shares_max;      // per instrument and strategy, absolute
  std::uint32_t open_orders_max;          // per strategy
  std::uint32_t messages_per_second_max;  // per strategy
  std::uint32_t collar_basis_points;      // limit price against the opposite best price
  std::uint32_t reference_basis_points;   // opposite best price against the last trade
  std::uint32_t reserved;
  std::uint32_t cancel_all;          // beside kill_all; 1: and what is open is cancelled
  std::uint64_t cancel_strategy[4];  // beside kill_strategy; the same
  std::uint64_t kill_version;  // raised by every change of the kill switch, over restarts of risk
  // The record of one kill: the newest in the first block that has it, then each in turn. Shown to
  // people; the bits above are what counts.
  KillRecord kill;

  bool kill_bit(std::uint32_t id) const noexcept {
    return id == kKillAll ? kill_all != 0 : is_set(kill_strategy, id);
  }
  bool cancel_bit(std::uint32_t id) const noexcept {
    return id == kKillAll ? cancel_all != 0 : is_set(cancel_strategy, id);
  }
  // cancel: its open orders, too; means nothing where the kill is not on.
  void set_kill(std::uint32_t id, bool on, bool cancel) noexcept {
    if (id == kKillAll) {
      kill_all = on ? 1 : 0;
      cancel_all = on && cancel ? 1 : 0;
    } else {
      set(kill_strategy, id, on);
      set(cancel_strategy, id, on && cancel);
    }
  }
  // The kill switch of another block; limits stay.
  void take_kills(const ControlBlock& from) noexcept {
    kill_all = from.kill_all;
    cancel_all = from.cancel_all;
    for (std::size_t i = 0; i < 4; ++i) {
      kill_strategy[i] = from.kill_strategy[i];
      cancel_strategy[i] = from.cancel_strategy[i];
    }
    kill_version = from.kill_version;
    kill = from.kill;
  }
  // Everything of this strategy that is open, or becomes known, is to be cancelled.
  bool cancels(std::uint8_t strategy) const noexcept {
    return (kill_all != 0 && cancel_all != 0) ||
           (is_set(kill_strategy, strategy) && is_set(cancel_strategy, strategy));
  }
  bool killed(std::uint8_t strategy) const noexcept { return kill_all != 0 || kill_bit(strategy); }

 private:
  static bool is_set(const std::uint64_t (&words)[4], std::uint32_t id) noexcept {
    return (words[id >> 6] >> (id & 63) & 1) != 0;
  }
  static void set(std::uint64_t (&words)[4], std::uint32_t id, bool on) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (id & 63);
    words[id >> 6] = on ? words[id >> 6] | bit : words[id >> 6] & ~bit;
  }
};
static_assert(std::is_trivially_copyable_v<ControlBlock>);
static_assert(sizeof(ControlBlock) == 208 && offsetof(ControlBlock, order_shares_max) == 80 &&
              offsetof(ControlBlock, kill_version) == 144);

}  // namespace tickpath::wire
