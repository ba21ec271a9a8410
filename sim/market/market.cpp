#include "sim/market/market.hpp"

#include <array>

namespace tickpath::sim {

struct Market::Handler {
  Matcher& matcher;
  Symbols& symbols;
  itch::TradingDay& day;
  MarketCounters& counters;
  PublishedFeed* published;

  static CrossKind kind_of(char code) noexcept {
    return code == 'O' ? CrossKind::kOpening : code == 'C' ? CrossKind::kClosing : CrossKind::kHalt;
  }
  // After the message that begins or ends the market's hours.
  void cross_all(CrossKind kind) noexcept {
    if (published != nullptr) published->finish();
    matcher.cross_all(kind);
  }
  // The instrument that the message names. The first message of a day that does so lists it.
  template <class Message>
  Locate named(const Message& m) noexcept {
    const bool first = symbols.learn(m.header.stock_locate, m.stock);
    const Locate instrument = symbols.instrument_of(m.header.stock_locate);
    if (first) [[unlikely]]
      matcher.list(instrument);
    return instrument;
  }
  template <class Add>
  void add(const Add& m) noexcept {
    matcher.on_add(named(m), m.order_reference_number, itch::side_of(m.buy_sell_indicator),
                   m.shares, m.price);
  }
  void operator()(const itch::AddOrder& m) noexcept { add(m); }
  void operator()(const itch::AddOrderMpid& m) noexcept { add(m); }
  void operator()(const itch::OrderExecuted& m) noexcept {
    matcher.on_execute(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) noexcept {
    matcher.on_execute_at(m.order_reference_number, m.executed_shares, m.execution_price,
                          m.printable == 'Y');
  }
  void operator()(const itch::OrderCancel& m) noexcept {
    matcher.on_reduce(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const itch::OrderDelete& m) noexcept {
    matcher.on_delete(m.order_reference_number);
  }
  void operator()(const itch::OrderReplace& m) noexcept {
    matcher.on_replace(m.original_order_reference_number, m.new_order_reference_number, m.shares,
                       m.price);
  }
  void operator()(const itch::NonCrossTrade& m) noexcept {
    matcher.on_hidden_trade(named(m), m.shares, m.price);
  }
  void operator()(const itch::NetOrderImbalanceIndicator& m) noexcept {
    const bool one_sided = m.imbalance_direction == 'B' || m.imbalance_direction == 'S';
    matcher.on_imbalance(named(m), kind_of(m.cross_type), itch::side_of(m.imbalance_direction),
                         one_sided ? m.imbalance_shares : 0);
  }
  void operator()(const itch::CrossTrade& m) noexcept {
    matcher.on_cross(named(m), kind_of(m.cross_type), m.cross_price);
  }
  void operator()(const itch::BrokenTrade&) noexcept { counters.broken_trades.add(); }
  void operator()(const itch::StockDirectory& m) noexcept {
    // Subscribers hear of the symbol before they hear of our orders in it.
    if (published != nullptr) published->finish();
    (void)named(m);
  }
  void operator()(const itch::StockTradingAction& m) noexcept {
    matcher.on_trading_state(named(m), wire::trading_state(m.trading_state));
  }
  void operator()(const itch::SystemEvent& m) noexcept {
    if (day.on_event(m.event_code) == itch::DayBreak::kDay) {
      symbols.begin_day();
      matcher.begin_day();
    }
    if (m.event_code == itch::SystemEvent::kStartOfMarketHours) cross_all(CrossKind::kOpening);
    if (m.event_code == itch::SystemEvent::kEndOfMarketHours) cross_all(CrossKind::kClosing);
    // Day orders live as long as the system: a recording may well be of the hours around the
    // market's own, and end without either event.
    if (itch::ends_day(m.event_code)) matcher.close();
  }
  void operator()(const auto&) noexcept {}  // nothing that matching depends on
};

void Market::publish_to(FeedOutlet& outlet, std::uint64_t imbalance_interval_ns) {
  published_ = std::make_unique<PublishedFeed>(symbols_, outlet);
  imbalance_interval_ns_ = imbalance_interval_ns;
  matcher_.publish_to(*published_);
}

void Market::apply(std::span<const std::byte> message) noexcept {
  counters_.messages.add();
  if (published_ == nullptr) [[likely]]
    return happen(message);
  if (!published_->begin(message)) return;
  happen(message);
  published_->finish();
  if (imbalance_interval_ns_ != 0) tell_imbalances();
}

void Market::happen(std::span<const std::byte> message) noexcept {
  if (itch::decode(message, Handler{matcher_, symbols_, day_, counters_, published_.get()}) !=
      itch::DecodeStatus::kOk) [[unlikely]]
    counters_.undecodable.add();
}

// Nothing is told of a market without orders for a cross: of others' the recording tells.
void Market::tell_imbalances() noexcept {
  const std::uint64_t now = published_->time_ns();
  // A recording's next day begins earlier than the last one ended.
  const bool went_back = imbalances_due_ns_ > now + imbalance_interval_ns_;
  if (now < imbalances_due_ns_ && !went_back) return;
  imbalances_due_ns_ = now + imbalance_interval_ns_;
  if (matcher_.live_orders() == 0) return;
  for (std::uint32_t at = 0; at < matcher_.locates(); ++at) {
    const auto locate = static_cast<Locate>(at);
    for (const CrossKind kind : {CrossKind::kOpening, CrossKind::kClosing, CrossKind::kHalt})
      if (matcher_.awaits_cross(locate, kind))
        published_->tell_imbalance(locate, kind, matcher_.imbalance(locate, kind));
  }
}

void Market::set_trading_state(const itch::Stock& symbol, char state) noexcept {
  const std::uint32_t instrument = symbols_.find(symbol.view());
  const std::uint32_t locate =
      instrument == wire::kNoInstrument ? wire::kNoInstrument : symbols_.locate_of(instrument);
  if (locate == wire::kNoInstrument) {
    counters_.unknown_by_hand.add();
    return;
  }
  itch::StockTradingAction message;
  message.header = {static_cast<std::uint16_t>(locate), 0,
                    published_ == nullptr ? 0 : published_->time_ns()};
  message.stock = symbol;
  message.trading_state = state;
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  counters_.states_by_hand.add();
  apply(std::span(buffer).first(itch::encode(message, buffer.data())));
}

void Market::apply(std::span<const std::span<const std::byte>> messages) noexcept {
  lookahead_.begin(messages);
  for (std::size_t at = 0; at < messages.size(); ++at) {
    lookahead_.step(messages, at);
    apply(messages[at]);
  }
}

}  // namespace tickpath::sim
