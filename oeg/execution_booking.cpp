#include "oeg/execution_booking.hpp"

#include <algorithm>

namespace tickpath::oeg {
namespace {

// The order's size, or what a replacement on its way may make of it. The venue may have taken that
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

// CumQty and LeavesQty as reported, where they follow from what was known. Else the books take what
// does follow, so that one wrong figure does not spoil the next. False: they do not follow.
bool take_quantities(const Order& order, const fix::ExecutionReport& report,
                     LedgerReport& change) noexcept {
  const std::uint32_t cumulative = order.cumulative + report.last_shares;
  const std::uint32_t leaves_max = shares_left(order) - report.last_shares;  // checked before
  change.cumulative = cumulative;
  change.leaves = std::min(report.leaves_qty, leaves_max);
  return report.cum_qty == cumulative && report.leaves_qty <= leaves_max;
}

}  // namespace

// False: an execution that was booked before, or one without an id, which nobody can recognise.
bool ExecutionBooking::is_new(const fix::ExecutionReport& report,
                              const fix::MessageInfo& info) noexcept {
  if (report.exec_id == 0) {
    recorder_.except(ExceptionKind::kUnreadable, ledger_.find(report.cl_ord_id), report, info);
    return false;
  }
  if (executions_.find(report.exec_id, report.cl_ord_id) == nullptr) return true;
  if (info.may_repeat())
    counters_.reports.repeated.add();
  else
    recorder_.except(ExceptionKind::kDuplicateExecution, ledger_.find(report.cl_ord_id), report,
                     info);
  return false;
}

bool ExecutionBooking::is_about(const Order& order, const fix::ExecutionReport& report,
                                const fix::MessageInfo& info) noexcept {
  if (!(report.symbol == instruments_[order.instrument].symbol)) {
    recorder_.except(ExceptionKind::kOtherSymbol, &order, report, info);
    return false;
  }
  if (report.side == order.side) return true;
  recorder_.except(ExceptionKind::kOtherSide, &order, report, info);
  return false;
}

// False: an execution at a price that cannot be, or that cannot be kept to its last digit.
bool ExecutionBooking::has_price(const Order* order, const fix::ExecutionReport& report,
                                 const fix::MessageInfo& info) noexcept {
  if (is_price(report) && report.last_price_exact) return true;
  recorder_.except(
      report.last_price_exact ? ExceptionKind::kNoPrice : ExceptionKind::kPriceDecimals, order,
      report, info);
  return false;
}

void ExecutionBooking::book_fill(Order* order, const fix::ExecutionReport& report,
                                 const fix::MessageInfo& info) noexcept {
  if (!is_new(report, info)) return;
  if (order == nullptr || trading::is_final(order->state)) {
    counters_.reports.unknown.add();
    return recorder_.except(ExceptionKind::kUnknownOrder, order, report, info);
  }
  if (!is_about(*order, report, info)) return;
  if (!has_price(order, report, info)) return;
  if (report.last_shares == 0 || report.last_shares > shares_left(*order))
    return recorder_.except(ExceptionKind::kShares, order, report, info);
  VenueReport venue;
  venue.ledger.kind = wire::ReportKind::kFill;
  venue.ledger.request_id = report.cl_ord_id;
  venue.ledger.last_shares = report.last_shares;
  venue.ledger.last_price = price_of(report);
  venue.execution_id = report.exec_id;
  venue.fix_seq = info.seq_num;
  venue.fee = report.commission_millionths;
  const bool follows = take_quantities(*order, report, venue.ledger);
  if (!report.commission_known) recorder_.except(ExceptionKind::kCommission, order, report, info);
  if (!follows) recorder_.except(ExceptionKind::kQuantities, order, report, info);
  if (is_outside_limit(*order, venue.ledger.last_price))
    recorder_.except(ExceptionKind::kOutsideLimit, order, report, info);
  orders_.book(*order, venue);
}

// FIX 4.2, Execution Report, ExecTransType Cancel and Correct; 4.4, ExecType Trade Cancel and Trade
// Correct. ExecRefID names the execution; CumQty, LeavesQty are what they are after the change.
void ExecutionBooking::change_execution(Order* order, const fix::ExecutionReport& report,
                                        const fix::MessageInfo& info) noexcept {
  Execution* execution = executions_.find(report.exec_ref_id, report.cl_ord_id);
  if (execution == nullptr)  // reported under another id of the order, before a replacement
    execution = executions_.find_if(report.exec_ref_id, [&](const Execution& known) {
      return known.side == report.side && instruments_[known.instrument].symbol == report.symbol;
    });
  if (execution == nullptr)
    return recorder_.except(ExceptionKind::kUnknownExecution, order, report, info);
  const bool corrected = report.trade_change == fix::TradeChange::kCorrected;
  if (execution->canceled) {
    if (info.may_repeat()) return counters_.reports.repeated.add();
    return recorder_.except(ExceptionKind::kDuplicateExecution, order, report, info);
  }
  if (corrected && report.last_shares == 0)
    return recorder_.except(ExceptionKind::kShares, order, report, info);
  if (corrected && !has_price(order, report, info)) return;
  const bool done = order == nullptr || trading::is_final(order->state);
  if (done && report.leaves_qty != 0)
    recorder_.except(ExceptionKind::kReopened, order, report, info);
  if (done) order = nullptr;
  if (corrected && order != nullptr && is_outside_limit(*order, price_of(report)))
    recorder_.except(ExceptionKind::kOutsideLimit, order, report, info);
  // What the fee is after the change, no field says for certain: a person looks at it.
  if (execution->charged || report.has_commission)
    recorder_.except(ExceptionKind::kCommission, order, report, info);

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
void ExecutionBooking::change_fill(const Execution& execution, Order* order,
                                   const VenueReport& report) noexcept {
  const bool stands = report.ledger.kind == wire::ReportKind::kFillCorrected;
  counters_.reports.fills_changed.add();
  if (stands) executions_.add(execution);
  if (order != nullptr) {
    VenueReport of_order = report;
    of_order.ledger.request_id = execution.order_id;
    return orders_.book(*order, of_order);
  }
  // Its fill has made the row, and a new day keeps those that are not flat; one of a flat row may
  // need it again.
  const std::uint32_t row = ledger_.position_row(execution.strategy, execution.instrument);
  if (row == IdMap::kNone || !slots_.has(execution.strategy))
    return counters_.reports.impossible.add();
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
  recorder_.journal(event, done, report.fix_seq, report.execution_id, report.more);
  recorder_.publish(event, row);

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
  queues_.report_to(slots_.of(execution.strategy), out);
}

ManualResult ExecutionBooking::book_by_hand(const ManualTrade& trade) noexcept {
  const std::uint32_t instrument = instruments_.id_of(trade.symbol.view());
  if (instrument == wire::kNoInstrument) return ManualResult::kNoSymbol;
  if (!slots_.has(trade.strategy)) return ManualResult::kNoStrategy;
  // An oeg may have died between the booking and the clearing of the exception.
  if (trade.exec_id != 0 && executions_.find(trade.exec_id, 0) != nullptr)
    return ManualResult::kBookedBefore;
  if (!journal_.has_room_for_reports() ||
      ledger_.position_row(trade.strategy, instrument) == IdMap::kNone)
    return ManualResult::kNoRoom;
  Execution execution;
  execution.exec_id = trade.exec_id != 0 ? trade.exec_id : own_ids_.next();
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

}  // namespace tickpath::oeg
