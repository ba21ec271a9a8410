#include "oeg/journal_state.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/error.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::oeg {
namespace {

std::string_view symbol_of(const JournalRecord& record) {
  return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
}

}  // namespace

JournalState::JournalState(const JournalSizes& given)
    : sizes(given),
      ledger(given.orders_max, given.positions_max),
      instruments(given.instruments_max),
      executions(given.executions_max) {}

void JournalState::apply(const JournalRecord& record) {
  if (record.event.event == wire::EventKind::kRefused) {
    ++records;
    sequence = record.sequence;
    return;  // nothing follows from it: `last` stays what decides at a restart
  }
  if (record.event.event == wire::EventKind::kException)
    exceptions.push_back(record);
  else if (record.event.event == wire::EventKind::kNewSession)
    begin_session(record.own != 0);
  else if (!change(record))
    ++impossible;
  ++records;
  sequence = record.sequence;
  last = record;
  note_unfinished(record);
}

void JournalState::note_unfinished(const JournalRecord& record) noexcept {
  if (record.more != 0)
    unfinished_seq = record.fix_seq;
  else if (record.event.event == wire::EventKind::kNewSession ||
           (record.event.event != wire::EventKind::kRequested && record.fix_seq == unfinished_seq))
    unfinished_seq = 0;
}

bool JournalState::change(const JournalRecord& record) {
  const wire::OrderEvent& event = record.event;
  instruments.set_symbol(event.instrument_id, symbol_of(record));
  StrategyIds& ids = ids_of(event.strategy_id);
  if (event.event == wire::EventKind::kReported) return reported(record);
  if (event.event != wire::EventKind::kRequested) return false;
  // Used ids: the strategy may not use them again.
  const std::uint64_t id = event.order_id & ((std::uint64_t{1} << 48) - 1);
  if (wire::OrderId::strategy(event.order_id) == event.strategy_id)
    ids.last_id = std::max(ids.last_id, id);
  Gateway::count_recovered_request(counters, record);
  return requested(record);
}

void JournalState::begin_session(bool new_day) {
  if (!new_day) return;
  for (const StrategyIds& ids : strategies)
    ledger.for_each(ids.strategy, [](Order& order) { order.former_day = true; });
}

JournalState::StrategyIds& JournalState::ids_of(std::uint8_t strategy) {
  for (StrategyIds& ids : strategies)
    if (ids.strategy == strategy) return ids;
  return strategies.emplace_back(StrategyIds{0, strategy, {}});
}

bool JournalState::requested(const JournalRecord& record) {
  const wire::OrderEvent& event = record.event;
  if (event.request_kind != wire::RequestKind::kNew) {
    Order* order = ledger.find(event.target_order_id);
    if (order == nullptr) return false;
    if (order->pending_id != 0)
      return event.request_kind == wire::RequestKind::kCancel &&
             ledger.set_second_cancel(*order, event.order_id, record.own != 0);
    ledger.set_pending(*order, event.request_kind, event.order_id, event.trace_id, event.price,
                       record.order_shares, record.own != 0);
    order->pending_stop_price = record.stop_price;
    return true;
  }
  if (ledger.find(event.order_id) != nullptr) return false;
  const std::uint32_t row = ledger.position_row(event.strategy_id, event.instrument_id);
  if (row == IdMap::kNone || ledger.full())
    throw Error(
        "the journal needs more orders.max or orders.positions_max than the configuration has");
  Order order;
  order.id = event.order_id;
  order.trace_id = event.trace_id;
  order.instrument = event.instrument_id;
  order.row = row;
  order.price = event.price;
  order.shares = record.order_shares;
  order.strategy = event.strategy_id;
  order.side = event.side;
  order.type = record.type;
  order.time_in_force = record.time_in_force;
  order.display_shares = record.display_shares;
  order.minimum_shares = record.minimum_shares;
  order.stop_price = record.stop_price;
  order.instructions = record.instructions;
  ++ledger.position(row).row.events;
  ledger.add(order);
  return true;
}

bool JournalState::reported(const JournalRecord& record) {
  const wire::OrderEvent& event = record.event;
  Order* order = ledger.find(event.target_order_id);
  executions.apply(record);
  if (executions_to_lead != nullptr) executions_to_lead->apply(record);
  if (order == nullptr) return wire::changes_fill(event.report_kind) && fill_changed(event);
  LedgerReport report;
  report.kind = event.report_kind;
  report.request_id = event.order_id;
  report.last_shares = event.shares;
  report.last_price = wire::executed_price(event);
  report.leaves = event.leaves_shares;
  report.cumulative = event.cumulative_shares;
  ++ledger.position(order->row).row.events;
  Gateway::count_recovered_report(counters, *order, record);
  wire::OrderState state{};
  return ledger.apply(*order, report, state);
}

// Of an order that was done.
bool JournalState::fill_changed(const wire::OrderEvent& event) {
  const std::uint32_t row = ledger.position_row(event.strategy_id, event.instrument_id);
  if (row == IdMap::kNone) return false;
  ++ledger.position(row).row.events;
  ledger.trade(row, event.side, event.shares, wire::executed_price(event),
               event.report_kind == wire::ReportKind::kFillCorrected);
  return true;
}

std::unique_ptr<JournalState> JournalState::next_day(bool carry) const {
  auto next = std::make_unique<JournalState>(sizes);
  next->sequence = sequence;
  next->exceptions = exceptions;
  if (!carry) return next;
  next->strategies = strategies;
  executions.for_each([&](const Execution& execution) {
    next->executions.add(execution);
    if (const Instrument* instrument = instruments.find(execution.instrument))
      next->instruments.set_symbol(execution.instrument, instrument->symbol.view());
  });
  for (std::uint32_t row = 0; row < ledger.position_count(); ++row) {
    const wire::PositionRow& held = ledger.position(row).row;
    if (held.position_shares == 0) continue;  // what it earned was that day's
    (void)next->ledger.restore(held);         // as large a table, so there is room
    if (const Instrument* instrument = instruments.find(held.instrument_id))
      next->instruments.set_symbol(held.instrument_id, instrument->symbol.view());
  }
  return next;
}

}  // namespace tickpath::oeg
