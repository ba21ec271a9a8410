// The slots of strategies, and which strategy has which. The control thread alone assigns slots;
// the datapath meets a slot by the first connection or order that uses it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/wire/control_block.hpp"
#include "common/wire/order_id.hpp"
#include "oeg/strategy_slot.hpp"

namespace tickpath::oeg {

class StrategySlots {
 public:
  // Control thread. report_queue: GatewayOptions.
  StrategySlots(std::uint32_t strategies_max, std::uint32_t report_queue);

  StrategySlot& operator[](std::size_t index) noexcept { return slots_[index]; }
  const StrategySlot& operator[](std::size_t index) const noexcept { return slots_[index]; }
  std::size_t index(const StrategySlot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }
  // Slots in use: the first so many. Any thread.
  // Acquire: pairs with the release in assign_to_peer(). Without it the datapath could walk into a
  // slot whose id is not there yet.
  std::size_t count() const noexcept { return used_.load(std::memory_order_acquire); }
  // The strategy has a slot.
  bool has(std::uint8_t strategy) const noexcept { return slot_of_[strategy] < slots_.size(); }
  // has(strategy).
  StrategySlot& of(std::uint8_t strategy) noexcept { return slots_[slot_of_[strategy]]; }

  // ---- control thread

  // The slot of a strategy id, made at the first call; nullptr: no slot left.
  StrategySlot* assign(std::uint8_t strategy) noexcept;
  // For a connection that has yet to be made. Where no slot is left, it takes that of a strategy
  // which is not connected and has never sent an order.
  StrategySlot* assign_to_peer(std::uint8_t strategy) noexcept;

  // ---- datapath thread

  // The connection is gone: see unused().
  void release(std::size_t index) noexcept {
    slots_[index].taken.store(false, std::memory_order_release);
  }

 private:
  static constexpr std::uint8_t kNoSlot = 0xff;

  std::size_t unused() noexcept;

  std::vector<StrategySlot> slots_;
  std::array<std::uint8_t, wire::kMaxStrategies> slot_of_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace tickpath::oeg
