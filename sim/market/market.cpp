#include "sim/market/market.hpp"

namespace tickpath::sim {

struct Market::Handler {
  Matcher& matcher;
  Symbols& symbols;
  MarketCounters& counters;

  template <class Add>
  void add(const Add& m) noexcept {
    symbols.learn(m.header.stock_locate, m.stock);
    matcher.on_add(m.header.stock_locate, m.order_reference_number,
                   itch::side_of(m.buy_sell_indicator), m.shares, m.price);
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
    symbols.learn(m.header.stock_locate, m.stock);
    matcher.on_hidden_trade(m.header.stock_locate, m.shares, m.price);
  }
  void operator()(const itch::BrokenTrade&) noexcept { counters.broken_trades.add(); }
  void operator()(const itch::StockDirectory& m) noexcept {
    symbols.learn(m.header.stock_locate, m.stock);
  }
  void operator()(const itch::StockTradingAction& m) noexcept {
    symbols.learn(m.header.stock_locate, m.stock);
    matcher.on_trading_state(m.header.stock_locate, wire::trading_state(m.trading_state));
  }
  void operator()(const itch::SystemEvent& m) noexcept {
    // After a close: the next day of a recording of several.
    if (m.event_code == itch::SystemEvent::kStartOfMessages) matcher.begin_day();
    // Day orders live as long as the system: a recording may well be of the hours around the
    // market's own, and end without either event.
    if (m.event_code == itch::SystemEvent::kEndOfSystemHours ||
        m.event_code == itch::SystemEvent::kEndOfMessages)
      matcher.close();
  }
  void operator()(const auto&) noexcept {}  // nothing that matching depends on
};

void Market::apply(std::span<const std::byte> message) noexcept {
  counters_.messages.add();
  if (itch::decode(message, Handler{matcher_, symbols_, counters_}) != itch::DecodeStatus::kOk)
      [[unlikely]]
    counters_.undecodable.add();
}

}  // namespace tickpath::sim
