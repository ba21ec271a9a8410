// LOBSTER files of a given number of levels, made from an ITCH recording as LOBSTER makes them:
// an event is in the message file if it changes one of the levels, and the orderbook file has what
// is displayed behind it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/feeds/itch/codec.hpp"

namespace tickpath::test_support {

struct LobsterFiles {
  std::string messages;
  std::string orderbook;
};

class LobsterWriter {
 public:
  struct Level {
    std::uint32_t price = 0;
    std::uint64_t shares = 0;
    friend bool operator==(const Level&, const Level&) = default;
  };
  using Shown = std::vector<Level>;  // the best first, at most as many as the levels

  explicit LobsterWriter(std::size_t levels) : levels_(levels) {}

  void operator()(const itch::AddOrder& m) { submit(m.header, m); }
  void operator()(const itch::AddOrderMpid& m) { submit(m.header, m); }
  void operator()(const itch::OrderExecuted& m) {
    take(m.header, 4, m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) {
    take(m.header, 4, m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderCancel& m) {
    take(m.header, 2, m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const itch::OrderDelete& m) {
    take(m.header, 3, m.order_reference_number, orders_.at(m.order_reference_number).shares);
  }
  void operator()(const itch::OrderReplace& m) {
    const Order old = orders_.at(m.original_order_reference_number);
    take(m.header, 3, m.original_order_reference_number, old.shares);
    add(m.header, m.new_order_reference_number, {old.buy, m.price, m.shares});
  }
  void operator()(const itch::NonCrossTrade& m) {
    write_line(m.header, 5, 0, m.shares, m.price, m.buy_sell_indicator == 'B');
  }
  void operator()(const itch::StockTradingAction& m) {
    const int price = m.trading_state == 'T' ? 1 : m.trading_state == 'Q' ? 0 : -1;
    if (!messages_.empty()) write_line(m.header, 7, 0, 0, price, false);
  }
  void operator()(const auto&) {}

  // The best levels of the whole book, whatever the files display.
  Shown shown(bool buy) const {
    Shown levels;
    const auto append = [&](const auto& side) {
      for (const auto& [price, shares] : side) {
        if (levels.size() == levels_) break;
        levels.push_back({price, shares});
      }
    };
    buy ? append(bids_) : append(asks_);
    return levels;
  }
  LobsterFiles files() const { return {messages_, orderbook_}; }

 private:
  struct Order {
    bool buy;
    std::uint32_t price;
    std::uint32_t shares;
  };

  void submit(const itch::Header& header, const auto& m) {
    add(header, m.order_reference_number, {m.buy_sell_indicator == 'B', m.price, m.shares});
  }
  void add(const itch::Header& header, std::uint64_t id, const Order& order) {
    const Shown before = shown(order.buy);
    orders_[id] = order;
    (order.buy ? bids_[order.price] : asks_[order.price]) += order.shares;
    if (shown(order.buy) != before) write_line(header, 1, id, order.shares, order.price, order.buy);
  }
  void take(const itch::Header& header, int type, std::uint64_t id, std::uint32_t shares) {
    Order& order = orders_.at(id);
    const bool buy = order.buy;
    const std::uint32_t price = order.price;
    const Shown before = shown(buy);
    const auto reduce = [&](auto& side) {
      const auto level = side.find(price);
      if ((level->second -= shares) == 0) side.erase(level);
    };
    buy ? reduce(bids_) : reduce(asks_);
    if ((order.shares -= shares) == 0) orders_.erase(id);
    if (shown(buy) != before) write_line(header, type, id, shares, price, buy);
  }
  void write_line(const itch::Header& header, int type, std::uint64_t id, std::uint32_t shares,
                  std::int64_t price, bool buy) {
    char line[128];
    std::snprintf(line, sizeof(line), "%llu.%09llu,%d,%llu,%u,%lld,%d\n",
                  static_cast<unsigned long long>(header.timestamp / 1'000'000'000),
                  static_cast<unsigned long long>(header.timestamp % 1'000'000'000), type,
                  static_cast<unsigned long long>(id), shares, static_cast<long long>(price),
                  buy ? 1 : -1);
    messages_ += line;
    write_row();
  }
  // Without a level: LOBSTER's dummy price and size.
  void write_row() {
    const Shown asks = shown(false);
    const Shown bids = shown(true);
    for (std::size_t i = 0; i < levels_; ++i) {
      if (i > 0) orderbook_ += ',';
      orderbook_ += i < asks.size() ? text_of(asks[i]) : "9999999999,0";
      orderbook_ += ',';
      orderbook_ += i < bids.size() ? text_of(bids[i]) : "-9999999999,0";
    }
    orderbook_ += '\n';
  }
  static std::string text_of(const Level& level) {
    return std::to_string(level.price) + ',' + std::to_string(level.shares);
  }

  std::size_t levels_;
  std::map<std::uint64_t, Order> orders_;
  std::map<std::uint32_t, std::uint64_t, std::greater<>> bids_;
  std::map<std::uint32_t, std::uint64_t> asks_;
  std::string messages_, orderbook_;
};

}  // namespace tickpath::test_support
