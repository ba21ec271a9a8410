// One venue of several: beside its own flow, it follows the moves of values that all venues share,
// and halts when they do.
#include <algorithm>
#include <cmath>

#include "common/feeds/generator/detail/generated_market.hpp"

namespace tickpath::itch::detail {
namespace {

// What becomes of an order that the value has passed: somebody who is faster hits it, its owner
// moves it to where the value is, or takes it away.
constexpr double kPickedOff = 0.3;
constexpr double kMoved = 0.3;
// The messages of reactions, as a share of all, before the day has shown how many there are.
constexpr double kReactionsExpected = 0.25;
constexpr double kReactionsWeight = 200;  // messages

}  // namespace

// Venues number symbols on their own, and each has makers and depth of its own.
void GeneratedMarket::make_venues_own(GeneratedSymbol& symbol, std::uint32_t rank) {
  const VenueProfile& venue = options_.market->venues[options_.venue];
  symbol.locate = static_cast<std::uint16_t>(1 + (rank + options_.venue) % options_.symbols);
  symbol.spread_ticks =
      std::max(1u, static_cast<std::uint32_t>(symbol.spread_ticks * venue.spread));
  symbol.target_orders =
      std::max(10u, static_cast<std::uint32_t>(symbol.target_orders * venue.depth));
}

// The stretch is that of the market, to the nanosecond: a venue's own is rounded.
void GeneratedMarket::begin_venues_day() {
  const double length_ns = options_.market->day_ns;
  shared_->begin_day(open_of_day_ns(length_ns),
                     options_.start_ns + static_cast<std::uint64_t>(length_ns));
  for (std::uint32_t i = 0; i < symbols_.size(); ++i)
    symbols_[i].fair_ticks = shared_->ticks_at_start(i);
  reaction_messages_ = flow_events_ = 0;
  next_event_.reset();
}

// What happens next: something that has its time, or the flow's next event.
void GeneratedMarket::act_at_venue() {
  if (!next_event_)
    next_event_ = hawkes_->next([this](double) noexcept { return clock_->activity(); });
  const std::uint64_t left = flow_room();
  const std::uint64_t due_ns = next_due_ns();
  if (static_cast<double>(due_ns) <= clock_->time_of(next_event_->time_s, left)) {
    clock_->interrupt(due_ns, left);
    return happen_at_venue();
  }
  clock_->follow(next_event_->time_s, left);
  const HawkesEvent event = *next_event_;
  next_event_.reset();
  ++flow_events_;
  if (announces_close()) return announce_close();
  GeneratedSymbol& symbol = symbols_[event.symbol];
  dispatch(symbol, corrected(symbol, event.kind));
}

// The flow has the messages that reactions leave it.
std::uint64_t GeneratedMarket::flow_room() const noexcept {
  const double reactions =
      static_cast<double>(reaction_messages_) + kReactionsExpected * kReactionsWeight;
  const double all = static_cast<double>(reaction_messages_ + flow_events_) + kReactionsWeight;
  return static_cast<std::uint64_t>(static_cast<double>(room()) * (1 - reactions / all));
}

std::uint64_t GeneratedMarket::next_due_ns() const noexcept {
  std::uint64_t due_ns = std::min(shared_->move_due_ns(), shared_->halt_due_ns());
  for (const Resumption& resumption : resumptions_) due_ns = std::min(due_ns, resumption.due_ns);
  return due_ns;
}

// The first of what is due. Trading states come before moves, or an order would be hit in a pause.
void GeneratedMarket::happen_at_venue() {
  const std::uint64_t now_ns = clock_->now_ns();
  if (resume(false)) return;
  if (shared_->halt_due_ns() <= now_ns) {
    const PlannedHalt planned = shared_->take_halt();
    const bool trades = symbols_[planned.symbol].trading_state == StockTradingAction::kTrading;
    if (trades && room() >= 2 * kMaxHaltMessages) halt(planned.symbol);
    return;
  }
  const std::uint64_t emitted = emitted_;
  react(shared_->take_move());
  reaction_messages_ += emitted_ - emitted;
}

// All in one burst: orders that the new value has passed go, and both sides are quoted around it.
void GeneratedMarket::react(const ValueMove& move) {
  GeneratedSymbol& symbol = symbols_[move.symbol];
  const std::uint32_t value = price_of(move.ticks);
  // A venue without messages stays where it is until its day ends.
  const std::size_t passed = symbol.book.orders_up_to(Side::kBuy, value + price_of(1)) +
                             symbol.book.orders_up_to(Side::kSell, value);
  constexpr std::size_t kQuotes = 2 * 2 + 1;  // an order of each side, to be deleted after the day
  if (room() < passed + kQuotes) return;
  symbol.fair_ticks = move.ticks;
  for (const Side side : {Side::kBuy, Side::kSell}) withdraw_passed(symbol, side);
  for (const Side side : {Side::kBuy, Side::kSell}) quote(symbol, side);
}

// Bids stand at the value at best, asks a tick above it.
void GeneratedMarket::withdraw_passed(GeneratedSymbol& symbol, Side side) {
  const std::uint32_t value = price_of(symbol.fair_ticks);
  const auto is_passed = [&] {
    const std::uint32_t best = symbol.book.best_price(side);
    return best != 0 && (side == Side::kBuy ? best > value : best <= value);
  };
  while (is_passed()) {
    const std::uint32_t index = symbol.book.front(side);
    const GeneratedOrder order = pool_[index];
    const double fate = random_.unit();
    if (symbol.book.orders(side) == 1 || fate < kMoved) {
      symbol.book.remove(index);
      move_order(symbol, order, quote_price(symbol, side), order.shares);
    } else if (fate < kMoved + kPickedOff && symbol.trading_state == StockTradingAction::kTrading) {
      symbol.last_hit = side;
      execute_order(symbol, index, order.shares);
    } else {
      symbol.book.remove(index);
      emit(OrderDelete{.header = header(symbol.locate), .order_reference_number = order.reference});
    }
  }
}

void GeneratedMarket::quote(GeneratedSymbol& symbol, Side side) {
  const std::uint32_t best = symbol.book.best_price(side);
  const std::uint32_t price = quote_price(symbol, side);
  if (best == 0 || (side == Side::kBuy ? price > best : price < best)) place(symbol, side, price);
}

std::uint32_t GeneratedMarket::quote_price(const GeneratedSymbol& symbol,
                                           Side side) const noexcept {
  const std::uint32_t half = symbol.spread_ticks / 2;
  if (side == Side::kSell) return price_of(symbol.fair_ticks + 1 + half);
  return price_of(symbol.fair_ticks - std::min(half, symbol.fair_ticks - 1));
}

}  // namespace tickpath::itch::detail
