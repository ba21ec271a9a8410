// What recorded events do to our resting orders.
#include <algorithm>
#include <limits>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {
namespace {

constexpr std::uint32_t kEveryArrival = std::numeric_limits<std::uint32_t>::max();

}  // namespace

// Ahead of the order that the recording says was hit, and at a price that the aggressor takes.
bool Matcher::reaches(const Reach& reach, const LiveOrder& order) noexcept {
  const bool ahead = better(order.side, order.price, reach.price) ||
                     (order.price == reach.price && order.arrival < reach.arrival);
  return ahead && !better(order.side, reach.acceptable, order.price);
}

// Spends up to `budget` shares of one recorded aggressor on our orders of one side, best first. A
// slice shown anew has a later arrival than whatever the aggressor was recorded to hit.
// Returns what was spent.
std::uint32_t Matcher::fill_resting(std::uint32_t locate, Side side, const Reach& reach,
                                    std::uint32_t budget, FillSource source) noexcept {
  if (!trading(locate)) return 0;
  std::uint32_t spent = 0;
  for (std::uint32_t node = live_.front(locate, side);
       node != LiveOrders::kNone && spent < budget && reaches(reach, live_[node]);
       node = live_.front(locate, side)) {
    const std::uint32_t shares = std::min(budget - spent, live_[node].shown());
    spent += shares;
    fill_recorded(node, shares, live_[node].price, source);
    after_slice(node);
  }
  return spent;
}

// A recorded order came to rest. Ours on the other side that it meets would have traded with it.
// Returns the shares that did.
std::uint32_t Matcher::meet_arrival(Locate locate, std::uint64_t reference, Side side,
                                    std::uint32_t taken) noexcept {
  const Side other = opposite(side);
  if (live_.front(locate, other) == LiveOrders::kNone) return 0;
  const book::Handle handle = book_.find(reference);
  const book::OrderView order = book_.order(handle);
  const Reach reach{order.price, kEveryArrival, order.price};
  const std::uint32_t spent =
      fill_resting(locate, other, reach, order.shares - taken, FillSource::kCrossingAdd);
  if (spent == 0) return 0;
  counters_.taken.add(spent);
  book_.set_user(handle, order.user + spent);
  return spent;
}

void Matcher::on_add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
                     std::uint32_t price) noexcept {
  const book::Change change =
      book_.add(locate, reference, side, shares, price, user_word(next_arrival(), 0));
  if (!change.ok()) [[unlikely]] {
    counters_.bad_messages.add();
    // On the feed the order that is there may be gone: this one would not be refused.
    if (taken_of_reference(reference) != 0) tell({.touched = true});
    return;
  }
  const std::uint32_t spent = meet_arrival(locate, reference, side, 0);
  tell({spent != 0, 0, shares - spent, locate, side});
  settle(locate);
}

void Matcher::on_execute(std::uint64_t reference, std::uint32_t shares) noexcept {
  execute(reference, shares, 0, true);
}

void Matcher::on_execute_at(std::uint64_t reference, std::uint32_t shares, std::uint32_t price,
                            bool printable) noexcept {
  execute(reference, shares, price, printable);
}

// price 0: at the resting order's own.
void Matcher::execute(std::uint64_t reference, std::uint32_t shares, std::uint32_t price,
                      bool printable) noexcept {
  const book::Handle handle = book_.find(reference);
  if (handle == book::kNoOrder) [[unlikely]] {
    counters_.unknown_references.add();
    return;
  }
  const book::OrderView order = book_.order(handle);
  const std::uint32_t executed = std::min(shares, order.shares);
  std::uint32_t displaced = 0;
  if (printable && live_.front(order.locate, order.side) != LiveOrders::kNone) {
    const Reach reach{order.price, arrival_of(order.user), price == 0 ? order.price : price};
    displaced = fill_resting(order.locate, order.side, reach, executed, FillSource::kExecution);
    counters_.displaced.add(displaced);
  }
  const std::uint32_t before = order.shares - taken_of(order.user);
  settle_execution(handle, order, executed, displaced);
  tell({taken_of(order.user) != 0, before, before - std::min(before, executed), order.locate,
        order.side});
  if (!book_.execute(reference, shares).ok()) counters_.bad_messages.add();
  if (printable && executed != 0 && trading(order.locate))
    print(order.locate, price == 0 ? order.price : price);
  settle(order.locate);
}

// The recording takes `shares` from an order of which we may hold some already. What it takes
// beyond the rest is ours: the recorded future does not hold. `displaced` of the aggressor went to
// us instead, so that only what is left of it could meet shares that are gone.
void Matcher::settle_execution(book::Handle handle, const book::OrderView& order,
                               std::uint32_t shares, std::uint32_t displaced) noexcept {
  const std::uint32_t taken = taken_of(order.user);
  if (taken == 0) return;
  const std::uint32_t available = order.shares - taken;
  const std::uint32_t excess = shares - std::min(shares, available);
  const std::uint32_t arriving = shares - displaced;
  counters_.conflict_executed.add(arriving - std::min(arriving, available));
  counters_.taken_released.add(excess);
  book_.set_user(handle, order.user - excess);
}

void Matcher::release(std::uint32_t shares, Counter& cause) noexcept {
  counters_.taken_released.add(shares);
  cause.add(shares);
}

void Matcher::on_reduce(std::uint64_t reference, std::uint32_t shares) noexcept {
  const book::Handle handle = book_.find(reference);
  if (handle == book::kNoOrder) [[unlikely]] {
    counters_.unknown_references.add();
    return;
  }
  const book::OrderView order = book_.order(handle);
  const std::uint32_t taken = taken_of(order.user);
  if (taken != 0) {
    const std::uint32_t available = order.shares - taken;
    const std::uint32_t withdrawn = std::min(shares, order.shares);
    const std::uint32_t excess = withdrawn - std::min(withdrawn, available);
    release(excess, counters_.conflict_withdrawn);
    book_.set_user(handle, order.user - excess);
  }
  const std::uint32_t before = order.shares - taken;
  tell({taken != 0, before, before - std::min(before, shares), order.locate, order.side});
  if (!book_.reduce(reference, shares).ok()) counters_.bad_messages.add();
  settle(order.locate);
}

void Matcher::on_delete(std::uint64_t reference) noexcept {
  const book::Handle handle = book_.find(reference);
  if (handle == book::kNoOrder) [[unlikely]] {
    counters_.unknown_references.add();
    return;
  }
  const std::uint32_t taken = taken_of(book_.user(handle));
  if (taken != 0) release(taken, counters_.conflict_withdrawn);
  const book::Change change = book_.remove(reference);
  tell({taken != 0, change.shares - taken, 0, change.locate, change.side});
  settle(change.locate);
}

// The replacement is the same owner's same shares at another place: what we took stays taken.
void Matcher::on_replace(std::uint64_t reference, std::uint64_t new_reference, std::uint32_t shares,
                         std::uint32_t price) noexcept {
  const book::Handle handle = book_.find(reference);
  if (handle == book::kNoOrder) [[unlikely]] {
    counters_.unknown_references.add();
    return;
  }
  const book::OrderView order = book_.order(handle);
  const std::uint32_t taken = taken_of(order.user);
  if (!book_.replace(reference, new_reference, shares, price).ok()) [[unlikely]] {
    counters_.bad_messages.add();
    if (taken != 0)
      release(taken, counters_.conflict_withdrawn);  // the old order is gone all the same
    tell({taken != 0 || taken_of_reference(new_reference) != 0, order.shares - taken, 0,
          order.locate, order.side});
    settle(order.locate);
    return;
  }
  const std::uint32_t carried = std::min(taken, shares);
  if (taken != carried) release(taken - carried, counters_.conflict_withdrawn);
  book_.set_user(book_.find(new_reference), user_word(next_arrival(), carried));
  const std::uint32_t spent = meet_arrival(order.locate, new_reference, order.side, carried);
  tell({taken + spent != 0, order.shares - taken, shares - carried - spent, order.locate,
        order.side});
  settle(order.locate);
}

// Which side was hidden the feed does not say (its indicator has been 'B' always since 2014), so
// only a strictly worse price proves that we stood first. Our two sides never cross, so at most one
// of them is reached.
void Matcher::on_hidden_trade(Locate locate, std::uint32_t shares, std::uint32_t price) noexcept {
  if (price == 0) {
    counters_.bad_messages.add();
    return;
  }
  const Reach reach{price, 0, price};
  std::uint32_t spent = 0;
  for (const Side side : {Side::kBuy, Side::kSell})
    spent += fill_resting(locate, side, reach, shares - spent, FillSource::kTradeThrough);
  if (shares != 0 && trading(locate)) print(locate, price);
  tell({});
  settle(locate);
}

}  // namespace tickpath::sim
