#include "oeg/strategy_slots.hpp"

namespace tickpath::oeg {

StrategySlots::StrategySlots(std::uint32_t strategies_max, std::uint32_t report_queue)
    : slots_(strategies_max) {
  slot_of_.fill(kNoSlot);
  for (StrategySlot& slot : slots_) slot.queue.resize(std::size_t{report_queue} * 2);
}

StrategySlot* StrategySlots::assign(std::uint8_t strategy) noexcept {
  StrategySlot* const slot = assign_to_peer(strategy);
  if (slot != nullptr) slot->for_good = true;
  return slot;
}

StrategySlot* StrategySlots::assign_to_peer(std::uint8_t strategy) noexcept {
  if (slot_of_[strategy] != kNoSlot) return &slots_[slot_of_[strategy]];
  if (strategy == kOwnStrategyId) return nullptr;
  const std::size_t used = used_.load(std::memory_order_relaxed);  // own index
  const std::size_t at = used < slots_.size() ? used : unused();
  if (at == slots_.size()) return nullptr;
  StrategySlot& slot = slots_[at];
  if (at < used) slot_of_[slot.id.load(std::memory_order_relaxed)] = kNoSlot;
  slot.id.store(strategy, std::memory_order_relaxed);  // see the member
  slot_of_[strategy] = static_cast<std::uint8_t>(at);
  // Release: pairs with the acquire in count().
  if (at == used) used_.store(used + 1, std::memory_order_release);
  return &slot;
}

// A peer that proves the role of a strategy says itself which one it is. Ids that were only said
// must not keep another strategy out until a restart. slots_.size(): there is none.
std::size_t StrategySlots::unused() noexcept {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    StrategySlot& slot = slots_[at];
    // Acquire: pairs with the datapath's release when its connection was gone.
    if (slot.for_good || slot.taken.load(std::memory_order_acquire)) continue;
    const StrategyCounters& counters = slot.counters;
    if (slot.last_id != 0 || slot.queue_size != 0 || counters.orders_received.get() != 0 ||
        counters.changes_received.get() != 0)
      continue;
    slot.counters.connections.set(0);
    slot.counters.connection_requests.set(0);
    slot.counters.connection_reports.set(0);
    return at;
  }
  return slots_.size();
}

}  // namespace tickpath::oeg
