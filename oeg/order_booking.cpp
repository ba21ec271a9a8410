#include "oeg/order_booking.hpp"

#include "common/clock/clock.hpp"

namespace tickpath::oeg {
namespace {

// A cancel of our own that the venue refused is repeated after this part of a second.
constexpr std::uint64_t kOwnCancelsPerSecond = 50;

}  // namespace

OrderBooking::OrderBooking(Books& books, Recorder& recorder, ReportQueues& queues) noexcept
    : ledger_(books.ledger),
      slots_(books.slots),
      executions_(books.executions),
      counters_(books.counters),
      recorder_(recorder),
      queues_(queues),
      hz_(clock::tsc_hz()) {}

void OrderBooking::book(Order& order, const VenueReport& report) noexcept {
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
  StrategySlot& slot = slots_.of(before.strategy);

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
  recorder_.journal(event, before, report.fix_seq, report.execution_id, more, report.fee);
  recorder_.publish(event, before.row);
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
  queues_.report_to(slot, out);
  if (before.overdue != Overdue::kNot) [[unlikely]]
    settle_overdue(before, report.fix_seq);
}

// What the venue wants for a fill is in no cash, but in the row, and so in risk's P&L.
void OrderBooking::charge(const wire::OrderEvent& fill, std::uint32_t row,
                          std::int64_t fee) noexcept {
  ledger_.charge(row, fee);
  wire::OrderEvent event = fill;
  wire::set_fee(event, fee);
  recorder_.publish(event, row);
}

void OrderBooking::book_end(Order& order, wire::ReportKind kind, trading::RejectReason reason,
                            std::uint32_t fix_seq) noexcept {
  VenueReport venue;
  venue.ledger.kind = kind;
  venue.ledger.request_id = order.id;
  venue.ledger.cumulative = order.cumulative;
  venue.reason = reason;
  venue.fix_seq = fix_seq;
  book(order, venue);
}

void OrderBooking::book_unanswered(Order& order, std::uint64_t request_id,
                                   trading::RejectReason reason, std::uint32_t fix_seq,
                                   bool more) noexcept {
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

void OrderBooking::expire_unknown(std::uint64_t order_id, std::uint32_t fix_seq) noexcept {
  Order* const order = ledger_.find(order_id);
  if (order == nullptr || trading::is_final(order->state)) return;
  counters_.reports.lost_by_venue.add();
  book_end(*order, wire::ReportKind::kExpired, trading::RejectReason::kUnknownOrder, fix_seq);
}

// After a report about an order that has an overdue request. One that is over owes no answer to it:
// no report will come, and the strategy waits.
void OrderBooking::settle_overdue(const Order& before, std::uint32_t fix_seq) noexcept {
  Order* order = ledger_.find(before.id);
  for (const std::uint64_t id : {before.pending_id, before.second_cancel_id})
    if (order == nullptr && id != 0) order = ledger_.find(id);
  if (order == nullptr) return;
  if (!trading::is_final(order->state)) {
    if (!waits_for_answer(*order)) order->overdue = Overdue::kNot;
    return;
  }
  if (order->pending_id != 0)
    book_unanswered(*order, order->pending_id, trading::RejectReason::kTooLate, fix_seq);
}

}  // namespace tickpath::oeg
