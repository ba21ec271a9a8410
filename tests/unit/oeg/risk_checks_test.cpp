#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/wire/names.hpp"
#include "oeg/config.hpp"
#include "oeg/room_watch.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using ::testing::HasSubstr;
using trading::RejectReason;

const auto kMalformed = RejectReason::kMalformed;

class RiskChecks : public ::testing::Test, protected GatewayFixture {
 protected:
  // What becomes of the next order with other terms.
  template <class Change>
  RejectReason request_with(Change&& change) {
    wire::OrderRequest wanted = limit_order(++counter_);
    change(wanted);
    return request(wanted);
  }
  RejectReason request_of(std::uint32_t instrument) {
    return request_with([&](auto& r) { r.instrument_id = instrument; });
  }
  RejectReason request_at_market(std::uint32_t shares, Side side = Side::kBuy) {
    wire::OrderRequest order = limit_order(++counter_, 0, shares, side);
    order.type = trading::OrderType::kMarket;
    return request(order);
  }
  std::uint32_t counter_ = 0;
};

TEST_F(RiskChecks, LetAnOrderWithinEveryLimitPass) {
  limit({.order_shares_max = 100,
         .order_value_max = 100 * 1'000'000,
         .collar_basis_points = 10,
         .open_orders_max = 1,
         .position_shares_max = 100,
         .position_value_max = 100 * 1'000'000,
         .messages_per_second_max = 1});
  EXPECT_EQ(request(limit_order(1)), RejectReason::kNone);
  ASSERT_EQ(venue.orders.size(), 1u);
  EXPECT_EQ(venue.orders[0].cl_ord_id, id(1));
  EXPECT_EQ(venue.orders[0].symbol.view(), "AAPL");
  EXPECT_EQ(venue.orders[0].order_qty, 100u);
}

TEST_F(RiskChecks, RefuseMalformedRequests) {
  EXPECT_EQ(request_with([](auto& r) { r.shares = 0; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.price = {0}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.price = {-1}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.price = {std::int64_t{1} << 32}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.type = trading::OrderType::kMarket; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.type = trading::OrderType{7}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.side = Side{0}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.kind = wire::RequestKind{9}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.time_in_force = trading::TimeInForce{5}; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.order_id = wire::OrderId::make(4, 1, 99); }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.target_order_id = 5; }), kMalformed);
  EXPECT_EQ(request(cancel(50, 0)), kMalformed);
  EXPECT_TRUE(venue.orders.empty());
}

TEST_F(RiskChecks, RefuseUnknownInstrumentsAndUsedIds) {
  EXPECT_EQ(request_of(8), RejectReason::kUnknownInstrument) << "in range, not in the directory";
  EXPECT_EQ(request_of(4'000'000'000), RejectReason::kUnknownInstrument);
  EXPECT_EQ(request(limit_order(5)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(5)), RejectReason::kDuplicateOrderId);
  EXPECT_EQ(request(limit_order(4)), RejectReason::kDuplicateOrderId);
  EXPECT_EQ(request(cancel(5, id(5))), RejectReason::kDuplicateOrderId);
}

TEST_F(RiskChecks, RefuseAnInstrumentWhoseIdChangedItsSymbol) {
  EXPECT_FALSE(gateway->instruments().set_symbol(kInstrument, "MSFT"));
  EXPECT_EQ(request(limit_order(1)), RejectReason::kUnknownInstrument);
}

// A position of yesterday stands under the id that the symbol had then.
TEST_F(RiskChecks, RefuseASymbolThatHadAnotherId) {
  gateway->instruments().recover_symbol(9, "IBM");
  EXPECT_FALSE(gateway->instruments().set_symbol(8, "IBM"));
  EXPECT_EQ(gateway->instruments().id_of("IBM"), 9u);
  EXPECT_EQ(request_of(8), RejectReason::kUnknownInstrument);
  EXPECT_EQ(request_of(9), RejectReason::kUnknownInstrument) << "not confirmed";
  EXPECT_FALSE(gateway->instruments().set_symbol(8, "IBM")) << "said again";
  EXPECT_TRUE(gateway->instruments().set_symbol(9, "IBM")) << "mdh has its file back";
  EXPECT_EQ(request_of(9), RejectReason::kNone);
}

TEST_F(RiskChecks, HoldSizeAndValue) {
  limit({.order_shares_max = 200, .order_value_max = 150 * std::uint64_t{1'000'000}});
  EXPECT_EQ(request(limit_order(1, 1'000'000, 201)), RejectReason::kOrderSize);
  EXPECT_EQ(request(limit_order(2, 1'000'000, 151)), RejectReason::kOrderValue);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 150)), RejectReason::kNone);
  // A market order is valued at the opposite best price.
  counter_ = 3;
  EXPECT_EQ(request_at_market(150), RejectReason::kOrderValue);
  EXPECT_EQ(request_at_market(149), RejectReason::kNone);
  set_market(0, 0);
  EXPECT_EQ(request_at_market(1), RejectReason::kNoMarket);
}

// A sell at 0.01 trades at the bid: that is what it is worth.
TEST_F(RiskChecks, ValueASellAtTheBidWhenItsLimitIsBelowIt) {
  limit({.order_value_max = 1'000'000 * kPriceScale,
         .position_value_max = 3'000'000 * std::uint64_t{kPriceScale}});
  set_market(5'000'000, 5'001'000);  // 500.00
  EXPECT_EQ(request(limit_order(1, 100, 10'000, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(request(limit_order(2, 100, 2'001, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(request(limit_order(3, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(4, 6'000'000, 2'000, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(request(limit_order(5, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(6, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(7, 100, 1, Side::kSell)), RejectReason::kPositionLimit)
      << "short 6,000 at 500.00 already";
}

// Its limit bounds how little a sell brings, not how much.
TEST_F(RiskChecks, RefuseASellThatNothingSaysTheValueOf) {
  limit({.order_value_max = 1'000'000 * kPriceScale});
  set_market(5'000'000, 5'001'000, wire::FeedState::kStale);
  EXPECT_EQ(request(limit_order(1, 100, 10'000, Side::kSell)), RejectReason::kNoMarket);
  EXPECT_EQ(request(limit_order(2, 100, 10'000)), RejectReason::kNone) << "a buy at 0.01";
  set_market(0, 0);
  EXPECT_EQ(request(limit_order(3, 100, 10'000, Side::kSell)), RejectReason::kNoMarket);
  set_market(0, 5'000'000);
  EXPECT_EQ(request(limit_order(4, 100, 2'001, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(request(limit_order(5, 100, 2'000, Side::kSell)), RejectReason::kNone);
}

TEST_F(RiskChecks, NeedNoValueOfASellThatReducesAPosition) {
  limit({.position_value_max = 1'000'000 * kPriceScale});
  EXPECT_EQ(request(limit_order(1)), RejectReason::kNone);
  report(fix::ExecType::kFill, id(1), 0, 100, 100, 1'000'000);
  set_market(1'000'000, 1'001'000, wire::FeedState::kStale);
  EXPECT_EQ(request(limit_order(2, 100, 100, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(3, 100, 1, Side::kSell)), RejectReason::kNoMarket)
      << "short by one";
}

TEST_F(RiskChecks, ValueAMarketOrderAtTheWorstPriceThatItsCollarAllows) {
  limit({.order_value_max = 105 * std::uint64_t{1'000'000}, .collar_basis_points = 500});
  set_market(1'000'000, 1'000'000);
  EXPECT_EQ(request_at_market(101), RejectReason::kOrderValue);
  EXPECT_EQ(request_at_market(100), RejectReason::kNone);
  EXPECT_EQ(request_at_market(106, Side::kSell), RejectReason::kOrderValue);
  EXPECT_EQ(request_at_market(105, Side::kSell), RejectReason::kNone) << "at the bid or below";
  // And that price is its limit.
  ASSERT_EQ(venue.orders.size(), 2u);
  EXPECT_EQ(venue.orders[0].type, trading::OrderType::kLimit);
  EXPECT_EQ(venue.orders[0].time_in_force, trading::TimeInForce::kImmediateOrCancel);
  EXPECT_EQ(venue.orders[0].price.value, 1'050'000);
  EXPECT_EQ(venue.orders[1].price.value, 950'000);
}

TEST_F(RiskChecks, SendAMarketOrderAsItIsWithoutACollarOrWhenSoConfigured) {
  ASSERT_EQ(request_at_market(100), RejectReason::kNone);
  EXPECT_EQ(venue.orders[0].type, trading::OrderType::kMarket);
  EXPECT_EQ(venue.orders[0].price.value, 0);
}

TEST(CollarPrice, IsOnThePriceGridAndNeverBeyondTheCollarOrTheBestPrice) {
  EXPECT_EQ(collar_price(Side::kBuy, 1'000'100, 500), 1'050'100u);  // 105.0105
  EXPECT_EQ(collar_price(Side::kSell, 1'000'100, 500), 950'100u);   // 95.0095
  EXPECT_EQ(collar_price(Side::kBuy, 5'000, 500), 5'250u);          // below a dollar: 1/10,000
  EXPECT_EQ(collar_price(Side::kSell, 5'001, 500), 4'751u);         // 4750.95
  EXPECT_EQ(collar_price(Side::kBuy, 1'000'100, 0), 1'000'100u);
  EXPECT_EQ(collar_price(Side::kSell, 1'000'050, 0), 1'000'050u) << "a best price off the grid";
  EXPECT_EQ(collar_price(Side::kBuy, 0xffff'ffff, 10'000), 0xffff'ffffu);
  EXPECT_EQ(collar_price(Side::kSell, 1'000'000, 10'000), 1u);
  for (std::uint32_t best = 1; best < 30'000; best += 7) {
    const std::uint64_t buy = collar_price(Side::kBuy, best, 250);
    const std::uint64_t sell = collar_price(Side::kSell, best, 250);
    EXPECT_TRUE(buy >= best && (buy * 10'000 <= best * std::uint64_t{10'250} || buy == best));
    EXPECT_TRUE(sell <= best && (sell * 10'000 >= best * std::uint64_t{9'750} || sell == best));
  }
}

TEST_F(RiskChecks, NoProductOverflows) {
  limit({.order_value_max = 1, .collar_basis_points = 10'000, .position_value_max = 1});
  EXPECT_EQ(request(limit_order(1, 0xffff'ffff, 0xffff'ffff)), RejectReason::kOrderValue);
}

TEST_F(RiskChecks, HoldTheCollarOnTheAggressiveSideOnly) {
  limit({.collar_basis_points = 100});  // 1 %
  set_market(1'000'000, 1'000'000);
  EXPECT_EQ(request(limit_order(1, 1'010'000)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(2, 1'010'001)), RejectReason::kPriceCollar);
  EXPECT_EQ(request(limit_order(3, 1)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(4, 990'000, 100, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(5, 989'999, 100, Side::kSell)), RejectReason::kPriceCollar);
  EXPECT_EQ(request(limit_order(6, 9'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST_F(RiskChecks, NeedAGoodMarketForTheCollar) {
  limit({.collar_basis_points = 100});
  set_market(1'000'000, 1'000'000, wire::FeedState::kStale);
  EXPECT_EQ(request(limit_order(1)), RejectReason::kNoMarket);
  set_market(1'000'000, 0);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kNoMarket);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST_F(RiskChecks, PassOnEveryTermThatTheVenueHas) {
  const auto sent = [&](auto&& change) {
    EXPECT_EQ(request_with(change), RejectReason::kNone);
    return venue.orders.back();
  };
  EXPECT_TRUE(sent([](auto& r) { r.instructions = wire::kPostOnly; }).post_only);
  EXPECT_EQ(sent([](auto& r) { r.display_shares = 10; }).max_floor, 10u);
  for (const auto time :
       {trading::TimeInForce::kGoodTillCancel, trading::TimeInForce::kAtTheOpening,
        trading::TimeInForce::kFillOrKill, trading::TimeInForce::kAtTheClose})
    EXPECT_EQ(static_cast<int>(sent([&](auto& r) { r.time_in_force = time; }).time_in_force),
              static_cast<int>(time));
  const auto least = sent([](auto& r) {
    r.time_in_force = trading::TimeInForce::kImmediateOrCancel;
    r.minimum_shares = 50;
  });
  EXPECT_EQ(least.min_qty, 50u);
  const auto stop = sent([](auto& r) {
    r.type = trading::OrderType::kStopLimit;
    r.stop_price = 1'002'000;
  });
  EXPECT_EQ(stop.type, trading::OrderType::kStopLimit);
  EXPECT_EQ(stop.stop_price.value, 1'002'000);
  const auto pegged = sent([](auto& r) {
    r.type = trading::OrderType::kPegged;
    r.price = {0};
  });
  EXPECT_EQ(pegged.type, trading::OrderType::kPegged);
  EXPECT_EQ(pegged.price.value, 0);
}

TEST_F(RiskChecks, RefuseTermsThatDoNotGoTogether) {
  using Time = trading::TimeInForce;
  const auto at = [&](Time time, auto&& change) {
    return request_with([&](auto& r) {
      r.time_in_force = time;
      change(r);
    });
  };
  using Type = trading::OrderType;
  EXPECT_EQ(request_with([](auto& r) { r.instructions = 2; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.stop_price = 1'000; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.type = Type::kStopLimit; }), kMalformed);
  EXPECT_EQ(request_with([](auto& r) { r.minimum_shares = 10; }), kMalformed);
  EXPECT_EQ(at(Time::kImmediateOrCancel, [](auto& r) { r.minimum_shares = 101; }), kMalformed);
  EXPECT_EQ(at(Time::kFillOrKill, [](auto& r) { r.instructions = wire::kPostOnly; }), kMalformed);
  EXPECT_EQ(at(Time::kAtTheClose, [](auto& r) { r.display_shares = 10; }), kMalformed);
  EXPECT_EQ(at(Time::kImmediateOrCancel, [](auto& r) { r.type = Type::kPegged; }), kMalformed);
  EXPECT_TRUE(venue.orders.empty());
}

// The market is 100.00 to 100.10, the collar 10 basis points.
TEST_F(RiskChecks, MeasureAStopOrderFromItsStopPriceAndSendItWithTheCollarAsItsLimit) {
  limit({.order_value_max = std::uint64_t{100} * 1'101'100, .collar_basis_points = 10});
  const auto stop = [&](std::uint32_t stop_price, std::uint32_t limit, Side side = Side::kBuy) {
    wire::OrderRequest wanted = limit_order(++counter_, limit, 100, side);
    wanted.type = limit == 0 ? trading::OrderType::kStop : trading::OrderType::kStopLimit;
    wanted.stop_price = stop_price;
    return request(wanted);
  };
  EXPECT_EQ(stop(1'100'000, 1'101'100), RejectReason::kNone) << "10 bp beyond its stop price";
  EXPECT_EQ(stop(1'090'000, 1'101'100), RejectReason::kPriceCollar);
  // A stop price that the market has passed triggers at once: the market counts.
  EXPECT_EQ(stop(900'000, 1'002'001), RejectReason::kNone);
  EXPECT_EQ(stop(900'000, 1'002'100), RejectReason::kPriceCollar);
  EXPECT_EQ(stop(950'000, 940'000, Side::kSell), RejectReason::kPriceCollar);
  EXPECT_EQ(stop(950'000, 949'100, Side::kSell), RejectReason::kNone);
  EXPECT_EQ(stop(1'200'000, 0), RejectReason::kOrderValue) << "what it may be worth when it trades";

  EXPECT_EQ(stop(1'100'000, 0), RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().type, trading::OrderType::kStopLimit);
  EXPECT_EQ(venue.orders.back().stop_price.value, 1'100'000);
  EXPECT_EQ(venue.orders.back().price.value, 1'101'100);
  EXPECT_EQ(venue.orders.back().time_in_force, trading::TimeInForce::kDay) << "it waits";
  set_market(1'000'000, 1'001'000, wire::FeedState::kStale);
  EXPECT_EQ(stop(1'100'000, 0), RejectReason::kNoMarket);
}

TEST_F(RiskChecks, ValueAPeggedOrderByItsLimitAndElseByTheMarket) {
  limit({.order_value_max = std::uint64_t{100} * 1'002'000, .collar_basis_points = 10});
  const auto pegged = [&](std::uint32_t limit) {
    return request_with([&](auto& r) {
      r.price = {limit};
      r.type = trading::OrderType::kPegged;
    });
  };
  EXPECT_EQ(pegged(0), RejectReason::kNone) << "100.10 and 10 bp, on the grid";
  EXPECT_EQ(pegged(1'002'000), RejectReason::kNone);
  EXPECT_EQ(pegged(1'002'100), RejectReason::kOrderValue) << "it may follow the market so far";
  EXPECT_EQ(pegged(900'000), RejectReason::kNone) << "its limit is no price that it trades at";
}

TEST_F(RiskChecks, AMarketOrderForACrossWaitsForItWithTheCollarAsItsLimit) {
  limit({.collar_basis_points = 10});
  EXPECT_EQ(request_with([](auto& r) {
              r.type = trading::OrderType::kMarket;
              r.price = {0};
              r.time_in_force = trading::TimeInForce::kAtTheOpening;
            }),
            RejectReason::kNone);
  EXPECT_EQ(venue.orders.back().type, trading::OrderType::kLimit);
  EXPECT_EQ(venue.orders.back().time_in_force, trading::TimeInForce::kAtTheOpening);
}

TEST_F(RiskChecks, CountOpenOrdersOfTheStrategy) {
  limit({.open_orders_max = 2});
  EXPECT_EQ(request(limit_order(1)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(3)), RejectReason::kOpenOrders);
  report(fix::ExecType::kRejected, id(1), 0, 0);
  EXPECT_EQ(request(limit_order(4)), RejectReason::kNone);
}

TEST_F(RiskChecks, HoldThePositionThatCouldArise) {
  limit({.position_shares_max = 250});
  EXPECT_EQ(request(limit_order(1)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 51)), RejectReason::kPositionLimit);
  // The other side does not help: it may never be filled.
  EXPECT_EQ(request(limit_order(4, 1'000'000, 250, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(5, 1'000'000, 51)), RejectReason::kPositionLimit);
  accept(id(1));
  report(fix::ExecType::kFill, id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(request(limit_order(6, 1'000'000, 51)), RejectReason::kPositionLimit);
  EXPECT_EQ(request(limit_order(7, 1'000'000, 50)), RejectReason::kNone);
  // Long 100, 250 shares offered: 100 more may be sold before -250 could arise.
  EXPECT_EQ(request(limit_order(8, 1'000'000, 101, Side::kSell)), RejectReason::kPositionLimit);
  EXPECT_EQ(request(limit_order(9, 1'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST_F(RiskChecks, CountAPendingReplacementInThePosition) {
  limit({.position_shares_max = 250});
  ASSERT_EQ(request(limit_order(1)), RejectReason::kNone);
  accept(id(1));
  ASSERT_EQ(request(replace(2, id(1), 1'000'000, 200)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 51)), RejectReason::kPositionLimit);
  reject_change(id(2), id(1));
  EXPECT_EQ(request(limit_order(4, 1'000'000, 150)), RejectReason::kNone);
  EXPECT_EQ(request(replace(5, id(1), 1'000'000, 101)), RejectReason::kPositionLimit);
}

TEST_F(RiskChecks, LimitTheRateButNeverCancels) {
  limit({.messages_per_second_max = 5});
  for (std::uint32_t i = 1; i <= 5; ++i) EXPECT_EQ(request(limit_order(i)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(6)), RejectReason::kMessageRate);
  for (std::uint32_t i = 1; i <= 5; ++i)
    EXPECT_EQ(request(cancel(6 + i, id(i))), RejectReason::kNone);
}

TEST(RateLimiter, AllowsOneSecondsWorthAtOnceAndThenTheRate) {
  RateLimiter limiter;
  int allowed = 0;
  for (int i = 0; i < 100; ++i) allowed += limiter.allow(1000, 10, 1'000'000) ? 1 : 0;
  EXPECT_EQ(allowed, 10);
  EXPECT_TRUE(limiter.allow(1000 + 100'000, 10, 1'000'000));
  EXPECT_FALSE(limiter.allow(1000 + 100'000, 10, 1'000'000));
  EXPECT_TRUE(limiter.allow(1000 + 100'000, 0, 1'000'000));
}

TEST_F(RiskChecks, StopAtTheKillSwitchAndLetCancelsPass) {
  ASSERT_EQ(request(limit_order(1)), RejectReason::kNone);
  wire::ControlBlock block{};
  block.kill_strategy[kStrategy >> 6] = std::uint64_t{1} << (kStrategy & 63);
  gateway->set_control_block(block);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kKillSwitch);
  accept(id(1));
  EXPECT_EQ(request(replace(3, id(1), 1'000'000, 50)), RejectReason::kKillSwitch);
  EXPECT_EQ(request(cancel(4, id(1))), RejectReason::kNone);
  block = {};
  gateway->set_control_block(block);
  EXPECT_EQ(request(limit_order(5)), RejectReason::kNone);
  block.kill_all = 1;
  gateway->set_control_block(block);
  EXPECT_EQ(request(limit_order(6)), RejectReason::kKillSwitch);
}

// Their count in a row, which risk reads, has 32 bits.
TEST_F(RiskChecks, RefuseMoreOpenSharesThanARowCanHold) {
  limit({.position_value_max = std::uint64_t{1} << 60});
  ASSERT_EQ(request(limit_order(1, 1, 0xffff'ffff)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(2, 1, 1)), RejectReason::kPositionLimit);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 1, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(position().open_buy_shares, 0xffff'ffffu);
}

TEST_F(RiskChecks, GoByTheSmallerOfTwoLimits) {
  limit({.order_shares_max = 10, .collar_basis_points = 20, .position_shares_max = 1000});
  wire::ControlBlock block{};
  block.order_shares_max = 1000;
  block.position_shares_max = 15;
  block.collar_basis_points = 10'000;
  gateway->set_control_block(block);
  EXPECT_EQ(request(limit_order(1, 1'000'000, 11)), RejectReason::kOrderSize) << "ours is smaller";
  EXPECT_EQ(request(limit_order(2, 1'010'000, 10)), RejectReason::kPriceCollar);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 10)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(4, 1'000'000, 10)), RejectReason::kPositionLimit) << "risk's is";
  EXPECT_EQ(gateway->checks().limits().order_shares_max, 10u);
  block.order_shares_max = 0;  // risk has none
  gateway->set_control_block(block);
  EXPECT_EQ(gateway->checks().limits().order_shares_max, 10u);
}

TEST_F(RiskChecks, TakeTheLimitsOfRiskAndKeepTheirOwnWhereItHasNone) {
  limit({.order_shares_max = 1000, .open_orders_max = 1});
  wire::ControlBlock block{};
  block.order_shares_max = 10;
  gateway->set_control_block(block);
  EXPECT_EQ(request(limit_order(1, 1'000'000, 11)), RejectReason::kOrderSize);
  EXPECT_EQ(request(limit_order(2, 1'000'000, 10)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(3, 1'000'000, 10)), RejectReason::kOpenOrders);
}

TEST_F(RiskChecks, RefuseWithoutSessionOrRiskAndWhenStopping) {
  ASSERT_EQ(request(limit_order(1)), RejectReason::kNone);
  gateway->checks().set_risk_alive(false);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kRiskAbsent);
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kNone);
  reject_change(id(3), id(1));
  gateway->checks().set_risk_alive(true);
  venue.logged_on = false;
  EXPECT_EQ(request(limit_order(4)), RejectReason::kSessionDown);
  EXPECT_EQ(request(cancel(5, id(1))), RejectReason::kSessionDown);
  venue.logged_on = true;
  gateway->checks().stop_accepting();
  EXPECT_EQ(request(limit_order(6)), RejectReason::kSessionDown);
  EXPECT_EQ(request(cancel(7, id(1))), RejectReason::kNone);
}

TEST_F(RiskChecks, NameTheTableThatIsFull) {
  journal.room = false;
  EXPECT_EQ(request(limit_order(1)), RejectReason::kJournalFull);
  journal.room = true;
  for (std::uint32_t i = 2; i < 2 + 64; ++i)
    ASSERT_EQ(request(limit_order(i)), RejectReason::kNone);
  EXPECT_EQ(request(limit_order(100)), RejectReason::kOrdersFull);
  EXPECT_EQ(trading::name(RejectReason::kOrdersFull), "orders_full");
  EXPECT_EQ(trading::name(RejectReason::kPositionsFull), "positions_full");
  EXPECT_EQ(trading::name(RejectReason::kJournalFull), "journal_full");
}

TEST_F(RiskChecks, RefuseThePairOfStrategyAndInstrumentThatHasNoRow) {
  for (std::uint32_t id = 0; id < 16; ++id) {
    gateway->instruments().set_symbol(id, id == kInstrument ? "AAPL" : "I" + std::to_string(id));
    wire::OrderRequest wanted = limit_order(1 + id);
    wanted.instrument_id = id;
    ASSERT_EQ(request(wanted), RejectReason::kNone);
  }
  StrategySlot* const other = gateway->slots().assign(kStrategy + 1);
  gateway->on_strategy_connected(gateway->slots().index(*other));
  wire::OrderRequest wanted = limit_order(1);
  wanted.order_id = wire::OrderId::make(kStrategy + 1, 1, 1);
  gateway->on_request(gateway->slots().index(*other), wanted);
  EXPECT_EQ(last().reason, RejectReason::kPositionsFull);
  EXPECT_EQ(request(limit_order(50)), RejectReason::kNone);  // the others trade on
}

TEST(RoomWatch, TellsOnceAtFourFifthsAndOnceWhenFull) {
  RoomWatch watch;
  int told = 0;
  const auto at = [&](std::uint64_t used) { told += watch.rose(used, 100) ? 1 : 0; };
  for (std::uint64_t used = 0; used < 80; ++used) at(used);
  EXPECT_EQ(told, 0);
  for (const std::uint64_t used : {80, 79, 81, 75, 99}) at(used);
  EXPECT_EQ(told, 1);
  for (const std::uint64_t used : {100, 99, 100}) at(used);
  EXPECT_EQ(told, 2);
  for (const std::uint64_t used : {60, 80}) at(used);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(watch.used().get(), 80u);
}

// risk's configuration has other bounds.
TEST(OegConfig, RefusesALimitThatIsNone) {
  const auto load = [](const char* limit) {
    return config::load_text(oeg_schema(), std::string("[limits]\n") + limit, "oeg.toml");
  };
  EXPECT_EQ(load("collar_basis_points = 10000").gateway.limits.collar_basis_points, 10'000u);
  for (const char* limit : {"collar_basis_points = 10001", "messages_per_second_max = 10000001",
                            "order_shares_max = 4294967296", "order_value_max = 900000000000001"})
    EXPECT_THROW(load(limit), config::ConfigError) << limit;
}

TEST(OegConfig, RefusesAPairThatCouldNotFindItself) {
  const auto problem_of = [](const std::string& pair) {
    return test_support::error_of<config::ConfigError>([&] {
      (void)config::load_text(oeg_schema(), "fabric.endpoint = \"own\"\n[pair]\nplace = 1\n" + pair,
                              "oeg.toml");
    });
  };
  const std::string peer = "peer = \"other\"\n";
  const std::string witness = "witness = \"risk\"\n";
  EXPECT_EQ(problem_of(peer + witness), "no error");
  EXPECT_THAT(
      problem_of(witness),
      HasSubstr("pair.peer: is empty, and pair.place is 1: give the endpoint of the other"));
  EXPECT_THAT(problem_of(peer), HasSubstr("pair.witness: is empty"));
  EXPECT_THAT(problem_of("peer = \"own\"\n" + witness), HasSubstr("is this oeg's own endpoint"));
  EXPECT_THAT(problem_of(peer + witness + "witness_standby = \"risk\"\n"),
              HasSubstr("pair.witness_standby: is pair.witness once more"));
  EXPECT_NO_THROW((void)config::load_text(oeg_schema(), "[pair]\nplace = 0\n", "oeg.toml"));
}

// A standby keeps room for a full log in its journal.
TEST(OegConfig, RefusesSegmentsThatAFullLogOfThePairDoesNotFitIntoTwice) {
  const auto problem_of = [](const std::string& records) {
    return test_support::error_of<config::ConfigError>([&] {
      (void)config::load_text(oeg_schema(),
                              "[pair]\nplace = 1\npeer = \"other\"\nwitness = \"risk\"\n"
                              "log_bytes = 4194304\n[journal]\nrecords = " +
                                  records,
                              "oeg.toml");
    });
  };
  const std::uint64_t held = 4'194'304 / link::log_entry_bytes(sizeof(JournalRecord));
  EXPECT_EQ(problem_of(std::to_string(2 * held)), "no error");
  EXPECT_THAT(
      problem_of(std::to_string(2 * held - 1)),
      HasSubstr("give at least " + std::to_string(2 * held) + ", or a smaller pair.log_bytes"));
}

TEST(OegConfig, HasARowForEachStrategyInEachInstrumentUnlessToldOtherwise) {
  OegConfig config;
  EXPECT_EQ(config.position_rows(), config.gateway.instruments_max * config.gateway.strategies_max);
  EXPECT_GE(config.position_rows(), 8000u * 2);
  config.gateway.instruments_max = 1u << 16;
  config.gateway.strategies_max = 64;
  EXPECT_EQ(config.position_rows(), OegConfig::kPositionRowsMax);
  config.gateway.positions_max = 100;
  EXPECT_EQ(config.position_rows(), 100u);
  EXPECT_EQ(config.gateway_options().positions_max, 100u);
  EXPECT_EQ(config.journal_options().sizes.positions_max, 100u);
}

// risk reads the table row after row and takes an empty one for its end.
TEST_F(RiskChecks, LeaveNoHoleInThePositionsThatRiskReads) {
  gateway->checks().set_risk_alive(false);
  ASSERT_EQ(request(limit_order(1)), RejectReason::kRiskAbsent);
  ASSERT_EQ(gateway->ledger().position_count(), 1u);
  ASSERT_EQ(events.positions.size(), 1u);
  EXPECT_EQ(events.positions.begin()->first, 0u);
  EXPECT_EQ(events.positions.begin()->second.events, 0u);
}

TEST_F(RiskChecks, CountEveryReasonAndTellRiskOfIt) {
  gateway->checks().set_risk_alive(false);
  request(limit_order(1));
  const GatewayCounters& counters = gateway->counters();
  EXPECT_EQ(counters.refused_for[static_cast<std::size_t>(RejectReason::kRiskAbsent)].get(), 1u);
  EXPECT_EQ(counters.orders.refused.get(), 1u);
  ASSERT_EQ(events.events.size(), 1u);
  EXPECT_EQ(events.events[0].event, wire::EventKind::kRefused);
  EXPECT_EQ(events.events[0].reason, RejectReason::kRiskAbsent);
  ASSERT_EQ(journal.records.size(), 1u) << "for people";
  EXPECT_EQ(journal.records[0].event.event, wire::EventKind::kRefused);
  // A refusal changes no row: risk compares rows by their events, and would never find them at
  // rest.
  EXPECT_EQ(events.events[0].row_event, 0u);
  EXPECT_EQ(position().events, 0u);
}

TEST_F(RiskChecks, RefusalsOfChangesAreNoEventsOfTheirRowEither) {
  rest(1);
  EXPECT_EQ(request(replace(2, id(1), 0, 100)), RejectReason::kMalformed);
  gateway->checks().set_risk_alive(false);
  EXPECT_EQ(request(replace(3, id(1), 1'000'000, 200)), RejectReason::kRiskAbsent);
  EXPECT_EQ(position().events, 2u);
  ASSERT_EQ(events.events.size(), 4u);
  EXPECT_EQ(events.events[0].row_event, 1u);
  EXPECT_EQ(events.events[1].row_event, 2u);
  EXPECT_EQ(events.events[2].row_event, 0u);
  EXPECT_EQ(events.events[3].row_event, 0u);
}

}  // namespace
}  // namespace tickpath::oeg
