// What must hold of every generated recording.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include <gtest/gtest.h>

#include "common/feeds/itch/codec.hpp"

namespace tickpath::itch::test {

// Replays a generated recording into plain books, and fails on the first impossible message.
class Auditor {
 public:
  void operator()(const SystemEvent& m) noexcept { events_ += m.event_code; }
  void operator()(const StockDirectory& m) noexcept {
    EXPECT_TRUE(stocks_.emplace(m.header.stock_locate, m.stock.view()).second);
  }
  void operator()(const StockTradingAction& m) noexcept {
    states_[m.header.stock_locate] = m.trading_state;
  }
  void operator()(const AddOrder& m) noexcept { add(m); }
  void operator()(const AddOrderMpid& m) noexcept { add(m); }
  void operator()(const OrderExecuted& m) noexcept {
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderExecutedWithPrice& m) noexcept {
    const Order* order = find(m.header, m.order_reference_number);
    ASSERT_NE(order, nullptr);
    EXPECT_TRUE(order->buy ? m.execution_price < order->price : m.execution_price > order->price)
        << "worse than the order's own, or the same";
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderCancel& m) noexcept {
    const Order* order = find(m.header, m.order_reference_number);
    ASSERT_NE(order, nullptr);
    EXPECT_LT(m.cancelled_shares, order->shares);
    take(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const OrderDelete& m) noexcept {
    const Order* order = find(m.header, m.order_reference_number);
    ASSERT_NE(order, nullptr);
    take(m.order_reference_number, order->shares);
  }
  void operator()(const OrderReplace& m) noexcept {
    const Order* order = find(m.header, m.original_order_reference_number);
    ASSERT_NE(order, nullptr);
    const bool buy = order->buy;
    take(m.original_order_reference_number, order->shares);
    insert(m.header.stock_locate, m.new_order_reference_number, buy, m.price, m.shares);
  }
  void operator()(const NonCrossTrade& m) noexcept {
    expect_match(m.match_number);
    expect_within_market(m.header.stock_locate, m.price);
    const Book& book = books_[m.header.stock_locate];
    prints_at_quote_ += (!book.bids.empty() && m.price == book.bids.begin()->first) ||
                        (!book.asks.empty() && m.price == book.asks.begin()->first);
    ++prints_;
  }
  // Imbalances of a cross: more and more is paired, less and less left over.
  void operator()(const NetOrderImbalanceIndicator& m) noexcept {
    NetOrderImbalanceIndicator& before = told_[m.header.stock_locate];
    if (before.paired_shares != 0) {
      EXPECT_EQ(m.cross_type, before.cross_type);
      EXPECT_GE(m.paired_shares, before.paired_shares);
      EXPECT_LE(m.imbalance_shares, before.imbalance_shares);
      if (m.imbalance_direction != 'N') {
        EXPECT_EQ(m.imbalance_direction, before.imbalance_direction);
      }
    }
    expect_within_market(m.header.stock_locate, m.current_reference_price);
    before = m;
  }
  void operator()(const CrossTrade& m) noexcept {
    expect_match(m.match_number);
    expect_within_market(m.header.stock_locate, m.cross_price);
    const NetOrderImbalanceIndicator& told = told_[m.header.stock_locate];
    EXPECT_EQ(m.cross_type, told.cross_type);
    EXPECT_EQ(told.paired_shares, told.imbalance_direction == 'N' ? m.shares : m.shares / 2);
    told_.erase(m.header.stock_locate);
  }
  void operator()(const auto&) noexcept {}

  const std::string& events() const { return events_; }
  std::size_t stocks() const { return stocks_.size(); }
  // Every symbol has a quote: no side of a book ran dry.
  std::size_t quoted() const {
    std::size_t count = 0;
    for (const auto& [locate, book] : books_) count += !book.bids.empty() && !book.asks.empty();
    return count;
  }
  // Hidden trades, and those of them at the best bid or offer.
  std::uint64_t prints() const { return prints_; }
  std::uint64_t prints_at_quote() const { return prints_at_quote_; }

 private:
  struct Order {
    std::uint16_t locate;
    bool buy;
    std::uint32_t price;
    std::uint32_t shares;
  };
  struct Book {
    // price -> references in the order of time
    std::map<std::uint32_t, std::set<std::uint64_t>, std::greater<>> bids;
    std::map<std::uint32_t, std::set<std::uint64_t>> asks;
  };

  template <class Add>
  void add(const Add& m) {
    EXPECT_EQ(m.stock.view(), stocks_[m.header.stock_locate]);
    insert(m.header.stock_locate, m.order_reference_number, m.buy_sell_indicator == 'B', m.price,
           m.shares);
  }
  // References rise, so a set is a queue in the order of time.
  void insert(std::uint16_t locate, std::uint64_t reference, bool buy, std::uint32_t price,
              std::uint32_t shares) {
    EXPECT_GT(reference, last_reference_);
    last_reference_ = reference;
    EXPECT_GT(shares, 0U);
    EXPECT_GT(price, 0U);
    orders_[reference] = {locate, buy, price, shares};
    Book& book = books_[locate];
    if (buy) {
      book.bids[price].insert(reference);
    } else {
      book.asks[price].insert(reference);
    }
    if (!book.bids.empty() && !book.asks.empty()) {
      EXPECT_LT(book.bids.begin()->first, book.asks.begin()->first) << "locked or crossed";
    }
  }
  const Order* find(const Header& header, std::uint64_t reference) {
    const auto order = orders_.find(reference);
    EXPECT_NE(order, orders_.end()) << reference;
    if (order == orders_.end()) return nullptr;
    EXPECT_EQ(order->second.locate, header.stock_locate);
    return &order->second;
  }
  void take(std::uint64_t reference, std::uint32_t shares) {
    Order& order = orders_[reference];
    ASSERT_GE(order.shares, shares);
    order.shares -= shares;
    if (order.shares > 0) return;
    Book& book = books_[order.locate];
    const auto erase = [&](auto& side) {
      side[order.price].erase(reference);
      if (side[order.price].empty()) side.erase(order.price);
    };
    if (order.buy) {
      erase(book.bids);
    } else {
      erase(book.asks);
    }
    orders_.erase(reference);
  }
  void execute(const Header& header, std::uint64_t reference, std::uint32_t shares) {
    const Order* order = find(header, reference);
    ASSERT_NE(order, nullptr);
    EXPECT_EQ(states_[header.stock_locate], 'T') << "traded while halted";
    Book& book = books_[order->locate];
    const std::uint64_t first =
        order->buy ? *book.bids.begin()->second.begin() : *book.asks.begin()->second.begin();
    EXPECT_EQ(reference, first) << "not the first in price and time";
    take(reference, shares);
    ++matches_;
  }
  void expect_within_market(std::uint16_t locate, std::uint32_t price) {
    const Book& book = books_[locate];
    if (!book.bids.empty()) {
      EXPECT_GE(price, book.bids.begin()->first) << "below the bid";
    }
    if (!book.asks.empty()) {
      EXPECT_LE(price, book.asks.begin()->first) << "above the offer";
    }
  }
  void expect_match(std::uint64_t number) {
    EXPECT_GT(number, last_match_);
    last_match_ = number;
  }

  std::map<std::uint16_t, std::string> stocks_;
  std::map<std::uint16_t, char> states_;
  std::map<std::uint16_t, Book> books_;
  std::map<std::uint16_t, NetOrderImbalanceIndicator> told_;  // of the next cross
  std::unordered_map<std::uint64_t, Order> orders_;
  std::string events_;
  std::uint64_t last_reference_ = 0;
  std::uint64_t last_match_ = 0;
  std::uint64_t matches_ = 0;
  std::uint64_t prints_ = 0;
  std::uint64_t prints_at_quote_ = 0;
};

}  // namespace tickpath::itch::test
