#include "oeg/recovery.hpp"

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"

namespace tickpath::oeg {
namespace {

[[noreturn]] void too_small(const char* key) {
  throw Error(std::string("the journal holds more than the configuration has room for; raise ") +
              key);
}

bool is_of_a_report(const JournalRecord& record) noexcept {
  return record.event.event == wire::EventKind::kReported ||
         record.event.event == wire::EventKind::kException;
}

// Copies the state into a gateway that has taken no request and no report yet.
void install(Gateway& gateway, const JournalState& state) {
  for (std::uint32_t id = 0; id < state.instruments.capacity(); ++id)
    if (state.instruments[id].symbol.length != 0)
      gateway.instruments().recover_symbol(id, state.instruments[id].symbol.view());
  Ledger& ledger = gateway.ledger();
  if (!ledger.take(state.ledger)) too_small("orders.max or orders.positions_max");
  const std::uint64_t now = tsc_now().value;
  for (const JournalState::StrategyIds& ids : state.strategies) {
    StrategySlot* const slot = gateway.slots().assign(ids.strategy);
    if (slot == nullptr) too_small("strategies.max");
    slot->last_id = ids.last_id;
    ledger.for_each(ids.strategy, [&](Order& order) {
      order.orphan = order.former_day;
      slot->orphans |= order.orphan || order.second_cancel_id != 0;
      order.asked_tsc = now;  // the venue has all the time that it ever had
      if (order.second_cancel_id != 0) order.overdue = Overdue::kCanceledAgain;
    });
  }
  RecoveredCounts counts{};
  counts.take(state.counters);
  gateway.set_recovered(counts);
}

}  // namespace

RecoveryResult recover(Gateway& gateway, Journal& journal, std::uint32_t next_sender,
                       std::uint32_t next_target) {
  const JournalState& state = journal.state();
  RecoveryResult result;
  result.records = state.records;
  result.impossible = state.impossible;
  install(gateway, state);
  if (!journal.give_executions(gateway.executions()))
    state.executions.for_each(
        [&](const Execution& execution) { gateway.executions().add(execution); });
  gateway.set_own_incarnation(journal.incarnation());

  const JournalRecord& last = state.last;
  if (last.sequence != 0) {
    // Journaled, then the process died before the FIX store had it: the number is still unused.
    // Anything stored was sent, or will be when the venue asks for a resend.
    if (last.event.event == wire::EventKind::kRequested && last.fix_seq == next_sender) {
      if (Order* order = gateway.ledger().find(last.event.order_id)) {
        gateway.forget_unsent(*order, last.event.order_id,
                              wire::reject_of(last.event.request_kind));
        result.unsent = 1;
      }
    }
    // The whole of the message is booked, and the process died before the session counted it: the
    // venue must not send it again.
    result.report_was_processed = is_of_a_report(last) && last.fix_seq == next_target;
  }
  result.open_orders = gateway.ledger().open_orders();
  // A new day has no records yet, and the orders that it carries.
  if (result.records != 0 || result.open_orders != 0) gateway.await_strategies();
  result.positions = gateway.ledger().position_count();
  return result;
}

}  // namespace tickpath::oeg
