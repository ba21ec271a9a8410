// What our own requests do.
#include <algorithm>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

struct Matcher::Cursor {
  Locate locate;
  Side side;
  std::uint32_t rank = 0;   // of the next level to open
  std::uint32_t price = 0;  // of the level that is open
  book::Handle handle = book::kNoOrder;
};

namespace {

bool bad_price(Price price) noexcept { return price.value <= 0 || price.value > kOrderPriceMax; }
bool bad_quantity(std::uint32_t shares) noexcept { return shares == 0 || shares > kOrderSharesMax; }
bool bad_side(Side side) noexcept { return side != Side::kBuy && side != Side::kSell; }

// The taker buys at `price` or below, sells at it or above; a market order at any.
bool accepts(const LiveOrder& taker, std::uint32_t price) noexcept {
  return taker.type == OrderType::kMarket || !better(taker.side, price, taker.price);
}

}  // namespace

// ---------------------------------------------------------------------- new orders

Reason Matcher::refusal(const NewOrder& request) noexcept {
  if (ids_.find(request.order_id) != nullptr) return Reason::kDuplicateId;
  if (ids_.full() || live_.size() == live_.capacity()) return Reason::kCapacity;
  if (closed_) return Reason::kClosed;
  if (request.locate >= book::kLocatesMax) return Reason::kUnknownSymbol;
  const bool limit = request.type == OrderType::kLimit;
  if (bad_side(request.side) || (!limit && request.type != OrderType::kMarket))
    return Reason::kUnsupported;
  if (request.time_in_force != TimeInForce::kDay &&
      request.time_in_force != TimeInForce::kImmediateOrCancel)
    return Reason::kUnsupported;
  if (bad_quantity(request.shares)) return Reason::kQuantity;
  if (limit && bad_price(request.price)) return Reason::kPrice;
  if (halt_rule_ == HaltRule::kReject && !trading(request.locate)) return Reason::kNotTrading;
  return Reason::kNone;
}

void Matcher::reject(const NewOrder& request, Reason reason) noexcept {
  counters_.rejected.add();
  counters_.refused[static_cast<std::size_t>(reason)].add();
  const std::uint32_t number = ++numbers_;
  // A duplicate's id stays what it is; without room for the id it may come back, no worse.
  if (reason != Reason::kDuplicateId)
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
  counters_.new_orders.add();
  reject(request, ids_.find(request.order_id) != nullptr ? Reason::kDuplicateId : reason);
}

void Matcher::enter(const NewOrder& request) noexcept {
  counters_.new_orders.add();
  const Reason reason = refusal(request);
  if (reason != Reason::kNone) {
    reject(request, reason);
    return;
  }
  const std::uint32_t node = live_.allocate();
  LiveOrder& order = live_[node];
  order.order_id = request.order_id;
  order.number = ++numbers_;
  order.exchange_order_id = incarnation_bits_ | order.number;
  order.locate = request.locate;
  order.shares = request.shares;
  if (request.type == OrderType::kLimit)
    order.price = static_cast<std::uint32_t>(request.price.value);
  order.arrival = next_arrival();
  order.party = request.party;
  order.side = request.side;
  order.type = request.type;
  order.time_in_force = request.time_in_force;
  (void)ids_.insert(order.order_id, order.number, node);
  counters_.accepted.add();
  emit(report_of(order, ReportKind::kAccepted));
  work(node);
}

// An order that is in no queue: trades what it can, then rests or ends.
void Matcher::work(std::uint32_t node) noexcept {
  const LiveOrder& order = live_[node];
  Reason ending = Reason::kNone;
  if (trading(order.locate)) ending = match(node);
  if (order.leaves() == 0) {
    finish(node, OrderState::kFilled);
    return;
  }
  const bool rests = order.type == OrderType::kLimit && order.time_in_force == TimeInForce::kDay;
  if (ending == Reason::kNone && !rests) ending = Reason::kRemainder;
  if (ending == Reason::kNone)
    live_.rest(node);
  else
    expire(node, ending);
}

// ---------------------------------------------------------------------- taking

// Recorded and live orders of the other side in one line: best price first, then earliest arrival.
// Stops early, with kSelfMatch, when next in line stands an order of the same party.
Reason Matcher::match(std::uint32_t node) noexcept {
  const LiveOrder& taker = live_[node];
  const Side other = opposite(taker.side);
  Cursor cursor{static_cast<Locate>(taker.locate), other};
  while (taker.leaves() != 0) {
    const bool recorded = next_available(cursor, taker);
    const std::uint32_t resting = live_.front(taker.locate, other);
    bool live = resting != LiveOrders::kNone && accepts(taker, live_[resting].price);
    if (!recorded && !live) break;
    if (recorded && live) {
      const LiveOrder& order = live_[resting];
      live = better(other, order.price, cursor.price) ||
             (order.price == cursor.price && order.arrival < arrival_of(book_.user(cursor.handle)));
    }
    if (!live) {
      take(node, cursor);
    } else if (live_[resting].party == taker.party) {
      return Reason::kSelfMatch;
    } else {
      cross(node, resting);
    }
  }
  return Reason::kNone;
}

bool Matcher::next_available(Cursor& cursor, const LiveOrder& taker) const noexcept {
  for (;;) {
    for (; cursor.handle != book::kNoOrder; cursor.handle = book_.next(cursor.handle)) {
      const book::OrderView order = book_.order(cursor.handle);
      if (order.shares > taken_of(order.user)) return true;
    }
    const book::LevelView level = book_.level(cursor.locate, cursor.side, cursor.rank);
    if (level.price == 0 || !accepts(taker, level.price)) return false;
    ++cursor.rank;
    cursor.price = level.price;
    cursor.handle = book_.front(cursor.locate, cursor.side, level.price);
  }
}

void Matcher::take(std::uint32_t node, const Cursor& cursor) noexcept {
  const book::OrderView order = book_.order(cursor.handle);
  const std::uint32_t available = order.shares - taken_of(order.user);
  const std::uint32_t shares = std::min(available, live_[node].leaves());
  book_.set_user(cursor.handle, order.user + shares);
  counters_.taken.add(shares);
  fill_recorded(node, shares, order.price, FillSource::kDisplayed);
}

void Matcher::cross(std::uint32_t taker, std::uint32_t resting) noexcept {
  const std::uint32_t price = live_[resting].price;
  const std::uint32_t shares = std::min(live_[taker].leaves(), live_[resting].leaves());
  counters_.traded_live.add(shares);
  counters_.filled_shares[static_cast<std::size_t>(FillSource::kLive)].add(shares);
  fill(resting, shares, price, FillSource::kLive);
  fill(taker, shares, price, FillSource::kLive);
  if (live_[resting].leaves() != 0) return;
  live_.unrest(resting);
  finish(resting, OrderState::kFilled);
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
  if (ids_.find(request.order_id) == nullptr)
    (void)ids_.insert(request.order_id, ++numbers_, IdTable::kRequest);
  emit(report);
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
  live_.unrest(node);
  Report report = report_of(live_[node], ReportKind::kCanceled);
  report.order_id = request.order_id;
  report.target_order_id = request.target_order_id;
  report.state = OrderState::kCanceled;
  report.leaves_shares = 0;
  counters_.canceled.add();
  emit(report);
  finish(node, OrderState::kCanceled);
}

Reason Matcher::refusal(const ReplaceOrder& request, const IdTable::Entry* target) noexcept {
  if (ids_.find(request.order_id) != nullptr) return Reason::kDuplicateId;
  const Reason reason = refusal_to_change(target, request.party, request.locate, request.side);
  if (reason != Reason::kNone) return reason;
  if (ids_.full()) return Reason::kCapacity;
  if (request.type != OrderType::kLimit) return Reason::kUnsupported;
  if (bad_quantity(request.shares)) return Reason::kQuantity;
  if (bad_price(request.price)) return Reason::kPrice;
  if (request.shares < live_[target->node].cumulative) return Reason::kBelowFilled;
  if (halt_rule_ == HaltRule::kReject && !trading(request.locate)) return Reason::kNotTrading;
  return Reason::kNone;
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
  const auto price = static_cast<std::uint32_t>(request.price.value);
  // The venue's rule: only giving something up, at the same price, keeps the place in the queue.
  const bool keeps_place = price == order.price && request.shares < order.shares;
  if (!keeps_place) live_.unrest(node);
  order.order_id = request.order_id;
  order.price = price;
  order.shares = request.shares;
  Report report = report_of(order, ReportKind::kReplaced);
  report.target_order_id = request.target_order_id;
  counters_.replaced.add();
  emit(report);
  if (order.leaves() == 0) {
    if (keeps_place) live_.unrest(node);
    finish(node, OrderState::kFilled);
  } else if (!keeps_place) {
    order.arrival = next_arrival();
    work(node);
  }
}

}  // namespace tickpath::sim
