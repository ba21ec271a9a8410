// What an order does that arrives: it trades what it can, then rests or ends.
#include <algorithm>

#include "sim/matching/matcher.hpp"
#include "sim/matching/matcher_cursor.hpp"

namespace tickpath::sim {

// An order that is in no queue. minimum: it trades at least so many shares at once, or none.
void Matcher::work(std::uint32_t node, std::uint32_t minimum) noexcept {
  LiveOrder& order = live_[node];
  if (order.type == OrderType::kPegged) {
    const std::uint32_t price = peg_price(order);
    if (price != order.price) {
      order.price = price;
      order.arrival = next_arrival();
      order.slice = 0;
    }
    if (price == 0) {
      hide(order);
      live_.enqueue(node, Place::kParked);
      return;
    }
  }
  Reason ending = Reason::kNone;
  if (trading(order.locate)) {
    if (!can_trade(order, minimum))
      ending = Reason::kMinimum;
    else if (order.post_only && would_trade(order.locate, order.side, order.price))
      ending = Reason::kPostOnly;
    else
      ending = match(node);
  }
  if (order.leaves() == 0) {
    finish(node, OrderState::kFilled);
    return;
  }
  const bool rests =
      order.type != OrderType::kMarket && (order.time_in_force == TimeInForce::kDay ||
                                           order.time_in_force == TimeInForce::kGoodTillCancel);
  if (ending == Reason::kNone && !rests) ending = Reason::kRemainder;
  if (ending == Reason::kNone)
    rest(node);
  else
    expire(node, ending);
}

// With what is left of its slice on show: an order that rested before a halt has one. A new slice
// arrives now.
void Matcher::rest(std::uint32_t node) noexcept {
  LiveOrder& order = live_[node];
  if (order.display != 0 && order.slice == 0) {
    order.slice = std::min(order.display, order.leaves());
    order.arrival = next_arrival();
  }
  live_.enqueue(node, Place::kBook);
  show(order);
}

// ---------------------------------------------------------------------- taking

// Recorded and live orders of the other side in one line: best price first, then earliest arrival.
// kSelfMatch: self-match prevention has ended the order, or kept it from going on.
Reason Matcher::match(std::uint32_t node) noexcept {
  const LiveOrder& taker = live_[node];
  const Side other = opposite(taker.side);
  const std::uint32_t worst = worst_price_of(taker);
  Cursor cursor{static_cast<Locate>(taker.locate), other};
  while (taker.leaves() != 0) {
    const bool recorded = next_available(cursor, worst);
    const std::uint32_t resting = live_.front(taker.locate, other);
    if (live_is_next(resting, recorded, cursor, worst)) {
      if (live_[resting].party != taker.party)
        cross(node, resting);
      else if (!prevent_self_match(node, resting))
        return Reason::kSelfMatch;
    } else if (recorded) {
      take(node, cursor);
    } else {
      break;
    }
  }
  return Reason::kNone;
}

// recorded: the cursor is at an order whose price the taker accepts.
bool Matcher::live_is_next(std::uint32_t resting, bool recorded, const Cursor& cursor,
                           std::uint32_t worst_price) const noexcept {
  if (resting == LiveOrders::kNone) return false;
  const LiveOrder& order = live_[resting];
  if (better(opposite(order.side), order.price, worst_price)) return false;
  if (!recorded || better(order.side, order.price, cursor.price)) return true;
  return order.price == cursor.price && order.arrival < arrival_of(book_.user(cursor.handle));
}

// A taker buys at `worst_price` or below, sells at it or above.
bool Matcher::next_available(Cursor& cursor, std::uint32_t worst_price) const noexcept {
  for (;;) {
    for (; cursor.handle != book::kNoOrder; cursor.handle = book_.next(cursor.handle)) {
      const book::OrderView order = book_.order(cursor.handle);
      if (order.shares > taken_of(order.user)) return true;
    }
    const book::LevelView level = book_.level(cursor.locate, cursor.side, cursor.rank);
    if (level.price == 0 || better(opposite(cursor.side), level.price, worst_price)) return false;
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
  hide(live_[node]);
  if (feed_ != nullptr) [[unlikely]]
    take_on_feed(order, shares, order.price, false);
  fill_recorded(node, shares, order.price, FillSource::kDisplayed);
}

void Matcher::cross(std::uint32_t taker, std::uint32_t resting) noexcept {
  const std::uint32_t price = live_[resting].price;
  const std::uint32_t shares = std::min(live_[taker].leaves(), live_[resting].shown());
  counters_.traded_live.add(shares);
  counters_.filled_shares[static_cast<std::size_t>(FillSource::kLive)].add(shares);
  hide(live_[taker]);
  fill(resting, shares, price, FillSource::kLive, Liquidity::kAdded);
  fill(taker, shares, price, FillSource::kLive, Liquidity::kRemoved);
  after_slice(resting);
}

// A resting order was filled: it leaves, or shows its next slice behind everything at its price.
void Matcher::after_slice(std::uint32_t resting) noexcept {
  LiveOrder& order = live_[resting];
  if (order.shown() != 0) return;
  live_.dequeue(resting);
  if (order.leaves() == 0) {
    finish(resting, OrderState::kFilled);
    return;
  }
  counters_.replenished.add();
  rest(resting);
}

// ---------------------------------------------------------------------- asking before

bool Matcher::would_trade(std::uint32_t locate, Side side,
                          std::uint32_t worst_price) const noexcept {
  const Side other = opposite(side);
  Cursor cursor{static_cast<Locate>(locate), other};
  return next_available(cursor, worst_price) ||
         live_is_next(live_.front(locate, other), false, cursor, worst_price);
}

// Whether match() would trade `minimum` shares, without doing it. What a live order does not show
// yet comes last at its price.
bool Matcher::can_trade(const LiveOrder& taker, std::uint32_t minimum) const noexcept {
  if (minimum == 0) return true;
  const Side other = opposite(taker.side);
  const std::uint32_t worst = worst_price_of(taker);
  Cursor cursor{static_cast<Locate>(taker.locate), other};
  std::uint32_t resting = live_.front(taker.locate, other);
  std::uint64_t able = taker.leaves();  // to trade: less what self-match prevention takes away
  std::uint64_t sum = 0;                // below `minimum`, and so below `able`, while it matters
  std::uint64_t reserve = 0;
  std::uint32_t reserve_price = 0;
  while (sum < minimum) {
    const bool recorded = next_available(cursor, worst);
    const bool live = live_is_next(resting, recorded, cursor, worst);
    if (!live && !recorded) return sum + reserve >= minimum;
    const std::uint32_t price = live ? live_[resting].price : cursor.price;
    if (price != reserve_price) {
      sum += reserve;
      reserve = 0;
      reserve_price = price;
    }
    if (!live) {
      const book::OrderView order = book_.order(cursor.handle);
      sum += order.shares - taken_of(order.user);
      cursor.handle = book_.next(cursor.handle);
      continue;
    }
    const LiveOrder& order = live_[resting];
    resting = order.next;
    if (order.party != taker.party) {
      sum += order.shown();
      reserve += order.leaves() - order.shown();
    } else if (self_match_ == SelfMatchRule::kDecrement && order.leaves() < able - sum) {
      able -= order.leaves();
      if (able < minimum) return false;
    } else if (self_match_ != SelfMatchRule::kCancelOldest) {
      return sum >= minimum;
    }
  }
  return true;
}

// ---------------------------------------------------------------------- self-match prevention

// False: the taker goes no further.
bool Matcher::prevent_self_match(std::uint32_t taker, std::uint32_t resting) noexcept {
  switch (self_match_) {
    case SelfMatchRule::kCancelNewest:
      return false;
    case SelfMatchRule::kCancelOldest:
      drop(resting);
      return true;
    case SelfMatchRule::kCancelBoth:
      drop(resting);
      return false;
    case SelfMatchRule::kDecrement:
      break;
  }
  const std::uint32_t of_taker = live_[taker].leaves();
  const std::uint32_t of_resting = live_[resting].leaves();
  if (of_resting > of_taker)
    decrement(resting, of_taker);
  else
    drop(resting);
  if (of_taker <= of_resting) return false;
  decrement(taker, of_resting);
  return true;
}

void Matcher::decrement(std::uint32_t node, std::uint32_t shares) noexcept {
  LiveOrder& order = live_[node];
  order.shares -= shares;
  order.slice = std::min(order.slice, order.leaves());
  if (order.place == Place::kBook) show(order);
  Report report = report_of(order, ReportKind::kReplaced);
  report.target_order_id = order.order_id;
  report.reason = Reason::kSelfMatch;
  counters_.restated.add();
  emit(report);
}

void Matcher::drop(std::uint32_t node) noexcept {
  live_.dequeue(node);
  expire(node, Reason::kSelfMatch);
}

}  // namespace tickpath::sim
