// The order side of the engine: requests out, reports in, positions, recovery after an outage.

#include <algorithm>

#include "common/wire/order_id.hpp"
#include "common/wire/order_terms.hpp"
#include "strategy/engine.hpp"

namespace tickpath::strategy {
namespace {

// A request that oeg has not answered for so long does not keep a cancel back any more. oeg has a
// bound of its own (venue.answer_max) and says pending_request before it.
constexpr std::uint64_t kAnswerMaxNs = 1'000'000'000;

void count(Counter& counter, std::int64_t change) noexcept {
  const std::int64_t value = static_cast<std::int64_t>(counter.get()) + change;
  counter.set(value > 0 ? static_cast<std::uint64_t>(value) : 0);
}

void set_leaves(Instance& instance, Order& order, std::uint32_t leaves) noexcept {
  tickpath_position& position = instance.positions[order.instrument];
  std::uint32_t& open =
      order.side == Side::kBuy ? position.open_buy_shares : position.open_sell_shares;
  open += leaves - order.leaves;
  order.leaves = leaves;
}

bool is_of_this_life(const Instance& instance, std::uint64_t id) noexcept {
  return wire::OrderId::incarnation(id) == instance.incarnation;
}

// Not one that was counted as lost with a connection, nor one that a former life sent: its answer
// is in no sum of requests of this life.
bool is_owed(const Instance& instance, const Gateway& gateway, std::uint64_t id) noexcept {
  return is_of_this_life(instance, id) && static_cast<std::uint32_t>(id) > gateway.given_up;
}

// Counts for the stack and for the instance.
void tally(Instance& instance, Gateway& gateway, Counter StrategyCounters::*which) noexcept {
  (instance.counters.*which).add();
  (gateway.counters.*which).add();
}
void owe(Instance& instance, Gateway& gateway, std::int64_t change) noexcept {
  count(instance.counters.unanswered, change);
  count(gateway.counters.unanswered, change);
}
void show_open(Instance& instance, Gateway& gateway) noexcept {
  instance.counters.open_orders.set(instance.orders.size());
  gateway.counters.open_orders.set(gateway.open_orders);
}

// Into the counters of the stack, or those of all.
void count_report(const Instance& instance, const Gateway& gateway, const wire::OrderReport& report,
                  StrategyCounters& counters) noexcept {
  counters.reports.add();
  switch (report.kind) {
    case wire::ReportKind::kRejected:
      if (is_of_this_life(instance, report.order_id)) counters.rejected.add();
      break;
    case wire::ReportKind::kFill:
      counters.fills.add();
      counters.shares_filled.add(report.last_shares);
      break;
    case wire::ReportKind::kCanceled:
      counters.canceled.add();
      break;
    case wire::ReportKind::kExpired:
      counters.expired.add();
      break;
    case wire::ReportKind::kReplaced:
      counters.replaced.add();
      break;
    case wire::ReportKind::kCancelRejected:
    case wire::ReportKind::kReplaceRejected:
      if (is_owed(instance, gateway, report.order_id)) counters.request_rejects.add();
      break;
    case wire::ReportKind::kRestated:
      counters.restated.add();
      break;
    case wire::ReportKind::kTriggered:
      counters.triggered.add();
      break;
    case wire::ReportKind::kFillCanceled:
    case wire::ReportKind::kFillCorrected:
      counters.fills_changed.add();
      break;
    case wire::ReportKind::kAccepted:
      break;  // counted with the order's first answer, which may be a fill as well
    case wire::ReportKind::kPosition:
    case wire::ReportKind::kPositionsEnd:
    case wire::ReportKind::kLeads:
    case wire::ReportKind::kText:
    case wire::ReportKind::kAccepting:
    case wire::ReportKind::kHeld:
      break;  // no reports of orders: they go to on_position(), on_text(), on_accepting(),
              // on_held()
  }
}

}  // namespace

// ------------------------------------------------------------------------------------- requests

std::int32_t Engine::may_request(Instance& instance, std::size_t stack) noexcept {
  if (instance.setting_up) return TICKPATH_NOT_NOW;
  if (!instance.gateways[stack].up) return TICKPATH_GATEWAY_DOWN;
  return instance.running() ? TICKPATH_OK : TICKPATH_STOPPING;
}

// Completes the request and hands it to the fabric. The id is spent only if it was sent.
bool Engine::post(Instance& instance, std::uint32_t listing, wire::OrderRequest& request) noexcept {
  const TscTicks decided = tsc_now();
  const Stack& stack = home(listing);
  Gateway& gateway = instance.gateways[stack.index];
  request.instrument_id = stack.id(listing);
  request.strategy_id = instance.id;
  request.trace_id = trace_id_;
  request.order_id =
      wire::OrderId::make(instance.id, instance.incarnation, instance.next_order + 1);
  if (!stack.orders->send(request)) {
    tally(instance, gateway, &StrategyCounters::no_credit);
    return false;
  }
  ++instance.next_order;
  // After the send: three stores less between the decision and the wire.
  trace_.stamp(trace::Hop::kStrategyPosted, request.order_id);
  trace_.stamp_at(trace::Hop::kStrategyDecided, request.order_id, decided);
  if (trace_id_ != 0) trace_.link_order(request.order_id, trace_id_);
  owe(instance, gateway, +1);
  return true;
}

std::int32_t Engine::send_new(Instance& instance, const tickpath_new_order& order,
                              std::uint64_t& order_id) noexcept {
  // For an instrument that does not exist the first stack's state is as good as any.
  const bool exists = order.instrument < instruments_.size();
  const std::uint8_t stack = exists ? instruments_[order.instrument].stack : 0;
  if (const std::int32_t status = may_request(instance, stack); status != TICKPATH_OK)
    return status;
  if (!exists || symbol_of(order.instrument).empty() || instruments_[order.instrument].other_symbol)
    return TICKPATH_UNKNOWN_INSTRUMENT;
  wire::OrderRequest request = request_of(order);
  if (!wire::terms_agree(request)) return TICKPATH_INVALID;
  if (instance.orders.full()) return TICKPATH_CAPACITY;
  if (!post(instance, order.instrument, request)) return TICKPATH_NO_CREDIT;

  Order kept;
  kept.id = request.order_id;
  kept.instrument = order.instrument;
  kept.stack = stack;
  kept.price = order.price;
  kept.shares = order.shares;
  kept.side = request.side;
  kept.type = request.type;
  kept.time_in_force = request.time_in_force;
  Order* inserted = instance.orders.insert(kept);
  TICKPATH_CHECK(inserted != nullptr, "room was checked, and ids are unique");
  set_leaves(instance, *inserted, order.shares);
  ++instance.positions[order.instrument].open_orders;
  Gateway& gateway = instance.gateways[stack];
  ++gateway.open_orders;
  tally(instance, gateway, &StrategyCounters::orders);
  show_open(instance, gateway);
  order_id = request.order_id;
  return TICKPATH_OK;
}

bool Engine::may_cancel(const Order& order) const noexcept {
  if (order.pending_id == 0) return true;
  return order.second_cancel_id == 0 && now_ns_ - order.asked_ns >= kAnswerMaxNs;
}

std::int32_t Engine::send_cancel(Instance& instance, Order& order,
                                 std::uint64_t& request_id) noexcept {
  const bool again = order.pending_id != 0;
  if (!may_cancel(order)) return TICKPATH_PENDING_REQUEST;
  wire::OrderRequest request{};
  request.kind = wire::RequestKind::kCancel;
  request.target_order_id = order.id;
  request.side = order.side;
  request.type = order.type;
  request.time_in_force = order.time_in_force;
  if (!post(instance, order.instrument, request)) return TICKPATH_NO_CREDIT;
  if (again)
    order.second_cancel_id = request.order_id;
  else
    instance.orders.set_pending(order, request.order_id);
  order.asked_ns = now_ns_;
  tally(instance, instance.gateways[order.stack], &StrategyCounters::cancels);
  request_id = request.order_id;
  return TICKPATH_OK;
}

std::int32_t Engine::send_replace(Instance& instance, Order& order, std::uint32_t stop_price,
                                  std::uint32_t price, std::uint32_t shares,
                                  std::uint64_t& request_id) noexcept {
  if (const std::int32_t status = may_request(instance, order.stack); status != TICKPATH_OK)
    return status;
  if (order.pending_id != 0) return TICKPATH_PENDING_REQUEST;
  wire::OrderRequest request{};
  request.kind = wire::RequestKind::kReplace;
  request.target_order_id = order.id;
  request.price = Price{price};
  request.shares = shares;
  request.side = order.side;
  request.type = order.type;
  request.time_in_force = order.time_in_force;
  request.stop_price = stop_price;
  if (!trading::is_replaceable(order.type) || shares <= order.cumulative ||
      !wire::terms_agree(request))
    return TICKPATH_INVALID;
  if (!post(instance, order.instrument, request)) return TICKPATH_NO_CREDIT;
  instance.orders.set_pending(order, request.order_id);
  order.asked_ns = now_ns_;
  tally(instance, instance.gateways[order.stack], &StrategyCounters::replaces);
  request_id = request.order_id;
  return TICKPATH_OK;
}

// -------------------------------------------------------------------------------------- reports

void Engine::on_report(std::uint8_t strategy, const wire::OrderReport& report,
                       std::size_t at) noexcept {
  trace_.stamp(trace::Hop::kStrategyReportSeen, report.order_id);
  counters_.reports.add();
  Instance* const instance = by_strategy_[strategy];
  if (instance == nullptr) {
    counters_.reports_unmatched.add();
    return;
  }
  const Stack& stack = stacks_[at];
  Gateway& gateway = instance->gateways[at];
  event_venue_ = stack.venue;
  const std::uint32_t listing = stack.listing(report.instrument_id);
  if (listing == report.instrument_id) [[likely]]
    return take_report(*instance, gateway, report);
  wire::OrderReport listed = report;
  listed.instrument_id = listing;
  take_report(*instance, gateway, listed);
}

// report: of a listing.
void Engine::take_report(Instance& instance, Gateway& gateway,
                         const wire::OrderReport& report) noexcept {
  count_report(instance, gateway, report, instance.counters);
  count_report(instance, gateway, report, gateway.counters);
  if (wire::is_execution(report.kind)) book_fill(instance, report);

  Order* order = nullptr;
  if (wire::names_target(report.kind)) order = instance.orders.find(report.target_order_id);
  if (order == nullptr) order = instance.orders.find(report.order_id);
  // No oeg has a say in orders of another one.
  if (order != nullptr && &instance.gateways[order->stack] == &gateway) {
    apply_report(instance, *order, report);
    return;
  }
  // A cancel may cross a fill: its reject then comes when the order is gone. Anything else about an
  // order that is not open means that oeg and we disagree.
  if (wire::is_request_reject(report.kind)) {
    counters_.reports_late.add();
    if (is_owed(instance, gateway, report.order_id)) owe(instance, gateway, -1);
  } else if (!wire::changes_fill(report.kind)) {
    counters_.reports_unmatched.add();
  }
  const std::uint64_t id =
      wire::names_target(report.kind) ? report.target_order_id : report.order_id;
  deliver(instance, report, static_cast<std::uint8_t>(report.kind), instance.done.state_of(id));
}

void Engine::apply_report(Instance& instance, Order& order,
                          const wire::OrderReport& report) noexcept {
  const bool was_new = order.state == trading::OrderState::kPendingNew;
  const std::uint8_t stack = order.stack;
  Gateway& gateway = instance.gateways[stack];
  if (!wire::apply(order.state, report.kind, report.leaves_shares, report.cumulative_shares)) {
    counters_.reports_impossible.add();
    return;
  }
  if (was_new && order.state != trading::OrderState::kPendingNew) {
    if (is_owed(instance, gateway, order.id)) owe(instance, gateway, -1);
    if (order.state != trading::OrderState::kRejected)
      tally(instance, gateway, &StrategyCounters::accepted);
  }
  settle_request(instance, order, report);
  if (report.kind == wire::ReportKind::kCancelRejected &&
      report.reason == trading::RejectReason::kUnknownOrder) {
    lose(instance, order);
    return;
  }
  const trading::OrderState state = order.state;
  if (trading::is_final(state)) {
    finish(instance, order);
  } else if (report.kind == wire::ReportKind::kFill || report.kind == wire::ReportKind::kReplaced ||
             report.kind == wire::ReportKind::kRestated || wire::changes_fill(report.kind)) {
    order.cumulative = report.cumulative_shares;
    set_leaves(instance, order, report.leaves_shares);
    if (report.kind == wire::ReportKind::kRestated)
      order.shares = report.leaves_shares + report.cumulative_shares;
  }
  deliver(instance, report, static_cast<std::uint8_t>(report.kind), state);
  settle_outage(instance, stack);
}

// The last order that an outage left uncertain may be gone: it is over then.
void Engine::settle_outage(Instance& instance, std::uint8_t stack) noexcept {
  const Gateway& gateway = instance.gateways[stack];
  if (gateway.recovering && gateway.open_orders == 0) on_gateway(instance.id, true, stack);
}

// The answer to one of the order's requests, if this is it.
void Engine::settle_request(Instance& instance, Order& order,
                            const wire::OrderReport& report) noexcept {
  const bool second = order.second_cancel_id != 0 && report.order_id == order.second_cancel_id;
  if (!second && (order.pending_id == 0 || report.order_id != order.pending_id)) return;
  if (second) {
    order.second_cancel_id = 0;
  } else if (report.kind == wire::ReportKind::kReplaced) {
    order.price = report.limit_price;
    order.shares = report.leaves_shares + report.cumulative_shares;
    instance.orders.promote_pending(order);
  } else if (report.kind == wire::ReportKind::kCanceled || wire::is_request_reject(report.kind)) {
    instance.orders.clear_pending(order);
  } else {
    return;  // a fill that already carries the replacing id; the answer itself is still to come
  }
  Gateway& gateway = instance.gateways[order.stack];
  owe(instance, gateway, -1);
  if (!wire::is_request_reject(report.kind)) {
    tally(instance, gateway, &StrategyCounters::changes_accepted);
    gateway.sweep_wait_ns = kSweepWaitMinNs;
  } else if (order.cancel_wanted) {
    put_off_sweep(gateway);
  }
}

// Once for all the cancels of a sweep that are refused.
void Engine::put_off_sweep(Gateway& gateway) noexcept {
  if (now_ns_ < gateway.next_sweep_ns) return;
  gateway.next_sweep_ns = now_ns_ + gateway.sweep_wait_ns;
  gateway.sweep_wait_ns = std::min(2 * gateway.sweep_wait_ns, kSweepWaitMaxNs);
}

void Engine::book_fill(Instance& instance, const wire::OrderReport& report) noexcept {
  if (report.instrument_id >= instance.positions.size()) {
    counters_.instruments_beyond.add();
    return;
  }
  tickpath_position& position = instance.positions[report.instrument_id];
  trading::apply_fill(wire::fill_of(report), position.shares, position.cash, position.fills);
}

// The order is final: everything it held is released.
void Engine::finish(Instance& instance, Order& order) noexcept {
  instance.done.add(order.id,
                    trading::is_final(order.state) ? order.state : trading::OrderState::kCanceled);
  set_leaves(instance, order, 0);
  --instance.positions[order.instrument].open_orders;
  Gateway& gateway = instance.gateways[order.stack];
  --gateway.open_orders;
  instance.orders.clear_pending(order);
  instance.orders.erase(order);
  show_open(instance, gateway);
}

// oeg does not know the order, so nothing will ever be heard of it again.
void Engine::lose(Instance& instance, Order& order) noexcept {
  wire::OrderReport report{};
  report.order_id = order.id;
  report.instrument_id = order.instrument;
  report.cumulative_shares = order.cumulative;
  report.limit_price = order.price;
  report.side = order.side;
  report.reason = trading::RejectReason::kUnknownOrder;
  const std::uint8_t stack = order.stack;
  Gateway& gateway = instance.gateways[stack];
  tally(instance, gateway, &StrategyCounters::lost);
  if (order.state == trading::OrderState::kPendingNew)
    tally(instance, gateway, &StrategyCounters::orders_lost);
  finish(instance, order);
  deliver(instance, report, TICKPATH_REPORT_LOST, trading::OrderState::kCanceled);
  settle_outage(instance, stack);
}

void Engine::deliver(Instance& instance, const wire::OrderReport& report, std::uint8_t kind,
                     trading::OrderState state) noexcept {
  if (!instance.alive() || instance.plugin.report == nullptr) return;
  // A plugin's tables end at instruments_max, which it was promised.
  if (report.instrument_id >= instance.positions.size()) return;
  const tickpath_report delivered{report.order_id,
                                  report.target_order_id,
                                  report.trace_id,
                                  report.execution_id,
                                  report.instrument_id,
                                  report.last_shares,
                                  report.last_price,
                                  report.leaves_shares,
                                  report.cumulative_shares,
                                  report.limit_price,
                                  kind,
                                  static_cast<std::uint8_t>(report.side),
                                  static_cast<std::uint8_t>(report.reason),
                                  static_cast<std::uint8_t>(state),
                                  report.last_price_hundredths,
                                  {}};
  trace_id_ = 0;  // what it does now was caused by the report, not by a tick
  guard(instance, Callback::kReport,
        [&] { return instance.plugin.report(instance.self, &delivered); });
}

// ---------------------------------------------------------------------------- gateway, cancels

void Engine::on_position(std::uint8_t strategy, const wire::PositionReport& held,
                         std::size_t at) noexcept {
  Instance* const instance = by_strategy_[strategy];
  if (instance == nullptr) return;
  const std::uint32_t listing = stacks_[at].listing(held.instrument_id);
  if (listing == wire::kNoInstrument) {
    counters_.instruments_beyond.add();
    return;
  }
  tickpath_position& position = instance->positions[listing];
  if (position.shares != held.position_shares || position.cash != held.cash)
    counters_.positions_adopted.add();
  position.shares = held.position_shares;
  position.cash = held.cash;
  position.fills = static_cast<std::uint32_t>(held.fills);
  held_symbols_[listing] = held.symbol;
  compare_symbols(listing);
}

// The directory and oeg's positions come in any order.
void Engine::compare_symbols(std::uint32_t instrument) noexcept {
  const std::uint64_t held = held_symbols_[instrument];
  const std::string_view listed = symbol_of(instrument);
  const bool other = held != 0 && !listed.empty() && wire::symbol_word(listed) != held;
  if (other == instruments_[instrument].other_symbol) return;
  instruments_[instrument].other_symbol = other;
  if (!other) return;
  counters_.other_symbols.add();
  TextBuilder text;
  text << "oeg holds " << wire::symbol_text(held) << " under the id that mdh's directory has for "
       << listed << " (was mdh's instruments_file lost, or was " << wire::symbol_text(held)
       << " not named for instruments_kept days?): it is no position in " << listed
       << ", and no order goes out under this id";
  for (const auto& instance : instances_)
    if (instance->positions[instrument].fills != 0)
      note(*instance, TICKPATH_LOG_ERROR, true, text.view());
}

void Engine::on_gateway(std::uint8_t strategy, bool up, std::size_t stack) noexcept {
  Instance* const instance = by_strategy_[strategy];
  if (instance == nullptr) return;
  Gateway& gateway = instance->gateways[stack];
  const bool was_up = gateway.up;
  if (!up) {
    if (!gateway.connected) return;
    gateway.up = false;
    gateway.connected = false;
    gateway.recovering = false;
    gateway.refuses = trading::RejectReason::kNone;  // told anew with the next connection
    lose_answers(*instance, gateway, stack);
  } else {
    if (!gateway.connected) {
      gateway.connected = true;
      // Whatever became of them: a cancel settles each, by Canceled or by "unknown order".
      gateway.recovering = true;
      want_cancels(*instance, false, {stacks_[stack].first, stacks_[stack].room});
    }
    if (gateway.recovering && gateway.open_orders != 0) return;
    gateway.recovering = false;
    gateway.up = true;
  }
  if (gateway.up != was_up) tell_gateway(*instance, stack);
}

// Answers on their way are lost with the connection.
void Engine::lose_answers(Instance& instance, Gateway& gateway, std::size_t stack) noexcept {
  const std::uint64_t unanswered = gateway.counters.unanswered.get();
  // Their fate is asked for: see `recovering`. Those of an outage before are not among the
  // unanswered.
  std::uint64_t pending_new = 0;
  instance.orders.for_each([&](Order& order) {
    if (order.stack != stack) return;
    pending_new +=
        order.state == trading::OrderState::kPendingNew && is_owed(instance, gateway, order.id) ? 1
                                                                                                : 0;
    instance.orders.clear_pending(order);
    order.second_cancel_id = 0;
    order.uncertain = true;
  });
  const std::uint64_t changes = unanswered > pending_new ? unanswered - pending_new : 0;
  for (StrategyCounters* counters : {&instance.counters, &gateway.counters}) {
    counters->answers_lost.add(unanswered);
    counters->changes_lost.add(changes);
    count(counters->unanswered, -static_cast<std::int64_t>(unanswered));
  }
  gateway.given_up = instance.next_order;
}

void Engine::on_gateway_silent(std::uint8_t strategy, std::size_t stack) noexcept {
  Instance* const instance = by_strategy_[strategy];
  if (instance == nullptr || !instance->gateways[stack].up) return;
  instance->gateways[stack].up = false;
  tell_gateway(*instance, stack);
}

void Engine::on_accepting(std::uint8_t strategy, trading::RejectReason refuses,
                          std::size_t stack) noexcept {
  if (Instance* const instance = by_strategy_[strategy]; instance != nullptr)
    instance->gateways[stack].refuses = refuses;
}

void Engine::tell_gateway(Instance& instance, std::size_t stack) noexcept {
  if (!instance.alive() || instance.plugin.gateway_state == nullptr) return;
  const std::size_t venue = stacks_[stack].venue;
  const bool up = instance.gateways[stack].up;
  // The oegs of several shards are one to plugins: the first that comes and the last that goes
  // count.
  for (const Stack& other : stacks_of(venue))
    if (other.index != stack && instance.gateways[other.index].up) return;
  trace_id_ = 0;
  event_venue_ = static_cast<std::uint32_t>(venue);
  guard(instance, Callback::kGatewayState,
        [&] { return instance.plugin.gateway_state(instance.self, up ? 1 : 0); });
}

bool Engine::gateway_is_up(const Instance& instance, std::size_t venue) const noexcept {
  return std::ranges::any_of(stacks_of(venue),
                             [&](const Stack& each) { return instance.gateways[each.index].up; });
}

bool Engine::gateway_accepts(const Instance& instance, std::size_t venue) const noexcept {
  return std::ranges::any_of(
      stacks_of(venue), [&](const Stack& each) { return instance.gateways[each.index].accepts(); });
}

void Engine::want_cancels(Instance& instance, bool spare_immediate, Listings of) noexcept {
  instance.orders.for_each([&](Order& order) {
    if (!of.has(order.instrument)) return;
    if (spare_immediate && trading::is_immediate(order.time_in_force)) return;
    order.cancel_wanted = true;
    sweeping_ |= std::uint64_t{1} << instance.index;
  });
}

// Sends cancels that the engine wants, as far as credits go. True: it sent any.
bool Engine::sweep(Instance& instance) noexcept {
  // Stacks to which nothing goes now: one that is away keeps no other waiting.
  std::uint32_t blocked = 0;
  static_assert(TICKPATH_VENUES_MAX < 32);
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    const Gateway& gateway = instance.gateways[stack];
    if (!gateway.connected || now_ns_ < gateway.next_sweep_ns) blocked |= 1u << stack;
  }
  if (blocked == (1u << stacks_.size()) - 1) return false;
  bool any = false;
  bool left = false;
  instance.orders.for_each([&](Order& order) {
    if (!order.cancel_wanted) return;
    left = true;
    if ((blocked >> order.stack & 1) != 0 || !may_cancel(order)) return;
    std::uint64_t request_id = 0;
    if (send_cancel(instance, order, request_id) == TICKPATH_OK)
      any = true;
    else
      blocked |= 1u << order.stack;
  });
  if (!left) sweeping_ &= ~(std::uint64_t{1} << instance.index);
  return any;
}

}  // namespace tickpath::strategy
