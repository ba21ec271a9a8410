// What happens in the generated market, event by event.
#include <algorithm>

#include "common/itch/detail/generated_market.hpp"

namespace tickpath::itch::detail {

namespace {

// Of a thousand events, so many of each; what is left adds orders. AAPL before the open
// (data set of 2020-01-30) has 48 % adds, 41 % deletions and 8 % executions.
constexpr std::uint32_t kThousand = 1000;
constexpr std::uint32_t kDeletions = 412;
constexpr std::uint32_t kExecutions = 40;  // events: a sweep gives two messages on average
constexpr std::uint32_t kOtherPriceExecutions = 3;
constexpr std::uint32_t kPartCancels = 8;
constexpr std::uint32_t kReplacements = 10;
constexpr std::uint32_t kHiddenTrades = 14;

// How strongly a book that is fuller or emptier than its target turns adds into deletions or back.
constexpr double kFullnessGain = 80;
constexpr double kAttributedShare = 0.03;
constexpr double kWalkChance = 0.02;
constexpr double kHaltChance = 1.0 / 40'000;
// A halt needs this many messages to be lifted again.
constexpr std::uint64_t kHaltMessages = 2'000;
constexpr std::uint64_t kQuotationMessages = 1'000;
constexpr std::uint64_t kHaltRoom = 10'000;
constexpr std::uint32_t kMaxSweep = 20;
constexpr std::uint32_t kLowestTicks = 100;  // one dollar: below, ticks are smaller than a cent

constexpr std::array<const char*, 4> kMakers{"TPMM", "TPQA", "TPQB", "TPQC"};

}  // namespace

void GeneratedMarket::act() {
  clock_.advance(room());
  if (resume()) return;
  const std::uint32_t index = pick_symbol();
  GeneratedSymbol& symbol = symbols_[index];
  if (room() > kHaltRoom && symbol.trading_state == StockTradingAction::kTrading &&
      random_.chance(kHaltChance)) {
    return halt(index);
  }
  walk(symbol);
  const double fullness =
      static_cast<double>(symbol.book.orders()) / static_cast<double>(symbol.target_orders);
  const auto correction =
      static_cast<int>(std::clamp(kFullnessGain * (fullness - 1), -kFullnessGain, kFullnessGain));
  std::uint32_t roll = random_.below(kThousand);
  const auto falls = [&roll](std::uint32_t share) {
    if (roll < share) return true;
    roll -= share;
    return false;
  };
  if (falls(static_cast<std::uint32_t>(static_cast<int>(kDeletions) + correction))) {
    return delete_order(symbol);
  }
  if (falls(kPartCancels)) return cancel_part(symbol);
  if (falls(kReplacements)) return replace_order(symbol);
  if (symbol.trading_state == StockTradingAction::kTrading) {
    if (falls(kExecutions)) return execute(symbol);
    if (falls(kOtherPriceExecutions)) return execute_at_another_price(symbol);
    if (falls(kHiddenTrades)) return trade_hidden(symbol);
  }
  add_order(symbol, random_.chance(0.5) ? Side::kBuy : Side::kSell);
}

// In a burst every second message is about one symbol.
std::uint32_t GeneratedMarket::pick_symbol() {
  if (!clock_.in_burst() || random_.chance(0.5)) burst_symbol_ = activity_.draw(random_);
  return burst_symbol_;
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

void GeneratedMarket::add_order(GeneratedSymbol& symbol, Side side) {
  const std::uint32_t price = draw_price(symbol, side);
  const std::uint32_t shares = draw_shares();
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

// Many orders live shortly, so half of the deletions take a young one.
void GeneratedMarket::delete_order(GeneratedSymbol& symbol) {
  const std::uint32_t index = symbol.book.pick(random_, random_.chance(0.5));
  const GeneratedOrder order = pool_[index];
  // The last order of a side stays: a symbol without a quote would not be realistic.
  if (symbol.book.orders(order.side) == 1) return add_order(symbol, order.side);
  symbol.book.remove(index);
  emit(OrderDelete{.header = header(symbol.locate), .order_reference_number = order.reference});
}

// The side that the walk has reached or passed is hit.
Side GeneratedMarket::side_to_execute(const GeneratedSymbol& symbol) {
  const std::uint32_t fair = price_of(symbol.fair_ticks);
  const bool up = fair >= symbol.book.best_price(Side::kSell);
  const bool down = fair <= symbol.book.best_price(Side::kBuy);
  const double sell_chance = up == down ? 0.5 : up ? 0.9 : 0.1;
  return random_.chance(sell_chance) ? Side::kSell : Side::kBuy;
}

void GeneratedMarket::execute(GeneratedSymbol& symbol) {
  const Side side = side_to_execute(symbol);
  if (symbol.book.orders(side) == 1) return add_order(symbol, side);
  std::uint32_t wanted = draw_shares();
  for (std::uint32_t n = 0; n < kMaxSweep && wanted > 0 && room() > 0; ++n) {
    if (symbol.book.orders(side) == 1) break;
    const std::uint32_t index = symbol.book.front(side);
    const std::uint32_t shares = std::min(wanted, pool_[index].shares);
    emit(OrderExecuted{.header = header(symbol.locate),
                       .order_reference_number = pool_[index].reference,
                       .executed_shares = shares,
                       .match_number = ++match_number_});
    reduce(symbol, index, shares);
    wanted -= shares;
  }
}

void GeneratedMarket::execute_at_another_price(GeneratedSymbol& symbol) {
  const Side side = side_to_execute(symbol);
  if (symbol.book.orders(side) == 1) return add_order(symbol, side);
  const std::uint32_t index = symbol.book.front(side);
  const std::uint32_t shares = std::min(draw_shares(), pool_[index].shares);
  emit(OrderExecutedWithPrice{.header = header(symbol.locate),
                              .order_reference_number = pool_[index].reference,
                              .executed_shares = shares,
                              .match_number = ++match_number_,
                              .printable = 'Y',
                              .execution_price = price_of(symbol.fair_ticks)});
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
  GeneratedOrder& order = pool_[symbol.book.pick(random_, false)];
  if (order.shares == 1) return add_order(symbol, order.side);
  const std::uint32_t shares = 1 + random_.below(order.shares - 1);
  order.shares -= shares;
  emit(OrderCancel{.header = header(symbol.locate),
                   .order_reference_number = order.reference,
                   .cancelled_shares = shares});
}

void GeneratedMarket::replace_order(GeneratedSymbol& symbol) {
  const std::uint32_t index = symbol.book.pick(random_, random_.chance(0.5));
  const GeneratedOrder old = pool_[index];
  symbol.book.remove(index);
  const std::uint32_t price = draw_price(symbol, old.side);
  const std::uint32_t shares = random_.chance(0.7) ? old.shares : draw_shares();
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
                     .shares = draw_shares(),
                     .stock = symbol.stock,
                     .price = price_of(symbol.fair_ticks),
                     .match_number = ++match_number_});
}

// A limit up - limit down pause: paused, then quotation only, then trading after a halt cross.
void GeneratedMarket::halt(std::uint32_t index) {
  GeneratedSymbol& symbol = symbols_[index];
  emit_trading_state(symbol, StockTradingAction::kPaused, "LUDP");
  const std::uint32_t reference = price_of(symbol.fair_ticks);
  emit(LuldAuctionCollar{.header = header(symbol.locate),
                         .stock = symbol.stock,
                         .auction_collar_reference_price = reference,
                         .upper_auction_collar_price = reference + reference / 20,
                         .lower_auction_collar_price = reference - reference / 20,
                         .auction_collar_extension = 0});
  resumptions_.push_back({emitted_ + kHaltMessages, index, StockTradingAction::kQuotationOnly});
}

bool GeneratedMarket::resume() {
  const auto due = std::ranges::find_if(
      resumptions_, [this](const Resumption& r) { return r.after_messages <= emitted_; });
  if (due == resumptions_.end()) return false;
  const Resumption resumption = *due;
  resumptions_.erase(due);
  GeneratedSymbol& symbol = symbols_[resumption.symbol];
  emit_trading_state(symbol, resumption.next_state, "LUDP");
  if (resumption.next_state == StockTradingAction::kTrading) {
    emit_cross(symbol, draw_shares(), 'H');
  } else {
    resumptions_.push_back(
        {emitted_ + kQuotationMessages, resumption.symbol, StockTradingAction::kTrading});
  }
  return true;
}

// Near the value, seldom far from it; never at or through the other side's best.
std::uint32_t GeneratedMarket::draw_price(const GeneratedSymbol& symbol, Side side) {
  std::uint32_t offset = symbol.spread_ticks / 2;
  while (offset < 40 && random_.chance(0.65)) offset += 1 + symbol.spread_ticks / 4;
  constexpr std::uint32_t kTick = price_of(1);
  const std::uint32_t other = symbol.book.best_price(opposite(side));
  if (side == Side::kBuy) {
    const std::uint32_t ticks = symbol.fair_ticks > offset + 1 ? symbol.fair_ticks - offset : 1;
    return other == 0 ? price_of(ticks) : std::min(price_of(ticks), other - kTick);
  }
  return std::max(price_of(symbol.fair_ticks + 1 + offset), other + kTick);
}

// Round lots mostly, a hundred above all.
std::uint32_t GeneratedMarket::draw_shares() {
  const std::uint32_t roll = random_.below(100);
  if (roll < 55) return 100;
  if (roll < 70) return 1 + random_.below(99);
  if (roll < 80) return 200;
  if (roll < 86) return 300;
  if (roll < 91) return 500;
  if (roll < 95) return 1000;
  return 100 * (1 + random_.below(50));
}

// Rising with holes, as the numbers that other order types take leave them.
std::uint64_t GeneratedMarket::draw_reference() { return last_reference_ += 1 + random_.below(8); }

}  // namespace tickpath::itch::detail
