#include <gtest/gtest.h>

#include "common/wire/names.hpp"
#include "oeg/config.hpp"
#include "oeg/room_watch.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using wire::RejectReason;

TEST(RiskChecks, LetAnOrderWithinEveryLimitPass) {
  Limits limits;
  limits.order_shares_max = 100;
  limits.order_value_max = 100 * 1'000'000;
  limits.collar_basis_points = 10;
  limits.open_orders_max = 1;
  limits.position_shares_max = 100;
  limits.position_value_max = 100 * 1'000'000;
  limits.messages_per_second_max = 1;
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  ASSERT_EQ(f.venue.orders.size(), 1u);
  EXPECT_EQ(f.venue.orders[0].cl_ord_id, f.id(1));
  EXPECT_EQ(f.venue.orders[0].symbol.view(), "AAPL");
  EXPECT_EQ(f.venue.orders[0].order_qty, 100u);
}

TEST(RiskChecks, RefuseMalformedRequests) {
  GatewayFixture f;
  const auto broken = [&](auto&& breakage) {
    static std::uint32_t counter = 0;
    wire::OrderRequest request = f.limit_order(++counter);
    breakage(request);
    return f.request(request);
  };
  EXPECT_EQ(broken([](auto& r) { r.shares = 0; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.price = {0}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.price = {-1}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.price = {std::int64_t{1} << 32}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.type = wire::OrderType::kMarket; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.type = wire::OrderType{7}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.side = Side{0}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.kind = wire::RequestKind{9}; }), RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.time_in_force = wire::TimeInForce{5}; }),
            RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.order_id = wire::OrderId::make(4, 1, 99); }),
            RejectReason::kMalformed);
  EXPECT_EQ(broken([](auto& r) { r.target_order_id = 5; }), RejectReason::kMalformed);
  EXPECT_EQ(f.request(f.cancel(50, 0)), RejectReason::kMalformed);
  EXPECT_TRUE(f.venue.orders.empty());
}

TEST(RiskChecks, RefuseUnknownInstrumentsAndUsedIds) {
  GatewayFixture f;
  wire::OrderRequest request = f.limit_order(1);
  request.instrument_id = 8;  // in range, not in the directory
  EXPECT_EQ(f.request(request), RejectReason::kUnknownInstrument);
  request.instrument_id = 4'000'000'000;
  EXPECT_EQ(f.request(request), RejectReason::kUnknownInstrument);
  EXPECT_EQ(f.request(f.limit_order(5)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(5)), RejectReason::kDuplicateOrderId);
  EXPECT_EQ(f.request(f.limit_order(4)), RejectReason::kDuplicateOrderId);
  EXPECT_EQ(f.request(f.cancel(5, f.id(5))), RejectReason::kDuplicateOrderId);
}

TEST(RiskChecks, RefuseAnInstrumentWhoseIdChangedItsSymbol) {
  GatewayFixture f;
  EXPECT_FALSE(f.gateway->instruments().set_symbol(kInstrument, "MSFT"));
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kUnknownInstrument);
}

// A position of yesterday stands under the id that the symbol had then.
TEST(RiskChecks, RefuseASymbolThatHadAnotherId) {
  GatewayFixture f;
  f.gateway->instruments().recover_symbol(9, "IBM");
  EXPECT_FALSE(f.gateway->instruments().set_symbol(8, "IBM"));
  EXPECT_EQ(f.gateway->instruments().id_of("IBM"), 9u);
  wire::OrderRequest order = f.limit_order(1);
  order.instrument_id = 8;
  EXPECT_EQ(f.request(order), RejectReason::kUnknownInstrument);
  order = f.limit_order(2);
  order.instrument_id = 9;
  EXPECT_EQ(f.request(order), RejectReason::kUnknownInstrument) << "not confirmed";
  EXPECT_FALSE(f.gateway->instruments().set_symbol(8, "IBM")) << "said again";
  EXPECT_TRUE(f.gateway->instruments().set_symbol(9, "IBM")) << "mdh has its file back";
  order = f.limit_order(3);
  order.instrument_id = 9;
  EXPECT_EQ(f.request(order), RejectReason::kNone);
}

TEST(RiskChecks, HoldSizeAndValue) {
  Limits limits;
  limits.order_shares_max = 200;
  limits.order_value_max = 150 * std::uint64_t{1'000'000};
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1, 1'000'000, 201)), RejectReason::kOrderSize);
  EXPECT_EQ(f.request(f.limit_order(2, 1'000'000, 151)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(f.limit_order(3, 1'000'000, 150)), RejectReason::kNone);
  // A market order is valued at the opposite best price.
  wire::OrderRequest market = f.limit_order(4, 0, 150);
  market.type = wire::OrderType::kMarket;
  EXPECT_EQ(f.request(market), RejectReason::kOrderValue);
  market = f.limit_order(5, 0, 149);
  market.type = wire::OrderType::kMarket;
  EXPECT_EQ(f.request(market), RejectReason::kNone);
  f.set_market(0, 0);
  market = f.limit_order(6, 0, 1);
  market.type = wire::OrderType::kMarket;
  EXPECT_EQ(f.request(market), RejectReason::kNoMarket);
}

// A sell at 0.01 trades at the bid: that is what it is worth.
TEST(RiskChecks, ValueASellAtTheBidWhenItsLimitIsBelowIt) {
  Limits limits;
  limits.order_value_max = 1'000'000 * kPriceScale;
  limits.position_value_max = 3'000'000 * std::uint64_t{kPriceScale};
  GatewayFixture f(limits);
  f.set_market(5'000'000, 5'001'000);  // 500.00
  EXPECT_EQ(f.request(f.limit_order(1, 100, 10'000, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(f.limit_order(2, 100, 2'001, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(f.limit_order(3, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(4, 6'000'000, 2'000, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(f.limit_order(5, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(6, 100, 2'000, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(7, 100, 1, Side::kSell)), RejectReason::kPositionLimit)
      << "short 6,000 at 500.00 already";
}

// Its limit bounds how little a sell brings, not how much.
TEST(RiskChecks, RefuseASellThatNothingSaysTheValueOf) {
  Limits limits;
  limits.order_value_max = 1'000'000 * kPriceScale;
  GatewayFixture f(limits);
  f.set_market(5'000'000, 5'001'000, wire::FeedState::kStale);
  EXPECT_EQ(f.request(f.limit_order(1, 100, 10'000, Side::kSell)), RejectReason::kNoMarket);
  EXPECT_EQ(f.request(f.limit_order(2, 100, 10'000)), RejectReason::kNone) << "a buy at 0.01";
  f.set_market(0, 0);
  EXPECT_EQ(f.request(f.limit_order(3, 100, 10'000, Side::kSell)), RejectReason::kNoMarket);
  f.set_market(0, 5'000'000);
  EXPECT_EQ(f.request(f.limit_order(4, 100, 2'001, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(f.limit_order(5, 100, 2'000, Side::kSell)), RejectReason::kNone);
}

TEST(RiskChecks, NeedNoValueOfASellThatReducesAPosition) {
  Limits limits;
  limits.position_value_max = 1'000'000 * kPriceScale;
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  f.report(fix::ExecType::kFill, f.id(1), 0, 100, 100, 1'000'000);
  f.set_market(1'000'000, 1'001'000, wire::FeedState::kStale);
  EXPECT_EQ(f.request(f.limit_order(2, 100, 100, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(3, 100, 1, Side::kSell)), RejectReason::kNoMarket)
      << "short by one";
}

TEST(RiskChecks, ValueAMarketOrderAtTheWorstPriceThatItsCollarAllows) {
  Limits limits;
  limits.order_value_max = 105 * std::uint64_t{1'000'000};
  limits.collar_basis_points = 500;
  GatewayFixture f(limits);
  f.set_market(1'000'000, 1'000'000);
  const auto market = [&](std::uint32_t counter, std::uint32_t shares, Side side) {
    wire::OrderRequest order = f.limit_order(counter, 0, shares, side);
    order.type = wire::OrderType::kMarket;
    return order;
  };
  EXPECT_EQ(f.request(market(1, 101, Side::kBuy)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(market(2, 100, Side::kBuy)), RejectReason::kNone);
  EXPECT_EQ(f.request(market(3, 106, Side::kSell)), RejectReason::kOrderValue);
  EXPECT_EQ(f.request(market(4, 105, Side::kSell)), RejectReason::kNone) << "at the bid or below";
  // And that price is its limit.
  ASSERT_EQ(f.venue.orders.size(), 2u);
  EXPECT_EQ(f.venue.orders[0].type, fix::OrderType::kLimit);
  EXPECT_EQ(f.venue.orders[0].time_in_force, fix::TimeInForce::kImmediateOrCancel);
  EXPECT_EQ(f.venue.orders[0].price.value, 1'050'000);
  EXPECT_EQ(f.venue.orders[1].price.value, 950'000);
}

TEST(RiskChecks, SendAMarketOrderAsItIsWithoutACollarOrWhenSoConfigured) {
  GatewayFixture f;
  wire::OrderRequest order = f.limit_order(1, 0);
  order.type = wire::OrderType::kMarket;
  ASSERT_EQ(f.request(order), RejectReason::kNone);
  EXPECT_EQ(f.venue.orders[0].type, fix::OrderType::kMarket);
  EXPECT_EQ(f.venue.orders[0].price.value, 0);
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

TEST(RiskChecks, NoProductOverflows) {
  Limits limits;
  limits.order_value_max = 1;
  limits.position_value_max = 1;
  limits.collar_basis_points = 10'000;
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1, 0xffff'ffff, 0xffff'ffff)), RejectReason::kOrderValue);
}

TEST(RiskChecks, HoldTheCollarOnTheAggressiveSideOnly) {
  Limits limits;
  limits.collar_basis_points = 100;  // 1 %
  GatewayFixture f(limits);
  f.set_market(1'000'000, 1'000'000);
  EXPECT_EQ(f.request(f.limit_order(1, 1'010'000)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(2, 1'010'001)), RejectReason::kPriceCollar);
  EXPECT_EQ(f.request(f.limit_order(3, 1)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(4, 990'000, 100, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(5, 989'999, 100, Side::kSell)), RejectReason::kPriceCollar);
  EXPECT_EQ(f.request(f.limit_order(6, 9'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST(RiskChecks, NeedAGoodMarketForTheCollar) {
  Limits limits;
  limits.collar_basis_points = 100;
  GatewayFixture f(limits);
  f.set_market(1'000'000, 1'000'000, wire::FeedState::kStale);
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kNoMarket);
  f.set_market(1'000'000, 0);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kNoMarket);
  EXPECT_EQ(f.request(f.limit_order(3, 1'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST(RiskChecks, PassOnEveryTermThatTheVenueHas) {
  GatewayFixture f;
  std::uint32_t counter = 0;
  const auto sent = [&](auto&& change) {
    wire::OrderRequest request = f.limit_order(++counter);
    change(request);
    EXPECT_EQ(f.request(request), RejectReason::kNone);
    return f.venue.orders.back();
  };
  EXPECT_TRUE(sent([](auto& r) { r.instructions = wire::kPostOnly; }).post_only);
  EXPECT_EQ(sent([](auto& r) { r.display_shares = 10; }).max_floor, 10u);
  for (const auto time : {wire::TimeInForce::kGoodTillCancel, wire::TimeInForce::kAtTheOpening,
                          wire::TimeInForce::kFillOrKill, wire::TimeInForce::kAtTheClose})
    EXPECT_EQ(static_cast<int>(sent([&](auto& r) { r.time_in_force = time; }).time_in_force),
              static_cast<int>(time));
  const auto least = sent([](auto& r) {
    r.time_in_force = wire::TimeInForce::kImmediateOrCancel;
    r.minimum_shares = 50;
  });
  EXPECT_EQ(least.min_qty, 50u);
  const auto stop = sent([](auto& r) {
    r.type = wire::OrderType::kStopLimit;
    r.stop_price = 1'002'000;
  });
  EXPECT_EQ(stop.type, fix::OrderType::kStopLimit);
  EXPECT_EQ(stop.stop_price.value, 1'002'000);
  const auto pegged = sent([](auto& r) {
    r.type = wire::OrderType::kPegged;
    r.price = {0};
  });
  EXPECT_EQ(pegged.type, fix::OrderType::kPegged);
  EXPECT_EQ(pegged.price.value, 0);
}

TEST(RiskChecks, RefuseTermsThatDoNotGoTogether) {
  GatewayFixture f;
  std::uint32_t counter = 0;
  const auto refused = [&](auto&& change) {
    wire::OrderRequest request = f.limit_order(++counter);
    change(request);
    return f.request(request);
  };
  using Time = wire::TimeInForce;
  using Type = wire::OrderType;
  const auto malformed = RejectReason::kMalformed;
  EXPECT_EQ(refused([](auto& r) { r.instructions = 2; }), malformed);
  EXPECT_EQ(refused([](auto& r) { r.stop_price = 1'000; }), malformed);
  EXPECT_EQ(refused([](auto& r) { r.type = Type::kStopLimit; }), malformed);
  EXPECT_EQ(refused([](auto& r) { r.minimum_shares = 10; }), malformed);
  EXPECT_EQ(refused([](auto& r) {
              r.time_in_force = Time::kImmediateOrCancel;
              r.minimum_shares = 101;
            }),
            malformed);
  EXPECT_EQ(refused([](auto& r) {
              r.time_in_force = Time::kFillOrKill;
              r.instructions = wire::kPostOnly;
            }),
            malformed);
  EXPECT_EQ(refused([](auto& r) {
              r.time_in_force = Time::kAtTheClose;
              r.display_shares = 10;
            }),
            malformed);
  EXPECT_EQ(refused([](auto& r) {
              r.type = Type::kPegged;
              r.time_in_force = Time::kImmediateOrCancel;
            }),
            malformed);
  EXPECT_TRUE(f.venue.orders.empty());
}

// The market is 100.00 to 100.10, the collar 10 basis points.
TEST(RiskChecks, MeasureAStopOrderFromItsStopPriceAndSendItWithTheCollarAsItsLimit) {
  Limits limits;
  limits.collar_basis_points = 10;
  limits.order_value_max = std::uint64_t{100} * 1'101'100;
  GatewayFixture f(limits);
  const auto stop = [&](std::uint32_t stop_price, std::uint32_t limit, Side side = Side::kBuy) {
    static std::uint32_t counter = 0;
    wire::OrderRequest request = f.limit_order(++counter, limit, 100, side);
    request.type = limit == 0 ? wire::OrderType::kStop : wire::OrderType::kStopLimit;
    request.stop_price = stop_price;
    return f.request(request);
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
  EXPECT_EQ(f.venue.orders.back().type, fix::OrderType::kStopLimit);
  EXPECT_EQ(f.venue.orders.back().stop_price.value, 1'100'000);
  EXPECT_EQ(f.venue.orders.back().price.value, 1'101'100);
  EXPECT_EQ(f.venue.orders.back().time_in_force, fix::TimeInForce::kDay) << "it waits";
  f.set_market(1'000'000, 1'001'000, wire::FeedState::kStale);
  EXPECT_EQ(stop(1'100'000, 0), RejectReason::kNoMarket);
}

TEST(RiskChecks, ValueAPeggedOrderByItsLimitAndElseByTheMarket) {
  Limits limits;
  limits.collar_basis_points = 10;
  limits.order_value_max = std::uint64_t{100} * 1'002'000;
  GatewayFixture f(limits);
  const auto pegged = [&](std::uint32_t limit) {
    static std::uint32_t counter = 0;
    wire::OrderRequest request = f.limit_order(++counter, limit);
    request.type = wire::OrderType::kPegged;
    return f.request(request);
  };
  EXPECT_EQ(pegged(0), RejectReason::kNone) << "100.10 and 10 bp, on the grid";
  EXPECT_EQ(pegged(1'002'000), RejectReason::kNone);
  EXPECT_EQ(pegged(1'002'100), RejectReason::kOrderValue) << "it may follow the market so far";
  EXPECT_EQ(pegged(900'000), RejectReason::kNone) << "its limit is no price that it trades at";
}

TEST(RiskChecks, AMarketOrderForACrossWaitsForItWithTheCollarAsItsLimit) {
  Limits limits;
  limits.collar_basis_points = 10;
  GatewayFixture f(limits);
  wire::OrderRequest request = f.limit_order(1, 0);
  request.type = wire::OrderType::kMarket;
  request.time_in_force = wire::TimeInForce::kAtTheOpening;
  EXPECT_EQ(f.request(request), RejectReason::kNone);
  EXPECT_EQ(f.venue.orders.back().type, fix::OrderType::kLimit);
  EXPECT_EQ(f.venue.orders.back().time_in_force, fix::TimeInForce::kAtTheOpening);
}

TEST(RiskChecks, CountOpenOrdersOfTheStrategy) {
  Limits limits;
  limits.open_orders_max = 2;
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(3)), RejectReason::kOpenOrders);
  f.report(fix::ExecType::kRejected, f.id(1), 0, 0);
  EXPECT_EQ(f.request(f.limit_order(4)), RejectReason::kNone);
}

TEST(RiskChecks, HoldThePositionThatCouldArise) {
  Limits limits;
  limits.position_shares_max = 250;
  GatewayFixture f(limits);
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(3, 1'000'000, 51)), RejectReason::kPositionLimit);
  // The other side does not help: it may never be filled.
  EXPECT_EQ(f.request(f.limit_order(4, 1'000'000, 250, Side::kSell)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(5, 1'000'000, 51)), RejectReason::kPositionLimit);
  f.accept(f.id(1));
  f.report(fix::ExecType::kFill, f.id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(f.request(f.limit_order(6, 1'000'000, 51)), RejectReason::kPositionLimit);
  EXPECT_EQ(f.request(f.limit_order(7, 1'000'000, 50)), RejectReason::kNone);
  // Long 100, 250 shares offered: 100 more may be sold before -250 could arise.
  EXPECT_EQ(f.request(f.limit_order(8, 1'000'000, 101, Side::kSell)), RejectReason::kPositionLimit);
  EXPECT_EQ(f.request(f.limit_order(9, 1'000'000, 100, Side::kSell)), RejectReason::kNone);
}

TEST(RiskChecks, CountAPendingReplacementInThePosition) {
  Limits limits;
  limits.position_shares_max = 250;
  GatewayFixture f(limits);
  ASSERT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  f.accept(f.id(1));
  ASSERT_EQ(f.request(f.replace(2, f.id(1), 1'000'000, 200)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(3, 1'000'000, 51)), RejectReason::kPositionLimit);
  f.reject_change(f.id(2), f.id(1));
  EXPECT_EQ(f.request(f.limit_order(4, 1'000'000, 150)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.replace(5, f.id(1), 1'000'000, 101)), RejectReason::kPositionLimit);
}

TEST(RiskChecks, LimitTheRateButNeverCancels) {
  Limits limits;
  limits.messages_per_second_max = 5;
  GatewayFixture f(limits);
  for (std::uint32_t i = 1; i <= 5; ++i)
    EXPECT_EQ(f.request(f.limit_order(i)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(6)), RejectReason::kMessageRate);
  for (std::uint32_t i = 1; i <= 5; ++i)
    EXPECT_EQ(f.request(f.cancel(6 + i, f.id(i))), RejectReason::kNone);
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

TEST(RiskChecks, StopAtTheKillSwitchAndLetCancelsPass) {
  GatewayFixture f;
  ASSERT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  wire::ControlBlock block{};
  block.kill_strategy[kStrategy >> 6] = std::uint64_t{1} << (kStrategy & 63);
  f.gateway->set_control_block(block);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kKillSwitch);
  f.accept(f.id(1));
  EXPECT_EQ(f.request(f.replace(3, f.id(1), 1'000'000, 50)), RejectReason::kKillSwitch);
  EXPECT_EQ(f.request(f.cancel(4, f.id(1))), RejectReason::kNone);
  block = {};
  f.gateway->set_control_block(block);
  EXPECT_EQ(f.request(f.limit_order(5)), RejectReason::kNone);
  block.kill_all = 1;
  f.gateway->set_control_block(block);
  EXPECT_EQ(f.request(f.limit_order(6)), RejectReason::kKillSwitch);
}

TEST(RiskChecks, TakeTheLimitsOfRiskAndKeepTheirOwnWhereItHasNone) {
  Limits limits;
  limits.order_shares_max = 1000;
  limits.open_orders_max = 1;
  GatewayFixture f(limits);
  wire::ControlBlock block{};
  block.order_shares_max = 10;
  f.gateway->set_control_block(block);
  EXPECT_EQ(f.request(f.limit_order(1, 1'000'000, 11)), RejectReason::kOrderSize);
  EXPECT_EQ(f.request(f.limit_order(2, 1'000'000, 10)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(3, 1'000'000, 10)), RejectReason::kOpenOrders);
}

TEST(RiskChecks, RefuseWithoutSessionOrRiskAndWhenStopping) {
  GatewayFixture f;
  ASSERT_EQ(f.request(f.limit_order(1)), RejectReason::kNone);
  f.gateway->set_risk_alive(false);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kRiskAbsent);
  EXPECT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kNone);
  f.reject_change(f.id(3), f.id(1));
  f.gateway->set_risk_alive(true);
  f.venue.logged_on = false;
  EXPECT_EQ(f.request(f.limit_order(4)), RejectReason::kSessionDown);
  EXPECT_EQ(f.request(f.cancel(5, f.id(1))), RejectReason::kSessionDown);
  f.venue.logged_on = true;
  f.gateway->stop_accepting();
  EXPECT_EQ(f.request(f.limit_order(6)), RejectReason::kSessionDown);
  EXPECT_EQ(f.request(f.cancel(7, f.id(1))), RejectReason::kNone);
}

TEST(RiskChecks, NameTheTableThatIsFull) {
  GatewayFixture f;
  f.journal.room = false;
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kJournalFull);
  f.journal.room = true;
  for (std::uint32_t i = 2; i < 2 + 64; ++i)
    ASSERT_EQ(f.request(f.limit_order(i)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(100)), RejectReason::kOrdersFull);
  EXPECT_EQ(wire::name(RejectReason::kOrdersFull), "orders_full");
  EXPECT_EQ(wire::name(RejectReason::kPositionsFull), "positions_full");
  EXPECT_EQ(wire::name(RejectReason::kJournalFull), "journal_full");
}

TEST(RiskChecks, RefuseThePairOfStrategyAndInstrumentThatHasNoRow) {
  GatewayFixture f;
  for (std::uint32_t id = 0; id < 16; ++id) {
    f.gateway->instruments().set_symbol(id, id == kInstrument ? "AAPL" : "I" + std::to_string(id));
    wire::OrderRequest request = f.limit_order(1 + id);
    request.instrument_id = id;
    ASSERT_EQ(f.request(request), RejectReason::kNone);
  }
  StrategySlot* const other = f.gateway->assign_slot(kStrategy + 1);
  f.gateway->on_strategy_connected(f.gateway->slot_index(*other));
  wire::OrderRequest request = f.limit_order(1);
  request.order_id = wire::OrderId::make(kStrategy + 1, 1, 1);
  f.gateway->on_request(f.gateway->slot_index(*other), request);
  EXPECT_EQ(f.last().reason, RejectReason::kPositionsFull);
  EXPECT_EQ(f.request(f.limit_order(50)), RejectReason::kNone);  // the others trade on
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

TEST(OegConfig, HasARowForEachStrategyInEachInstrumentUnlessToldOtherwise) {
  OegConfig config;
  EXPECT_EQ(config.position_rows(), config.instruments_max * config.strategies_max);
  EXPECT_GE(config.position_rows(), 8000u * 2);
  config.instruments_max = 1u << 16;
  config.strategies_max = 64;
  EXPECT_EQ(config.position_rows(), OegConfig::kPositionRowsMax);
  config.positions_max = 100;
  EXPECT_EQ(config.position_rows(), 100u);
  EXPECT_EQ(config.gateway_options().positions_max, 100u);
  EXPECT_EQ(config.journal_options().sizes.positions_max, 100u);
}

// risk reads the table row after row and takes an empty one for its end.
TEST(RiskChecks, LeaveNoHoleInThePositionsThatRiskReads) {
  GatewayFixture f;
  f.gateway->set_risk_alive(false);
  ASSERT_EQ(f.request(f.limit_order(1)), RejectReason::kRiskAbsent);
  ASSERT_EQ(f.gateway->ledger().position_count(), 1u);
  ASSERT_EQ(f.events.positions.size(), 1u);
  EXPECT_EQ(f.events.positions.begin()->first, 0u);
  EXPECT_EQ(f.events.positions.begin()->second.events, 0u);
}

TEST(RiskChecks, CountEveryReasonAndTellRiskOfIt) {
  GatewayFixture f;
  f.gateway->set_risk_alive(false);
  f.request(f.limit_order(1));
  const GatewayCounters& counters = f.gateway->counters();
  EXPECT_EQ(counters.refused_for[static_cast<std::size_t>(RejectReason::kRiskAbsent)].get(), 1u);
  EXPECT_EQ(counters.orders.refused.get(), 1u);
  ASSERT_EQ(f.events.events.size(), 1u);
  EXPECT_EQ(f.events.events[0].event, wire::EventKind::kRefused);
  EXPECT_EQ(f.events.events[0].reason, RejectReason::kRiskAbsent);
  ASSERT_EQ(f.journal.records.size(), 1u) << "for people";
  EXPECT_EQ(f.journal.records[0].event.event, wire::EventKind::kRefused);
  // It changes no row: risk compares rows by their events, and would never find them at rest.
  EXPECT_EQ(f.events.events[0].row_event, 0u);
  EXPECT_EQ(f.position().events, 0u);
}

TEST(RiskChecks, RefusalsOfChangesAreNoEventsOfTheirRowEither) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  EXPECT_EQ(f.request(f.replace(2, f.id(1), 0, 100)), RejectReason::kMalformed);
  f.gateway->set_risk_alive(false);
  EXPECT_EQ(f.request(f.replace(3, f.id(1), 1'000'000, 200)), RejectReason::kRiskAbsent);
  EXPECT_EQ(f.position().events, 2u);
  ASSERT_EQ(f.events.events.size(), 4u);
  EXPECT_EQ(f.events.events[0].row_event, 1u);
  EXPECT_EQ(f.events.events[1].row_event, 2u);
  EXPECT_EQ(f.events.events[2].row_event, 0u);
  EXPECT_EQ(f.events.events[3].row_event, 0u);
}

}  // namespace
}  // namespace tickpath::oeg
