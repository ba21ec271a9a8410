// The report side of the gateway: from the venue to ledger, journal, drop copy and strategy.
#include <cstring>

#include "common/wire/order_terms.hpp"
#include "oeg/gateway.hpp"

namespace tickpath::oeg {
namespace {

// In the journal, of a request whose answer does not come any more: not 0, which says that it never
// left.
constexpr std::uint32_t kSeqOfFormerDay = 1;

// A cancel of our own that the venue refused is repeated after this part of a second.
constexpr std::uint64_t kOwnCancelsPerSecond = 50;

// The ReportKind of an execution report; false for those that change nothing.
bool kind_of(fix::ExecType type, wire::ReportKind& kind) noexcept {
  switch (type) {
    case fix::ExecType::kNew:
      kind = wire::ReportKind::kAccepted;
      return true;
    case fix::ExecType::kRejected:
      kind = wire::ReportKind::kRejected;
      return true;
    case fix::ExecType::kPartialFill:
    case fix::ExecType::kFill:
      kind = wire::ReportKind::kFill;
      return true;
    case fix::ExecType::kCanceled:
      kind = wire::ReportKind::kCanceled;
      return true;
    case fix::ExecType::kDoneForDay:  // of an order that does not outlive it
    case fix::ExecType::kExpired:
      kind = wire::ReportKind::kExpired;
      return true;
    case fix::ExecType::kReplaced:
      kind = wire::ReportKind::kReplaced;
      return true;
    case fix::ExecType::kRestated:
      kind = wire::ReportKind::kRestated;
      return true;
    case fix::ExecType::kTriggered:
      kind = wire::ReportKind::kTriggered;
      return true;
    default:
      return false;
  }
}

bool asked_for_replacement(const Order& order, const fix::ExecutionReport& report) noexcept {
  return report.cl_ord_id == order.pending_id && order.pending_kind == wire::RequestKind::kReplace;
}

// A stop order's price was reached. FIX 4.2 and 4.4 have no ExecType for it. A venue says Restated
// with the OrdType (40) that the order has from then on. Others send L of FIX 5.0.
bool was_triggered(const Order& order, const fix::ExecutionReport& report) noexcept {
  if (report.exec_type == fix::ExecType::kTriggered) return true;
  const bool waits_no_more = report.order_type == trading::OrderType::kMarket ||
                             report.order_type == trading::OrderType::kLimit;
  return report.exec_type == fix::ExecType::kRestated && trading::has_stop(order.type) &&
         waits_no_more && report.leaves_qty == order.leaves && report.cum_qty == order.cumulative;
}

bool only_loses_shares(const Order& order, const fix::ExecutionReport& report) noexcept {
  return report.cl_ord_id == order.id && report.leaves_qty <= order.leaves &&
         report.cum_qty == order.cumulative;
}

}  // namespace

trading::RejectReason reason_of(fix::CxlRejReason reason) noexcept {
  switch (reason) {
    case fix::CxlRejReason::kTooLateToCancel:
      return trading::RejectReason::kTooLate;
    case fix::CxlRejReason::kUnknownOrder:
      return trading::RejectReason::kUnknownOrder;
    case fix::CxlRejReason::kAlreadyPending:
      return trading::RejectReason::kPendingRequest;
    default:
      return trading::RejectReason::kVenue;
  }
}

void Gateway::on_execution_report(const fix::ExecutionReport& report,
                                  const fix::MessageInfo& info) noexcept {
  take_report(report, info);
  end_entry();
}

void Gateway::take_report(const fix::ExecutionReport& report,
                          const fix::MessageInfo& info) noexcept {
  trace_.stamp_at(trace::Hop::kOegReportRx, report.cl_ord_id, info.received);
  counters_.reports.received.add();
  if (report.has_commission) counters_.commissions.add();
  Order* order = ledger_.find(report.cl_ord_id);
  if (order == nullptr) order = ledger_.find(report.orig_cl_ord_id);
  if (report.status) {
    counters_.reports.status.add();
    if (order != nullptr) take_status(*order, report, info);
    return;
  }
  if (report.trade_change != fix::TradeChange::kNone) return change_execution(order, report, info);
  VenueReport venue;
  if (!kind_of(report.exec_type, venue.ledger.kind)) {
    counters_.reports.ignored.add();
    return;
  }
  if (venue.ledger.kind == wire::ReportKind::kFill) return book_fill(order, report, info);
  if (order != nullptr && report.exec_type == fix::ExecType::kDoneForDay &&
      trading::outlives_day(order->time_in_force)) {
    if (report.cum_qty != order->cumulative)
      except(ExceptionKind::kQuantities, order, report, info);
    return counters_.reports.ignored.add();
  }
  if (order == nullptr) {
    counters_.reports.unknown.add();
    return;
  }
  if (!is_about(*order, report, info)) return;
  venue.ledger.request_id = report.cl_ord_id;
  venue.ledger.leaves = report.leaves_qty;
  venue.execution_id = report.exec_id;
  venue.fix_seq = info.seq_num;
  venue.repeated = info.may_repeat();
  if (was_triggered(*order, report)) {
    venue.ledger.kind = wire::ReportKind::kTriggered;
    venue.ledger.leaves = order->leaves;
  }
  if (venue.ledger.kind == wire::ReportKind::kRejected) {
    venue.reason = trading::RejectReason::kVenue;
    // After it was accepted: the venue has changed its mind, and the order is over.
    if (order->state != trading::OrderState::kPendingNew)
      venue.ledger.kind = wire::ReportKind::kExpired;
  }
  // A replacement that we did not ask for, or a restatement that adds shares or trades some, cannot
  // be followed.
  if ((venue.ledger.kind == wire::ReportKind::kReplaced &&
       !asked_for_replacement(*order, report)) ||
      (venue.ledger.kind == wire::ReportKind::kRestated && !only_loses_shares(*order, report))) {
    if (venue.repeated) return counters_.reports.repeated.add();
    counters_.reports.impossible.add();
    except(ExceptionKind::kReplacement, order, report, info);
    return;
  }
  if (!take_total(*order, report, venue.ledger))
    except(ExceptionKind::kQuantities, order, report, info);
  book(*order, venue);
}

void Gateway::on_cancel_reject(const fix::OrderCancelReject& reject,
                               const fix::MessageInfo& info) noexcept {
  take_cancel_reject(reject, info);
  end_entry();
}

void Gateway::take_cancel_reject(const fix::OrderCancelReject& reject,
                                 const fix::MessageInfo& info) noexcept {
  trace_.stamp_at(trace::Hop::kOegReportRx, reject.cl_ord_id, info.received);
  counters_.reports.received.add();
  Order* order = ledger_.find(reject.cl_ord_id);
  const bool second = order != nullptr && order->second_cancel_id == reject.cl_ord_id;
  if (order == nullptr || (order->pending_id != reject.cl_ord_id && !second)) {
    counters_.reports.unknown.add();
    return;
  }
  const std::uint64_t order_id = order->id;
  // "Too late" says that a report has told, or will: not of a day that is over.
  bool gone = reject.reason == fix::CxlRejReason::kUnknownOrder ||
              (order->former_day && reject.reason == fix::CxlRejReason::kTooLateToCancel);
  if (second && gone) gone = second_cancel_finds_none(*order);
  trading::RejectReason reason = reason_of(reject.reason);
  // To the strategy "unknown" would say that the order is over.
  if (!gone && reason == trading::RejectReason::kUnknownOrder)
    reason = trading::RejectReason::kTooLate;
  book_unanswered(*order, reject.cl_ord_id, reason, info.seq_num, gone);
  if (gone) expire_unknown(order_id, info.seq_num);
}

// Reports come in sequence: an order that is open here and unknown there was lost with the venue
// (it was started anew), and nothing will ever be heard of it again.
void Gateway::expire_unknown(std::uint64_t order_id, std::uint32_t fix_seq) noexcept {
  Order* const order = ledger_.find(order_id);
  if (order == nullptr || trading::is_final(order->state)) return;
  counters_.reports.lost_by_venue.add();
  book_end(*order, wire::ReportKind::kExpired, trading::RejectReason::kUnknownOrder, fix_seq);
}

// The venue could not read, or would not take, one of our messages as such.
void Gateway::on_message_reject(const fix::MessageReject& reject,
                                const fix::MessageInfo& info) noexcept {
  take_message_reject(reject, info);
  end_entry();
}

void Gateway::take_message_reject(const fix::MessageReject& reject,
                                  const fix::MessageInfo& info) noexcept {
  Order* order = ledger_.find(reject.ref_cl_ord_id);
  if (order == nullptr) {
    counters_.reports.unknown.add();
    return;
  }
  // A venue without status requests: nothing is known of the order by that.
  if (reject.ref_msg_type == 'H') return counters_.reports.ignored.add();
  if (order->pending_id == reject.ref_cl_ord_id || order->second_cancel_id == reject.ref_cl_ord_id)
    return book_unanswered(*order, reject.ref_cl_ord_id, trading::RejectReason::kVenue,
                           info.seq_num);
  book_end(*order, wire::ReportKind::kRejected, trading::RejectReason::kVenue, info.seq_num);
}

// The order is over, by whatever the venue has said.
void Gateway::book_end(Order& order, wire::ReportKind kind, trading::RejectReason reason,
                       std::uint32_t fix_seq) noexcept {
  VenueReport venue;
  venue.ledger.kind = kind;
  venue.ledger.request_id = order.id;
  venue.ledger.cumulative = order.cumulative;
  venue.reason = reason;
  venue.fix_seq = fix_seq;
  book(order, venue);
}

// The cancel or replacement on its way is refused, or finds no answer of its own kind.
void Gateway::book_unanswered(Order& order, std::uint64_t request_id, trading::RejectReason reason,
                              std::uint32_t fix_seq, bool more) noexcept {
  VenueReport venue;
  venue.ledger.kind = request_id == order.pending_id ? wire::reject_of(order.pending_kind)
                                                     : wire::ReportKind::kCancelRejected;
  venue.ledger.request_id = request_id;
  venue.ledger.leaves = order.leaves;
  venue.ledger.cumulative = order.cumulative;
  venue.reason = reason;
  venue.fix_seq = fix_seq;
  venue.more = more;
  book(order, venue);
}

// What was on its way stays unanswered: the venue has begun anew as well. The journal's mark keeps
// a restart from comparing numbers of two sessions (recovery.hpp).
void Gateway::on_numbers_reset(bool new_day) noexcept {
  for (std::size_t i = 0; new_day && i < slot_count(); ++i) {
    ledger_.for_each(slots_[i].id, [&](Order& order) {
      const bool over = ends_with_day(order);
      if (over) order.former_day = order.orphan = true;
      if (over && !trading::is_final(order.state)) {
        slots_[i].orphans = true;
        counters_.open_at_day_end.add();
      }
      // The row is free after the last answer that the order had to wait for.
      const std::uint64_t second = order.second_cancel_id;
      if (order.pending_id != 0)
        book_unanswered(order, order.pending_id, trading::RejectReason::kSessionDown,
                        kSeqOfFormerDay);
      if (second != 0)
        book_unanswered(order, second, trading::RejectReason::kSessionDown, kSeqOfFormerDay);
      end_entry();
    });
  }
  JournalRecord mark{};
  mark.event.event = wire::EventKind::kNewSession;
  mark.realtime_ns = clock::realtime_ns();
  mark.own = new_day ? 1 : 0;
  append(mark, false);
}

bool Gateway::answers_request(const Order& order, const LedgerReport& report) noexcept {
  const std::uint64_t id = report.request_id;
  return id != 0 && (id == order.pending_id || id == order.second_cancel_id) &&
         !wire::is_execution(report.kind);
}

void Gateway::count_answer(GatewayCounters& counters, const Order& order,
                           const LedgerReport& report) noexcept {
  if (answers_request(order, report)) {
    FlowCounters& flow = counters.changes;
    (is_own(order, report.request_id)       ? flow.own_answered
     : wire::is_request_reject(report.kind) ? flow.rejected
                                            : flow.accepted)
        .add();
  }
  // The first word about a new order, whatever it is, answers it.
  if (order.state != trading::OrderState::kPendingNew || wire::is_request_reject(report.kind))
    return;
  (report.kind == wire::ReportKind::kRejected ? counters.orders.rejected : counters.orders.accepted)
      .add();
}

void Gateway::book(Order& order, const VenueReport& report) noexcept {
  const Order before = order;  // the order may be gone after apply()
  const LedgerReport& change = report.ledger;
  trading::OrderState state = order.state;
  if (!ledger_.apply(order, change, state)) {
    (report.repeated ? counters_.reports.repeated : counters_.reports.impossible).add();
    return;
  }
  if (report.fix_seq == 0)
    count_unsent(counters_, before, change.request_id, change.kind);
  else
    count_answer(counters_, before, change);
  const bool answers = answers_request(before, change);
  const bool own = answers && is_own(before, change.request_id);
  const bool pending = answers && change.request_id == before.pending_id;
  const bool rejected = wire::is_request_reject(change.kind);
  StrategySlot& slot = slots_[slot_of_[before.strategy]];

  wire::OrderEvent event{};
  event.order_id = change.request_id;
  event.target_order_id = before.id;
  event.trace_id = pending ? before.pending_trace_id : before.trace_id;
  event.instrument_id = before.instrument;
  const bool fill = wire::is_execution(change.kind);
  event.shares = fill ? change.last_shares : 0;
  event.price = fill ? change.last_price.price : 0;
  event.price_hundredths = fill ? change.last_price.hundredths : std::uint8_t{0};
  event.leaves_shares = trading::is_final(state) ? 0 : change.leaves;
  event.cumulative_shares = change.cumulative;
  event.event = wire::EventKind::kReported;
  event.report_kind = change.kind;
  event.side = before.side;
  event.reason = report.reason;
  event.strategy_id = before.strategy;
  event.state = state;
  // settle_overdue() may record another answer.
  const bool more = report.more || before.overdue != Overdue::kNot;
  journal(event, before, report.fix_seq, report.execution_id, more, report.fee);
  publish(event, before.row);
  if (report.fee != 0) [[unlikely]]
    charge(event, before.row, report.fee);
  if (change.kind == wire::ReportKind::kFill) {
    counters_.reports.fills.add();
    slot.counters.fills.add();
    executions_.add({report.execution_id, change.request_id, before.instrument, change.last_shares,
                     change.last_price.price, before.strategy, before.side, false, report.fee != 0,
                     change.last_price.hundredths});
  }
  if (change.kind == wire::ReportKind::kRestated) counters_.reports.restated.add();
  if (change.kind == wire::ReportKind::kTriggered) counters_.reports.triggered.add();
  if (own && rejected) {
    // Our own cancel came too late, or must be repeated, but not as fast as the venue can say no.
    // The strategy never asked for it.
    slot.next_own_cancel = {tsc_now().value + hz_ / kOwnCancelsPerSecond};
    if (before.overdue != Overdue::kNot) settle_overdue(before, report.fix_seq);
    return;
  }

  wire::OrderReport out{};
  // A cancel by oeg itself has an id that the strategy does not know.
  out.order_id = own ? before.id : change.request_id;
  out.target_order_id = wire::names_target(change.kind) ? before.id : 0;
  out.trace_id = event.trace_id;
  out.execution_id = report.execution_id;
  out.instrument_id = before.instrument;
  out.last_shares = event.shares;
  out.last_price = event.price;
  out.last_price_hundredths = event.price_hundredths;
  out.leaves_shares = event.leaves_shares;
  out.cumulative_shares = change.cumulative;
  out.kind = change.kind;
  out.side = before.side;
  out.reason = report.reason;
  out.strategy_id = before.strategy;
  out.limit_price =
      change.kind == wire::ReportKind::kReplaced ? before.pending_price : before.price;
  report_to(slot, out);
  if (before.overdue != Overdue::kNot) [[unlikely]]
    settle_overdue(before, report.fix_seq);
}

void Gateway::reject_unsent(Order& order, std::uint64_t request_id) noexcept {
  const bool of_pending = request_id != order.id;
  wire::OrderEvent event{};
  event.order_id = request_id;
  event.target_order_id = order.id;
  event.instrument_id = order.instrument;
  event.leaves_shares = of_pending ? order.leaves : 0;
  event.cumulative_shares = order.cumulative;
  event.event = wire::EventKind::kReported;
  event.report_kind = !of_pending                      ? wire::ReportKind::kRejected
                      : request_id == order.pending_id ? wire::reject_of(order.pending_kind)
                                                       : wire::ReportKind::kCancelRejected;
  event.side = order.side;
  event.reason = trading::RejectReason::kSessionDown;
  event.strategy_id = order.strategy;
  event.state = of_pending ? order.state : trading::OrderState::kRejected;
  journal(event, order, 0, 0);
  if (of_pending)
    ledger_.undo_request(order, request_id);
  else
    ledger_.undo_add(order);
}

// What the venue wants for a fill is in no cash, but in the row, and so in risk's P&L.
void Gateway::charge(const wire::OrderEvent& fill, std::uint32_t row, std::int64_t fee) noexcept {
  ledger_.charge(row, fee);
  wire::OrderEvent event = fill;
  wire::set_fee(event, fee);
  publish(event, row);
}

void Gateway::journal(const wire::OrderEvent& event, const Order& order, std::uint32_t fix_seq,
                      std::uint64_t execution_id, bool more, std::int64_t fee) noexcept {
  JournalRecord record{};
  record.event = event;
  record.realtime_ns = clock::realtime_ns();
  record.execution_id = execution_id;
  record.fix_seq = fix_seq;
  record.order_shares = event.shares;
  record.limit_price = event.price;
  record.type = order.type;
  record.time_in_force = order.time_in_force;
  record.own = is_own(order, event.order_id) ? 1 : 0;
  if (event.event == wire::EventKind::kRequested) {
    record.display_shares = order.display_shares;
    record.minimum_shares = order.minimum_shares;
  } else {
    record.set_fee(fee);
  }
  record.stop_price =
      order.pending_id == event.order_id ? order.pending_stop_price : order.stop_price;
  record.instructions = order.instructions;
  const fix::Symbol& symbol = instruments_[order.instrument].symbol;
  std::memcpy(record.symbol, symbol.text, symbol.length);
  record.set_exchange_time(instruments_.exchange_time_ns());
  append(record, more);
}

bool Gateway::append(JournalRecord& record, bool more) noexcept {
  if (in_entry_) record.part |= EntryPart::kContinues;
  if (more) record.part |= EntryPart::kMore;
  in_entry_ = more;
  if (journal_.append(record)) return true;
  counters_.journal_lost.add();
  return false;
}

void Gateway::end_entry() noexcept {
  if (in_entry_) [[unlikely]] {
    JournalRecord end{};
    end.part = EntryPart::kEndsOnly;
    append(end, false);
  }
  for (std::size_t i = 0; i < noted_; ++i) events_.note_exception(notes_[i]);
  noted_ = 0;
}

void Gateway::publish(const wire::OrderEvent& event, std::uint32_t row) noexcept {
  counters_.events.add();
  if (row == IdMap::kNone) return events_.publish(event);
  wire::PositionRow& position = ledger_.position(row).row;
  wire::OrderEvent numbered = event;
  numbered.row_event = static_cast<std::uint32_t>(++position.events);
  events_.publish(numbered);
  events_.store_position(row, position);
}

void Gateway::tell_leads() noexcept {
  wire::OrderEvent event{};
  event.event = wire::EventKind::kLeads;
  event.order_id = epoch_;
  publish(event, IdMap::kNone);
}

}  // namespace tickpath::oeg
