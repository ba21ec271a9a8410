// From events and quotes to the kill switch, and how risk and oeg are kept in step.
#include "risk/monitor.hpp"

#include <memory>

#include "common/wire/order_id.hpp"
#include "tests/unit/risk/monitor_fixture.hpp"

namespace tickpath::risk::fed {
namespace {

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
  EXPECT_EQ(monitor->counters().orders.events_unknown.get(), 0u);
  EXPECT_EQ(monitor->counters().orders.events_impossible.get(), 0u);
}

// Each order stays found, and both end.
TEST_F(Risk, AReplacementThatTakesAnotherOpenOrdersIdIsCountedAndLosesNeither) {
  request(10, 100);
  request(11, 50);
  report(ReportKind::kAccepted, 10);
  report(ReportKind::kReplaced, 11, 10, 150);
  EXPECT_EQ(monitor->counters().orders.events_impossible.get(), 1u);
  EXPECT_EQ(row().open_buy_shares, 200u);
  report(ReportKind::kCanceled, 12, 11);
  EXPECT_EQ(row().open_buy_shares, 150u);
  report(ReportKind::kCanceled, 13, 10);
  EXPECT_EQ(row().open_buy_shares, 0u);
  EXPECT_EQ(monitor->open_orders(), 0u);
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

TEST_F(Risk, FeesCountAgainstTheLossLimit) {
  limit({.loss_max = 1'000'000});  // 100.00
  fill(10, 100, 1'000'000);
  quote(1'000'000, 1'000'000);
  OrderEvent fee = event(EventKind::kReported, 10);
  wire::set_fee(fee, 100'000'000);
  take(fee);
  EXPECT_EQ(breach(), LimitKind::kNone) << "at the limit";
  wire::set_fee(fee, 1);
  take(fee);
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
  refused.reason = trading::RejectReason::kOrderSize;
  monitor->on_event(refused);
  EXPECT_EQ(breach(), LimitKind::kNone);
  monitor->on_event(refused);
  EXPECT_EQ(breach(), LimitKind::kRejectRate);
  EXPECT_EQ(monitor->counters().orders.refused.get(), 2u);
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

TEST_F(Risk, AStaleBookMovesNoMark) {
  limit({.loss_max = 1'000'000});
  fill(10, 100, 1'000'000);
  quote(1'000'000, 1'000'000);
  quote(100, 200, wire::FeedState::kStale);  // what is left of a book that lost messages
  quote(100, 200, wire::FeedState::kUnknown);
  wire::BookImage image{.instrument_id = 3};
  image.bids[0].price = image.asks[0].price = 100;
  image.states = static_cast<std::uint8_t>(wire::FeedState::kStale);
  monitor->on_image(image);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 0);
  EXPECT_FALSE(monitor->block().killed(1));
  EXPECT_EQ(monitor->counters().feed.stale.get(), 3u);
  quote(980'000, 980'200);
  EXPECT_EQ(breach(), LimitKind::kLoss) << "good again";
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
  EXPECT_EQ(monitor->counters().limits.kills.get(), 2u);
}

TEST_F(Risk, AnUnkilledStrategyIsKilledAgainWhileItsLimitStaysBroken) {
  limit({.position_shares_max = 100});
  fill(10, 101, 1'000'000);
  monitor->unkill(1);
  EXPECT_FALSE(monitor->block().killed(1));
  fill(11, 1, 1'000'000);
  EXPECT_TRUE(monitor->block().killed(1));
}

TEST_F(Risk, AKillCancelsWhatIsOpenUnlessThePersonKeepsIt) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  EXPECT_TRUE(monitor->block().cancels(7));
  monitor->kill(8, {LimitKind::kOperator, 0, 0}, "alice", true);
  EXPECT_TRUE(monitor->block().killed(8));
  EXPECT_FALSE(monitor->block().cancels(8));
  monitor->kill(8, {LimitKind::kOperator, 0, 0}, "bob");
  EXPECT_TRUE(monitor->block().cancels(8)) << "a later kill may be stronger";
  monitor->kill(8, {LimitKind::kOperator, 0, 0}, "alice", true);
  EXPECT_TRUE(monitor->block().cancels(8)) << "but not weaker";
  EXPECT_STREQ(monitor->kills()[8].operator_name, "bob");
  monitor->unkill(8);
  EXPECT_FALSE(monitor->block().killed(8));
  EXPECT_FALSE(monitor->block().cancels(8));
}

TEST_F(Risk, ALimitThatBreaksCancelsWhatIsOpenUnlessConfiguredOtherwise) {
  limit({.position_shares_max = 100});
  monitor->kill(1, {LimitKind::kOperator, 0, 0}, "alice", true);
  fill(10, 101, 1'000'000);
  EXPECT_TRUE(monitor->block().cancels(1)) << "whatever a person kept open before";
  EXPECT_EQ(breach(), LimitKind::kPositionShares);

  MonitorOptions made = options();
  made.cancel_on_breach = false;
  monitor = std::make_unique<Monitor>(made);
  limit({.position_shares_max = 100});
  fill(10, 101, 1'000'000);
  EXPECT_TRUE(monitor->block().killed(1));
  EXPECT_FALSE(monitor->block().cancels(1));
}

// Else the cancels of a kill of all would kill each strategy by itself, and outlast the unkill.
TEST_F(Risk, CancelsByOegItselfAreNoRequestsOfTheStrategy) {
  limit({.requests_per_second_max = 2, .rejects_per_second_max = 2});
  for (std::uint32_t i = 1; i <= 10; ++i) {
    OrderEvent cancel =
        event(EventKind::kRequested, wire::OrderId::make(wire::kOwnStrategyId, 1, i));
    cancel.request_kind = RequestKind::kCancel;
    take(cancel);
    cancel.event = EventKind::kReported;
    cancel.report_kind = ReportKind::kCancelRejected;
    take(cancel);
  }
  EXPECT_EQ(breach(), LimitKind::kNone);
}

TEST_F(Risk, TheNewestKillIsDescribedFirstAndThenEachInTurn) {
  monitor->kill(3, {LimitKind::kOperator, 0, 0});
  monitor->kill(9, {LimitKind::kOperator, 0, 0});
  monitor->kill(5, {LimitKind::kOperator, 0, 0});
  EXPECT_EQ(monitor->kill_to_tell().id, 5u);
  EXPECT_EQ(monitor->kill_to_tell().id, 9u);
  EXPECT_EQ(monitor->kill_to_tell().id, 3u);
  EXPECT_EQ(monitor->kill_to_tell().id, 5u);
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
  EXPECT_EQ(monitor->counters().reconcile.compared.get(), 1u);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 0u);
  EXPECT_EQ(monitor->counters().reconcile.adopted.get(), 0u);
}

TEST_F(Reconciling, ADifferenceThatIsStillOnItsWayIsNoMismatch) {
  theirs.events = 3;
  theirs.position_shares = 150;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().reconcile.in_flight.get(), 1u);
  fill(11, 50, 1'000'000);  // here it comes
  theirs.cash = -150'000'000;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 0u);
}

TEST_F(Reconciling, ADifferenceAtRestIsCountedAndOegIsBelieved) {
  theirs.position_shares = 90;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 1u);
  EXPECT_EQ(row().position, 90);
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 1u) << "once adopted, they agree";
}

TEST_F(Reconciling, AfterAnOverrunTheTableOfOegRestoresPositionsAndOpenShares) {
  request(11, 40);
  monitor->on_overrun();
  EXPECT_EQ(monitor->open_orders(), 0u);
  EXPECT_EQ(row().open_buy_shares, 0u);
  // Three events were lost, among them a sale of 60; order 11 is still open there.
  numbers[1] = 6;
  theirs.events = 6;
  theirs.position_shares = 40;
  theirs.cash = -38'000'000;
  theirs.open_buy_shares = 40;
  theirs.fills = 2;
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(row().position, 40);
  EXPECT_EQ(row().open_buy_shares, 40u);
  EXPECT_EQ(row().events, 6u);
  EXPECT_EQ(monitor->counters().reconcile.adopted.get(), 1u);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 0u) << "we did not claim to know";
  quote(1'000'000, 1'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 2'000'000) << "cash and mark: exact at once";
  // What then happens to the order that we forgot still moves the position.
  fill(11, 40, 1'000'000);
  EXPECT_EQ(row().position, 80);
  EXPECT_EQ(monitor->counters().orders.events_unknown.get(), 1u);
}

TEST_F(Reconciling, ARestartedRiskTakesEverythingFromTheTable) {
  monitor = std::make_unique<Monitor>(options());
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(row().position, 100);
  EXPECT_EQ(row().cash, -100'000'000);
}

// oeg published a fill and stored its row; risk READ the row before it came to the fill in its
// ring.
TEST_F(Reconciling, AnEventThatTheAdoptedRowIncludesIsNotBookedAgain) {
  monitor = std::make_unique<Monitor>(options());
  theirs.events = 3;
  theirs.position_shares = 136;
  theirs.cash = -136'000'000;
  theirs.fills = 2;
  monitor->on_remote_row(theirs);
  numbers[1] = 2;
  fill(11, 36, 1'000'000);  // number 3
  EXPECT_EQ(row().position, 136);
  EXPECT_EQ(row().cash, -136'000'000);
  EXPECT_EQ(monitor->ledger().strategies()[0].fills, 2u);
  fill(12, 10, 1'000'000);  // number 4: news
  EXPECT_EQ(row().position, 146);
}

TEST_F(Reconciling, AnOrderOfAnEventThatTheRowIncludesIsFollowedAllTheSame) {
  monitor = std::make_unique<Monitor>(options());
  theirs.events = 3;
  theirs.open_buy_shares = 40;
  monitor->on_remote_row(theirs);
  numbers[1] = 2;
  request(11, 40);  // number 3: its 40 shares are in the row
  EXPECT_EQ(monitor->open_orders(), 1u);
  EXPECT_EQ(row().open_buy_shares, 40u);
  report(ReportKind::kAccepted, 11);
  report(ReportKind::kCanceled, 12, 11);
  EXPECT_EQ(monitor->open_orders(), 0u);
  EXPECT_EQ(row().open_buy_shares, 0u);
}

// oeg's row was READ, then events came, then the READ was looked at: it is the older of the two.
TEST_F(Reconciling, ARowThatIsOlderThanTheEventsSinceTheLapIsReadAgain) {
  monitor->on_overrun();
  numbers[1] = 7;
  fill(11, 50, 1'000'000);  // number 8
  theirs.events = 7;
  EXPECT_FALSE(monitor->on_remote_row(theirs));
  theirs.events = 8;
  theirs.position_shares = 500;
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(row().position, 500);
}

// Every interleaving of one row's events with READs of it, from a start in the middle.
TEST_F(Reconciling, WheneverARowIsReadTheEndIsTheSame) {
  constexpr std::uint32_t kEvents = 6;
  const auto at = [this](std::uint32_t number) {  // oeg's row with so many events
    wire::PositionRow made = theirs;
    made.events = number;
    made.fills = number;
    made.position_shares = number;
    made.cash = -std::int64_t{number} * 1'000'000;
    return made;
  };
  for (std::uint32_t taken = 0; taken <= kEvents; ++taken)         // from the ring when it is READ
    for (std::uint32_t read = 0; read <= kEvents; ++read)          // what the READ shows
      for (std::uint32_t joined = 0; joined <= taken; ++joined) {  // before it nothing came
        monitor = std::make_unique<Monitor>(options());
        numbers[1] = joined;
        for (std::uint32_t i = joined; i < taken; ++i) fill(i + 1, 1, 1'000'000);
        if (read >= joined) monitor->on_remote_row(at(read));
        for (std::uint32_t i = taken; i < kEvents; ++i) fill(i + 1, 1, 1'000'000);
        // Adopted, or followed from its first event on: right without a further READ.
        if (joined == 0 || (read >= joined && read >= taken)) {
          ASSERT_EQ(row().position, kEvents) << joined << " " << taken << " " << read;
        }
        EXPECT_TRUE(monitor->on_remote_row(at(kEvents)));
        ASSERT_EQ(row().position, kEvents) << joined << " " << taken << " " << read;
        ASSERT_EQ(row().cash, at(kEvents).cash);
        ASSERT_EQ(row().fills, kEvents);
        ASSERT_EQ(monitor->counters().reconcile.mismatches.get(), 0u)
            << joined << " " << taken << " " << read;
      }
}

// A new oeg, or the same on a new connection, may count from anywhere.
TEST_F(Reconciling, ANewConnectionCountsAnew) {
  monitor->on_overrun();
  numbers[1] = 0;
  fill(11, 10, 1'000'000);  // number 1, far below what the former count was
  theirs.events = 1;
  theirs.position_shares = 10;
  theirs.cash = -10'000'000;
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(row().position, 10);
  fill(12, 10, 1'000'000);
  EXPECT_EQ(row().position, 20);
}

TEST_F(Reconciling, AGapInTheNumbersMakesTheNextReadTheTruth) {
  numbers[1] += 1;  // an event was lost
  fill(11, 10, 1'000'000);
  theirs.events = 4;
  theirs.position_shares = 60;
  theirs.cash = -60'000'000;
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(row().position, 60);
}

TEST_F(Reconciling, TheNumbersMayWrap) {
  monitor = std::make_unique<Monitor>(options());
  theirs.events = 0xffff'fffe;
  monitor->on_remote_row(theirs);
  numbers[1] = 0xffff'fffd;
  fill(11, 1, 1'000'000);  // in the row
  EXPECT_EQ(row().position, 100);
  for (int i = 0; i < 3; ++i) fill(12, 1, 1'000'000);
  EXPECT_EQ(row().position, 103);
  theirs.events += 3;
  theirs.position_shares += 3;
  theirs.cash -= 3'000'000;
  monitor->on_remote_row(theirs);
  EXPECT_EQ(monitor->counters().reconcile.mismatches.get(), 0u);
}

TEST_F(Reconciling, RefusalsChangeNoRow) {
  OrderEvent refused = event(EventKind::kRefused, 11);
  refused.request_kind = RequestKind::kNew;
  for (int i = 0; i < 100; ++i) monitor->on_event(refused);
  refused.instrument_id = 12345;  // no such instrument
  monitor->on_event(refused);
  EXPECT_TRUE(monitor->on_remote_row(theirs));
  EXPECT_EQ(monitor->counters().reconcile.in_flight.get(), 0u);
  EXPECT_EQ(monitor->counters().orders.beyond.get(), 0u);
  EXPECT_EQ(monitor->counters().orders.refused.get(), 101u);
}

TEST_F(Risk, TablesThatAreFullAreCountedNotOverrun) {
  for (std::uint64_t i = 0; i < 9; ++i) request(10 + i, 1);
  EXPECT_EQ(monitor->counters().orders.beyond.get(), 1u);
  for (std::uint8_t strategy = 2; strategy < 6; ++strategy)
    request(100u + strategy, 1, Side::kBuy, strategy);
  EXPECT_GE(monitor->counters().orders.beyond.get(), 2u) << "a fifth strategy";
}

}  // namespace
}  // namespace tickpath::risk::fed
