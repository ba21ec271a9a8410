// Order ids: unique across strategies and restarts, and the key of every order's trace.
#pragma once

#include <cstdint>

namespace tickpath::wire {

// In the ids of cancels by oeg itself; no strategy may connect with it.
inline constexpr std::uint8_t kOwnStrategyId = 255;

// bits 55-48 strategy | 47-32 incarnation | 31-0 counter. The top byte stays 0: a trace record
// keeps its hop there (common/trace). The incarnation is raised at each start of a strategy from a
// file in its run directory, so that an id never returns.
struct OrderId {
  static constexpr std::uint64_t make(std::uint8_t strategy, std::uint16_t incarnation,
                                      std::uint32_t counter) {
    return std::uint64_t{strategy} << 48 | std::uint64_t{incarnation} << 32 | counter;
  }
  static constexpr std::uint8_t strategy(std::uint64_t id) {
    return static_cast<std::uint8_t>(id >> 48);
  }
  static constexpr std::uint16_t incarnation(std::uint64_t id) {
    return static_cast<std::uint16_t>(id >> 32);
  }
};

}  // namespace tickpath::wire
