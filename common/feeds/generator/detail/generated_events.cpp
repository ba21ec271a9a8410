// What happens in the generated market, event by event.
#include <algorithm>
#include <cmath>

#include "common/feeds/generator/detail/generated_market.hpp"

namespace tickpath::itch::detail {

namespace {

// A book that is twice as full as its target, or empty, has this share of its adds turned into
// removals, or back.
constexpr double kFullnessGain = 0.3;
constexpr double kAttributedShare = 0.03;
constexpr double kWalkChance = 0.02;
// The share of executions of displayed orders at the value, where it is better for their owner.
constexpr double kOtherPriceShare = 0.01;
// Half of the removals beside a value that has passed the quote take that quote away.
constexpr double kStaleChance = 0.5;
constexpr double kTowardsValueChance = 0.9;
// Nasdaq's volatility pauses last five minutes; in a short recording, this share of the day.
constexpr double kHaltNs = 300e9;
constexpr double kHaltShare = 0.01;
constexpr double kQuotationShare = 0.2;  // of the halt: its end, quotation only

constexpr std::array<const char*, 4> kMakers{"TPMM", "TPQA", "TPQB", "TPQC"};

// Share of the flow that is left when imbalances are published for the close.
constexpr std::array<double, 3> kClosingRounds{0.01, 0.03, 0.05};

bool is_add(FlowEvent kind) noexcept { return kind <= FlowEvent::kAddBehind; }

// Between the points of the table: the first and the last stand for what is beyond.
double draw_between(const FlowQuantiles& table, Random& random) noexcept {
  const double at = random.unit() * (kFlowQuantiles - 1);
  const auto i = static_cast<std::size_t>(at);
  return table[i] + (table[i + 1] - table[i]) * (at - static_cast<double>(i));
}

}  // namespace

void GeneratedMarket::act() {
  if (shared_) return act_at_venue();
  const HawkesEvent event = hawkes_->next([this](double) noexcept { return clock_->activity(); });
  clock_->follow(event.time_s, room());
  if (resume(false)) return;
  if (announces_close()) return announce_close();
  GeneratedSymbol& symbol = symbols_[event.symbol];
  if (halt_is_due() && symbol.trading_state == StockTradingAction::kTrading)
    return halt(event.symbol);
  walk(symbol);
  dispatch(symbol, corrected(symbol, event.kind));
}

bool GeneratedMarket::announces_close() {
  return closing_rounds_ > 0 &&
         static_cast<double>(room()) <=
             kClosingRounds[closing_rounds_ - 1] * static_cast<double>(flow_messages_);
}

// The mix of a process knows nothing of the book: what is full empties, what is empty fills.
FlowEvent GeneratedMarket::corrected(const GeneratedSymbol& symbol, FlowEvent kind) {
  const double fullness =
      static_cast<double>(symbol.book.orders()) / static_cast<double>(symbol.target_orders);
  const double excess = std::clamp(kFullnessGain * (fullness - 1), -kFullnessGain, kFullnessGain);
  if (is_add(kind) && excess > 0 && random_.chance(excess)) return FlowEvent::kDelete;
  if (kind == FlowEvent::kDelete && excess < 0 && random_.chance(-excess))
    return random_.chance(0.5) ? FlowEvent::kAddTouch : FlowEvent::kAddBehind;
  return kind;
}

void GeneratedMarket::dispatch(GeneratedSymbol& symbol, FlowEvent kind) {
  // An order that is added must be deleted before the next day.
  if (is_add(kind) && expires() && room() < 2) return trade_hidden(symbol);
  const bool trades = symbol.trading_state == StockTradingAction::kTrading;
  switch (kind) {
    case FlowEvent::kAddInside:
    case FlowEvent::kAddTouch:
    case FlowEvent::kAddBehind:
      return add_order(symbol, random_.chance(0.5) ? Side::kBuy : Side::kSell, kind);
    case FlowEvent::kDelete:
      return remove_order(symbol);
    case FlowEvent::kReduce:
      return cancel_part(symbol);
    case FlowEvent::kExecute:
      return trades ? execute(symbol) : add_any(symbol);
    case FlowEvent::kHidden:
      return trades ? trade_hidden(symbol) : add_any(symbol);
  }
}

// In place of what cannot be.
void GeneratedMarket::add_any(GeneratedSymbol& symbol) {
  if (expires() && room() < 2) return trade_hidden(symbol);
  add_order(symbol, random_.chance(0.5) ? Side::kBuy : Side::kSell, FlowEvent::kAddBehind);
}

void GeneratedMarket::walk(GeneratedSymbol& symbol) {
  if (!random_.chance(kWalkChance)) return;
  // The value does not run away from a book that has not followed it yet.
  const std::uint32_t step = symbol.spread_ticks;
  const std::uint32_t now = price_of(symbol.fair_ticks);
  if (random_.chance(0.5)) {
    if (now < symbol.book.best_price(Side::kSell) + price_of(step)) symbol.fair_ticks += step;
  } else if (symbol.fair_ticks > kLowestTicks + step &&
             now + price_of(step) > symbol.book.best_price(Side::kBuy)) {
    symbol.fair_ticks -= step;
  }
}

void GeneratedMarket::add_order(GeneratedSymbol& symbol, Side side, FlowEvent where) {
  place(symbol, side, draw_price(symbol, side, where));
}

void GeneratedMarket::place(GeneratedSymbol& symbol, Side side, std::uint32_t price) {
  const std::uint32_t shares = draw_shares(flow_.shares);
  const std::uint64_t reference = draw_reference();
  symbol.book.add(reference, side, price, shares);
  if (random_.chance(kAttributedShare)) {
    emit(AddOrderMpid{.header = header(symbol.locate),
                      .order_reference_number = reference,
                      .buy_sell_indicator = indicator_of(side),
                      .shares = shares,
                      .stock = symbol.stock,
                      .price = price,
                      .attribution = kMakers[random_.below(kMakers.size())]});
  } else {
    emit(AddOrder{.header = header(symbol.locate),
                  .order_reference_number = reference,
                  .buy_sell_indicator = indicator_of(side),
                  .shares = shares,
                  .stock = symbol.stock,
                  .price = price});
  }
}

// Young orders go first, as the recording's did; and quotes that the value has passed.
std::uint32_t GeneratedMarket::order_to_remove(const GeneratedSymbol& symbol) {
  const std::uint32_t fair = price_of(symbol.fair_ticks);
  if (fair < symbol.book.best_price(Side::kBuy) && random_.chance(kStaleChance))
    return symbol.book.front(Side::kBuy);
  if (fair > symbol.book.best_price(Side::kSell) && random_.chance(kStaleChance))
    return symbol.book.front(Side::kSell);
  const double rank = draw_between(flow_.age_rank, random_);
  return symbol.book.pick(random_, static_cast<std::size_t>(rank));
}

void GeneratedMarket::remove_order(GeneratedSymbol& symbol) {
  const std::uint32_t index = order_to_remove(symbol);
  if (random_.chance(flow_.replace_share)) return replace_order(symbol, index);
  const GeneratedOrder order = pool_[index];
  // The last order of a side stays: a symbol without a quote would not be realistic.
  if (symbol.book.orders(order.side) == 1) return add_any(symbol);
  symbol.book.remove(index);
  emit(OrderDelete{.header = header(symbol.locate), .order_reference_number = order.reference});
}

// The side that the walk has reached or passed is hit; else mostly the one that was hit before.
Side GeneratedMarket::side_to_hit(GeneratedSymbol& symbol) {
  const std::uint32_t fair = price_of(symbol.fair_ticks);
  const bool up = fair >= symbol.book.best_price(Side::kSell);
  const bool down = fair <= symbol.book.best_price(Side::kBuy);
  Side side = symbol.last_hit;
  if (up != down && random_.chance(kTowardsValueChance))
    side = up ? Side::kSell : Side::kBuy;
  else if (!random_.chance(flow_.sign_persistence))
    side = opposite(side);
  symbol.last_hit = side;
  return side;
}

void GeneratedMarket::execute(GeneratedSymbol& symbol) {
  const Side side = side_to_hit(symbol);
  if (symbol.book.orders(side) == 1) return add_any(symbol);
  const std::uint32_t index = symbol.book.front(side);
  const std::uint32_t shares = std::min(draw_shares(flow_.executed), pool_[index].shares);
  // At the value, where that is no worse for the order's owner than its own price.
  const std::uint32_t value = price_of(symbol.fair_ticks);
  const std::uint32_t own = pool_[index].price;
  if (random_.chance(kOtherPriceShare) && (side == Side::kBuy ? value < own : value > own)) {
    emit(OrderExecutedWithPrice{.header = header(symbol.locate),
                                .order_reference_number = pool_[index].reference,
                                .executed_shares = shares,
                                .match_number = ++match_number_,
                                .printable = 'Y',
                                .execution_price = value});
    return reduce(symbol, index, shares);
  }
  execute_order(symbol, index, shares);
}

void GeneratedMarket::execute_order(GeneratedSymbol& symbol, std::uint32_t index,
                                    std::uint32_t shares) {
  emit(OrderExecuted{.header = header(symbol.locate),
                     .order_reference_number = pool_[index].reference,
                     .executed_shares = shares,
                     .match_number = ++match_number_});
  reduce(symbol, index, shares);
}

void GeneratedMarket::reduce(GeneratedSymbol& symbol, std::uint32_t order, std::uint32_t shares) {
  if (pool_[order].shares == shares) {
    symbol.book.remove(order);
  } else {
    pool_[order].shares -= shares;
  }
}

void GeneratedMarket::cancel_part(GeneratedSymbol& symbol) {
  GeneratedOrder& order = pool_[symbol.book.pick(random_, GeneratedBook::kWalkMax)];
  if (order.shares == 1) return add_any(symbol);
  const std::uint32_t shares = 1 + random_.below(order.shares - 1);
  order.shares -= shares;
  emit(OrderCancel{.header = header(symbol.locate),
                   .order_reference_number = order.reference,
                   .cancelled_shares = shares});
}

void GeneratedMarket::replace_order(GeneratedSymbol& symbol, std::uint32_t index) {
  const GeneratedOrder old = pool_[index];
  symbol.book.remove(index);
  const FlowEvent where = random_.chance(0.5) ? FlowEvent::kAddTouch : FlowEvent::kAddBehind;
  const std::uint32_t price = draw_price(symbol, old.side, where);
  const std::uint32_t shares = random_.chance(0.7) ? old.shares : draw_shares(flow_.shares);
  move_order(symbol, old, price, shares);
}

// `old` has left the book.
void GeneratedMarket::move_order(GeneratedSymbol& symbol, const GeneratedOrder& old,
                                 std::uint32_t price, std::uint32_t shares) {
  const std::uint64_t reference = draw_reference();
  symbol.book.add(reference, old.side, price, shares);
  emit(OrderReplace{.header = header(symbol.locate),
                    .original_order_reference_number = old.reference,
                    .new_order_reference_number = reference,
                    .shares = shares,
                    .price = price});
}

void GeneratedMarket::trade_hidden(GeneratedSymbol& symbol) {
  emit(NonCrossTrade{.header = header(symbol.locate),
                     .order_reference_number = 0,
                     .buy_sell_indicator = 'B',
                     .shares = draw_shares(flow_.executed),
                     .stock = symbol.stock,
                     .price = within_market(symbol, price_of(symbol.fair_ticks)),
                     .match_number = ++match_number_});
}

// Spread over the day by the number of messages.
bool GeneratedMarket::halt_is_due() const noexcept {
  if (halts_left_ == 0 || room() < 2 * kMaxHaltMessages) return false;
  const std::uint64_t done = flow_messages_ - std::min(room(), flow_messages_);
  const double at = kLastHalt * (halts_of_day_ - halts_left_ + 0.5) / halts_of_day_;
  return static_cast<double>(done) >= at * static_cast<double>(flow_messages_);
}

// A limit up - limit down pause: paused, then quotation only, then trading after a halt cross.
void GeneratedMarket::halt(std::uint32_t index) {
  --halts_left_;
  GeneratedSymbol& symbol = symbols_[index];
  emit_trading_state(symbol, StockTradingAction::kPaused, "LUDP");
  const std::uint32_t reference = price_of(symbol.fair_ticks);
  emit(LuldAuctionCollar{.header = header(symbol.locate),
                         .stock = symbol.stock,
                         .auction_collar_reference_price = reference,
                         .upper_auction_collar_price = reference + reference / 20,
                         .lower_auction_collar_price = reference - reference / 20,
                         .auction_collar_extension = 0});
  resumptions_.push_back(
      {clock_->now_ns() + halt_ns(1 - kQuotationShare), index, StockTradingAction::kQuotationOnly});
}

std::uint64_t GeneratedMarket::halt_ns(double share) const noexcept {
  const double day_ns = static_cast<double>(day_messages()) / options_.messages_per_second * 1e9;
  return static_cast<std::uint64_t>(share * std::min(kHaltNs, kHaltShare * day_ns));
}

// The next step of a halt that is due, or of any with `now`.
bool GeneratedMarket::resume(bool now) {
  const auto due = std::ranges::find_if(
      resumptions_, [&](const Resumption& r) { return now || r.due_ns <= clock_->now_ns(); });
  if (due == resumptions_.end()) return false;
  const Resumption resumption = *due;
  resumptions_.erase(due);
  GeneratedSymbol& symbol = symbols_[resumption.symbol];
  emit_trading_state(symbol, resumption.next_state, "LUDP");
  if (resumption.next_state == StockTradingAction::kTrading) {
    emit_cross(symbol, 'H');
  } else {
    emit_imbalance(symbol, 1, 'H');
    resumptions_.push_back({clock_->now_ns() + halt_ns(kQuotationShare), resumption.symbol,
                            StockTradingAction::kTrading});
  }
  return true;
}

// Never at or through the other side's best. Quotes follow the value: one that it has passed, or
// left far behind, is not joined.
std::uint32_t GeneratedMarket::draw_price(const GeneratedSymbol& symbol, Side side,
                                          FlowEvent where) {
  constexpr std::int64_t kTick = price_of(1);
  const std::int64_t sign = side == Side::kBuy ? 1 : -1;  // towards the other side
  const std::int64_t half = price_of(symbol.spread_ticks / 2);
  const std::int64_t fair = price_of(symbol.fair_ticks) + (side == Side::kSell ? kTick : 0);
  const std::int64_t ideal = fair - sign * half;
  const std::int64_t own = symbol.book.best_price(side);
  const std::int64_t other = symbol.book.best_price(opposite(side));
  const std::int64_t behind_value = sign * (fair - own);
  const bool joined =
      own != 0 && behind_value >= 0 && behind_value <= 3 * price_of(symbol.spread_ticks);
  std::int64_t price = joined ? own : ideal;
  if (where == FlowEvent::kAddBehind) {
    const double ticks = draw_between(flow_.behind, random_) * symbol.spread_ticks;
    price -= sign * kTick * std::max(std::int64_t{1}, static_cast<std::int64_t>(ticks));
  } else if (where == FlowEvent::kAddInside && joined && other != 0) {
    const std::int64_t gap_ticks = sign * (other - own) / kTick;
    const auto better = static_cast<std::int64_t>(draw_between(flow_.inside, random_) *
                                                  static_cast<double>(gap_ticks));
    price += sign * kTick * std::max(std::int64_t{1}, better);
    if (sign * (price - fair) > 0) price = fair;
  }
  if (other != 0 && sign * (other - price) < kTick) price = other - sign * kTick;
  return static_cast<std::uint32_t>(std::max(price, kTick));
}

// One of the table's values: between two sizes that people like there is none.
std::uint32_t GeneratedMarket::draw_shares(const FlowQuantiles& sizes) {
  return std::max(1u, static_cast<std::uint32_t>(sizes[random_.below(kFlowQuantiles)]));
}

// Rising with holes, as the numbers that other order types take leave them.
std::uint64_t GeneratedMarket::draw_reference() { return last_reference_ += 1 + random_.below(8); }

}  // namespace tickpath::itch::detail
