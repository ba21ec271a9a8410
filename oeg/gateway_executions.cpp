// Executions: what is a new one, what takes one back, and what cannot be.
#include <algorithm>
#include <cstring>

#include "oeg/gateway.hpp"

namespace tickpath::oeg {
namespace {

// The order's size, or what a replacement on its way may make of it: the venue may have taken that
// already when it reports a fill.
std::uint32_t ordered_shares(const Order& order) noexcept {
  const bool replacing = order.pending_id != 0 && order.pending_kind == wire::RequestKind::kReplace;
  return replacing ? std::max(order.shares, order.pending_shares) : order.shares;
}

std::uint32_t shares_left(const Order& order) noexcept {
  const std::uint32_t ordered = ordered_shares(order);
  return ordered > order.cumulative ? ordered - order.cumulative : 0;
}

// Worse than the order's limit and than that of a replacement on its way. An order without a limit
// has none here either, whatever it was sent with.
bool is_outside_limit(const Order& order, ExecutedPrice executed) noexcept {
  const bool replacing = order.pending_id != 0 && order.pending_kind == wire::RequestKind::kReplace;
  const std::uint32_t other = replacing ? order.pending_price : order.price;
  if (order.price == 0 || other == 0) return false;
  if (order.side == Side::kSell) return executed.price < std::min(order.price, other);
  const std::uint32_t limit = std::max(order.price, other);
  return executed.price > limit || (executed.price == limit && executed.hundredths != 0);
}

bool is_price(const fix::ExecutionReport& report) noexcept {
  const std::int64_t price = report.last_price.value;
  return price <= 0xffff'ffff && (price > 0 || (price == 0 && report.last_price_hundredths > 0));
}

ExecutedPrice price_of(const fix::ExecutionReport& report) noexcept {
  return {static_cast<std::uint32_t>(report.last_price.value), report.last_price_hundredths};
}

}  // namespace

// False: an execution that was booked before, or one without an id, of which that cannot be told.
bool Gateway::is_new_execution(const fix::ExecutionReport& report,
                               const fix::MessageInfo& info) noexcept {
  if (report.exec_id == 0) {
    except(ExceptionKind::kUnreadable, ledger_.find(report.cl_ord_id), report, info);
    return false;
  }
  if (executions_.find(report.exec_id, report.cl_ord_id) == nullptr) return true;
  if (info.may_repeat())
    counters_.reports.repeated.add();
  else
    except(ExceptionKind::kDuplicateExecution, ledger_.find(report.cl_ord_id), report, info);
  return false;
}

bool Gateway::is_about(const Order& order, const fix::ExecutionReport& report,
                       const fix::MessageInfo& info) noexcept {
  if (!(report.symbol == instruments_[order.instrument].symbol)) {
    except(ExceptionKind::kOtherSymbol, &order, report, info);
    return false;
  }
  if (report.side == order.side) return true;
  except(ExceptionKind::kOtherSide, &order, report, info);
  return false;
}

// False: an execution at a price that cannot be, or that cannot be kept to its last digit.
bool Gateway::has_price(const Order* order, const fix::ExecutionReport& report,
                        const fix::MessageInfo& info) noexcept {
  if (is_price(report) && report.last_price_exact) return true;
  except(report.last_price_exact ? ExceptionKind::kNoPrice : ExceptionKind::kPriceDecimals, order,
         report, info);
  return false;
}

// Takes the totals of a report that is no execution. CumQty is what was booked: an execution that
// is seen in it alone was never reported. LeavesQty of a replacement is what is left of the total
// that was asked for. False: one of them is not, and the books go on from what they have.
bool Gateway::take_total(const Order& order, const fix::ExecutionReport& report,
                         LedgerReport& change) const noexcept {
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

// CumQty and LeavesQty as reported where they follow from what was known; else what follows from
// it, so that one wrong figure does not spoil the next. False: they do not follow.
bool Gateway::take_quantities(const Order& order, const fix::ExecutionReport& report,
                              LedgerReport& change) const noexcept {
  const std::uint32_t cumulative = order.cumulative + report.last_shares;
  const std::uint32_t leaves_max = shares_left(order) - report.last_shares;  // checked before
  change.cumulative = cumulative;
  change.leaves = std::min(report.leaves_qty, leaves_max);
  return report.cum_qty == cumulative && report.leaves_qty <= leaves_max;
}

void Gateway::book_fill(Order* order, const fix::ExecutionReport& report,
                        const fix::MessageInfo& info) noexcept {
  if (!is_new_execution(report, info)) return;
  if (order == nullptr || trading::is_final(order->state)) {
    counters_.reports.unknown.add();
    return except(ExceptionKind::kUnknownOrder, order, report, info);
  }
  if (!is_about(*order, report, info)) return;
  if (!has_price(order, report, info)) return;
  if (report.last_shares == 0 || report.last_shares > shares_left(*order))
    return except(ExceptionKind::kShares, order, report, info);
  VenueReport venue;
  venue.ledger.kind = wire::ReportKind::kFill;
  venue.ledger.request_id = report.cl_ord_id;
  venue.ledger.last_shares = report.last_shares;
  venue.ledger.last_price = price_of(report);
  venue.execution_id = report.exec_id;
  venue.fix_seq = info.seq_num;
  venue.fee = report.commission_millionths;
  const bool follows = take_quantities(*order, report, venue.ledger);
  if (!report.commission_known) except(ExceptionKind::kCommission, order, report, info);
  if (!follows) except(ExceptionKind::kQuantities, order, report, info);
  if (is_outside_limit(*order, venue.ledger.last_price))
    except(ExceptionKind::kOutsideLimit, order, report, info);
  book(*order, venue);
}

// FIX 4.2, Execution Report, ExecTransType Cancel and Correct; 4.4, ExecType Trade Cancel and Trade
// Correct. ExecRefID names the execution; CumQty, LeavesQty are what they are after the change.
void Gateway::change_execution(Order* order, const fix::ExecutionReport& report,
                               const fix::MessageInfo& info) noexcept {
  Execution* execution = executions_.find(report.exec_ref_id, report.cl_ord_id);
  if (execution == nullptr)  // reported under another id of the order, before a replacement
    execution = executions_.find_if(report.exec_ref_id, [&](const Execution& known) {
      return known.side == report.side && instruments_[known.instrument].symbol == report.symbol;
    });
  if (execution == nullptr) return except(ExceptionKind::kUnknownExecution, order, report, info);
  const bool corrected = report.trade_change == fix::TradeChange::kCorrected;
  if (execution->canceled) {
    if (info.may_repeat()) return counters_.reports.repeated.add();
    return except(ExceptionKind::kDuplicateExecution, order, report, info);
  }
  if (corrected && report.last_shares == 0)
    return except(ExceptionKind::kShares, order, report, info);
  if (corrected && !has_price(order, report, info)) return;
  const bool done = order == nullptr || trading::is_final(order->state);
  if (done && report.leaves_qty != 0) except(ExceptionKind::kReopened, order, report, info);
  if (done) order = nullptr;
  if (corrected && order != nullptr && is_outside_limit(*order, price_of(report)))
    except(ExceptionKind::kOutsideLimit, order, report, info);
  // What the fee is after the change, no field says for certain: a person looks at it.
  if (execution->charged || report.has_commission)
    except(ExceptionKind::kCommission, order, report, info);

  execution->canceled = true;
  const Execution old = *execution;
  const auto change_of = [&](wire::ReportKind kind, const Execution& each) {
    VenueReport venue;
    venue.fix_seq = info.seq_num;
    venue.execution_id = each.exec_id;
    venue.ledger.kind = kind;
    venue.ledger.last_shares = each.shares;
    venue.ledger.last_price = executed_price(each);
    venue.ledger.cumulative = report.cum_qty;
    venue.ledger.leaves = report.leaves_qty;
    return venue;
  };
  VenueReport canceled = change_of(wire::ReportKind::kFillCanceled, old);
  if (corrected && order != nullptr) {
    // Between the two the order is as it was, less the old execution: it is open all along.
    canceled.ledger.cumulative = order->cumulative - std::min(order->cumulative, old.shares);
    canceled.ledger.leaves = std::max(order->leaves, 1u);
  }
  canceled.more = corrected;
  change_fill(old, order, canceled);
  if (!corrected) return;
  const ExecutedPrice price = price_of(report);
  Execution right = old;
  right.exec_id = report.exec_id;
  right.shares = report.last_shares;
  right.price = price.price;
  right.price_hundredths = price.hundredths;
  right.canceled = right.charged = false;
  change_fill(right, order, change_of(wire::ReportKind::kFillCorrected, right));
}

// Books the change of an execution: with its order where that is open, else with its position.
void Gateway::change_fill(const Execution& execution, Order* order,
                          const VenueReport& report) noexcept {
  const bool stands = report.ledger.kind == wire::ReportKind::kFillCorrected;
  counters_.reports.fills_changed.add();
  if (stands) executions_.add(execution);
  if (order != nullptr) {
    VenueReport of_order = report;
    of_order.ledger.request_id = execution.order_id;
    return book(*order, of_order);
  }
  // Its fill has made the row, and a new day keeps those that are not flat; one of a flat row may
  // need it again.
  const std::uint32_t row = ledger_.position_row(execution.strategy, execution.instrument);
  const std::size_t slot = slot_of_[execution.strategy];
  if (row == IdMap::kNone || slot >= slots_.size()) return counters_.reports.impossible.add();
  Order done;  // what journal and report need of it
  done.id = execution.order_id;
  done.instrument = execution.instrument;
  done.strategy = execution.strategy;
  done.side = execution.side;
  ledger_.trade(row, {execution.side, execution.shares, executed_price(execution), stands});

  wire::OrderEvent event{};
  event.order_id = event.target_order_id = execution.order_id;
  event.instrument_id = execution.instrument;
  event.shares = execution.shares;
  event.price = execution.price;
  event.price_hundredths = execution.price_hundredths;
  event.cumulative_shares = report.ledger.cumulative;
  event.event = wire::EventKind::kReported;
  event.report_kind = report.ledger.kind;
  event.side = execution.side;
  event.strategy_id = execution.strategy;
  event.state = trading::OrderState::kFilled;
  journal(event, done, report.fix_seq, report.execution_id, report.more);
  publish(event, row);

  wire::OrderReport out{};
  out.order_id = out.target_order_id = execution.order_id;
  out.execution_id = report.execution_id;
  out.instrument_id = execution.instrument;
  out.last_shares = execution.shares;
  out.last_price = execution.price;
  out.last_price_hundredths = execution.price_hundredths;
  out.cumulative_shares = report.ledger.cumulative;
  out.kind = report.ledger.kind;
  out.side = execution.side;
  out.strategy_id = execution.strategy;
  report_to(slots_[slot], out);
}

ManualResult Gateway::book_by_hand(const ManualTrade& trade) noexcept {
  const std::uint32_t instrument = instruments_.id_of(trade.symbol.view());
  if (instrument == wire::kNoInstrument) return ManualResult::kNoSymbol;
  if (slot_of_[trade.strategy] >= slots_.size()) return ManualResult::kNoStrategy;
  // An oeg may have died between the booking and the clearing of the exception.
  if (trade.exec_id != 0 && executions_.find(trade.exec_id, 0) != nullptr)
    return ManualResult::kBookedBefore;
  if (!journal_.has_room_for_reports() ||
      ledger_.position_row(trade.strategy, instrument) == IdMap::kNone)
    return ManualResult::kNoRoom;
  Execution execution;
  execution.exec_id = trade.exec_id != 0 ? trade.exec_id : ++own_cancels_;
  execution.instrument = instrument;
  execution.shares = trade.shares;
  execution.price = trade.price;
  execution.price_hundredths = trade.price_hundredths;
  execution.strategy = trade.strategy;
  execution.side = trade.side;
  VenueReport report;  // of no order, and no message
  report.ledger.kind = wire::ReportKind::kFillCorrected;
  report.execution_id = execution.exec_id;
  change_fill(execution, nullptr, report);
  return ManualResult::kBooked;
}

void Gateway::except(ExceptionKind kind, const Order* order, const fix::ExecutionReport& report,
                     const fix::MessageInfo& info) noexcept {
  counters_.exceptions.add();
  ExceptionNote note;
  note.kind = kind;
  note.strategy = order != nullptr ? order->strategy : strategy_of(report.cl_ord_id);
  note.fix_seq = info.seq_num;
  note.order_id = report.cl_ord_id;
  note.symbol = order != nullptr ? instruments_[order->instrument].symbol : report.symbol;
  note.length = static_cast<std::uint16_t>(std::min(info.text.size(), ExceptionNote::kTextMax));
  if (note.length != 0) std::memcpy(note.text, info.text.data(), note.length);

  wire::OrderEvent event{};
  event.order_id = report.cl_ord_id;
  event.instrument_id =
      order != nullptr ? order->instrument : instruments_.id_of(note.symbol.view());
  event.shares = report.last_shares;
  if (is_price(report)) {
    event.price = price_of(report).price;
    event.price_hundredths = price_of(report).hundredths;
  }
  event.event = wire::EventKind::kException;
  event.side = report.side;
  event.strategy_id = note.strategy;
  journal(note, event, report);
  if (holds_symbol(kind)) hold_symbol(note.symbol);
  if (in_entry_ && noted_ < notes_.size())
    notes_[noted_++] = note;
  else
    events_.note_exception(note);
  publish(event, IdMap::kNone);
}

// By the order's id, though it is not open any more. One that no strategy here gave has none.
std::uint8_t Gateway::strategy_of(std::uint64_t id) const noexcept {
  const std::uint8_t strategy = wire::OrderId::strategy(id);
  return id >> 56 == 0 && slot_of_[strategy] < slots_.size() ? strategy : kUnknownStrategy;
}

// Before the session counts the report: a crash from here on does not lose it.
void Gateway::journal(ExceptionNote& note, const wire::OrderEvent& event,
                      const fix::ExecutionReport& report) noexcept {
  JournalRecord record{};
  record.event = event;
  record.realtime_ns = note.realtime_ns = clock::realtime_ns();
  record.execution_id = report.exec_id;
  record.fix_seq = note.fix_seq;
  record.exception = static_cast<std::uint8_t>(note.kind);
  std::memcpy(record.symbol, note.symbol.text, note.symbol.length);
  if (append(record, is_booked(note.kind))) note.journal_sequence = record.sequence;
}

trading::RejectReason Gateway::check_resend(const Order& order,
                                            const fix::Resend& resend) noexcept {
  using trading::RejectReason;
  if (resend.age_ns > options_.resend_age_max_ns) return RejectReason::kStale;
  const bool replacement = resend.cl_ord_id == order.pending_id;
  // What it adds stands in the ledger already.
  const Demand demand{replacement ? order.pending_price : order.price,
                      replacement ? order.pending_shares : order.shares,
                      0,
                      order.side,
                      order.type == trading::OrderType::kPegged,
                      replacement ? order.pending_stop_price : order.stop_price};
  const Instrument& instrument = instruments_[order.instrument];
  if (is_held(instrument.symbol)) return RejectReason::kException;
  const RejectReason limit = check_limits({demand, instrument, ledger_, order.row, limits_});
  if (limit != RejectReason::kNone) return limit;
  // The strategy may have gone meanwhile, and the order would be cancelled at once.
  if (order.orphan) return RejectReason::kStale;
  Conditions now = conditions_;
  now.session_up = venue_.takes_orders();  // it is about to be up
  now.behind_gap = venue_.behind_gap();
  return check_conditions(now, block_, order.strategy);
}

// The venue asks for what it has not processed. Cancels always help; an order or replacement is
// sent again if it is young and would be sent now, else its gap is filled and its strategy told.
// One that has its answer is not waited for any more, whatever the venue has forgotten.
bool Gateway::may_resend(const fix::Resend& resend) noexcept {
  if (resend.msg_type != 'D' && resend.msg_type != 'G') return true;
  Order* const order = ledger_.find(resend.cl_ord_id);
  const bool waits = order != nullptr && (order->pending_id == resend.cl_ord_id ||
                                          order->state == trading::OrderState::kPendingNew);
  if (!waits) return false;
  const trading::RejectReason reason = check_resend(*order, resend);
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
  book(*order, report);
  end_entry();
  return false;
}

// Whatever it said is lost to the books: a report that cannot be read may have been a fill.
void Gateway::on_refused(const fix::RefusedMessage& refused,
                         const fix::MessageInfo& info) noexcept {
  if (refused.msg_type != "8") return;
  counters_.reports.received.add();
  fix::ExecutionReport unread;
  unread.cl_ord_id = refused.cl_ord_id;
  except(ExceptionKind::kUnreadable, ledger_.find(refused.cl_ord_id), unread, info);
  end_entry();
}

}  // namespace tickpath::oeg
