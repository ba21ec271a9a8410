// Limits on sums over instruments and strategies, and quotes that nobody means: what an order may
// not do is known before it leaves.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using trading::RejectReason;

constexpr std::uint64_t kUnit = kPriceScale;

class GrossLimit : public ::testing::Test, protected GatewayFixture {
 protected:
  GrossLimit() {
    options.instruments_max = 256;
    options.positions_max = 256;
    options.orders_max = 4'096;
  }
  void list(std::uint32_t instrument, std::uint32_t bid, std::uint32_t ask) {
    gateway->instruments().set_symbol(instrument, "S" + std::to_string(instrument));
    quote(instrument, bid, ask);
  }
  void quote(std::uint32_t instrument, std::uint32_t bid, std::uint32_t ask) {
    wire::BookUpdate update{.instrument_id = instrument,
                            .best_bid = bid,
                            .best_ask = ask,
                            .kind = wire::UpdateKind::kAdd};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    gateway->instruments().update(update);
  }
  wire::OrderRequest order(std::uint32_t instrument, std::uint32_t price, std::uint32_t shares,
                           Side side = Side::kBuy) {
    wire::OrderRequest request = limit_order(++counter_, price, shares, side);
    request.instrument_id = instrument;
    return request;
  }
  // Each row is valued again.
  void value_all() {
    for (std::uint32_t i = 0; i < OrderChecks::kValueEvery * 8; ++i) (void)gateway->turn();
  }
  std::uint32_t counter_ = 0;
};

// Sixty buys of one callback once went six times over what risk allows before risk saw a fill.
TEST_F(GrossLimit, check_new_counts_what_is_open_in_every_instrument) {
  limit({.gross_value_max = 50'000 * kUnit});
  std::uint32_t passed = 0;
  for (std::uint32_t symbol = 100; symbol < 160; ++symbol) {
    list(symbol, 99'000, 100'000);
    const RejectReason reason = request(order(symbol, 100'000, 100));  // 1,000 each
    EXPECT_EQ(reason, passed < 50 ? RejectReason::kNone : RejectReason::kGrossLimit) << symbol;
    passed += reason == RejectReason::kNone;
  }
  EXPECT_EQ(passed, 50u);
  EXPECT_EQ(venue.orders.size(), 50u);
  // One that ends makes room for one.
  report(fix::ExecType::kExpired, id(1), 0, 0);
  EXPECT_EQ(request(order(159, 100'000, 101)), RejectReason::kGrossLimit);
  EXPECT_EQ(request(order(159, 100'000, 100)), RejectReason::kNone);
}

TEST_F(GrossLimit, check_new_counts_long_and_short_and_the_worse_side_of_each_instrument) {
  limit({.gross_value_max = 3'000 * kUnit});
  list(101, 99'000, 100'000);
  list(102, 99'000, 100'000);
  EXPECT_EQ(request(order(101, 100'000, 100)), RejectReason::kNone);
  EXPECT_EQ(request(order(101, 100'000, 100, Side::kSell)), RejectReason::kNone)
      << "of the two only one can stay";
  EXPECT_EQ(request(order(102, 100'000, 200, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(order(102, 100'000, 1, Side::kSell)), RejectReason::kGrossLimit);
  EXPECT_EQ(request(order(102, 100'000, 200, Side::kBuy)), RejectReason::kNone)
      << "adds nothing to what is short at worst";
}

TEST_F(GrossLimit, check_new_lets_what_reduces_a_position_pass_at_any_price) {
  limit({.gross_value_max = 1'000 * kUnit});
  list(101, 99'000, 100'000);
  ASSERT_EQ(request(order(101, 100'000, 100)), RejectReason::kNone);
  report(fix::ExecType::kFill, id(1), 0, 100, 100, 100'000);
  quote(101, 990'000, 1'000'000);  // ten times as much: beyond the limit
  value_all();
  EXPECT_EQ(request(order(101, 1'000'000, 1)), RejectReason::kGrossLimit);
  EXPECT_EQ(request(order(101, 990'000, 100, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(order(101, 990'000, 101, Side::kSell)), RejectReason::kGrossLimit);
}

TEST_F(GrossLimit, check_new_holds_all_strategies_to_one_sum) {
  limit({.gross_value_max = 2'000 * kUnit, .total_gross_value_max = 3'000 * kUnit});
  const std::size_t other = gateway->slots().index(*gateway->slots().assign(9));
  gateway->on_strategy_connected(other);
  list(101, 99'000, 100'000);
  EXPECT_EQ(request(order(101, 100'000, 200)), RejectReason::kNone);
  wire::OrderRequest theirs = order(101, 100'000, 101);
  theirs.order_id = wire::OrderId::make(9, 1, 1);
  gateway->on_request(other, theirs);
  EXPECT_EQ(last().reason, RejectReason::kGrossLimit);
  theirs.order_id = wire::OrderId::make(9, 1, 2);
  theirs.shares = 100;
  const std::size_t sent = venue.orders.size();
  gateway->on_request(other, theirs);
  EXPECT_EQ(venue.orders.size(), sent + 1);
}

TEST_F(GrossLimit, check_change_counts_what_a_replacement_adds_and_frees_it_with_its_rejection) {
  limit({.gross_value_max = 2'000 * kUnit});
  list(101, 99'000, 100'000);
  ASSERT_EQ(request(order(101, 100'000, 100)), RejectReason::kNone);
  accept(id(1));
  wire::OrderRequest more = replace(++counter_, id(1), 100'000, 201);
  more.instrument_id = 101;
  EXPECT_EQ(request(more), RejectReason::kGrossLimit);
  more = replace(++counter_, id(1), 100'000, 200);
  more.instrument_id = 101;
  EXPECT_EQ(request(more), RejectReason::kNone);
  list(102, 99'000, 100'000);
  EXPECT_EQ(request(order(102, 100'000, 1)), RejectReason::kGrossLimit) << "held for it";
  reject_change(id(3), id(1));
  EXPECT_EQ(request(order(102, 100'000, 100)), RejectReason::kNone);
}

// The price of a position of before a restart is not known until its market is.
TEST_F(GrossLimit, check_new_refuses_while_a_position_has_no_price) {
  limit({.gross_value_max = 10'000 * kUnit});
  gateway->instruments().set_symbol(101, "S101");
  ASSERT_TRUE(gateway->ledger().restore(
      wire::PositionRow{.instrument_id = 101, .strategy_id = kStrategy, .position_shares = 900}));
  list(102, 99'000, 100'000);
  EXPECT_EQ(request(order(102, 100'000, 1)), RejectReason::kNoMarket);
  quote(101, 99'000, 100'000);
  value_all();
  EXPECT_EQ(request(order(102, 100'000, 1)), RejectReason::kNone);
  EXPECT_EQ(request(order(102, 100'000, 200)), RejectReason::kGrossLimit) << "8,910 are held";
}

// Random orders, fills, cancels and prices beside sums that are made anew from every row.
TEST_F(GrossLimit, exposure_is_the_sum_of_its_rows_whatever_happens) {
  limit({.gross_value_max = 200'000 * kUnit});
  std::mt19937 dice(11);
  for (std::uint32_t symbol = 100; symbol < 110; ++symbol) list(symbol, 99'000, 100'000);
  std::map<std::uint64_t, std::uint32_t> open;  // leaves
  const auto any_open = [&] {
    auto at = open.begin();
    std::advance(at, dice() % open.size());
    return at;
  };
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t symbol = 100 + dice() % 10;
    const std::uint32_t price = 50'000 + dice() % 100 * 1'000;
    if (const std::uint32_t what = dice() % 8; what < 3) {
      const Side side = dice() % 2 == 0 ? Side::kBuy : Side::kSell;
      const wire::OrderRequest wanted = order(symbol, price, 1 + dice() % 300, side);
      if (request(wanted) == RejectReason::kNone) open[wanted.order_id] = wanted.shares;
    } else if (what < 6 && !open.empty()) {
      const auto at = any_open();
      const Order* const known = gateway->ledger().find(at->first);
      const std::uint32_t shares = 1 + dice() % at->second;
      const std::uint32_t leaves = at->second - shares;
      report(leaves == 0 ? fix::ExecType::kFill : fix::ExecType::kPartialFill, at->first, leaves,
             known->cumulative + shares, shares, known->price);
      leaves == 0 ? void(open.erase(at)) : void(at->second = leaves);
    } else if (what == 6 && !open.empty()) {
      const auto at = any_open();
      report(fix::ExecType::kExpired, at->first, 0, gateway->ledger().find(at->first)->cumulative);
      open.erase(at);
    } else {
      quote(symbol, price, price + 100);
    }
    (void)gateway->turn();
    const Ledger& ledger = gateway->ledger();
    Exposure sum = 0;
    for (std::uint32_t row = 0; row < ledger.position_count(); ++row) {
      const Position& position = ledger.position(row);
      const std::int64_t held = position.row.position_shares;
      const std::int64_t most = std::max<std::int64_t>(
          {held + position.row.open_buy_shares, position.row.open_sell_shares - held, 0});
      sum += Exposure{static_cast<std::uint64_t>(most)} * position.price;
    }
    ASSERT_TRUE(sum == ledger.exposure(kStrategy) && sum == ledger.exposure()) << step;
    ASSERT_EQ(ledger.unpriced(), 0u) << step;
  }
  EXPECT_GT(gateway->counters().refused_for[28].get(), 100u) << "the limit was met";
  std::int64_t held = 0;
  for (std::uint32_t row = 0; row < gateway->ledger().position_count(); ++row)
    held += gateway->ledger().position(row).row.fills;
  EXPECT_GT(held, 1'000) << "fills were booked";
}

class StubQuote : public ::testing::Test, protected GatewayFixture {
 protected:
  void trade_at(std::uint32_t price) {
    wire::BookUpdate update{.instrument_id = kInstrument,
                            .price = price,
                            .best_bid = gateway->instruments()[kInstrument].best_bid,
                            .best_ask = gateway->instruments()[kInstrument].best_ask,
                            .kind = wire::UpdateKind::kTrade};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    gateway->instruments().update(update);
  }
  RejectReason at_market(Side side, std::uint32_t shares = 100) {
    wire::OrderRequest order = limit_order(++counter_, 0, shares, side);
    order.type = trading::OrderType::kMarket;
    return request(order);
  }
  std::uint32_t counter_ = 0;
};

// Bid 10.00, last 10.02, the offer of 10.02 is gone, and the next one is 500.00.
TEST_F(StubQuote, protect_takes_a_buy_no_further_than_the_last_trade_and_its_bound) {
  limit({.collar_basis_points = 500, .reference_basis_points = 1'000});
  trade_at(100'200);
  set_market(100'000, 5'000'000);
  ASSERT_EQ(at_market(Side::kBuy), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().price.value, 115'700) << "10.02 + 10 % + 5 %, in cents";
  EXPECT_EQ(request(limit_order(++counter_, 5'000'000)), RejectReason::kPriceCollar);
  EXPECT_EQ(request(limit_order(++counter_, 100'300)), RejectReason::kNone);
}

TEST_F(StubQuote, protect_takes_a_sell_no_further_and_values_it_at_the_last_trade) {
  limit({.order_value_max = 40'000 * kUnit,
         .collar_basis_points = 500,
         .reference_basis_points = 1'000});
  trade_at(100'000);
  set_market(100, 100'000);  // bid 0.01
  ASSERT_EQ(at_market(Side::kSell), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().price.value, 85'500) << "9.00 less 5 %";
  EXPECT_EQ(at_market(Side::kSell, 5'000), RejectReason::kOrderValue) << "at 9.00, not at 0.01";
}

TEST_F(StubQuote, protect_measures_from_the_own_side_before_the_first_trade) {
  limit({.collar_basis_points = 500, .reference_basis_points = 1'000});
  set_market(100'000, 5'000'000);
  ASSERT_EQ(at_market(Side::kBuy), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().price.value, 115'500);
  set_market(0, 5'000'000);
  EXPECT_EQ(at_market(Side::kBuy), RejectReason::kNoMarket) << "one quote alone says nothing";
}

TEST_F(StubQuote, update_takes_the_last_trade_from_a_book_snapshot) {
  limit({.collar_basis_points = 500, .reference_basis_points = 1'000});
  wire::BookImage image{};
  image.instrument_id = kInstrument;
  image.last_trade_price = 100'000;
  image.bids[0] = {100'000, 1, 1};
  image.asks[0] = {5'000'000, 1, 1};
  image.states = 0x41;  // good, trading
  gateway->instruments().update(image);
  ASSERT_EQ(at_market(Side::kBuy), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().price.value, 115'500);
}

TEST_F(StubQuote, protect_follows_a_market_within_its_bound) {
  limit({.collar_basis_points = 500, .reference_basis_points = 1'000});
  trade_at(1'000'000);
  set_market(1'040'000, 1'050'000);
  ASSERT_EQ(at_market(Side::kBuy), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().price.value, 1'102'500);
}

}  // namespace
}  // namespace tickpath::oeg
