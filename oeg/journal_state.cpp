#include "oeg/journal_state.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "common/base/error.hpp"
#include "common/wire/order_id.hpp"
#include "common/wire/order_terms.hpp"

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

namespace {

// Answers that a new day's numbers take away are ours (kSessionDown).
bool came_with_report(const JournalRecord& record) {
  const wire::EventKind kind = record.event.event;
  return record.fix_seq != 0 && record.event.reason != trading::RejectReason::kSessionDown &&
         (kind == wire::EventKind::kReported || kind == wire::EventKind::kException);
}

}  // namespace

void JournalState::apply(const JournalRecord& record) {
  ++records;
  sequence = record.sequence;
  bool of_report = false;
  entries.take(record, [&](const JournalRecord& each) {
    of_report = of_report || came_with_report(each);
    book(each);
  });
  if (of_report) counters.reports.received.add();
}

void JournalState::book(const JournalRecord& record) {
  // Nothing follows from a refused order: `last` stays what decides at a restart.
  if (record.event.event == wire::EventKind::kRefused) return;
  if (record.event.event == wire::EventKind::kException)
    exceptions.push_back(record);
  else if (record.event.event == wire::EventKind::kNewSession)
    begin_session(record.own != 0);
  else if (!change(record))
    ++impossible;
  last = record;
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
  count_recovered_request(counters, record);
  return requested(record);
}

void JournalState::begin_session(bool new_day) {
  if (!new_day) return;
  for (const StrategyIds& ids : strategies)
    ledger.for_each(ids.strategy, [](Order& order) { order.former_day = ends_with_day(order); });
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
  report.last_price = wire::fill_of(event).price;
  report.leaves = event.leaves_shares;
  report.cumulative = event.cumulative_shares;
  ++ledger.position(order->row).row.events;
  count_recovered_report(counters, *order, record);
  trading::OrderState state{};
  const std::uint32_t row = order->row;  // it may be gone then
  if (!ledger.apply(*order, report, state)) return false;
  if (report.kind == wire::ReportKind::kFill && record.fee() != 0) {
    ledger.charge(row, record.fee());
    ++ledger.position(row).row.events;  // risk is told of it by an event of its own
  }
  return true;
}

// A changed fill of an order that was done.
bool JournalState::fill_changed(const wire::OrderEvent& event) {
  const std::uint32_t row = ledger.position_row(event.strategy_id, event.instrument_id);
  if (row == IdMap::kNone) return false;
  ++ledger.position(row).row.events;
  ledger.trade(row, wire::fill_of(event));
  return true;
}

namespace {

// What the position is worth at the price of the newest execution in its instrument: what it has
// cost, from today on. A part of yesterday's result is in nobody's cash any more.
std::int64_t carried_cash(std::int64_t shares, ExecutedPrice price) noexcept {
  std::int64_t whole = 0;
  std::int64_t parts = 0;
  std::int64_t value = 0;
  const bool fits = !__builtin_mul_overflow(shares, std::int64_t{price.price}, &whole) &&
                    !__builtin_mul_overflow(shares, std::int64_t{price.hundredths}, &parts) &&
                    !__builtin_add_overflow(whole, parts / 100, &value);
  return fits ? -value : shares > 0 ? -INT64_MAX : INT64_MAX;
}

}  // namespace

std::unique_ptr<JournalState> JournalState::next_day(bool carry) const {
  auto next = std::make_unique<JournalState>(sizes);
  next->sequence = sequence;
  next->exceptions = exceptions;
  if (!carry) return next;
  next->strategies = strategies;
  const auto name = [&](std::uint32_t id) {
    if (const Instrument* instrument = instruments.find(id))
      next->instruments.set_symbol(id, instrument->symbol.view());
  };
  std::unordered_map<std::uint32_t, ExecutedPrice> newest;  // by instrument
  executions.for_each([&](const Execution& execution) {
    next->executions.add(execution);
    name(execution.instrument);
    if (!execution.canceled) newest[execution.instrument] = executed_price(execution);
  });
  for (std::uint32_t row = 0; row < ledger.position_count(); ++row) {
    wire::PositionRow held = ledger.position(row).row;
    if (held.position_shares == 0) continue;  // what it earned was that day's
    const auto price = newest.find(held.instrument_id);
    if (price != newest.end()) held.cash = carried_cash(held.position_shares, price->second);
    held.fees = 0;
    (void)next->ledger.restore(held);  // as large a table, so there is room
    name(held.instrument_id);
  }
  carry_orders(*next);
  return next;
}

// Orders that the venue keeps over its day. A request on its way is of the day that is over.
void JournalState::carry_orders(JournalState& next) const {
  for (const StrategyIds& ids : strategies)
    ledger.for_each(ids.strategy, [&](const Order& order) {
      if (!trading::outlives_day(order.time_in_force) || trading::is_final(order.state) ||
          order.state == trading::OrderState::kPendingNew)
        return;
      Order kept = order;
      kept.row = next.ledger.position_row(order.strategy, order.instrument);
      kept.pending_id = kept.second_cancel_id = 0;
      kept.reserved_shares = 0;
      (void)next.ledger.restore(kept);
      if (const Instrument* instrument = instruments.find(order.instrument))
        next.instruments.set_symbol(order.instrument, instrument->symbol.view());
    });
}

}  // namespace tickpath::oeg
