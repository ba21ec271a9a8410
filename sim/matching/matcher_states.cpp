// What follows from trading states, from the day, and from prices that move: stop and pegged
// orders.
#include <algorithm>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

// ---------------------------------------------------------------------- states and days

void Matcher::on_trading_state(Locate locate, wire::TradingState state) noexcept {
  const bool before = trading(locate);
  instruments_[locate].state = state;
  tell({});
  if (before || !trading(locate)) return;
  if (own_crosses_ && live_in_book(locate)) cross(locate, CrossKind::kHalt);
  uncross(locate);
  settle(locate);
}

// Trading resumes: our orders meet what is there one after the other, as if each arrived now in
// its old order, and keep their old places in time. Of a reserve order this is the slice's place:
// what it trades now comes out of the slice first, and the next one arrives anew.
void Matcher::uncross(std::uint32_t locate) noexcept {
  take_out(
      locate, [](const LiveOrder& order) { return order.place == Place::kBook; },
      [this](std::uint32_t node) { work(node); });
}

void Matcher::expire_day_orders(std::uint32_t locate) noexcept {
  take_out(
      locate,
      [](const LiveOrder& order) { return order.time_in_force != TimeInForce::kGoodTillCancel; },
      [this](std::uint32_t node) { expire(node, Reason::kSessionEnd); });
}

void Matcher::close() noexcept {
  if (closed_) return;
  closed_ = true;
  for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate) {
    expire_day_orders(locate);
    if (feed_ != nullptr) hide_all(locate);
  }
}

void Matcher::begin_day() noexcept {
  if (!closed_) return;
  closed_ = false;
  crosses_of_day_ = 0;
  counters_.taken_released.add(taken_in_book());
  book_.clear();
  tell({});
  for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate) {
    Instrument& instrument = instruments_[locate];
    instrument.state = wire::TradingState::kHalted;
    instrument.listed = false;
    instrument.last = instrument.high = instrument.low = 0;
    instrument.crosses = 0;
    imbalances_[locate] = {};
  }
}

void Matcher::list(Locate locate) noexcept {
  Instrument& instrument = instruments_[locate];
  if (instrument.listed) return;
  instrument.listed = true;
  instrument.state = wire::TradingState::kUnknown;
  uncross(locate);
  settle(locate);
}

std::uint32_t Matcher::cancel_all(const MassCancel& request) noexcept {
  const auto wanted = [&request](const LiveOrder& order) { return is_of(request, order); };
  std::uint32_t count = 0;
  for_each_locate(request, [&](std::uint32_t locate) {
    count += take_out(locate, wanted, [this](std::uint32_t node) { cancel_unasked(node); });
  });
  return count;
}

std::uint32_t Matcher::end_day_of(std::uint8_t session) noexcept {
  const auto ends = [session](const LiveOrder& order) {
    return order.party.session == session && order.time_in_force != TimeInForce::kGoodTillCancel;
  };
  std::uint32_t count = 0;
  for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate)
    count +=
        take_out(locate, ends, [this](std::uint32_t node) { expire(node, Reason::kSessionEnd); });
  return count;
}

// ---------------------------------------------------------------------- prices that move

void Matcher::settle_watched(std::uint32_t locate) noexcept {
  if (!trading(locate)) return;
  reprice_pegs(locate, Side::kBuy);
  reprice_pegs(locate, Side::kSell);
  trigger_stops(locate);
}

// 0: nothing to peg to.
std::uint32_t Matcher::peg_price(const LiveOrder& order) const noexcept {
  const std::uint32_t best = book_.best(static_cast<Locate>(order.locate), order.side).price;
  if (best == 0 || order.limit == 0) return best;
  return order.side == Side::kBuy ? std::min(best, order.limit) : std::max(best, order.limit);
}

// Each order that moves arrives anew, in the order in which they were entered. None of them changes
// the recorded book, so that one round is enough.
void Matcher::reprice_pegs(std::uint32_t locate, Side side) noexcept {
  for (std::uint32_t node = live_.first_peg(locate, side); node != LiveOrders::kNone;) {
    const LiveOrder& order = live_[node];
    const std::uint32_t next = live_.next_peg(node);
    if (peg_price(order) != order.price) {
      live_.dequeue(node);
      counters_.repriced.add();
      work(node);
    }
    node = next;
  }
}

void Matcher::wait_for_stop(std::uint32_t node) noexcept {
  live_.enqueue(node, Place::kStop);
  Instrument& instrument = instruments_[live_[node].locate];
  instrument.high = instrument.low = instrument.last;  // what traded before is none of its business
}

// The earlier of the two sides' next stop orders that a trade has reached.
std::uint32_t Matcher::next_triggered(std::uint32_t locate) const noexcept {
  const Instrument& instrument = instruments_[locate];
  if (instrument.last == 0) return LiveOrders::kNone;
  std::uint32_t buy = live_.front(locate, Side::kBuy, Place::kStop);
  std::uint32_t sell = live_.front(locate, Side::kSell, Place::kStop);
  if (buy != LiveOrders::kNone && live_[buy].stop_price > instrument.high) buy = LiveOrders::kNone;
  if (sell != LiveOrders::kNone && live_[sell].stop_price < instrument.low)
    sell = LiveOrders::kNone;
  if (buy == LiveOrders::kNone) return sell;
  if (sell == LiveOrders::kNone) return buy;
  return live_[buy].arrival < live_[sell].arrival ? buy : sell;
}

// What a triggered order trades may trigger the next.
void Matcher::trigger_stops(std::uint32_t locate) noexcept {
  Instrument& instrument = instruments_[locate];
  for (std::uint32_t node = next_triggered(locate); node != LiveOrders::kNone;
       node = next_triggered(locate)) {
    live_.dequeue(node);
    LiveOrder& order = live_[node];
    order.type = order.type == OrderType::kStop ? OrderType::kMarket : OrderType::kLimit;
    order.arrival = next_arrival();
    --instrument.watched;
    counters_.triggered.add();
    emit(report_of(order, ReportKind::kTriggered));
    work(node);
  }
  instrument.high = instrument.low = instrument.last;
}

}  // namespace tickpath::sim
