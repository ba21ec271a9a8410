// Requests as the venue gets them: builds FIX messages and sends them. Datapath thread.
#pragma once

#include <cstdint>

#include "common/fix/session.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"

namespace tickpath::oeg {

class OrderSender {
 public:
  OrderSender(const GatewayOptions& options, Books& books, const OrderChecks& checks,
              Recorder& recorder, VenuePort& venue) noexcept
      : options_(options),
        instruments_(books.instruments),
        ledger_(books.ledger),
        checks_(checks),
        recorder_(recorder),
        venue_(venue) {}

  // Journals the request under the number that its message will have. What it returns is to be
  // published once the message is sent.
  wire::OrderEvent record(const Order& order, const wire::OrderRequest& request) noexcept;
  fix::SendStatus send_new(const wire::OrderRequest& request, fix::SendTimes& times) noexcept;
  fix::SendStatus send_cancel(const Order& order, std::uint64_t request_id,
                              fix::SendTimes& times) noexcept;
  fix::SendStatus send_replace(const Order& order, const wire::OrderRequest& request,
                               fix::SendTimes& times) noexcept;
  // Asks for the order's status (35=H). False: it was not sent.
  bool ask_for(const Order& order) noexcept;
  // The request was journaled and never sent: the ledger forgets it, and the journal says so.
  void reject_unsent(Order& order, std::uint64_t request_id) noexcept;

 private:
  template <class Message>
  void protect(Message& message, const wire::OrderRequest& request) const noexcept;

  const GatewayOptions& options_;
  const Instruments& instruments_;
  Ledger& ledger_;
  const OrderChecks& checks_;
  Recorder& recorder_;
  VenuePort& venue_;
};

inline wire::OrderEvent event_of(const Order& order, const wire::OrderRequest& request) noexcept {
  wire::OrderEvent event{};
  event.order_id = request.order_id;
  event.target_order_id = request.target_order_id;
  event.trace_id = request.trace_id;
  event.instrument_id = order.instrument;
  event.shares = request.shares;
  event.price = static_cast<std::uint32_t>(request.price.value);
  event.leaves_shares = order.leaves;
  event.cumulative_shares = order.cumulative;
  event.event = wire::EventKind::kRequested;
  event.request_kind = request.kind;
  event.side = order.side;
  event.strategy_id = order.strategy;
  event.state = order.state;
  return event;
}

[[gnu::always_inline]] inline wire::OrderEvent OrderSender::record(
    const Order& order, const wire::OrderRequest& request) noexcept {
  const wire::OrderEvent event = event_of(order, request);
  recorder_.journal(event, order, venue_.next_seq(), 0);
  return event;
}

// A market order trades at any price that it finds, a stop order when its price has come. The
// checks have valued it at the collar, so the collar is its limit. What cannot trade within that
// expires, or, for a stop order, rests there.
template <class Message>
void OrderSender::protect(Message& message, const wire::OrderRequest& request) const noexcept {
  const std::uint32_t collar = checks_.limits().collar_basis_points;
  const bool stop = request.type == trading::OrderType::kStop;
  if ((!stop && request.type != trading::OrderType::kMarket) || !options_.market_order_protection ||
      collar == 0)
    return;
  const std::uint32_t reference =
      reference_price(demand_of(request, 0), instruments_[request.instrument_id], checks_.limits());
  message.type = stop ? trading::OrderType::kStopLimit : trading::OrderType::kLimit;
  // One that waits, for its price or for a cross, goes on waiting.
  if (!stop && !trading::is_on_cross(request.time_in_force) &&
      !trading::is_immediate(request.time_in_force))
    message.time_in_force = trading::TimeInForce::kImmediateOrCancel;
  message.price = {std::int64_t{collar_price(request.side, reference, collar)}};
}

[[gnu::always_inline]] inline fix::SendStatus OrderSender::send_new(
    const wire::OrderRequest& request, fix::SendTimes& times) noexcept {
  fix::NewOrderSingle message;
  message.cl_ord_id = request.order_id;
  message.price = request.price;
  message.order_qty = request.shares;
  message.side = request.side;
  message.type = request.type;
  message.time_in_force = request.time_in_force;
  message.stop_price = {std::int64_t{request.stop_price}};
  message.max_floor = request.display_shares;
  message.min_qty = request.minimum_shares;
  message.post_only = (request.instructions & wire::kPostOnly) != 0;
  protect(message, request);
  message.symbol = instruments_[request.instrument_id].symbol;
  return venue_.send(message, times);
}

}  // namespace tickpath::oeg
