// Slots of strategies, and what the gateway sends to them. Reports wait for credits, in order.
// Beside them goes whether it accepts orders at all, and after a connect what they hold.

#include <cstring>
#include <utility>

#include "oeg/gateway.hpp"

namespace tickpath::oeg {
namespace {

// How many reports at once go to a strategy that got credits again.
constexpr int kReportsPerTurn = 64;

// The most that one message of the venue brings a strategy. The venue does not know the order that
// was to be canceled: that answers the cancel, and it ends the order.
constexpr std::size_t kReportsAMessage = 2;

}  // namespace

StrategySlot* Gateway::assign_slot(std::uint8_t strategy) noexcept {
  StrategySlot* const slot = assign_slot_to_peer(strategy);
  if (slot != nullptr) slot->for_good = true;
  return slot;
}

StrategySlot* Gateway::assign_slot_to_peer(std::uint8_t strategy) noexcept {
  if (slot_of_[strategy] != kNoSlot) return &slots_[slot_of_[strategy]];
  if (strategy == kOwnStrategyId) return nullptr;
  const std::size_t used = slots_used_.load(std::memory_order_relaxed);  // own index
  const std::size_t at = used < slots_.size() ? used : unused_slot();
  if (at == slots_.size()) return nullptr;
  StrategySlot& slot = slots_[at];
  if (at < used) slot_of_[slot.id.load(std::memory_order_relaxed)] = kNoSlot;
  slot.id.store(strategy, std::memory_order_relaxed);  // see the member
  slot_of_[strategy] = static_cast<std::uint8_t>(at);
  if (at == used) slots_used_.store(used + 1, std::memory_order_release);  // see the member
  return &slot;
}

// Whoever proves the role of a strategy says itself which one it is. Ids that were only said must
// not keep another strategy out until a restart. slots_.size(): there is none.
std::size_t Gateway::unused_slot() noexcept {
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

void Gateway::report_to(StrategySlot& slot, const wire::OrderReport& report) noexcept {
  if (!slot.connected && !slot.awaited) {
    counters_.reports.dropped.add();
    slot.counters.reports_dropped.add();
    return;
  }
  // Order is kept: nothing overtakes what waits.
  if (slot.connected && slot.queue_size == 0 && !slot.lead_untold) {
    if (strategies_.send(slot_index(slot), report)) [[likely]] {
      count_sent(slot, report);
      return;
    }
  }
  if (slot.queue_size == slot.queue.size()) {
    // Gone, or behind a gap of the venue's that was longer than all that is kept.
    counters_.reports.dropped.add();
    slot.counters.reports_dropped.add();
    cut_off(slot);
    return;
  }
  slot.queue[(slot.queue_head + slot.queue_size++) % slot.queue.size()] = report;
  counters_.reports.queued.add();
  weigh_queue(slot);
}

// After each change of a queue, or of who reads it.
void Gateway::weigh_queue(StrategySlot& slot) noexcept {
  const bool crowded = slot.connected && slot.queue_size + kReportsAMessage > options_.report_queue;
  if (crowded == slot.crowded) [[likely]]
    return;
  slot.crowded = crowded;
  if (crowded) {
    ++crowded_;
    slot.crowded_since = tsc_now();
    counters_.reports.venue_held.add();
  } else {
    --crowded_;
  }
}

// A strategy that does not read holds up the others. It must not trade on what it does not know.
void Gateway::cut_off(StrategySlot& slot) noexcept {
  counters_.strategies_dropped.add();
  slot.awaited = false;
  const bool was_connected = std::exchange(slot.connected, false);
  drop_reports(slot);
  orphan_orders(slot_index(slot));
  if (was_connected) strategies_.drop(slot_index(slot));
}

// Positions answer nothing and are no reports in the books.
void Gateway::count_sent(StrategySlot& slot, const wire::OrderReport& report) noexcept {
  if (report.kind == wire::ReportKind::kPosition || report.kind == wire::ReportKind::kPositionsEnd)
    return;
  counters_.reports.sent.add();
  slot.counters.reports_sent.add();
  slot.counters.connection_reports.add();
}

bool Gateway::tell_strategy_leads(StrategySlot& slot) noexcept {
  wire::PositionReport leads{};
  leads.kind = wire::ReportKind::kLeads;
  leads.strategy_id = slot.id;
  leads.epoch = epoch_;
  wire::OrderReport report;
  std::memcpy(&report, &leads, sizeof(report));
  slot.lead_untold = !strategies_.send(slot_index(slot), report);
  return !slot.lead_untold;
}

// At each change, so that nobody sends, or routes, what is sure to be refused. It is about no order
// and may overtake reports that wait for credits: the sooner it is there, the less is sent in vain.
bool Gateway::tell_accepting(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  const trading::RejectReason reason = refuses_all(slot);
  if (reason == slot.accepting_told && !slot.accepting_untold) [[likely]]
    return false;
  wire::OrderReport accepting{};
  accepting.kind = wire::ReportKind::kAccepting;
  accepting.reason = reason;
  accepting.strategy_id = slot.id;
  if (!strategies_.send(slot_index(slot), accepting)) return false;
  slot.accepting_told = reason;
  slot.accepting_untold = false;
  return true;
}

// At each change, all of them, as credits come: so that nobody routes what is sure to be refused. A
// symbol without an id here cannot be traded anyway.
bool Gateway::tell_held(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  bool sent = false;
  const auto say = [&](std::uint32_t instrument, trading::RejectReason reason) {
    wire::OrderReport held{};
    held.kind = wire::ReportKind::kHeld;
    held.instrument_id = instrument;
    held.reason = reason;
    held.strategy_id = slot.id;
    const bool taken = strategies_.send(slot_index(slot), held);
    sent |= taken;
    return taken;
  };
  if (slot.held_telling != held_list_) {
    if (!say(wire::kNoInstrument, trading::RejectReason::kNone)) return false;
    slot.held_telling = held_list_;
    slot.held_next = 0;
  }
  for (; slot.held_next < held_symbols_.size(); ++slot.held_next) {
    const std::uint32_t id = instruments_.id_of(held_symbols_[slot.held_next].symbol.view());
    if (id != wire::kNoInstrument && !say(id, trading::RejectReason::kException)) return sent;
  }
  if (held_beyond_ != 0 && !say(wire::kNoInstrument, trading::RejectReason::kException))
    return sent;
  slot.held_told = held_list_;
  return true;
}

// A row is right at the place where it stands between the reports; so it may only be sent when
// nothing waits before it.
bool Gateway::tell_positions(StrategySlot& slot) noexcept {
  const auto send = [&](const wire::PositionReport& row) {
    wire::OrderReport report;
    std::memcpy(&report, &row, sizeof(report));
    return strategies_.send(slot_index(slot), report);
  };
  int sent = 0;
  while (slot.connected && slot.queue_size == 0 && !slot.lead_untold && sent < kReportsPerTurn) {
    wire::PositionReport position{};
    position.strategy_id = slot.id;
    position.epoch = epoch_;
    if (slot.next_position == ledger_.position_count()) {
      position.kind = wire::ReportKind::kPositionsEnd;
      if (slot.orphans || slot.accepting_untold || slot.held_told != held_list_ || !send(position))
        break;
      slot.next_position = StrategySlot::kPositionsTold;
      return true;
    }
    const wire::PositionRow& row = ledger_.position(slot.next_position).row;
    if (row.strategy_id == slot.id) {
      position.kind = wire::ReportKind::kPosition;
      position.instrument_id = row.instrument_id;
      position.position_shares = row.position_shares;
      position.cash = row.cash;
      position.fills = row.fills;
      position.symbol = wire::symbol_word(instruments_[row.instrument_id].symbol.view());
      if (!send(position)) break;
      ++sent;
    }
    ++slot.next_position;
  }
  return sent != 0;
}

bool Gateway::flush_reports(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  const std::size_t index = slot_index(slot);
  int sent = 0;
  while (slot.queue_size != 0 && sent < kReportsPerTurn &&
         strategies_.send(index, slot.queue[slot.queue_head])) {
    count_sent(slot, slot.queue[slot.queue_head]);
    slot.queue_head = (slot.queue_head + 1) % slot.queue.size();
    --slot.queue_size;
    ++sent;
  }
  if (sent == 0) return false;
  if (slot.crowded) slot.crowded_since = tsc_now();
  weigh_queue(slot);
  return true;
}

void Gateway::drop_reports(StrategySlot& slot) noexcept {
  counters_.reports.dropped.add(slot.queue_size);
  slot.counters.reports_dropped.add(slot.queue_size);
  slot.queue_size = 0;
  weigh_queue(slot);
}

}  // namespace tickpath::oeg
