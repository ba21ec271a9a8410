#include "oeg/venue_reports.hpp"

#include <algorithm>

#include "common/wire/order_terms.hpp"

namespace tickpath::oeg {
namespace {

// In the journal, of a request whose answer does not come any more: not 0, which says that it never
// left.
constexpr std::uint32_t kSeqOfFormerDay = 1;

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

// The venue may have given the order its new id, and the answer may be lost.
bool may_be_renamed(const Order& order) noexcept {
  return order.pending_id != 0 && order.pending_kind == wire::RequestKind::kReplace;
}

// The order is over, says the venue's answer to a status request.
bool is_over(fix::OrdStatus status) noexcept {
  switch (status) {
    case fix::OrdStatus::kFilled:
    case fix::OrdStatus::kDoneForDay:
    case fix::OrdStatus::kCanceled:
    case fix::OrdStatus::kRejected:
    case fix::OrdStatus::kExpired:
      return true;
    default:
      return false;
  }
}

// False: the rejection of a second cancel does not say that the order is gone.
bool second_cancel_finds_none(Order& order) noexcept {
  if (order.second_cancel_stale) return false;
  if (!may_be_renamed(order) || order.id_unknown) return true;
  order.id_unknown = true;  // the next one names the replacement's id, and goes at once
  order.overdue = Overdue::kNot;
  order.asked_tsc = 0;
  return false;
}

// Takes the totals of a report that is no execution. CumQty is what was booked: an execution that
// is seen in it alone was never reported. LeavesQty of a replacement is what is left of the total
// that was asked for. False: one of them is not, and the books go on from what they have.
bool take_total(const Order& order, const fix::ExecutionReport& report,
                LedgerReport& change) noexcept {
  change.cumulative = order.cumulative;
  trading::OrderState after = order.state;
  if (!wire::apply(after, change.kind, report.leaves_qty, order.cumulative)) return true;
  bool follows = report.cum_qty == order.cumulative;
  if (change.kind == wire::ReportKind::kReplaced) {
    const std::uint32_t left =
        order.pending_shares > order.cumulative ? order.pending_shares - order.cumulative : 0;
    change.leaves = std::min(report.leaves_qty, left);
    follows &= report.leaves_qty == left;
  }
  return follows;
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

void VenueReports::on_execution_report(const fix::ExecutionReport& report,
                                       const fix::MessageInfo& info) noexcept {
  take_report(report, info);
  recorder_.end_entry();
}

void VenueReports::take_report(const fix::ExecutionReport& report,
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
  if (report.trade_change != fix::TradeChange::kNone)
    return executions_.change_execution(order, report, info);
  VenueReport venue;
  if (!kind_of(report.exec_type, venue.ledger.kind)) {
    counters_.reports.ignored.add();
    return;
  }
  if (venue.ledger.kind == wire::ReportKind::kFill)
    return executions_.book_fill(order, report, info);
  if (order != nullptr && report.exec_type == fix::ExecType::kDoneForDay &&
      trading::outlives_day(order->time_in_force)) {
    if (report.cum_qty != order->cumulative)
      recorder_.except(ExceptionKind::kQuantities, order, report, info);
    return counters_.reports.ignored.add();
  }
  if (order == nullptr) {
    counters_.reports.unknown.add();
    return;
  }
  if (!executions_.is_about(*order, report, info)) return;
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
    recorder_.except(ExceptionKind::kReplacement, order, report, info);
    return;
  }
  if (!take_total(*order, report, venue.ledger))
    recorder_.except(ExceptionKind::kQuantities, order, report, info);
  orders_.book(*order, venue);
}

// The answer to a status request: nothing has happened now, but what has may have been missed.
void VenueReports::take_status(Order& order, const fix::ExecutionReport& report,
                               const fix::MessageInfo& info) noexcept {
  if (order.overdue < Overdue::kAskedFor || !is_over(report.ord_status) ||
      trading::is_final(order.state) || report.cl_ord_id == 0)
    return;
  if (report.ord_status == fix::OrdStatus::kDoneForDay &&
      trading::outlives_day(order.time_in_force))
    return;
  const bool unknown = report.ord_status == fix::OrdStatus::kRejected;
  if (unknown && may_be_renamed(order) && !order.id_unknown) {
    (void)second_cancel_finds_none(order);
    return;
  }
  if (!unknown && report.cum_qty != order.cumulative)
    recorder_.except(ExceptionKind::kQuantities, &order, report, info);
  // Answers come in order: one to the second cancel would have come before this.
  const std::uint64_t second = order.second_cancel_id;
  orders_.expire_unknown(order.id, info.seq_num);
  if (Order* const done = ledger_.find(second))
    orders_.book_unanswered(*done, second, trading::RejectReason::kTooLate, info.seq_num);
}

void VenueReports::on_cancel_reject(const fix::OrderCancelReject& reject,
                                    const fix::MessageInfo& info) noexcept {
  take_cancel_reject(reject, info);
  recorder_.end_entry();
}

void VenueReports::take_cancel_reject(const fix::OrderCancelReject& reject,
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
  // "Too late" means that a report has ended the order, or will. Of a former day none will come.
  bool gone = reject.reason == fix::CxlRejReason::kUnknownOrder ||
              (order->former_day && reject.reason == fix::CxlRejReason::kTooLateToCancel);
  if (second && gone) gone = second_cancel_finds_none(*order);
  trading::RejectReason reason = reason_of(reject.reason);
  // To the strategy "unknown" would say that the order is over.
  if (!gone && reason == trading::RejectReason::kUnknownOrder)
    reason = trading::RejectReason::kTooLate;
  orders_.book_unanswered(*order, reject.cl_ord_id, reason, info.seq_num, gone);
  if (gone) orders_.expire_unknown(order_id, info.seq_num);
}

// The venue could not read, or would not take, one of our messages as such.
void VenueReports::on_message_reject(const fix::MessageReject& reject,
                                     const fix::MessageInfo& info) noexcept {
  take_message_reject(reject, info);
  recorder_.end_entry();
}

void VenueReports::take_message_reject(const fix::MessageReject& reject,
                                       const fix::MessageInfo& info) noexcept {
  Order* order = ledger_.find(reject.ref_cl_ord_id);
  if (order == nullptr) {
    counters_.reports.unknown.add();
    return;
  }
  // A venue without status requests: nothing is known of the order by that.
  if (reject.ref_msg_type == 'H') return counters_.reports.ignored.add();
  if (order->pending_id == reject.ref_cl_ord_id || order->second_cancel_id == reject.ref_cl_ord_id)
    return orders_.book_unanswered(*order, reject.ref_cl_ord_id, trading::RejectReason::kVenue,
                                   info.seq_num);
  orders_.book_end(*order, wire::ReportKind::kRejected, trading::RejectReason::kVenue,
                   info.seq_num);
}

// What was on its way stays unanswered: the venue has begun anew as well. The journal's mark keeps
// a restart from comparing numbers of two sessions (recovery.hpp).
void VenueReports::on_numbers_reset(bool new_day) noexcept {
  for (std::size_t i = 0; new_day && i < slots_.count(); ++i) {
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
        orders_.book_unanswered(order, order.pending_id, trading::RejectReason::kSessionDown,
                                kSeqOfFormerDay);
      if (second != 0)
        orders_.book_unanswered(order, second, trading::RejectReason::kSessionDown,
                                kSeqOfFormerDay);
      recorder_.end_entry();
    });
  }
  JournalRecord mark{};
  mark.event.event = wire::EventKind::kNewSession;
  mark.realtime_ns = clock::realtime_ns();
  mark.own = new_day ? 1 : 0;
  recorder_.append(mark, false);
}

// The venue asks for what it has not processed. A cancel is always sent again. An order or a
// replacement is sent again if it is young and would be sent now. Else its gap is filled, and its
// strategy gets a report.
// One that has its answer is not waited for any more, whatever the venue has forgotten.
bool VenueReports::may_resend(const fix::Resend& resend) noexcept {
  if (resend.msg_type != 'D' && resend.msg_type != 'G') return true;
  Order* const order = ledger_.find(resend.cl_ord_id);
  const bool waits = order != nullptr && (order->pending_id == resend.cl_ord_id ||
                                          order->state == trading::OrderState::kPendingNew);
  if (!waits) return false;
  const trading::RejectReason reason = checks_.check_resend(*order, resend);
  if (reason == trading::RejectReason::kNone) return true;
  counters_.not_resent.add();
  VenueReport report;
  const bool replacement = order->pending_id == resend.cl_ord_id;
  report.ledger.kind =
      replacement ? wire::ReportKind::kReplaceRejected : wire::ReportKind::kRejected;
  report.ledger.request_id = resend.cl_ord_id;
  report.ledger.leaves = replacement ? order->leaves : 0;
  report.ledger.cumulative = order->cumulative;
  report.reason = reason;
  orders_.book(*order, report);
  recorder_.end_entry();
  return false;
}

// Whatever it said is lost to the books: a report that cannot be read may have been a fill.
void VenueReports::on_refused(const fix::RefusedMessage& refused,
                              const fix::MessageInfo& info) noexcept {
  if (refused.msg_type != "8") return;
  counters_.reports.received.add();
  fix::ExecutionReport unread;
  unread.cl_ord_id = refused.cl_ord_id;
  recorder_.except(ExceptionKind::kUnreadable, ledger_.find(refused.cl_ord_id), unread, info);
  recorder_.end_entry();
}

}  // namespace tickpath::oeg
