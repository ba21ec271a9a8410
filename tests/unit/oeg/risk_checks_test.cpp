#include <gtest/gtest.h>

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
  EXPECT_EQ(broken([](auto& r) { r.time_in_force = wire::TimeInForce{1}; }),
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

TEST(RiskChecks, RefuseWhenTablesOrJournalAreFull) {
  GatewayFixture f;
  f.journal.room = false;
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kCapacity);
  f.journal.room = true;
  for (std::uint32_t i = 2; i < 2 + 64; ++i)
    ASSERT_EQ(f.request(f.limit_order(i)), RejectReason::kNone);
  EXPECT_EQ(f.request(f.limit_order(100)), RejectReason::kCapacity);
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
  EXPECT_TRUE(f.journal.records.empty());
}

}  // namespace
}  // namespace tickpath::oeg
