#include "oeg/gateway.hpp"

#include <algorithm>

#include "common/base/memory.hpp"
#include "common/market/order_limits.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::oeg {
namespace {

// Ids of one strategy rise: incarnation and counter, without the strategy's own byte.
constexpr std::uint64_t kIdSequenceMask = (std::uint64_t{1} << 48) - 1;

// Symbols that exceptions hold; with more of them a person has long been called, and all are held.
constexpr std::size_t kHeldSymbolsMax = 4096;
// What a request brings at once, mostly: an acknowledgement, and a fill or the end of an IOC. More
// fills find room in the other half of the queue.
constexpr std::size_t kReportsARequest = 2;

wire::OrderEvent requested(const Order& order, const wire::OrderRequest& request) noexcept {
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

}  // namespace

Gateway::Gateway(const GatewayOptions& options, VenuePort& venue, StrategyPort& strategies,
                 EventPort& events, JournalPort& journal, trace::TraceWriter& trace)
    : options_(options),
      venue_(venue),
      strategies_(strategies),
      events_(events),
      journal_(journal),
      trace_(trace),
      hz_(clock::tsc_hz()),
      limits_(options.limits),
      instruments_(options.instruments_max),
      ledger_(options.orders_max, options.positions_max),
      slots_(options.strategies_max),
      executions_(options.executions_max),
      unread_ticks_(
          clock::TickConverter{}.from_ns(static_cast<std::uint64_t>(options.unread_max_ns)).value),
      answer_ticks_(
          clock::TickConverter{}.from_ns(static_cast<std::uint64_t>(options.answer_max_ns)).value) {
  reserve_touched(held_symbols_, kHeldSymbolsMax);
  slot_of_.fill(kNoSlot);
  for (StrategySlot& slot : slots_) slot.queue.resize(std::size_t{options.report_queue} * 2);
  set_own_incarnation(0);
}

void Gateway::set_own_incarnation(std::uint16_t incarnation) noexcept {
  own_cancels_ = wire::OrderId::make(kOwnStrategyId, incarnation, 0);
}

void Gateway::set_control_block(const wire::ControlBlock& block) noexcept {
  block_ = block;
  limits_ = market::stricter(options_.limits, block);
  for (std::size_t i = 0; i < slot_count(); ++i)
    if (block_.killed(slots_[i].id)) show_open_orders(slots_[i]);
}

void Gateway::show_open_orders(StrategySlot& slot) noexcept {
  slot.counters.open_orders.set(ledger_.open_orders(slot.id));
}

// -------------------------------------------------------------------------------------- checks

// False: the id was used before. A strategy's ids rise.
bool Gateway::take_id(StrategySlot& slot, std::uint64_t order_id) noexcept {
  const std::uint64_t sequence = order_id & kIdSequenceMask;
  if (sequence <= slot.last_id) return false;
  slot.last_id = sequence;
  if (slot.first_request) [[unlikely]] {
    slot.first_request = false;
    slot.floor_id = sequence - 1;
  }
  return true;
}

[[gnu::always_inline]] inline Conditions Gateway::conditions_now() const noexcept {
  Conditions now = conditions_;
  now.session_up = venue_.up() && venue_.takes_orders();
  now.behind_gap = venue_.behind_gap();
  return now;
}

trading::RejectReason Gateway::refuses_all(const StrategySlot& slot) const noexcept {
  if (!journal_.has_room()) [[unlikely]]
    return trading::RejectReason::kJournalFull;
  return check_conditions(conditions_now(), block_, slot.id);
}

trading::RejectReason Gateway::check_new(StrategySlot& slot, const wire::OrderRequest& request,
                                         std::uint32_t& row) noexcept {
  using trading::RejectReason;
  if (malformed(request, slot.id)) return RejectReason::kMalformed;
  const Instrument* instrument = instruments_.find(request.instrument_id);
  if (instrument == nullptr || !instrument->known()) return RejectReason::kUnknownInstrument;
  if (!take_id(slot, request.order_id)) return RejectReason::kDuplicateOrderId;
  if (is_held(instrument->symbol)) [[unlikely]]
    return RejectReason::kException;
  const std::uint32_t rows = ledger_.position_count();
  row = ledger_.position_row(slot.id, request.instrument_id);
  // Its readers take an empty row for the end of the table: there are no holes, also when this
  // order is refused and no event follows.
  if (row >= rows && row != IdMap::kNone) [[unlikely]]
    events_.store_position(row, ledger_.position(row).row);
  if (row == IdMap::kNone) return RejectReason::kPositionsFull;
  if (ledger_.full()) return RejectReason::kOrdersFull;
  if (!journal_.has_room()) return RejectReason::kJournalFull;

  const Asked asked{demand_of(request, request.shares), *instrument, ledger_, row, limits_,
                    ledger_.open_orders(slot.id),       &slot.rate,  hz_};
  const RejectReason limit = check_limits(asked);
  if (limit != RejectReason::kNone) return limit;
  ledger_.price_at_least(row, asked.price);
  return check_conditions(conditions_now(), block_, slot.id);
}

trading::RejectReason Gateway::check_change(StrategySlot& slot, const wire::OrderRequest& request,
                                            Order*& order) noexcept {
  using trading::RejectReason;
  if (malformed(request, slot.id)) return RejectReason::kMalformed;
  if (!take_id(slot, request.order_id)) return RejectReason::kDuplicateOrderId;
  order = ledger_.find(request.target_order_id);
  if (order == nullptr || order->strategy != slot.id || order->id != request.target_order_id ||
      trading::is_final(order->state)) {
    order = nullptr;
    // An id that this connection has used is an order that is done; any other was never ours.
    const std::uint64_t target = request.target_order_id & kIdSequenceMask;
    const bool used = wire::OrderId::strategy(request.target_order_id) == slot.id &&
                      target > slot.floor_id && target < slot.last_id;
    return used ? RejectReason::kTooLate : RejectReason::kUnknownOrder;
  }
  if (waits_for_answer(*order)) [[unlikely]]
    return check_second_cancel(request, *order);
  if (request.kind == wire::RequestKind::kCancel)
    return venue_.up() ? RejectReason::kNone : RejectReason::kSessionDown;

  if (request.side != order->side || request.type != order->type ||
      request.shares <= order->cumulative)
    return RejectReason::kMalformed;
  if (is_held(instruments_[order->instrument].symbol)) [[unlikely]]
    return RejectReason::kException;
  const std::uint32_t present = order->cumulative + order->leaves;
  const std::uint32_t added = request.shares > present ? request.shares - present : 0;
  const Asked asked{demand_of(request, added),
                    instruments_[order->instrument],
                    ledger_,
                    order->row,
                    limits_,
                    0,
                    &slot.rate,
                    hz_};
  const RejectReason limit = check_limits(asked);
  if (limit != RejectReason::kNone) return limit;
  ledger_.price_at_least(order->row, asked.price);
  return check_conditions(conditions_now(), block_, slot.id);
}

bool Gateway::is_held(const fix::Symbol& symbol) const noexcept {
  return held_beyond_ != 0 ||
         std::find(held_symbols_.begin(), held_symbols_.end(), symbol) != held_symbols_.end();
}

void Gateway::hold_symbol(const fix::Symbol& symbol) noexcept {
  if (!options_.stop_on_exception || symbol.length == 0) return;
  const auto held = std::find(held_symbols_.begin(), held_symbols_.end(), symbol);
  if (held != held_symbols_.end()) return void(++held->exceptions);
  if (held_symbols_.size() < kHeldSymbolsMax)
    held_symbols_.push_back({symbol, 1});
  else
    ++held_beyond_;
  ++held_list_;
}

void Gateway::release_symbol(const fix::Symbol& symbol) noexcept {
  if (symbol.length == 0) return;
  const auto held = std::find(held_symbols_.begin(), held_symbols_.end(), symbol);
  if (held != held_symbols_.end()) {
    if (--held->exceptions != 0) return;
    *held = held_symbols_.back();
    held_symbols_.pop_back();
  } else if (held_beyond_ != 0) {
    --held_beyond_;
  } else {
    return;
  }
  ++held_list_;
}

// ------------------------------------------------------------------------------------ requests

void Gateway::on_request(std::size_t index, const wire::OrderRequest& request) noexcept {
  StrategySlot& slot = slots_[index];
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

void Gateway::stamp_sent(std::uint64_t order_id, TscTicks seen, TscTicks passed,
                         const fix::SendTimes& times) noexcept {
  // After the send: none of these stores stands between the order and the wire.
  trace_.stamp_at(trace::Hop::kOegSeen, order_id, seen);
  trace_.stamp_at(trace::Hop::kOegRiskPassed, order_id, passed);
  trace_.stamp_at(trace::Hop::kOegEncoded, order_id, times.encoded);
  if (times.mirrored.value != 0)
    trace_.stamp_at(trace::Hop::kOegReplicated, order_id, times.mirrored);
  trace_.stamp_at(trace::Hop::kOegSent, order_id, times.sent);
}

void Gateway::new_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept {
  const TscTicks seen = tsc_now();
  std::uint32_t row = IdMap::kNone;
  const trading::RejectReason reason = check_new(slot, request, row);
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
  const wire::OrderEvent event = requested(order, request);
  journal(event, order, venue_.next_seq(), 0);

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
  fix::SendTimes times{};
  if (!fix::accepted(venue_.send(message, times))) [[unlikely]] {
    reject_unsent(order, order.id);
    refuse(slot, request, trading::RejectReason::kSessionDown, nullptr);
    return;
  }
  stamp_sent(request.order_id, seen, passed, times);
  counters_.orders.sent.add();
  publish(event, row);
}

// A market order trades at any price that it finds, a stop order when its price has come. What it
// may at most be worth was checked by the collar, so that is its limit; what cannot trade within it
// expires, or of a stop order rests there.
template <class Message>
void Gateway::protect(Message& message, const wire::OrderRequest& request) const noexcept {
  const std::uint32_t collar = limits_.collar_basis_points;
  const bool stop = request.type == trading::OrderType::kStop;
  if ((!stop && request.type != trading::OrderType::kMarket) || !options_.market_order_protection ||
      collar == 0)
    return;
  const std::uint32_t reference =
      reference_price(demand_of(request, 0), instruments_[request.instrument_id], limits_);
  message.type = stop ? trading::OrderType::kStopLimit : trading::OrderType::kLimit;
  // One that waits, for its price or for a cross, goes on waiting.
  if (!stop && !trading::is_on_cross(request.time_in_force) &&
      !trading::is_immediate(request.time_in_force))
    message.time_in_force = trading::TimeInForce::kImmediateOrCancel;
  message.price = {std::int64_t{collar_price(request.side, reference, collar)}};
}

fix::SendStatus Gateway::send_cancel(const Order& order, std::uint64_t request_id,
                                     fix::SendTimes& times) noexcept {
  fix::OrderCancelRequest message;
  message.cl_ord_id = request_id;
  message.orig_cl_ord_id = order.id_unknown ? order.pending_id : order.id;
  message.order_qty = order.shares;
  message.side = order.side;
  message.symbol = instruments_[order.instrument].symbol;
  return venue_.send(message, times);
}

fix::SendStatus Gateway::send_replace(const Order& order, const wire::OrderRequest& request,
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

void Gateway::change_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept {
  const TscTicks seen = tsc_now();
  Order* order = nullptr;
  const trading::RejectReason reason = check_change(slot, request, order);
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
  const wire::OrderEvent event = requested(*order, request);
  journal(event, *order, venue_.next_seq(), 0);
  fix::SendTimes times{};
  if (!fix::accepted(cancels ? send_cancel(*order, request.order_id, times)
                             : send_replace(*order, request, times))) [[unlikely]] {
    reject_unsent(*order, request.order_id);
    refuse(slot, request, trading::RejectReason::kSessionDown, order);
    return;
  }
  stamp_sent(request.order_id, seen, passed, times);
  counters_.changes.sent.add();
  publish(event, order->row);
}

wire::OrderEvent Gateway::refuse(StrategySlot& slot, const wire::OrderRequest& request,
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
  report_to(slot, report);

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
  publish(event, IdMap::kNone);
  return event;
}

// For people alone (`tickpath orders`): nothing follows from it, also not after a restart.
void Gateway::journal_refusal(const wire::OrderRequest& request,
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
  append(record, false);
}

// ---------------------------------------------------------------------------------- strategies

void Gateway::on_strategy_connected(std::size_t index) noexcept {
  StrategySlot& slot = slots_[index];
  slot.connected = true;
  slot.awaited = false;
  slot.first_request = true;
  weigh_queue(slot);
  slot.counters.connections.add();
  slot.counters.connection_requests.set(0);
  slot.counters.connection_reports.set(0);
}

void Gateway::on_strategy_lost(std::size_t index) noexcept {
  StrategySlot& slot = slots_[index];
  slot.connected = false;
  slot.next_position = StrategySlot::kPositionsTold;
  slot.lead_untold = false;
  drop_reports(slot);
  orphan_orders(index);
  slot.taken.store(false, std::memory_order_release);  // see unused_slot()
}

bool Gateway::cancel_orphan(StrategySlot& slot, Order& order) noexcept {
  const std::uint64_t id = ++own_cancels_;
  ledger_.set_pending(order, wire::RequestKind::kCancel, id, 0, 0, 0, true);
  order.asked_tsc = tsc_now().value;
  return send_own_cancel(slot, order, id);
}

// The ledger has it already.
bool Gateway::send_own_cancel(StrategySlot& slot, Order& order, std::uint64_t request_id) noexcept {
  wire::OrderRequest request{};
  request.order_id = request_id;
  request.target_order_id = order.id;
  request.instrument_id = order.instrument;
  request.kind = wire::RequestKind::kCancel;
  request.side = order.side;
  request.strategy_id = slot.id;
  const wire::OrderEvent event = requested(order, request);
  journal(event, order, venue_.next_seq(), 0);
  fix::SendTimes times{};
  if (!fix::accepted(send_cancel(order, request_id, times))) {
    reject_unsent(order, request_id);
    return false;
  }
  counters_.changes.own.add();
  publish(event, order.row);
  return true;
}

// Limits on sums take a position at the price of its market, not at that of its last order.
void Gateway::value_positions() noexcept {
  if (limits_.gross_value_max == 0 && limits_.total_gross_value_max == 0) return;
  ledger_.revalue(kValueEvery, [this](std::uint32_t id) {
    const Instrument* const instrument = instruments_.find(id);
    return instrument != nullptr && instrument->good() ? instrument->mark() : 0;
  });
}

bool Gateway::turn() noexcept {
  bool worked = false;
  if ((++turns_ % kValueEvery) == 0) value_positions();
  const bool up = venue_.up();
  if (up != was_up_) [[unlikely]] {
    was_up_ = up;
    up_since_tsc_ = tsc_now().value;
  }
  for (std::size_t i = 0; i < slot_count(); ++i) {
    StrategySlot& slot = slots_[i];
    if (slot.lead_untold) [[unlikely]]
      worked |= tell_strategy_leads(slot);
    worked |= tell_accepting(slot);
    if (slot.held_told != held_list_) [[unlikely]]
      worked |= tell_held(slot);
    if (slot.queue_size != 0) worked |= flush_reports(slot);
    if (slot.crowded && (tsc_now() - slot.crowded_since).value > unread_ticks_) [[unlikely]]
      cut_off(slot);
    if (slot.next_position != StrategySlot::kPositionsTold) [[unlikely]]
      worked |= tell_positions(slot);
    if (block_.killed(slot.id)) [[unlikely]]
      show_open_orders(slot);
    const bool unwanted =
        slot.orphans || (block_.cancels(slot.id) && ledger_.open_orders(slot.id) != 0);
    if (unwanted && up && tsc_now() >= slot.next_own_cancel) worked |= cancel_orphans(slot);
  }
  return worked;
}

// Requests are taken while what they bring finds room in the strategy's queue beside what waits
// there already: so whoever asks for more than it reads, or than the venue takes, is slowed down
// where it asks, by the credits of its channel, and nothing of it is lost.
std::size_t Gateway::requests_taken(std::size_t index) const noexcept {
  if (!journal_.has_room_for_changes() || venue_.congested()) [[unlikely]]
    return 0;
  const StrategySlot& slot = slots_[index];
  // Without a venue requests are refused, and answers to those on their way will come much later.
  const std::size_t on_their_way = venue_.up() ? ledger_.unanswered(slot.id) : 0;
  const std::size_t owed = slot.queue_size + kReportsARequest * on_their_way;
  const std::size_t room = options_.report_queue / 2;
  return owed >= room ? 0 : (room - owed + kReportsARequest - 1) / kReportsARequest;
}

bool Gateway::reports_wait() const noexcept {
  for (std::size_t i = 0; i < slot_count(); ++i) {
    const StrategySlot& slot = slots_[i];
    if (!slot.connected) continue;
    if (slot.queue_size != 0 || slot.accepting_told != refuses_all(slot) ||
        slot.held_told != held_list_)
      return true;
  }
  return false;
}

bool Gateway::nothing_unanswered() const noexcept {
  for (const FlowCounters* flow : {&counters_.orders, &counters_.changes})
    if (flow->sent.get() + flow->own.get() >
        flow->accepted.get() + flow->rejected.get() + flow->own_answered.get())
      return false;
  return true;
}

bool Gateway::settled() const noexcept {
  if (ledger_.open_orders() != 0 || !nothing_unanswered()) return false;
  for (const StrategySlot& slot : slots_)
    if (slot.connected && slot.queue_size != 0) return false;
  return true;
}

}  // namespace tickpath::oeg
