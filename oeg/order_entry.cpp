#include "oeg/order_entry.hpp"

#include <cstring>

#include "common/clock/clock.hpp"

namespace tickpath::oeg {
namespace {

// What a request brings at once, mostly: an acknowledgement, and a fill or the end of an IOC. More
// fills find room in the other half of the queue.
constexpr std::size_t kReportsARequest = 2;

}  // namespace

void OrderEntry::on_request(StrategySlot& slot, const wire::OrderRequest& request) noexcept {
  slot.counters.connection_requests.add();
  if (request.kind == wire::RequestKind::kCancel || request.kind == wire::RequestKind::kReplace) {
    slot.counters.changes_received.add();
    counters_.changes.received.add();
    change_order(slot, request);
  } else {
    slot.counters.orders_received.add();
    counters_.orders.received.add();
    new_order(slot, request);
  }
}

void OrderEntry::stamp_sent(std::uint64_t order_id, TscTicks seen, TscTicks passed,
                            const fix::SendTimes& times) noexcept {
  // After the send: none of these stores stands between the order and the wire.
  trace_.stamp_at(trace::Hop::kOegSeen, order_id, seen);
  trace_.stamp_at(trace::Hop::kOegRiskPassed, order_id, passed);
  trace_.stamp_at(trace::Hop::kOegEncoded, order_id, times.encoded);
  if (times.mirrored.value != 0)
    trace_.stamp_at(trace::Hop::kOegReplicated, order_id, times.mirrored);
  trace_.stamp_at(trace::Hop::kOegSent, order_id, times.sent);
}

void OrderEntry::new_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept {
  const TscTicks seen = tsc_now();
  std::uint32_t row = IdMap::kNone;
  const trading::RejectReason reason = checks_.check_new(slot, request, row);
  const TscTicks passed = tsc_now();
  if (reason != trading::RejectReason::kNone) {
    trace_.stamp_at(trace::Hop::kOegSeen, request.order_id, seen);
    journal_refusal(request, refuse(slot, request, reason, nullptr));
    return;
  }
  Order fresh;
  fresh.id = request.order_id;
  fresh.trace_id = request.trace_id;
  fresh.instrument = request.instrument_id;
  fresh.row = row;
  fresh.price = static_cast<std::uint32_t>(request.price.value);
  fresh.shares = request.shares;
  fresh.strategy = slot.id;
  fresh.side = request.side;
  fresh.type = request.type;
  fresh.time_in_force = request.time_in_force;
  fresh.display_shares = request.display_shares;
  fresh.minimum_shares = request.minimum_shares;
  fresh.stop_price = request.stop_price;
  fresh.instructions = request.instructions;
  Order& order = ledger_.add(fresh);
  const wire::OrderEvent event = sender_.record(order, request);
  fix::SendTimes times{};
  if (!fix::accepted(sender_.send_new(request, times))) [[unlikely]] {
    sender_.reject_unsent(order, order.id);
    refuse(slot, request, trading::RejectReason::kSessionDown, nullptr);
    return;
  }
  stamp_sent(request.order_id, seen, passed, times);
  counters_.orders.sent.add();
  recorder_.publish(event, row);
}

void OrderEntry::change_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept {
  const TscTicks seen = tsc_now();
  Order* order = nullptr;
  const trading::RejectReason reason = checks_.check_change(slot, request, order);
  const TscTicks passed = tsc_now();
  if (reason != trading::RejectReason::kNone) {
    trace_.stamp_at(trace::Hop::kOegSeen, request.order_id, seen);
    refuse(slot, request, reason, order);
    return;
  }
  const bool cancels = request.kind == wire::RequestKind::kCancel;
  if (order->pending_id == 0) [[likely]] {
    ledger_.set_pending(*order, request.kind, request.order_id, request.trace_id,
                        static_cast<std::uint32_t>(request.price.value), request.shares, false);
    order->pending_stop_price = request.stop_price;
  } else {
    if (!ledger_.set_second_cancel(*order, request.order_id, false)) {
      refuse(slot, request, trading::RejectReason::kPendingRequest, order);
      return;
    }
    counters_.overdue.add();
    order->overdue = Overdue::kCanceledAgain;
    slot.orphans = true;  // turn() looks after it from now on
  }
  order->asked_tsc = seen.value;
  const wire::OrderEvent event = sender_.record(*order, request);
  fix::SendTimes times{};
  if (!fix::accepted(cancels ? sender_.send_cancel(*order, request.order_id, times)
                             : sender_.send_replace(*order, request, times))) [[unlikely]] {
    sender_.reject_unsent(*order, request.order_id);
    refuse(slot, request, trading::RejectReason::kSessionDown, order);
    return;
  }
  stamp_sent(request.order_id, seen, passed, times);
  counters_.changes.sent.add();
  recorder_.publish(event, order->row);
}

wire::OrderEvent OrderEntry::refuse(StrategySlot& slot, const wire::OrderRequest& request,
                                    trading::RejectReason reason, const Order* order) noexcept {
  const bool is_new =
      request.kind != wire::RequestKind::kCancel && request.kind != wire::RequestKind::kReplace;
  (is_new ? counters_.orders : counters_.changes).refused.add();
  slot.counters.refused.add();
  counters_.refused_for[static_cast<std::size_t>(reason)].add();

  wire::OrderReport report{};
  report.order_id = request.order_id;
  report.target_order_id = request.target_order_id;
  report.trace_id = request.trace_id;
  report.instrument_id = request.instrument_id;
  report.kind = wire::reject_of(request.kind);
  report.side = request.side;
  report.reason = reason;
  report.strategy_id = slot.id;
  if (order != nullptr) {
    report.leaves_shares = order->leaves;
    report.cumulative_shares = order->cumulative;
    report.limit_price = order->price;
  }
  queues_.report_to(slot, report);

  wire::OrderEvent event{};
  event.order_id = request.order_id;
  event.target_order_id = request.target_order_id;
  event.trace_id = request.trace_id;
  event.instrument_id = request.instrument_id;
  event.shares = request.shares;
  event.price = static_cast<std::uint32_t>(request.price.value);
  event.event = wire::EventKind::kRefused;
  event.report_kind = report.kind;
  event.request_kind = request.kind;
  event.side = request.side;
  event.reason = reason;
  event.strategy_id = slot.id;
  event.state = order != nullptr ? order->state : trading::OrderState::kRejected;
  // A refusal changes no row, and is counted in none. Thousands of refusals a second would
  // otherwise keep risk from ever finding a row at rest.
  recorder_.publish(event, IdMap::kNone);
  return event;
}

// For people alone (`tickpath orders`): nothing follows from it, also not after a restart.
void OrderEntry::journal_refusal(const wire::OrderRequest& request,
                                 const wire::OrderEvent& event) noexcept {
  if (refusals_journaled_ == options_.refusals_journaled_max || !journal_.has_room()) return;
  ++refusals_journaled_;
  JournalRecord record{};
  record.event = event;
  record.realtime_ns = clock::realtime_ns();
  record.order_shares = request.shares;
  record.limit_price = event.price;
  record.type = request.type;
  record.time_in_force = request.time_in_force;
  if (const Instrument* instrument = instruments_.find(request.instrument_id))
    std::memcpy(record.symbol, instrument->symbol.text, instrument->symbol.length);
  record.set_exchange_time(instruments_.exchange_time_ns());
  recorder_.append(record, false);
}

// Requests are taken while what they bring finds room in the strategy's queue beside what waits
// there already. So a strategy that asks for more than it reads, or than the venue takes, is slowed
// down by the credits of its channel. Nothing of what it asks is lost.
std::size_t OrderEntry::requests_taken(const StrategySlot& slot) const noexcept {
  if (!journal_.has_room_for_changes() || venue_.congested()) [[unlikely]]
    return 0;
  // Without a venue requests are refused, and answers to those on their way will come much later.
  const std::size_t on_their_way = venue_.up() ? ledger_.unanswered(slot.id) : 0;
  const std::size_t owed = slot.queue_size + kReportsARequest * on_their_way;
  const std::size_t room = options_.report_queue / 2;
  return owed >= room ? 0 : (room - owed + kReportsARequest - 1) / kReportsARequest;
}

}  // namespace tickpath::oeg
