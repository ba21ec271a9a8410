#include "sim/orders/fix_messages.hpp"

#include "common/wire/order_id.hpp"

namespace tickpath::sim {
namespace {

Party party_of(std::uint64_t order_id, std::uint8_t session) noexcept {
  return {session, wire::OrderId::strategy(order_id)};
}

// The matching's numbers are those of tags 40 and 59, but for pegged orders.
static_assert(int(OrderType::kMarket) == int(fix::OrderType::kMarket) &&
              int(OrderType::kLimit) == int(fix::OrderType::kLimit) &&
              int(OrderType::kStop) == int(fix::OrderType::kStop) &&
              int(OrderType::kStopLimit) == int(fix::OrderType::kStopLimit));
static_assert(int(TimeInForce::kDay) == int(fix::TimeInForce::kDay) &&
              int(TimeInForce::kGoodTillCancel) == int(fix::TimeInForce::kGoodTillCancel) &&
              int(TimeInForce::kImmediateOrCancel) == int(fix::TimeInForce::kImmediateOrCancel) &&
              int(TimeInForce::kFillOrKill) == int(fix::TimeInForce::kFillOrKill) &&
              int(TimeInForce::kAtTheOpening) == int(fix::TimeInForce::kAtTheOpening) &&
              int(TimeInForce::kAtTheClose) == int(fix::TimeInForce::kAtTheClose));

OrderType type_of(fix::OrderType type) noexcept {
  return type == fix::OrderType::kPegged ? OrderType::kPegged : static_cast<OrderType>(type);
}

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
    default:
      return fix::ExecType::kRejected;
  }
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

}  // namespace

NewOrder to_request(const fix::NewOrderSingle& message, std::uint8_t session,
                    std::uint32_t locate) noexcept {
  NewOrder request;
  request.order_id = message.cl_ord_id;
  request.price = message.price;
  request.locate = locate;
  request.shares = message.order_qty;
  request.party = party_of(message.cl_ord_id, session);
  request.side = message.side;
  request.type = type_of(message.type);
  request.time_in_force = static_cast<TimeInForce>(message.time_in_force);
  request.stop_price = message.stop_price;
  request.display_shares = message.max_floor;
  request.minimum_shares = message.min_qty;
  request.post_only = message.post_only;
  return request;
}

CancelOrder to_request(const fix::OrderCancelRequest& message, std::uint8_t session,
                       std::uint32_t locate) noexcept {
  CancelOrder request;
  request.order_id = message.cl_ord_id;
  request.target_order_id = message.orig_cl_ord_id;
  request.locate = locate;
  request.party = party_of(message.cl_ord_id, session);
  request.side = message.side;
  return request;
}

ReplaceOrder to_request(const fix::OrderCancelReplaceRequest& message, std::uint8_t session,
                        std::uint32_t locate) noexcept {
  ReplaceOrder request;
  request.order_id = message.cl_ord_id;
  request.target_order_id = message.orig_cl_ord_id;
  request.price = message.price;
  request.locate = locate;
  request.shares = message.order_qty;
  request.party = party_of(message.cl_ord_id, session);
  request.side = message.side;
  request.type = type_of(message.type);
  request.stop_price = message.stop_price;
  return request;
}

StatusQuery to_request(const fix::OrderStatusRequest& message, std::uint8_t session,
                       std::uint32_t locate) noexcept {
  StatusQuery query;
  query.order_id = message.cl_ord_id;
  query.locate = locate;
  query.party = party_of(message.cl_ord_id, session);
  query.side = message.side;
  return query;
}

MassCancel to_request(const fix::OrderMassCancelRequest& message, std::uint8_t session,
                      std::uint32_t locate) noexcept {
  MassCancel request;
  request.session = session;
  if (message.type == static_cast<char>(fix::MassCancelType::kSecurity)) request.locate = locate;
  request.buys = message.side != '2';
  request.sells = message.side != '1';
  return request;
}

fix::ExecutionReport to_execution_report(const Report& report, const fix::Symbol& symbol) noexcept {
  fix::ExecutionReport message;
  message.order_id = report.exchange_order_id;
  message.exec_id = report.execution_id;
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
  message.symbol = symbol;
  message.text = describe(report.reason);
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
fix::ExecutionReport to_status_report(const Report& report, const fix::Symbol& symbol,
                                      std::uint64_t request_id) noexcept {
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
  report.symbol = message.symbol;
  const bool security = message.type == static_cast<char>(fix::MassCancelType::kSecurity);
  if (!security && message.type != static_cast<char>(fix::MassCancelType::kAll)) {
    report.reason = fix::MassCancelRejectReason::kNotSupported;
    report.text = "MassCancelRequestType (530) other than 1, security, and 7, all";
  } else if (security && request.locate == wire::kNoInstrument) {
    report.reason = fix::MassCancelRejectReason::kUnknownSecurity;
    report.text = describe(Reason::kUnknownSymbol);
  }
  return report;
}

}  // namespace tickpath::sim
