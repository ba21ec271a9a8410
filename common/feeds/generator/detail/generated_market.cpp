// The day's frame: symbols, start and end of day, auctions, and the order of it all. What the
// events do is in generated_events.cpp.
#include "common/feeds/generator/detail/generated_market.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/feeds/recordings/detail/nasdaq_listing.hpp"

namespace tickpath::itch::detail {

namespace {

// NASDAQ's opening burst: 1,000 messages in 2.4 ms, of all its symbols; of few, not so many each.
constexpr std::uint64_t kOpeningBurst = 1000;
constexpr std::uint64_t kOpeningBurstSymbol = 100;
constexpr double kBurstGapS = 2.4e-6;
// Start-of-day messages follow each other like this.
constexpr std::uint64_t kDirectoryGapNs = 1000;
constexpr double kSecondNs = 1e9;
// Nasdaq publishes imbalances for the last minutes before a cross; a short recording has shorter
// minutes.
constexpr double kBeforeOpenNs = 120 * kSecondNs;
constexpr double kBeforeOpenShare = 0.02;
// A child of an event is of another symbol: what moves one moves others. One symbol's recording
// cannot tell; small, because most of the measured clustering is within the symbol.
constexpr double kContagion = 0.05;
constexpr std::uint64_t kEndMessages = 3;  // of kDayMessages
// Messages that a halt needs to end: state, imbalance, state, cross.
constexpr std::uint64_t kResumptionMessages = 4;

std::vector<double> zipf_weights(std::uint32_t symbols) {
  std::vector<double> weights(symbols);
  for (std::uint32_t i = 0; i < symbols; ++i) weights[i] = 1.0 / (i + 1.0);
  return weights;
}

}  // namespace

GeneratedMarket::GeneratedMarket(const GeneratorOptions& options)
    : options_(options),
      flow_(options.flow != nullptr ? *options.flow : default_flow_parameters()),
      random_(options.seed),
      activity_weights_(zipf_weights(options.symbols)),
      activity_(activity_weights_) {
  if (options.market != nullptr)
    shared_ = std::make_unique<SharedMarket>(*options.market, options.venue, activity_weights_);
  make_symbols();
  begin_day();
}

void GeneratedMarket::make_symbols() {
  symbols_.reserve(options_.symbols);
  for (std::uint32_t i = 0; i < options_.symbols; ++i) {
    GeneratedSymbol symbol{.stock = Stock(generated_symbol(i)), .book = GeneratedBook(pool_)};
    symbol.locate = static_cast<std::uint16_t>(i + 1);
    symbol.fair_ticks = shared_ ? shared_->ticks_at_start(i) : draw_first_value(random_);
    symbol.spread_ticks =
        liked_spread(symbol.fair_ticks, static_cast<double>(i) / options_.symbols);
    symbol.target_orders = 30 + 600 / (i / 4 + 1);
    if (shared_) make_venues_own(symbol, i);
    symbols_.push_back(std::move(symbol));
  }
}

bool GeneratedMarket::next(RecordedMessage& message) {
  // Some steps of a venue have no message.
  while (next_pending_ == pending_.size()) {
    if (given_ == options_.messages) return false;
    pending_.clear();
    next_pending_ = 0;
    fill();
  }
  const Encoded& encoded = pending_[next_pending_++];
  message = {std::span(encoded.bytes).first(encoded.length), encoded.timestamp_ns};
  ++given_;
  return true;
}

// The last day has what division leaves over.
std::uint64_t GeneratedMarket::day_messages() const noexcept {
  const std::uint64_t each = options_.messages / options_.days;
  return expires() ? each : options_.messages - each * (options_.days - 1);
}

// Times start anew; order and match numbers, prices and symbols go on from yesterday.
void GeneratedMarket::begin_day() {
  emitted_ = 0;
  next_symbol_ = 0;
  phase_ = Phase::kStart;
  closing_rounds_ = options_.auctions ? kAuctionRounds : 0;
  opening_rounds_ = closing_rounds_;
  const auto messages = static_cast<double>(day_messages());
  const double length_ns = messages / options_.messages_per_second * kSecondNs;
  clock_ =
      std::make_unique<GeneratedClock>(options_.start_ns, length_ns, options_.messages_per_second);
  hawkes_ = std::make_unique<Hawkes>(flow_, options_.messages_per_second, options_.clustering,
                                     kContagion, activity_, random_);
  open_ns_ = open_of_day_ns(length_ns);
  if (shared_) begin_venues_day();
}

std::uint64_t GeneratedMarket::open_of_day_ns(double length_ns) const noexcept {
  const double before_open_ns =
      options_.auctions ? std::min(kBeforeOpenNs, kBeforeOpenShare * length_ns) : 0;
  return options_.start_ns + static_cast<std::uint64_t>(before_open_ns);
}

// Produces one message or more; of a venue, perhaps none.
void GeneratedMarket::fill() {
  switch (phase_) {
    case Phase::kStart:
      start_day();
      phase_ = Phase::kDirectory;
      return;
    case Phase::kDirectory:
      list_symbol(symbols_[next_symbol_]);
      if (++next_symbol_ == symbols_.size()) phase_ = Phase::kFirstOrders;
      return;
    case Phase::kFirstOrders:
      // ITCH 5.0, 1.2.1: all symbols of the day are listed before any order.
      for (GeneratedSymbol& symbol : symbols_) add_first_orders(symbol);
      phase_ = Phase::kBeforeOpen;
      return;
    case Phase::kBeforeOpen:
      if (opening_rounds_ > 0) return announce_open();
      open_market();
      phase_ = Phase::kOpen;
      return;
    case Phase::kOpen:
      if (room() > 0) return act();
      end_day();
      phase_ = Phase::kEnded;
      return;
    case Phase::kEnded:
      ++day_;
      begin_day();
      return fill();
  }
}

// Messages that the flow may still have today.
std::uint64_t GeneratedMarket::room() const noexcept {
  std::uint64_t kept = kEndMessages + resumptions_.size() * kResumptionMessages;
  if (options_.auctions) kept += symbols_.size() * (closing_rounds_ + 1);
  if (expires()) kept += pool_.open();
  const std::uint64_t day = day_messages();
  return day > emitted_ + kept ? day - emitted_ - kept : 0;
}

void GeneratedMarket::start_day() {
  emit_system_event(SystemEvent::kStartOfMessages);
  clock_->jump(clock_->now_ns() + kDirectoryGapNs);
  emit(MwcbDeclineLevel{.header = header(0),
                        .level_1 = 420'000'000'000,
                        .level_2 = 392'000'000'000,
                        .level_3 = 361'000'000'000});
  emit_system_event(SystemEvent::kStartOfSystemHours);
}

void GeneratedMarket::list_symbol(GeneratedSymbol& symbol) {
  pass_directory_gap();
  emit(nasdaq_listing(header(symbol.locate), symbol.stock));
  emit_trading_state(symbol, StockTradingAction::kTrading, {});
  emit(RegShoRestriction{
      .header = header(symbol.locate), .stock = symbol.stock, .reg_sho_action = '0'});
  emit(MarketParticipantPosition{.header = header(symbol.locate),
                                 .mpid = "TPMM",
                                 .stock = symbol.stock,
                                 .primary_market_maker = 'Y',
                                 .market_maker_mode = 'N',
                                 .market_participant_state = 'A'});
}

void GeneratedMarket::add_first_orders(GeneratedSymbol& symbol) {
  pass_directory_gap();
  add_order(symbol, Side::kBuy, FlowEvent::kAddTouch);
  add_order(symbol, Side::kSell, FlowEvent::kAddTouch);
}

// A short recording has short gaps.
void GeneratedMarket::pass_directory_gap() {
  const std::uint64_t messages = day_messages() - emitted_;
  const double left_ns = (clock_->end_s() - clock_->now_s()) * kSecondNs;
  const double gap_ns = left_ns / static_cast<double>(messages + 1);
  clock_->jump(clock_->now_ns() +
               std::min(kDirectoryGapNs, static_cast<std::uint64_t>(std::max(gap_ns, 0.0))));
}

// One round of imbalances of every symbol, the rounds spread over the time before the open.
void GeneratedMarket::announce_open() {
  clock_->step(open_ns_, opening_rounds_);
  --opening_rounds_;
  for (GeneratedSymbol& symbol : symbols_) emit_imbalance(symbol, opening_rounds_, 'O');
}

void GeneratedMarket::open_market() {
  clock_->jump(std::max(clock_->now_ns(), open_ns_));
  emit_system_event(SystemEvent::kStartOfMarketHours);
  if (options_.auctions)
    for (GeneratedSymbol& symbol : symbols_) emit_cross(symbol, 'O');
  flow_messages_ = room();
  // The burst of a short recording is a short one.
  const std::uint64_t burst =
      std::min({kOpeningBurst, kOpeningBurstSymbol * options_.symbols, flow_messages_ / 10});
  double at_s = 0;
  for (std::uint64_t i = 0; i < burst; ++i) {
    at_s += -std::log1p(-random_.unit()) * kBurstGapS;
    const FlowEvent kind = random_.chance(0.55) ? FlowEvent::kAddTouch : FlowEvent::kAddBehind;
    hawkes_->push({at_s, activity_.draw(random_), kind, true});
  }
  halts_of_day_ =
      options_.halts == GeneratorOptions::kHaltsByMessages
          ? static_cast<std::uint32_t>(flow_messages_ / GeneratorOptions::kMessagesPerHalt)
          : options_.halts;
  halts_left_ = halts_of_day_;
  if (shared_) next_event_.reset();
}

void GeneratedMarket::announce_close() {
  --closing_rounds_;
  for (GeneratedSymbol& symbol : symbols_) emit_imbalance(symbol, closing_rounds_, 'C');
}

void GeneratedMarket::end_day() {
  while (resume(true)) {
  }
  while (closing_rounds_ > 0) announce_close();
  clock_->advance_to_end();
  emit_system_event(SystemEvent::kEndOfMarketHours);
  if (options_.auctions)
    for (GeneratedSymbol& symbol : symbols_) emit_cross(symbol, 'C');
  if (expires()) expire_orders();
  // What was kept for halts that never were, and for orders that were taken in the end.
  while (emitted_ + 2 < day_messages()) trade_hidden(symbols_[activity_.draw(random_)]);
  emit_system_event(SystemEvent::kEndOfSystemHours);
  emit_system_event(SystemEvent::kEndOfMessages);
}

// Every order is a day order, and another day follows.
void GeneratedMarket::expire_orders() {
  for (GeneratedSymbol& symbol : symbols_) {
    while (symbol.book.orders() > 0) {
      const std::uint32_t index = symbol.book.youngest();
      emit(OrderDelete{.header = header(symbol.locate),
                       .order_reference_number = pool_[index].reference});
      symbol.book.remove(index);
    }
  }
}

void GeneratedMarket::emit_system_event(char code) {
  emit(SystemEvent{.header = header(0), .event_code = code});
}

void GeneratedMarket::emit_trading_state(GeneratedSymbol& symbol, char state, Alpha<4> reason) {
  symbol.trading_state = state;
  emit(StockTradingAction{.header = header(symbol.locate),
                          .stock = symbol.stock,
                          .trading_state = state,
                          .reserved = ' ',
                          .reason = reason});
}

// No venue prints beyond its own displayed quotes: they would have traded first.
std::uint32_t GeneratedMarket::within_market(const GeneratedSymbol& symbol,
                                             std::uint32_t price) const noexcept {
  const std::uint32_t bid = symbol.book.best_price(Side::kBuy);
  const std::uint32_t ask = symbol.book.best_price(Side::kSell);
  if (ask != 0) price = std::min(price, ask);
  return std::max(price, bid);
}

// More and more of the cross pairs off, and less and less is left over. Its size is drawn with the
// first round; the later draws only keep the flow between the rounds what it was without that.
void GeneratedMarket::emit_imbalance(GeneratedSymbol& symbol, std::uint64_t rounds_left,
                                     char type) {
  const std::uint32_t fair = within_market(symbol, price_of(symbol.fair_ticks));
  const auto drawn = std::uint64_t{draw_shares(flow_.shares)} * symbol.target_orders;
  const bool drawn_buy = random_.chance(0.5);
  if (symbol.cross_shares == 0) {
    symbol.cross_shares = drawn;
    symbol.cross_buys = drawn_buy;
  }
  const std::uint64_t shares = symbol.cross_shares;
  const bool buy = symbol.cross_buys;
  const std::uint32_t off = price_of(symbol.spread_ticks) * static_cast<std::uint32_t>(rounds_left);
  const std::uint32_t far = buy ? fair + off : fair - std::min(off, fair - 1);
  emit(NetOrderImbalanceIndicator{.header = header(symbol.locate),
                                  .paired_shares = shares / (rounds_left + 1),
                                  .imbalance_shares = shares * rounds_left / 10,
                                  .imbalance_direction = rounds_left == 0 ? 'N'
                                                         : buy            ? 'B'
                                                                          : 'S',
                                  .stock = symbol.stock,
                                  .far_price = far,
                                  .near_price = (far + fair) / 2,
                                  .current_reference_price = fair,
                                  .cross_type = type,
                                  .price_variation_indicator = 'L'});
}

void GeneratedMarket::emit_cross(GeneratedSymbol& symbol, char type) {
  (void)draw_shares(flow_.shares);  // as above
  emit(CrossTrade{.header = header(symbol.locate),
                  .shares = std::exchange(symbol.cross_shares, 0),
                  .stock = symbol.stock,
                  .cross_price = within_market(symbol, price_of(symbol.fair_ticks)),
                  .match_number = ++match_number_,
                  .cross_type = type});
}

}  // namespace tickpath::itch::detail
