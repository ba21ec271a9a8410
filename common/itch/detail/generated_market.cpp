// The day's frame: symbols, start and end of day, and the order of events. What the events do is in
// generated_events.cpp.
#include "common/itch/detail/generated_market.hpp"

#include <algorithm>
#include <cmath>

#include "common/itch/detail/nasdaq_listing.hpp"

namespace tickpath::itch::detail {

namespace {

// NASDAQ's opening burst: 1,000 messages in 2.4 ms.
constexpr std::uint32_t kOpeningBurst = 1000;
constexpr double kBurstGapNs = 2400;
constexpr double kMeanBurst = 100;
// Start-of-day messages follow each other like this.
constexpr double kDirectoryGapNs = 1000;
// Sigma of the gaps' logarithm. IEX's production gaps, 1.7 us / 178 us / 101 ms at p1 / p50 / p99,
// give 2.0 below the median and 2.7 above it.
constexpr double kGapSigma = 2.2;

// Inverse of the normal distribution's cumulative function, by bisection: it fills a table once.
double normal_quantile(double p) {
  double low = -8;
  double high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

std::vector<double> zipf_weights(std::uint32_t symbols) {
  std::vector<double> weights(symbols);
  for (std::uint32_t i = 0; i < symbols; ++i) weights[i] = 1.0 / (i + 1.0);
  return weights;
}

}  // namespace

GeneratedClock::GeneratedClock(const GeneratorOptions& options, Random& random)
    : random_(random),
      lognormal_([](double p) { return std::exp(kGapSigma * normal_quantile(p)); }),
      exponential_([](double p) { return -std::log1p(-p); }),
      now_exact_ns_(static_cast<double>(options.start_ns)),
      end_ns_(now_exact_ns_ +
              static_cast<double>(options.messages) / options.messages_per_second * 1e9),
      now_ns_(options.start_ns),
      normal_share_(1 - options.burst_share),
      burst_start_chance_(options.burst_share / normal_share_ / kMeanBurst) {}

void GeneratedClock::advance(std::uint64_t left) noexcept {
  const double mean = mean_gap_ns(left);
  double gap = 0;
  if (burst_left_ > 0) {
    --burst_left_;
    gap = exponential_.draw(random_) * std::min(kBurstGapNs, mean);
  } else {
    gap = lognormal_.draw(random_) * mean / normal_share_;
    if (random_.chance(burst_start_chance_)) {
      burst_left_ = static_cast<std::uint32_t>(kMeanBurst * exponential_.draw(random_));
    }
  }
  move(gap);
}

void GeneratedClock::advance_start_of_day(std::uint64_t left) noexcept {
  move(std::min(kDirectoryGapNs, mean_gap_ns(left)));
}

double GeneratedClock::mean_gap_ns(std::uint64_t left) const noexcept {
  return (end_ns_ - now_exact_ns_) / static_cast<double>(left + 1);
}

void GeneratedClock::move(double gap_ns) noexcept {
  now_exact_ns_ = std::min(now_exact_ns_ + gap_ns, end_ns_);
  now_ns_ = static_cast<std::uint64_t>(now_exact_ns_);
}

GeneratedMarket::GeneratedMarket(const GeneratorOptions& options)
    : options_(options),
      random_(options.seed),
      clock_(options, random_),
      activity_(zipf_weights(options.symbols)) {
  make_symbols();
}

void GeneratedMarket::make_symbols() {
  symbols_.reserve(options_.symbols);
  for (std::uint32_t i = 0; i < options_.symbols; ++i) {
    GeneratedSymbol symbol{.stock = Stock(generated_symbol(i)), .book = GeneratedBook(pool_)};
    symbol.locate = static_cast<std::uint16_t>(i + 1);
    // Prices from 5 to 500 dollars, as many between 5 and 50 as between 50 and 500.
    symbol.fair_ticks = static_cast<std::uint32_t>(500 * std::pow(100.0, random_.unit()));
    // About a cent for 100 dollars among the active, more among the quiet.
    const double quiet = static_cast<double>(i) / options_.symbols;
    symbol.spread_ticks =
        1 + static_cast<std::uint32_t>(symbol.fair_ticks / 10'000.0 * (1 + 4 * quiet));
    symbol.target_orders = 30 + 600 / (i / 4 + 1);
    symbols_.push_back(std::move(symbol));
  }
}

bool GeneratedMarket::next(RecordedMessage& message) {
  if (next_pending_ == pending_.size()) {
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

// Produces one message or more.
void GeneratedMarket::fill() {
  if (next_symbol_ < symbols_.size()) {
    if (next_symbol_ == 0) start_day();
    list_symbol(symbols_[next_symbol_]);
    if (++next_symbol_ == symbols_.size()) open_market();
  } else if (room() > 0) {
    act();
  } else {
    end_day();
  }
}

std::uint64_t GeneratedMarket::room() const noexcept {
  return options_.messages - emitted_ - kEndMessages;
}

void GeneratedMarket::start_day() {
  emit_system_event(SystemEvent::kStartOfMessages);
  clock_.advance_start_of_day(room());
  emit(MwcbDeclineLevel{.header = header(0),
                        .level_1 = 420'000'000'000,
                        .level_2 = 392'000'000'000,
                        .level_3 = 361'000'000'000});
  emit_system_event(SystemEvent::kStartOfSystemHours);
}

void GeneratedMarket::list_symbol(GeneratedSymbol& symbol) {
  clock_.advance_start_of_day(room());
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
  add_order(symbol, Side::kBuy);
  add_order(symbol, Side::kSell);
  const std::uint64_t crossed = std::uint64_t{draw_shares()} * symbol.target_orders;
  emit(NetOrderImbalanceIndicator{.header = header(symbol.locate),
                                  .paired_shares = crossed,
                                  .imbalance_shares = draw_shares(),
                                  .imbalance_direction = random_.chance(0.5) ? 'B' : 'S',
                                  .stock = symbol.stock,
                                  .far_price = price_of(symbol.fair_ticks),
                                  .near_price = price_of(symbol.fair_ticks),
                                  .current_reference_price = price_of(symbol.fair_ticks),
                                  .cross_type = 'O',
                                  .price_variation_indicator = 'L'});
  emit_cross(symbol, crossed, 'O');
}

void GeneratedMarket::open_market() {
  clock_.advance_start_of_day(room());
  emit_system_event(SystemEvent::kStartOfMarketHours);
  clock_.start_burst(kOpeningBurst);
}

void GeneratedMarket::end_day() {
  clock_.advance_to_end();
  emit_system_event(SystemEvent::kEndOfMarketHours);
  emit_system_event(SystemEvent::kEndOfSystemHours);
  emit_system_event(SystemEvent::kEndOfMessages);
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

void GeneratedMarket::emit_cross(const GeneratedSymbol& symbol, std::uint64_t shares, char type) {
  emit(CrossTrade{.header = header(symbol.locate),
                  .shares = shares,
                  .stock = symbol.stock,
                  .cross_price = price_of(symbol.fair_ticks),
                  .match_number = ++match_number_,
                  .cross_type = type});
}

}  // namespace tickpath::itch::detail
