// What our own requests do.
#include <algorithm>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {
namespace {

bool bad_price(Price price) noexcept { return price.value <= 0 || price.value > kOrderPriceMax; }
bool bad_cap(Price price) noexcept { return price.value < 0 || price.value > kOrderPriceMax; }
bool bad_quantity(std::uint32_t shares) noexcept { return shares == 0 || shares > kOrderSharesMax; }

bool known(Side side) noexcept { return side == Side::kBuy || side == Side::kSell; }

}  // namespace

// Looks at the prices of either kind of request, but not at one that the type does not have.
template <class Request>
Reason Matcher::refusal_of_prices(const Request& request) const noexcept {
  const bool limit = has_limit(request.type);
  const bool stop = has_stop(request.type);
  const bool pegged = request.type == OrderType::kPegged;
  if (limit && bad_price(request.price)) return Reason::kPrice;
  if (pegged && bad_cap(request.price)) return Reason::kPrice;
  if (stop && bad_price(request.stop_price)) return Reason::kStopPrice;
  if ((limit || pegged) && !on_tick(ticks_, request.price)) return Reason::kPriceTick;
  if (stop && !on_tick(ticks_, request.stop_price)) return Reason::kStopTick;
  return Reason::kNone;
}

// ---------------------------------------------------------------------- new orders

Reason Matcher::refusal_of_terms(const NewOrder& request) const noexcept {
  if (!known(request.side) || !is_known(request.type) || !is_known(request.time_in_force))
    return Reason::kUnsupported;
  if (bad_quantity(request.shares)) return Reason::kQuantity;
  const Reason reason = refusal_of_prices(request);
  if (reason != Reason::kNone) return reason;
  if (!trading::agree({request.type, request.time_in_force, request.post_only, request.shares,
                       request.display_shares, request.minimum_shares}))
    return Reason::kCombination;
  if (request.display_shares != 0 && request.display_shares < display_shares_min_)
    return Reason::kDisplay;
  return Reason::kNone;
}

Reason Matcher::refusal(const NewOrder& request) noexcept {
  if (ids_.find(request.order_id) != nullptr) return Reason::kDuplicateId;
  if (ids_.full() || live_.size() == live_.capacity()) return Reason::kCapacity;
  if (closed_) return Reason::kClosed;
  if (request.locate >= book::kLocatesMax || !instruments_[request.locate].listed)
    return Reason::kUnknownSymbol;
  const Reason reason = refusal_of_terms(request);
  if (reason != Reason::kNone) return reason;
  if (is_on_cross(request.time_in_force))
    return cross_is_over(request.locate, request.time_in_force) ? Reason::kCrossOver
                                                                : Reason::kNone;
  if (!trading(request.locate))
    return halt_rule_ == HaltRule::kReject ? Reason::kNotTrading : Reason::kNone;
  if (outside_band(request)) return Reason::kPriceBand;
  if (request.post_only &&
      would_trade(request.locate, request.side, static_cast<std::uint32_t>(request.price.value)))
    return Reason::kPostOnly;
  return Reason::kNone;
}

void Matcher::reject(const NewOrder& request, Reason reason) noexcept {
  counters_.rejected.add();
  counters_.refused[static_cast<std::size_t>(reason)].add();
  const std::uint32_t number = ++numbers_;
  // A duplicate's id stays what it is; without room for the id it may come back, no worse.
  if (reason != Reason::kDuplicateId && request.order_id != 0)
    (void)ids_.insert(request.order_id, number, IdTable::closed(OrderState::kRejected));
  Report report;
  report.order_id = request.order_id;
  report.exchange_order_id = incarnation_bits_ | number;
  report.locate = request.locate;
  report.shares = request.shares;
  if (!bad_price(request.price))
    report.limit_price = static_cast<std::uint32_t>(request.price.value);
  report.party = request.party;
  report.side = request.side;
  report.kind = ReportKind::kRejected;
  report.state = OrderState::kRejected;
  report.reason = reason;
  emit(report);
}

void Matcher::refuse(const NewOrder& request, Reason reason) noexcept {
  counters_.received.add();
  reject(request, ids_.find(request.order_id) != nullptr ? Reason::kDuplicateId : reason);
}

void Matcher::enter(const NewOrder& request) noexcept {
  counters_.received.add();
  const Reason reason = refusal(request);
  if (reason != Reason::kNone) {
    reject(request, reason);
    return;
  }
  const std::uint32_t node = open(request);
  counters_.accepted.add();
  emit(report_of(live_[node], ReportKind::kAccepted));
  if (live_[node].waits())
    wait_for_stop(node);
  else if (live_[node].on_cross())
    live_.enqueue(node, Place::kAuction);
  else
    work(node, request.time_in_force == TimeInForce::kFillOrKill ? request.shares
                                                                 : request.minimum_shares);
  settle(request.locate);
}

// The order that an accepted request makes, in no queue yet.
std::uint32_t Matcher::open(const NewOrder& request) noexcept {
  const std::uint32_t node = live_.allocate();
  LiveOrder& order = live_[node];
  order.order_id = request.order_id;
  order.number = ++numbers_;
  order.locate = static_cast<Locate>(request.locate);
  locates_ = std::max(locates_, request.locate + 1);
  order.shares = request.shares;
  if (request.display_shares < request.shares) order.display = request.display_shares;
  const auto price = static_cast<std::uint32_t>(request.price.value);
  if (request.type == OrderType::kLimit || request.type == OrderType::kStopLimit)
    order.price = price;
  if (request.type == OrderType::kPegged) order.limit = price;
  order.arrival = next_arrival();
  order.party = request.party;
  order.side = request.side;
  order.type = request.type;
  order.time_in_force = request.time_in_force;
  order.post_only = request.post_only;
  if (order.waits()) order.stop_price = static_cast<std::uint32_t>(request.stop_price.value);
  if (order.type == OrderType::kPegged) live_.link_peg(node);
  if (order.waits() || order.type == OrderType::kPegged) ++instruments_[order.locate].watched;
  (void)ids_.insert(order.order_id, order.number, node);
  return node;
}

// ---------------------------------------------------------------------- cancel and replace

Reason Matcher::refusal_to_change(const IdTable::Entry* target, const Party& party,
                                  std::uint32_t locate, Side side) const noexcept {
  if (target == nullptr) return Reason::kUnknownOrder;
  if (!IdTable::live(*target)) return Reason::kTooLate;
  const LiveOrder& order = live_[target->node];
  if (order.party.session != party.session) return Reason::kUnknownOrder;
  if (order.locate != locate || order.side != side) return Reason::kMismatch;
  return Reason::kNone;
}

template <class Request>
void Matcher::refuse_change(const Request& request, ReportKind kind, Reason reason) noexcept {
  const bool cancel = kind == ReportKind::kCancelRejected;
  (cancel ? counters_.cancel_rejected : counters_.replace_rejected).add();
  counters_.refused[static_cast<std::size_t>(reason)].add();
  Report report;
  const IdTable::Entry* target = ids_.find(request.target_order_id);
  const bool known = target != nullptr && reason != Reason::kUnknownOrder;
  if (known && IdTable::live(*target)) {
    report = report_of(live_[target->node], kind);
  } else {
    report.state = known ? IdTable::final_state(*target) : OrderState::kRejected;
    report.exchange_order_id = known ? incarnation_bits_ | target->number : 0;
    report.side = request.side;
  }
  report.order_id = request.order_id;
  report.target_order_id = request.target_order_id;
  report.locate = request.locate;
  report.party = request.party;
  report.kind = kind;
  report.reason = reason;
  // Registered last, for the table's entries may not move but the id may equal the target's.
  if (request.order_id != 0 && ids_.find(request.order_id) == nullptr)
    (void)ids_.insert(request.order_id, ++numbers_, IdTable::kRequest);
  emit(report);
}

void Matcher::refuse(const CancelOrder& request, Reason reason) noexcept {
  counters_.cancels.add();
  refuse_change(request, ReportKind::kCancelRejected, reason);
}

void Matcher::refuse(const ReplaceOrder& request, Reason reason) noexcept {
  counters_.replaces.add();
  refuse_change(request, ReportKind::kReplaceRejected, reason);
}

void Matcher::cancel(const CancelOrder& request) noexcept {
  counters_.cancels.add();
  IdTable::Entry* target = ids_.find(request.target_order_id);
  const Reason reason =
      ids_.find(request.order_id) != nullptr
          ? Reason::kDuplicateId
          : refusal_to_change(target, request.party, request.locate, request.side);
  if (reason != Reason::kNone) {
    refuse_change(request, ReportKind::kCancelRejected, reason);
    return;
  }
  const std::uint32_t node = target->node;
  (void)ids_.insert(request.order_id, ++numbers_, IdTable::kRequest);
  live_.dequeue(node);
  Report report = report_of(live_[node], ReportKind::kCanceled);
  report.order_id = request.order_id;
  report.target_order_id = request.target_order_id;
  report.state = OrderState::kCanceled;
  report.leaves_shares = 0;
  counters_.canceled.add();
  emit(report);
  finish(node, OrderState::kCanceled);
}

// Nobody's request named this order: it is reported under its own id.
void Matcher::cancel_unasked(std::uint32_t node) noexcept {
  Report report = report_of(live_[node], ReportKind::kCanceled);
  report.state = OrderState::kCanceled;
  report.leaves_shares = 0;
  counters_.canceled.add();
  emit(report);
  finish(node, OrderState::kCanceled);
}

namespace {

// Only giving something up, and nothing else, keeps the place in the queue (Nasdaq's rule).
bool keeps_place(const LiveOrder& order, const ReplaceOrder& request) noexcept {
  if (request.shares >= order.shares) return false;
  if (order.waits() && request.stop_price.value != order.stop_price) return false;
  if (order.type == OrderType::kStop) return true;
  return request.price.value == (order.type == OrderType::kPegged ? order.limit : order.price);
}

}  // namespace

Reason Matcher::refusal_of_terms(const ReplaceOrder& request,
                                 const LiveOrder& order) const noexcept {
  if (request.type != order.type) return Reason::kUnsupported;
  if (bad_quantity(request.shares)) return Reason::kQuantity;
  const Reason reason = refusal_of_prices(request);
  if (reason != Reason::kNone) return reason;
  if (request.shares < order.cumulative) return Reason::kBelowFilled;
  if (order.on_cross()) return Reason::kNone;
  if (!instruments_[request.locate].listed) return Reason::kNotTrading;
  if (!trading(request.locate))
    return halt_rule_ == HaltRule::kReject ? Reason::kNotTrading : Reason::kNone;
  if (outside_band(request)) return Reason::kPriceBand;
  if (order.post_only && !keeps_place(order, request) &&
      would_trade(order.locate, order.side, static_cast<std::uint32_t>(request.price.value)))
    return Reason::kPostOnly;
  return Reason::kNone;
}

Reason Matcher::refusal(const ReplaceOrder& request, const IdTable::Entry* target) noexcept {
  if (ids_.find(request.order_id) != nullptr) return Reason::kDuplicateId;
  const Reason reason = refusal_to_change(target, request.party, request.locate, request.side);
  if (reason != Reason::kNone) return reason;
  if (ids_.full()) return Reason::kCapacity;
  if (closed_) return Reason::kClosed;
  return refusal_of_terms(request, live_[target->node]);
}

void Matcher::amend(std::uint32_t node, const ReplaceOrder& request) noexcept {
  LiveOrder& order = live_[node];
  const auto price = static_cast<std::uint32_t>(request.price.value);
  order.order_id = request.order_id;
  order.shares = request.shares;
  if (order.type == OrderType::kPegged)
    order.limit = price;
  else if (order.type == OrderType::kLimit || order.type == OrderType::kStopLimit)
    order.price = price;
  if (order.waits()) order.stop_price = static_cast<std::uint32_t>(request.stop_price.value);
}

void Matcher::replace(const ReplaceOrder& request) noexcept {
  counters_.replaces.add();
  IdTable::Entry* target = ids_.find(request.target_order_id);
  const Reason reason = refusal(request, target);
  if (reason != Reason::kNone) {
    refuse_change(request, ReportKind::kReplaceRejected, reason);
    return;
  }
  const std::uint32_t node = target->node;
  LiveOrder& order = live_[node];
  (void)ids_.insert(request.order_id, order.number, node);
  target->node = IdTable::kRequest;
  const bool keeps = keeps_place(order, request);
  if (!keeps || request.shares == order.cumulative) live_.dequeue(node);
  amend(node, request);
  Report report = report_of(order, ReportKind::kReplaced);
  report.target_order_id = request.target_order_id;
  counters_.replaced.add();
  emit(report);
  if (order.leaves() == 0) {
    finish(node, OrderState::kFilled);
  } else if (keeps) {
    order.slice = std::min(order.slice, order.leaves());
    if (order.place == Place::kBook) show(order);
  } else {
    order.arrival = next_arrival();
    order.slice = 0;
    if (order.waits()) {
      wait_for_stop(node);
    } else if (order.on_cross()) {
      live_.enqueue(node, Place::kAuction);
    } else {
      if (order.type == OrderType::kPegged) {
        live_.unlink_peg(node);
        live_.link_peg(node);
      }
      work(node);
    }
  }
  settle(request.locate);
}

Report Matcher::status(const StatusQuery& query) noexcept {
  const IdTable::Entry* entry = ids_.find(query.order_id);
  if (entry != nullptr && entry->node == IdTable::kRequest) entry = nullptr;
  const Reason reason = refusal_to_change(entry, query.party, query.locate, query.side);
  Report report;
  if (reason == Reason::kNone) return report_of(live_[entry->node], ReportKind::kAccepted);
  report.order_id = query.order_id;
  report.locate = query.locate;
  report.party = query.party;
  report.side = query.side;
  report.kind = ReportKind::kAccepted;
  report.state = OrderState::kRejected;
  report.reason = reason;
  if (reason == Reason::kTooLate) {
    report.state = IdTable::final_state(*entry);
    report.cumulative_shares = IdTable::filled(*entry);
    report.exchange_order_id = incarnation_bits_ | entry->number;
    report.reason = Reason::kNone;
  } else {
    report.kind = ReportKind::kRejected;
  }
  return report;
}

}  // namespace tickpath::sim
