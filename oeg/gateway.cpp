#include "oeg/gateway.hpp"

namespace tickpath::oeg {

Gateway::Gateway(const GatewayOptions& options, VenuePort& venue, StrategyPort& strategies,
                 EventPort& events, JournalPort& journal, trace::TraceWriter& trace)
    : options_(options),
      venue_(venue),
      books_(options),
      held_(options.stop_on_exception),
      checks_(options_, books_, held_, venue, journal, events),
      recorder_(books_, held_, events, journal),
      queues_(options_, books_, held_, checks_, strategies),
      sender_(options_, books_, checks_, recorder_, venue),
      entry_(options_, books_, checks_, recorder_, queues_, sender_, venue, journal, trace),
      cancels_(books_, checks_, recorder_, sender_, journal),
      orders_(books_, recorder_, queues_),
      executions_(books_, recorder_, queues_, orders_, journal),
      reports_(books_, checks_, recorder_, queues_, orders_, executions_, journal, trace) {}

// ----------------------------------------------------------------------------------- strategies

void Gateway::on_strategy_lost(std::size_t slot) noexcept {
  queues_.disconnect(books_.slots[slot]);
  books_.slots.release(slot);
}

void Gateway::await_strategies() noexcept {
  for (std::size_t i = 0; i < books_.slots.count(); ++i) books_.slots[i].awaited = true;
}

void Gateway::give_up_awaited() noexcept {
  for (std::size_t i = 0; i < books_.slots.count(); ++i) {
    StrategySlot& slot = books_.slots[i];
    if (!slot.awaited) continue;
    slot.awaited = false;
    queues_.drop_reports(slot);
    queues_.orphan_orders(slot);
  }
}

void Gateway::cancel_everything() noexcept {
  for (std::size_t i = 0; i < books_.slots.count(); ++i) {
    StrategySlot& slot = books_.slots[i];
    books_.ledger.for_each(slot.id, [&](Order& order) {
      order.orphan = true;
      slot.orphans = true;
    });
  }
}

void Gateway::set_control_block(const wire::ControlBlock& block) noexcept {
  checks_.set_control_block(block);
  for (std::size_t i = 0; i < books_.slots.count(); ++i)
    if (block.killed(books_.slots[i].id)) show_open_orders(books_.slots[i]);
}

void Gateway::show_open_orders(StrategySlot& slot) noexcept {
  slot.counters.open_orders.set(books_.ledger.open_orders(slot.id));
}

void Gateway::tell_leads() noexcept {
  wire::OrderEvent event{};
  event.event = wire::EventKind::kLeads;
  event.order_id = queues_.epoch();
  recorder_.publish(event, IdMap::kNone);
}

// ------------------------------------------------------------------------------------- the turn

bool Gateway::turn() noexcept {
  bool worked = false;
  const bool up = venue_.up();
  checks_.turn(up);
  const wire::ControlBlock& block = checks_.control_block();
  for (std::size_t i = 0; i < books_.slots.count(); ++i) {
    StrategySlot& slot = books_.slots[i];
    worked |= queues_.turn(slot);
    if (block.killed(slot.id)) [[unlikely]]
      show_open_orders(slot);
    const bool unwanted =
        slot.orphans || (block.cancels(slot.id) && books_.ledger.open_orders(slot.id) != 0);
    if (unwanted && up && tsc_now() >= slot.next_own_cancel)
      worked |= cancels_.cancel_orphans(slot);
  }
  return worked;
}

bool Gateway::nothing_unanswered() const noexcept {
  const GatewayCounters& counters = books_.counters;
  for (const FlowCounters* flow : {&counters.orders, &counters.changes})
    if (flow->sent.get() + flow->own.get() >
        flow->accepted.get() + flow->rejected.get() + flow->own_answered.get())
      return false;
  return true;
}

bool Gateway::settled() const noexcept {
  if (books_.ledger.open_orders() != 0 || !nothing_unanswered()) return false;
  for (std::size_t i = 0; i < books_.slots.count(); ++i) {
    const StrategySlot& slot = books_.slots[i];
    if (slot.connected && slot.queue_size != 0) return false;
  }
  return true;
}

// ------------------------------------------------------------------------------------- recovery

void Gateway::forget_unsent(Order& order, std::uint64_t request_id,
                            wire::ReportKind reject) noexcept {
  count_unsent(books_.counters, order, request_id, reject);
  sender_.reject_unsent(order, request_id);
}

}  // namespace tickpath::oeg
