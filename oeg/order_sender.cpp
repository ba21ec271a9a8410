#include "oeg/order_sender.hpp"

namespace tickpath::oeg {

fix::SendStatus OrderSender::send_cancel(const Order& order, std::uint64_t request_id,
                                         fix::SendTimes& times) noexcept {
  fix::OrderCancelRequest message;
  message.cl_ord_id = request_id;
  message.orig_cl_ord_id = order.id_unknown ? order.pending_id : order.id;
  message.order_qty = order.shares;
  message.side = order.side;
  message.symbol = instruments_[order.instrument].symbol;
  return venue_.send(message, times);
}

fix::SendStatus OrderSender::send_replace(const Order& order, const wire::OrderRequest& request,
                                          fix::SendTimes& times) noexcept {
  fix::OrderCancelReplaceRequest message;
  message.cl_ord_id = order.pending_id;
  message.orig_cl_ord_id = order.id;
  message.price = {std::int64_t{order.pending_price}};
  message.order_qty = order.pending_shares;
  message.side = order.side;
  message.type = order.type;
  message.time_in_force = order.time_in_force;
  message.stop_price = {std::int64_t{request.stop_price}};
  message.max_floor = order.display_shares;
  message.min_qty = order.minimum_shares;
  message.post_only = (order.instructions & wire::kPostOnly) != 0;
  protect(message, request);
  message.symbol = instruments_[order.instrument].symbol;
  return venue_.send(message, times);
}

bool OrderSender::ask_for(const Order& order) noexcept {
  fix::OrderStatusRequest message;
  message.cl_ord_id = order.id_unknown ? order.pending_id : order.id;
  message.side = order.side;
  message.symbol = instruments_[order.instrument].symbol;
  fix::SendTimes times{};
  return fix::accepted(venue_.send(message, times));
}

void OrderSender::reject_unsent(Order& order, std::uint64_t request_id) noexcept {
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
  recorder_.journal(event, order, 0, 0);
  if (of_pending)
    ledger_.undo_request(order, request_id);
  else
    ledger_.undo_add(order);
}

}  // namespace tickpath::oeg
