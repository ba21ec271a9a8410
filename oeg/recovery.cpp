#include "oeg/recovery.hpp"

#include "common/base/error.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::oeg {
namespace {

class Replay {
 public:
  explicit Replay(Gateway& gateway) : gateway_(gateway), ledger_(gateway.ledger()) {}

  void record(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    gateway_.instruments().set_symbol(event.instrument_id, symbol_of(record));
    note_id(event);
    if (event.event == wire::EventKind::kRequested) gateway_.count_recovered_request(record);
    const bool possible = event.event == wire::EventKind::kRequested  ? requested(record)
                          : event.event == wire::EventKind::kReported ? reported(record)
                                                                      : false;
    if (!possible) ++result.impossible;
    ++result.records;
  }

  RecoveryResult result;

 private:
  static std::string_view symbol_of(const JournalRecord& record) {
    return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
  }

  // The ids that a strategy has used: it may not use them again.
  void note_id(const wire::OrderEvent& event) {
    StrategySlot* slot = gateway_.assign_slot(event.strategy_id);
    if (slot == nullptr)
      throw Error("the journal holds orders of more strategies than strategies.max allows");
    if (event.event != wire::EventKind::kRequested ||
        wire::OrderId::strategy(event.order_id) != event.strategy_id)
      return;
    const std::uint64_t sequence = event.order_id & ((std::uint64_t{1} << 48) - 1);
    if (sequence > slot->last_id) slot->last_id = sequence;
  }

  bool requested(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    if (event.request_kind != wire::RequestKind::kNew) {
      Order* order = ledger_.find(event.target_order_id);
      if (order == nullptr || order->pending_id != 0) return false;
      ledger_.set_pending(*order, event.request_kind, event.order_id, event.trace_id, event.price,
                          record.order_shares, record.own != 0);
      return true;
    }
    if (ledger_.find(event.order_id) != nullptr) return false;
    const std::uint32_t row = ledger_.position_row(event.strategy_id, event.instrument_id);
    if (row == IdTable::kNone || ledger_.full())
      throw Error("the journal needs more orders.max or positions.max than the configuration has");
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
    ++ledger_.position(row).row.events;
    ledger_.add(order);
    return true;
  }

  bool reported(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    Order* order = ledger_.find(event.target_order_id);
    if (order == nullptr) return false;
    LedgerReport report;
    report.kind = event.report_kind;
    report.request_id = event.order_id;
    report.last_shares = event.shares;
    report.last_price = event.price;
    report.leaves = event.leaves_shares;
    report.cumulative = event.cumulative_shares;
    ++ledger_.position(order->row).row.events;
    gateway_.count_recovered_report(*order, record);
    wire::OrderState state{};
    return ledger_.apply(*order, report, state);
  }

  Gateway& gateway_;
  Ledger& ledger_;
};

}  // namespace

RecoveryResult recover(Gateway& gateway, const Journal& journal, std::uint32_t next_sender,
                       std::uint32_t next_target) {
  Replay replay(gateway);
  const std::uint64_t count = journal.recovered();
  for (std::uint64_t at = 0; at < count; ++at) replay.record(journal.record(at));
  gateway.set_own_incarnation(journal.incarnation());

  if (count != 0) {
    const JournalRecord& last = journal.record(count - 1);
    // Journaled, then the process died before the FIX store had it: the number is still unused.
    // Anything stored was sent, or will be when the venue asks for a resend.
    if (last.event.event == wire::EventKind::kRequested && last.fix_seq == next_sender) {
      if (Order* order = gateway.ledger().find(last.event.order_id)) {
        JournalRecord unsent{};
        unsent.event.order_id = last.event.order_id;
        unsent.event.report_kind = last.event.request_kind == wire::RequestKind::kNew
                                       ? wire::ReportKind::kRejected
                                       : wire::ReportKind::kCancelRejected;
        gateway.count_recovered_report(*order, unsent);
        gateway.reject_unsent(*order);
        replay.result.unsent = 1;
      }
    }
    // Booked, then the process died before the session counted it: the venue must not resend it.
    replay.result.report_was_processed =
        last.event.event == wire::EventKind::kReported && last.fix_seq == next_target;
  }
  if (count != 0) gateway.await_strategies();
  replay.result.open_orders = gateway.ledger().open_orders();
  replay.result.positions = gateway.ledger().position_count();
  return replay.result;
}

}  // namespace tickpath::oeg
