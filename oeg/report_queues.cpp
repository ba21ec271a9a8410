#include "oeg/report_queues.hpp"

#include <cstring>
#include <utility>

#include "common/clock/clock.hpp"

namespace tickpath::oeg {
namespace {

// How many reports at once go to a strategy that got credits again.
constexpr int kReportsPerTurn = 64;

// The most that one message of the venue brings a strategy. The venue does not know the order that
// was to be canceled: that answers the cancel, and it ends the order.
constexpr std::size_t kReportsAMessage = 2;

}  // namespace

ReportQueues::ReportQueues(const GatewayOptions& options, Books& books, const HeldSymbols& held,
                           const OrderChecks& checks, StrategyPort& strategies)
    : options_(options),
      instruments_(books.instruments),
      ledger_(books.ledger),
      slots_(books.slots),
      counters_(books.counters),
      held_(held),
      checks_(checks),
      strategies_(strategies),
      unread_ticks_(
          clock::TickConverter{}.from_ns(static_cast<std::uint64_t>(options.unread_max_ns)).value) {
}

void ReportQueues::connect(StrategySlot& slot) noexcept {
  slot.connected = true;
  slot.awaited = false;
  slot.first_request = true;
  weigh_queue(slot);
  slot.counters.connections.add();
  slot.counters.connection_requests.set(0);
  slot.counters.connection_reports.set(0);
}

void ReportQueues::disconnect(StrategySlot& slot) noexcept {
  slot.connected = false;
  slot.next_position = StrategySlot::kPositionsTold;
  slot.lead_untold = false;
  drop_reports(slot);
  orphan_orders(slot);
}

void ReportQueues::begin_positions(StrategySlot& slot) noexcept {
  slot.next_position = 0;
  slot.lead_untold = epoch_ != 0;
  slot.accepting_untold = true;
  slot.held_told = held_.empty() ? held_.version() : 0;
  slot.held_telling = 0;
}

bool ReportQueues::turn(StrategySlot& slot) noexcept {
  bool worked = false;
  if (slot.lead_untold) [[unlikely]]
    worked |= tell_leads(slot);
  worked |= tell_accepting(slot);
  if (slot.held_told != held_.version()) [[unlikely]]
    worked |= tell_held(slot);
  if (slot.queue_size != 0) worked |= flush_reports(slot);
  if (slot.crowded && (tsc_now() - slot.crowded_since).value > unread_ticks_) [[unlikely]]
    cut_off(slot);
  if (slot.next_position != StrategySlot::kPositionsTold) [[unlikely]]
    worked |= tell_positions(slot);
  return worked;
}

void ReportQueues::report_to(StrategySlot& slot, const wire::OrderReport& report) noexcept {
  if (!slot.connected && !slot.awaited) {
    counters_.reports.dropped.add();
    slot.counters.reports_dropped.add();
    return;
  }
  // Order is kept: nothing overtakes what waits.
  if (slot.connected && slot.queue_size == 0 && !slot.lead_untold) {
    if (strategies_.send(slots_.index(slot), report)) [[likely]] {
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
void ReportQueues::weigh_queue(StrategySlot& slot) noexcept {
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
void ReportQueues::cut_off(StrategySlot& slot) noexcept {
  counters_.strategies_dropped.add();
  slot.awaited = false;
  const bool was_connected = std::exchange(slot.connected, false);
  drop_reports(slot);
  orphan_orders(slot);
  if (was_connected) strategies_.drop(slots_.index(slot));
}

void ReportQueues::orphan_orders(StrategySlot& slot) noexcept {
  if (!options_.cancel_orphans) return;
  ledger_.for_each(slot.id, [&](Order& order) {
    if (trading::is_final(order.state) || order.orphan) return;
    order.orphan = true;
    slot.orphans = true;
    counters_.orphaned_orders.add();
  });
}

// Positions answer nothing and are no reports in the books.
void ReportQueues::count_sent(StrategySlot& slot, const wire::OrderReport& report) noexcept {
  if (report.kind == wire::ReportKind::kPosition || report.kind == wire::ReportKind::kPositionsEnd)
    return;
  counters_.reports.sent.add();
  slot.counters.reports_sent.add();
  slot.counters.connection_reports.add();
}

bool ReportQueues::flush_reports(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  const std::size_t index = slots_.index(slot);
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

void ReportQueues::drop_reports(StrategySlot& slot) noexcept {
  counters_.reports.dropped.add(slot.queue_size);
  slot.counters.reports_dropped.add(slot.queue_size);
  slot.queue_size = 0;
  weigh_queue(slot);
}

bool ReportQueues::tell_leads(StrategySlot& slot) noexcept {
  wire::PositionReport leads{};
  leads.kind = wire::ReportKind::kLeads;
  leads.strategy_id = slot.id;
  leads.epoch = epoch_;
  wire::OrderReport report;
  std::memcpy(&report, &leads, sizeof(report));
  slot.lead_untold = !strategies_.send(slots_.index(slot), report);
  return !slot.lead_untold;
}

// At each change, so that nobody sends, or routes, what is sure to be refused. It is about no order
// and may overtake reports that wait for credits: the sooner it is there, the less is sent in vain.
bool ReportQueues::tell_accepting(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  const trading::RejectReason reason = checks_.refuses_all(slot);
  if (reason == slot.accepting_told && !slot.accepting_untold) [[likely]]
    return false;
  wire::OrderReport accepting{};
  accepting.kind = wire::ReportKind::kAccepting;
  accepting.reason = reason;
  accepting.strategy_id = slot.id;
  if (!strategies_.send(slots_.index(slot), accepting)) return false;
  slot.accepting_told = reason;
  slot.accepting_untold = false;
  return true;
}

// At each change, all of them, as credits come: so that nobody routes what is sure to be refused. A
// symbol without an id here cannot be traded anyway.
bool ReportQueues::tell_held(StrategySlot& slot) noexcept {
  if (!slot.connected || slot.lead_untold) return false;
  bool sent = false;
  const auto say = [&](std::uint32_t instrument, trading::RejectReason reason) {
    wire::OrderReport held{};
    held.kind = wire::ReportKind::kHeld;
    held.instrument_id = instrument;
    held.reason = reason;
    held.strategy_id = slot.id;
    const bool taken = strategies_.send(slots_.index(slot), held);
    sent |= taken;
    return taken;
  };
  if (slot.held_telling != held_.version()) {
    if (!say(wire::kNoInstrument, trading::RejectReason::kNone)) return false;
    slot.held_telling = held_.version();
    slot.held_next = 0;
  }
  for (; slot.held_next < held_.size(); ++slot.held_next) {
    const std::uint32_t id = instruments_.id_of(held_[slot.held_next].view());
    if (id != wire::kNoInstrument && !say(id, trading::RejectReason::kException)) return sent;
  }
  if (held_.holds_all() && !say(wire::kNoInstrument, trading::RejectReason::kException))
    return sent;
  slot.held_told = held_.version();
  return true;
}

// A row is right at the place where it stands between the reports; so it may only be sent when
// nothing waits before it.
bool ReportQueues::tell_positions(StrategySlot& slot) noexcept {
  const auto send = [&](const wire::PositionReport& row) {
    wire::OrderReport report;
    std::memcpy(&report, &row, sizeof(report));
    return strategies_.send(slots_.index(slot), report);
  };
  int sent = 0;
  while (slot.connected && slot.queue_size == 0 && !slot.lead_untold && sent < kReportsPerTurn) {
    wire::PositionReport position{};
    position.strategy_id = slot.id;
    position.epoch = epoch_;
    if (slot.next_position == ledger_.position_count()) {
      position.kind = wire::ReportKind::kPositionsEnd;
      if (slot.orphans || slot.accepting_untold || slot.held_told != held_.version() ||
          !send(position))
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

bool ReportQueues::wait() const noexcept {
  for (std::size_t i = 0; i < slots_.count(); ++i) {
    const StrategySlot& slot = slots_[i];
    if (!slot.connected) continue;
    if (slot.queue_size != 0 || slot.accepting_told != checks_.refuses_all(slot) ||
        slot.held_told != held_.version())
      return true;
  }
  return false;
}

}  // namespace tickpath::oeg
