#include "sim/orders/fix_messages.hpp"

namespace tickpath::sim {
namespace {

// Tag 39 from the order's state, which comes from wire and is the same for the whole pipeline.
fix::OrdStatus status_of(OrderState state) noexcept {
  switch (state) {
    case OrderState::kPendingNew:
      return fix::OrdStatus::kPendingNew;
    case OrderState::kWorking:
      return fix::OrdStatus::kNew;
    case OrderState::kPartlyFilled:
      return fix::OrdStatus::kPartiallyFilled;
    case OrderState::kFilled:
      return fix::OrdStatus::kFilled;
    case OrderState::kCanceled:
      return fix::OrdStatus::kCanceled;
    case OrderState::kExpired:
      return fix::OrdStatus::kExpired;
    case OrderState::kRejected:
      break;
  }
  return fix::OrdStatus::kRejected;
}

fix::ExecType exec_type_of(const Report& report) noexcept {
  switch (report.kind) {
    case ReportKind::kAccepted:
      return fix::ExecType::kNew;
    case ReportKind::kFill:
      return report.leaves_shares == 0 ? fix::ExecType::kFill : fix::ExecType::kPartialFill;
    case ReportKind::kCanceled:
      return fix::ExecType::kCanceled;
    case ReportKind::kExpired:
      return fix::ExecType::kExpired;
    case ReportKind::kReplaced:
      return report.reason == Reason::kSelfMatch ? fix::ExecType::kRestated
                                                 : fix::ExecType::kReplaced;
    case ReportKind::kTriggered:
      return fix::ExecType::kTriggered;
    default:
      return fix::ExecType::kRejected;
  }
}

// Tag 851, FIX 4.4: an auction's fill has neither value.
std::uint8_t liquidity_of(Liquidity liquidity) noexcept {
  if (liquidity == Liquidity::kAdded) return 1;
  return liquidity == Liquidity::kRemoved ? 2 : 0;
}

// Tag 103 has few values; the text says more.
fix::OrdRejReason order_reason_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::kUnknownSymbol:
      return fix::OrdRejReason::kUnknownSymbol;
    case Reason::kNotTrading:
    case Reason::kClosed:
      return fix::OrdRejReason::kExchangeClosed;
    case Reason::kQuantity:
    case Reason::kPrice:
      return fix::OrdRejReason::kOrderExceedsLimit;
    case Reason::kDuplicateId:
      return fix::OrdRejReason::kDuplicateOrder;
    default:
      return fix::OrdRejReason::kBrokerOption;
  }
}

fix::CxlRejReason change_reason_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::kTooLate:
    case Reason::kBelowFilled:
      return fix::CxlRejReason::kTooLateToCancel;
    case Reason::kUnknownOrder:
      return fix::CxlRejReason::kUnknownOrder;
    default:
      return fix::CxlRejReason::kBrokerOption;
  }
}

// Bits that no number of an execution reaches. What is canceled is a fill that nobody has heard of.
constexpr std::uint64_t kCorrection = std::uint64_t{1} << 47;
constexpr std::uint64_t kUnknown = std::uint64_t{1} << 46;

void tell_change(fix::TradeChange change, fix::ExecutionReport& message) noexcept {
  const bool canceled = change == fix::TradeChange::kCanceled;
  message.trade_change = change;
  message.exec_ref_id = canceled ? message.exec_id | kUnknown : message.exec_id;
  message.exec_id |= canceled ? kCorrection | kUnknown : kCorrection;
}

}  // namespace

NewOrder to_request(const fix::NewOrderSingle& message, const Asked& asked) noexcept {
  NewOrder request;
  request.order_id = asked.order_id;
  request.price = message.price;
  request.locate = asked.locate;
  request.shares = message.order_qty;
  request.party = asked.party;
  request.side = message.side;
  request.type = message.type;
  request.time_in_force = message.time_in_force;
  request.stop_price = message.stop_price;
  request.display_shares = message.max_floor;
  request.minimum_shares = message.min_qty;
  request.post_only = message.post_only;
  return request;
}

CancelOrder to_request(const fix::OrderCancelRequest& message, const Asked& asked) noexcept {
  CancelOrder request;
  request.order_id = asked.order_id;
  request.target_order_id = asked.target_order_id;
  request.locate = asked.locate;
  request.party = asked.party;
  request.side = message.side;
  return request;
}

ReplaceOrder to_request(const fix::OrderCancelReplaceRequest& message,
                        const Asked& asked) noexcept {
  ReplaceOrder request;
  request.order_id = asked.order_id;
  request.target_order_id = asked.target_order_id;
  request.price = message.price;
  request.locate = asked.locate;
  request.shares = message.order_qty;
  request.party = asked.party;
  request.side = message.side;
  request.type = message.type;
  request.stop_price = message.stop_price;
  return request;
}

std::string_view kept_term(const fix::OrderCancelReplaceRequest& message,
                           const LiveOrder& order) noexcept {
  if (message.says_time_in_force && message.time_in_force != order.time_in_force)
    return "TimeInForce (59) is not the order's, which a replacement keeps";
  if (message.says_instructions && message.post_only != order.post_only)
    return "ExecInst (18) is not the order's, which a replacement keeps";
  const bool shows_all = order.display == 0 && message.max_floor >= message.order_qty;
  if (message.max_floor != 0 && message.max_floor != order.display && !shows_all)
    return "MaxFloor (111) is not the order's, which a replacement keeps";
  return {};
}

// FIX 4.2 and 4.4, Order Cancel/Replace Request: ExecInst is not carried forward unless it is said
// again. Fields that were not changed are to be sent again as well.
std::string_view dropped_term(const fix::OrderCancelReplaceRequest& message,
                              const LiveOrder& order) noexcept {
  const bool instructed = order.post_only || order.type == OrderType::kPegged;
  if (instructed && !message.says_instructions)
    return "ExecInst (18) is missing: no replacement carries it over";
  if (order.display != 0 && message.max_floor == 0)
    return "MaxFloor (111) is missing: a replacement repeats it";
  return {};
}

StatusQuery to_request(const fix::OrderStatusRequest& message, const Asked& asked) noexcept {
  StatusQuery query;
  query.order_id = asked.order_id;
  query.locate = asked.locate;
  query.party = asked.party;
  query.side = message.side;
  return query;
}

MassCancel to_request(const fix::OrderMassCancelRequest& message, const Asked& asked) noexcept {
  MassCancel request;
  request.session = asked.party.session;
  if (message.type == static_cast<char>(fix::MassCancelType::kSecurity))
    request.locate = asked.locate;
  request.buys = message.side != '2';
  request.sells = message.side != '1';
  return request;
}

fix::ExecutionReport to_execution_report(const Report& report, std::string_view symbol,
                                         const FeeSchedule& fees,
                                         fix::TradeChange change) noexcept {
  fix::ExecutionReport message;
  message.order_id = report.exchange_order_id;
  message.exec_id = report.execution_id;
  if (change != fix::TradeChange::kNone) [[unlikely]]
    tell_change(change, message);
  message.cl_ord_id = report.order_id;
  // Nobody's request changed a restated order: its id is what it was.
  if (report.target_order_id != report.order_id) message.orig_cl_ord_id = report.target_order_id;
  message.price = {report.limit_price};
  message.last_price = {report.last_price};
  if (report.cumulative_shares != 0)
    message.average_price = {report.filled_value / report.cumulative_shares};
  message.order_qty = report.shares;
  message.last_shares = report.last_shares;
  message.leaves_qty = report.leaves_shares;
  message.cum_qty = report.cumulative_shares;
  message.exec_type = exec_type_of(report);
  message.ord_status = status_of(report.state);
  message.side = report.side;
  message.reject_reason = order_reason_of(report.reason);
  message.symbol_text = symbol;
  message.text = describe(report.reason);
  if (report.kind == ReportKind::kTriggered)
    message.order_type = report.limit_price == 0 ? OrderType::kMarket : OrderType::kLimit;
  if (fees.any() && report.kind == ReportKind::kFill) {
    message.has_commission = true;
    message.commission_millionths = fees.of(report.liquidity, report.last_shares);
    message.liquidity = liquidity_of(report.liquidity);
  }
  return message;
}

fix::OrderCancelReject to_cancel_reject(const Report& report) noexcept {
  fix::OrderCancelReject message;
  message.order_id = report.exchange_order_id;
  message.cl_ord_id = report.order_id;
  message.orig_cl_ord_id = report.target_order_id;
  message.ord_status = status_of(report.state);
  message.reason = change_reason_of(report.reason);
  message.of_replace = report.kind == ReportKind::kReplaceRejected;
  message.text = describe(report.reason);
  return message;
}

// FIX 4.2 and 4.4, Execution Report: ExecID is 0 in the answer to a status request; an order that
// the venue does not know is Rejected, for reason 5.
fix::ExecutionReport to_status_report(const Report& report, std::string_view symbol,
                                      std::string_view request_id) noexcept {
  fix::ExecutionReport message = to_execution_report(report, symbol);
  message.status = true;
  message.status_request_id = request_id;
  message.exec_id = 0;
  message.exec_type = static_cast<fix::ExecType>(message.ord_status);
  message.last_shares = 0;
  if (report.reason == Reason::kUnknownOrder)
    message.reject_reason = fix::OrdRejReason::kUnknownOrder;
  return message;
}

fix::OrderMassCancelReport to_mass_cancel_report(const fix::OrderMassCancelRequest& message,
                                                 const MassCancel& request) noexcept {
  fix::OrderMassCancelReport report;
  report.cl_ord_id = message.cl_ord_id;
  report.type = message.type;
  report.side = message.side;
  const bool security = message.type == static_cast<char>(fix::MassCancelType::kSecurity);
  if (!message.unsupported.empty()) {
    report.reason = fix::MassCancelRejectReason::kNotSupported;
    report.text = message.unsupported;
  } else if (!security && message.type != static_cast<char>(fix::MassCancelType::kAll)) {
    report.reason = fix::MassCancelRejectReason::kNotSupported;
    report.text = "MassCancelRequestType (530) other than 1, security, and 7, all";
  } else if (security && request.locate == wire::kNoInstrument) {
    report.reason = fix::MassCancelRejectReason::kUnknownSecurity;
    report.text = describe(Reason::kUnknownSymbol);
  }
  return report;
}

}  // namespace tickpath::sim
