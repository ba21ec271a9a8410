// From events and quotes to the kill switch, and how risk and oeg are kept in step.
#include "risk/monitor.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "common/wire/order_id.hpp"

namespace tickpath::risk {
namespace {

using wire::EventKind;
using wire::OrderEvent;
using wire::ReportKind;
using wire::RequestKind;

constexpr std::uint64_t kMs = 1'000'000;

class Risk : public ::testing::Test {
 protected:
  static MonitorOptions options() {
    MonitorOptions made;
    made.instruments_max = 16;
    made.strategies_max = 4;
    made.rows_max = 16;
    made.orders_max = 8;
    made.order_limits.order_shares_max = 5'000;
    return made;
  }
  void limit(const StrategyLimits& limits) { monitor->set_limits(1, limits); }

  static OrderEvent event(EventKind kind, std::uint64_t order_id, std::uint8_t strategy = 1) {
    OrderEvent made{};
    made.event = kind;
    made.order_id = order_id;
    made.instrument_id = 3;
    made.strategy_id = strategy;
    made.side = Side::kBuy;
    return made;
  }
  void request(std::uint64_t id, std::uint32_t shares, Side side = Side::kBuy,
               std::uint8_t strategy = 1) {
    OrderEvent made = event(EventKind::kRequested, id, strategy);
    made.request_kind = RequestKind::kNew;
    made.shares = shares;
    made.side = side;
    monitor->on_event(made);
  }
  void report(ReportKind kind, std::uint64_t id, std::uint64_t target = 0,
              std::uint32_t leaves = 0) {
    OrderEvent made = event(EventKind::kReported, id);
    made.report_kind = kind;
    made.target_order_id = target;
    made.leaves_shares = leaves;
    monitor->on_event(made);
  }
  void fill(std::uint64_t id, std::uint32_t shares, std::uint32_t price, std::uint32_t leaves = 0,
            Side side = Side::kBuy) {
    OrderEvent made = event(EventKind::kReported, id);
    made.report_kind = ReportKind::kFill;
    made.shares = shares;
    made.price = price;
    made.leaves_shares = leaves;
    made.cumulative_shares = shares;
    made.side = side;
    monitor->on_event(made);
  }
  void quote(std::uint32_t bid, std::uint32_t ask) {
    wire::BookUpdate update{};
    update.instrument_id = 3;
    update.kind = wire::UpdateKind::kAdd;
    update.best_bid = bid;
    update.best_ask = ask;
    monitor->on_update(update);
  }
  const Row& row() const { return monitor->ledger().rows()[0]; }
  LimitKind breach(std::uint32_t id = 1) const {
    return static_cast<LimitKind>(monitor->view(id).breach_kind.get());
  }

  std::unique_ptr<Monitor> monitor = std::make_unique<Monitor>(options());
};

TEST_F(Risk, FollowsAnOrderFromRequestToItsLastFill) {
  request(10, 100);
  EXPECT_EQ(row().open_buy_shares, 100u);
  report(ReportKind::kAccepted, 10);
  fill(10, 30, 1'000'000, 70);
  EXPECT_EQ(row().open_buy_shares, 70u);
  EXPECT_EQ(monitor->open_orders(), 1u);
  fill(10, 70, 1'000'000, 0);
  EXPECT_EQ(row().open_buy_shares, 0u);
  EXPECT_EQ(row().position, 100);
  EXPECT_EQ(monitor->open_orders(), 0u);
  EXPECT_EQ(row().events, 4u);
}

TEST_F(Risk, FollowsReplacementsCancelsAndRejects) {
  request(10, 100);
  report(ReportKind::kAccepted, 10);
  report(ReportKind::kReplaced, 11, 10, 150);
  EXPECT_EQ(row().open_buy_shares, 150u);
  report(ReportKind::kRestated, 11, 11, 90);  // the venue took shares off it, untraded
  EXPECT_EQ(row().open_buy_shares, 90u);
  EXPECT_EQ(row().position, 0);
  report(ReportKind::kCancelRejected, 12, 11);
  EXPECT_EQ(monitor->open_orders(), 1u);
  report(ReportKind::kCanceled, 13, 11);
  EXPECT_EQ(monitor->open_orders(), 0u);
  request(14, 40, Side::kSell);
  EXPECT_EQ(row().open_sell_shares, 40u);
  report(ReportKind::kRejected, 14);
  EXPECT_EQ(row().open_sell_shares, 0u);
  EXPECT_EQ(monitor->counters().events_unknown.get(), 0u);
  EXPECT_EQ(monitor->counters().events_impossible.get(), 0u);
}

TEST_F(Risk, APositionThatLosesMoreThanAllowedKillsItsStrategyOnly) {
  limit({.loss_max = 1'000'000});  // 100.00
  request(10, 100);
  fill(10, 100, 1'000'000);
  quote(989'900, 990'100);  // 99.00: exactly 100.00 lost, which is allowed
  EXPECT_FALSE(monitor->block().killed(1));
  const std::uint64_t before = monitor->block_version();
  quote(989'800, 990'100);
  EXPECT_TRUE(monitor->block().killed(1));
  EXPECT_FALSE(monitor->block().killed(2));
  EXPECT_GT(monitor->block_version(), before);
  EXPECT_EQ(breach(), LimitKind::kLoss);
  EXPECT_EQ(monitor->view(1).breach_value.get(), 1'005'000u);
  EXPECT_EQ(monitor->view(1).breach_limit.get(), 1'000'000u);
  EXPECT_EQ(monitor->block().order_shares_max, 5'000u) << "oeg's own limits stay";
}

TEST_F(Risk, RealisedLossesCountAsWell) {
  limit({.loss_max = 1'000'000});
  fill(10, 100, 1'000'000);
  fill(11, 100, 980'000, 0, Side::kSell);
  EXPECT_EQ(breach(), LimitKind::kLoss);
}

TEST_F(Risk, EachLimitBreaksAboveItsValueAndNotAtIt) {
  limit({.position_shares_max = 100});
  fill(10, 100, 1'000'000);
  EXPECT_EQ(breach(), LimitKind::kNone);
  fill(11, 1, 1'000'000);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);

  monitor = std::make_unique<Monitor>(options());
  limit({.gross_notional_max = 100'000'000});
  fill(10, 100, 1'000'000);
  quote(1'000'000, 1'000'000);
  EXPECT_EQ(breach(), LimitKind::kNone);
  quote(1'000'200, 1'000'200);
  EXPECT_EQ(breach(), LimitKind::kGrossNotional);

  monitor = std::make_unique<Monitor>(options());
  limit({.position_value_max = 100'000'000});
  fill(10, 101, 1'000'000);
  EXPECT_EQ(breach(), LimitKind::kPositionValue);

  monitor = std::make_unique<Monitor>(options());
  limit({.open_orders_max = 2});
  request(10, 1);
  request(11, 1);
  EXPECT_EQ(breach(), LimitKind::kNone);
  request(12, 1);
  EXPECT_EQ(breach(), LimitKind::kOpenOrders);
}

TEST_F(Risk, ATooFastStrategyIsKilledByItsRateWithinASlidingSecond) {
  limit({.requests_per_second_max = 3});
  for (std::uint64_t i = 0; i < 3; ++i) {
    monitor->advance(i * 300 * kMs);
    request(10 + i, 1);
  }
  EXPECT_EQ(breach(), LimitKind::kNone);
  monitor->advance(1'100 * kMs);  // the first has left the window
  request(20, 1);
  EXPECT_EQ(breach(), LimitKind::kNone);
  request(21, 1);
  EXPECT_EQ(breach(), LimitKind::kRequestRate);
}

TEST_F(Risk, RefusalsOfOegCountAsRejects) {
  limit({.rejects_per_second_max = 1});
  OrderEvent refused = event(EventKind::kRefused, 10);
  refused.request_kind = RequestKind::kNew;
  refused.reason = wire::RejectReason::kOrderSize;
  monitor->on_event(refused);
  EXPECT_EQ(breach(), LimitKind::kNone);
  monitor->on_event(refused);
  EXPECT_EQ(breach(), LimitKind::kRejectRate);
  EXPECT_EQ(monitor->counters().refused.get(), 2u);
  EXPECT_EQ(monitor->open_orders(), 0u);
}

TEST_F(Risk, TheTotalLossKillsEveryone) {
  MonitorOptions made = options();
  made.total.loss_max = 1'000'000;
  monitor = std::make_unique<Monitor>(made);
  fill(10, 100, 1'000'000);
  quote(980'000, 980'200);
  EXPECT_EQ(monitor->block().kill_all, 1u);
  EXPECT_EQ(breach(Monitor::kAll), LimitKind::kTotalLoss);
}

TEST_F(Risk, APersonKillsAndOnlyAPersonLiftsIt) {
  monitor->kill(200, {LimitKind::kOperator, 0, 0});
  EXPECT_TRUE(monitor->block().killed(200));
  EXPECT_FALSE(monitor->block().killed(201));
  monitor->kill(Monitor::kAll, {LimitKind::kOperator, 0, 0});
  EXPECT_TRUE(monitor->block().killed(7));
  monitor->unkill(Monitor::kAll);
  EXPECT_FALSE(monitor->block().killed(7));
  EXPECT_TRUE(monitor->block().killed(200)) << "its own kill stays";
  monitor->unkill(200);
  EXPECT_FALSE(monitor->block().killed(200));
  EXPECT_EQ(monitor->counters().kills.get(), 2u);
}

TEST_F(Risk, AnUnkilledStrategyIsKilledAgainWhileItsLimitStaysBroken) {
  limit({.position_shares_max = 100});
  fill(10, 101, 1'000'000);
  monitor->unkill(1);
  EXPECT_FALSE(monitor->block().killed(1));
  fill(11, 1, 1'000'000);
  EXPECT_TRUE(monitor->block().killed(1));
}

// ------------------------------------------------------------------------------- reconciliation

class Reconciling : public Risk {
 protected:
  Reconciling() {
    request(10, 100);
    fill(10, 100, 1'000'000);
    theirs.strategy_id = 1;
    theirs.instrument_id = 3;
    theirs.position_shares = 100;
    theirs.cash = -100'000'000;
    theirs.events = 2;
    theirs.fills = 1;
  }
  wire::PositionRow theirs{};
};

TEST_F(Reconciling, EqualRowsAgree) {
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().compared.get(), 1u);
  EXPECT_EQ(monitor->counters().mismatches.get(), 0u);
  EXPECT_EQ(monitor->counters().adopted.get(), 0u);
}

TEST_F(Reconciling, ADifferenceThatIsStillOnItsWayIsNoMismatch) {
  theirs.events = 3;
  theirs.position_shares = 150;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().in_flight.get(), 1u);
  fill(11, 50, 1'000'000);  // here it comes
  theirs.cash = -150'000'000;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().mismatches.get(), 0u);
}

TEST_F(Reconciling, ADifferenceAtRestIsCountedAndOegIsBelieved) {
  theirs.position_shares = 90;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().mismatches.get(), 1u);
  EXPECT_EQ(row().position, 90);
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().mismatches.get(), 1u) << "once adopted, they agree";
}

TEST_F(Reconciling, AfterALapTheTableOfOegRestoresPositionsAndOpenShares) {
  request(11, 40);
  monitor->on_lapped();
  EXPECT_EQ(monitor->open_orders(), 0u);
  EXPECT_EQ(row().open_buy_shares, 0u);
  // Three events were lost, among them a sale of 60; order 11 is still open there.
  theirs.events = 6;
  theirs.position_shares = 40;
  theirs.cash = -38'000'000;
  theirs.open_buy_shares = 40;
  theirs.fills = 2;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(row().position, 100) << "they may still be on their way";
  monitor->on_remote_row(theirs);
  EXPECT_EQ(row().position, 40);
  EXPECT_EQ(row().open_buy_shares, 40u);
  EXPECT_EQ(row().events, 6u);
  EXPECT_EQ(monitor->counters().mismatches.get(), 1u);
  quote(1'000'000, 1'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 2'000'000) << "cash and mark: exact at once";
  // What then happens to the order that we forgot still moves the position.
  fill(11, 40, 1'000'000);
  EXPECT_EQ(row().position, 80);
  EXPECT_EQ(monitor->counters().events_unknown.get(), 1u);
}

TEST_F(Reconciling, ARestartedRiskTakesEverythingFromTheTable) {
  monitor = std::make_unique<Monitor>(options());
  monitor->on_remote_row(theirs);
  monitor->on_remote_row(theirs);
  EXPECT_EQ(row().position, 100);
  EXPECT_EQ(row().cash, -100'000'000);
}

TEST_F(Risk, TablesThatAreFullAreCountedNotOverrun) {
  for (std::uint64_t i = 0; i < 9; ++i) request(10 + i, 1);
  EXPECT_EQ(monitor->counters().beyond.get(), 1u);
  for (std::uint8_t strategy = 2; strategy < 6; ++strategy)
    request(100u + strategy, 1, Side::kBuy, strategy);
  EXPECT_GE(monitor->counters().beyond.get(), 2u) << "a fifth strategy";
}

}  // namespace
}  // namespace tickpath::risk
