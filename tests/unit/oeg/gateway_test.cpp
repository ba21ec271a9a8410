#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::ExecType;
using wire::RejectReason;
using wire::ReportKind;

TEST(Gateway, CarriesAnOrderFromRequestToLastFill) {
  GatewayFixture f;
  ASSERT_EQ(f.request(f.limit_order(1, 1'000'000, 300)), RejectReason::kNone);
  EXPECT_EQ(f.position().open_buy_shares, 300u);
  f.accept(f.id(1), 300);
  EXPECT_EQ(f.last().kind, ReportKind::kAccepted);
  EXPECT_EQ(f.last().order_id, f.id(1));
  EXPECT_EQ(f.last().trace_id, 1001u);
  EXPECT_EQ(f.last().limit_price, 1'000'000u);
  f.report(ExecType::kPartialFill, f.id(1), 200, 100, 100, 999'900);
  EXPECT_EQ(f.last().kind, ReportKind::kFill);
  EXPECT_EQ(f.last().last_shares, 100u);
  EXPECT_EQ(f.last().leaves_shares, 200u);
  EXPECT_EQ(f.last().execution_id, 2u);
  EXPECT_EQ(f.position().open_buy_shares, 200u);
  f.report(ExecType::kFill, f.id(1), 0, 300, 200, 1'000'000);
  EXPECT_EQ(f.position().position_shares, 300);
  EXPECT_EQ(f.position().cash, -(100 * std::int64_t{999'900} + 200 * std::int64_t{1'000'000}));
  EXPECT_EQ(f.position().open_buy_shares, 0u);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
  EXPECT_TRUE(f.gateway->settled());
}

TEST(Gateway, JournalsBeforeItSendsWithTheNumberItSends) {
  GatewayFixture f;
  f.venue.seq = 17;
  f.request(f.limit_order(1));
  ASSERT_EQ(f.journal.records.size(), 1u);
  EXPECT_EQ(f.journal.records[0].fix_seq, 17u);
  EXPECT_EQ(std::string_view(f.journal.records[0].symbol), "AAPL");
  f.accept(f.id(1));
  EXPECT_EQ(f.journal.records[1].event.event, wire::EventKind::kReported);
  EXPECT_EQ(f.journal.records[1].fix_seq, 1u);
  // risk hears the same, in the same order.
  ASSERT_EQ(f.events.events.size(), 2u);
  EXPECT_EQ(f.events.events[0].event, wire::EventKind::kRequested);
  EXPECT_EQ(f.events.events[1].state, wire::OrderState::kWorking);
}

TEST(Gateway, CancelsAnOrderByItsOwner) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  ASSERT_EQ(f.request(f.cancel(2, f.id(1))), RejectReason::kNone);
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  EXPECT_EQ(f.venue.cancels[0].cl_ord_id, f.id(2));
  EXPECT_EQ(f.venue.cancels[0].orig_cl_ord_id, f.id(1));
  EXPECT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kPendingRequest);
  f.report(ExecType::kCanceled, f.id(2), 0, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.last().kind, ReportKind::kCanceled);
  EXPECT_EQ(f.last().order_id, f.id(2));
  EXPECT_EQ(f.last().target_order_id, f.id(1));
  EXPECT_EQ(f.request(f.cancel(4, f.id(1))), RejectReason::kTooLate);
  EXPECT_EQ(f.request(f.cancel(5, f.id(40))), RejectReason::kUnknownOrder);
  EXPECT_EQ(f.last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(f.gateway->counters().changes.accepted.get(), 1u);
}

TEST(Gateway, GivesTheOrderItsNewIdWhenItIsReplaced) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 100));
  f.accept(f.id(1));
  ASSERT_EQ(f.request(f.replace(2, f.id(1), 1'000'500, 150)), RejectReason::kNone);
  ASSERT_EQ(f.venue.replaces.size(), 1u);
  EXPECT_EQ(f.venue.replaces[0].order_qty, 150u);
  f.report(ExecType::kReplaced, f.id(2), 150, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.last().kind, ReportKind::kReplaced);
  EXPECT_EQ(f.last().order_id, f.id(2));
  EXPECT_EQ(f.last().limit_price, 1'000'500u);
  EXPECT_EQ(f.position().open_buy_shares, 150u);
  EXPECT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kTooLate);
  f.report(ExecType::kFill, f.id(2), 0, 150, 150, 1'000'500);
  EXPECT_EQ(f.position().position_shares, 150);
}

TEST(Gateway, FollowsAVenueThatTakesSharesOffAnOrderUntraded) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 100));
  f.accept(f.id(1));
  f.report(ExecType::kRestated, f.id(1), 60, 0);
  EXPECT_EQ(f.last().kind, ReportKind::kRestated);
  EXPECT_EQ(f.last().order_id, f.id(1));
  EXPECT_EQ(f.last().leaves_shares, 60u);
  EXPECT_EQ(f.position().open_buy_shares, 60u);
  EXPECT_EQ(f.position().position_shares, 0);
  EXPECT_EQ(f.gateway->counters().restated.get(), 1u);
  EXPECT_EQ(f.gateway->counters().ignored_reports.get(), 0u);
  EXPECT_EQ(f.gateway->ledger().find(f.id(1))->shares, 60u);
  f.report(ExecType::kFill, f.id(1), 0, 60, 60, 1'000'000);
  EXPECT_EQ(f.position().open_buy_shares, 0u);
  EXPECT_EQ(f.position().position_shares, 60);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
}

TEST(Gateway, BooksNoRestatementThatAddsOrTradesShares) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 100));
  f.accept(f.id(1));
  f.report(ExecType::kRestated, f.id(1), 150, 0);
  f.report(ExecType::kRestated, f.id(1), 60, 40);
  f.report(ExecType::kRestated, f.id(1), 0, 0);
  EXPECT_EQ(f.gateway->counters().impossible_reports.get(), 3u);
  EXPECT_EQ(f.position().open_buy_shares, 100u);
}

// The replacement names a total: what the order loses meanwhile, it may bring back.
TEST(Gateway, ReservesForAReplacementWhatItsOrderLosesMeanwhile) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 100));
  f.accept(f.id(1));
  ASSERT_EQ(f.request(f.replace(2, f.id(1), 1'000'500, 150)), RejectReason::kNone);
  f.report(ExecType::kRestated, f.id(1), 60, 0);
  const Order& order = *f.gateway->ledger().find(f.id(1));
  EXPECT_EQ(order.leaves, 60u);
  EXPECT_EQ(order.reserved_shares, 90u);
  EXPECT_EQ(f.gateway->ledger().position(order.row).reserved_buy, 90u);
  f.report(ExecType::kReplaced, f.id(2), 150, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.position().open_buy_shares, 150u);
  EXPECT_EQ(f.gateway->ledger().position(0).reserved_buy, 0u);
}

TEST(Gateway, RefusesAReplacementThatChangesSideOrFallsBelowWhatIsFilled) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 100));
  f.accept(f.id(1));
  f.report(ExecType::kPartialFill, f.id(1), 40, 60, 60, 1'000'000);
  EXPECT_EQ(f.request(f.replace(2, f.id(1), 1'000'000, 60)), RejectReason::kMalformed);
  wire::OrderRequest other_side = f.replace(3, f.id(1), 1'000'000, 100);
  other_side.side = Side::kSell;
  EXPECT_EQ(f.request(other_side), RejectReason::kMalformed);
  EXPECT_EQ(f.last().kind, ReportKind::kReplaceRejected);
  EXPECT_EQ(f.request(f.replace(4, f.id(1), 1'000'000, 61)), RejectReason::kNone);
}

TEST(Gateway, SettlesACancelThatCrossesTheFill) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.request(f.cancel(2, f.id(1)));
  f.report(ExecType::kFill, f.id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
  EXPECT_FALSE(f.gateway->settled());  // the cancel's answer is still to come
  f.reject_change(f.id(2), f.id(1));
  EXPECT_EQ(f.last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(f.last().reason, RejectReason::kTooLate);
  EXPECT_TRUE(f.gateway->settled());
  EXPECT_EQ(f.gateway->ledger().find(f.id(1)), nullptr);
}

TEST(Gateway, TellsTheVenuesRejectsAndExpiries) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.report(ExecType::kRejected, f.id(1), 0, 0);
  EXPECT_EQ(f.last().kind, ReportKind::kRejected);
  EXPECT_EQ(f.last().reason, RejectReason::kVenue);
  f.request(f.limit_order(2));
  f.report(ExecType::kExpired, f.id(2), 0, 0);  // an IOC that found nothing, without an ack
  EXPECT_EQ(f.last().kind, ReportKind::kExpired);
  EXPECT_EQ(f.gateway->counters().orders.accepted.get(), 1u);
  EXPECT_EQ(f.gateway->counters().orders.rejected.get(), 1u);
  EXPECT_EQ(f.position().open_buy_shares, 0u);
}

TEST(Gateway, AnOrderThatTheVenueDoesNotKnowIsOver) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.request(f.cancel(2, f.id(1)));
  f.reject_change(f.id(2), f.id(1), fix::CxlRejReason::kUnknownOrder);
  EXPECT_EQ(f.last().kind, ReportKind::kExpired);
  EXPECT_EQ(f.last().order_id, f.id(1));
  EXPECT_EQ(f.last().reason, RejectReason::kUnknownOrder);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(f.position().open_buy_shares, 0u);
  EXPECT_TRUE(f.gateway->settled());
  EXPECT_EQ(f.gateway->counters().lost_by_venue.get(), 1u);
}

TEST(Gateway, RepeatsAnOwnCancelThatTheVenueRefusesButDoesNotFloodIt) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->cancel_everything();
  for (int turn = 0; turn < 1'000; ++turn) {
    f.gateway->turn();
    Order* const order = f.gateway->ledger().find(f.id(1));
    ASSERT_NE(order, nullptr);
    if (order->pending_id != 0)
      f.reject_change(order->pending_id, f.id(1), fix::CxlRejReason::kBrokerOption);
  }
  const std::uint64_t asked = f.gateway->counters().changes.own.get();
  EXPECT_GE(asked, 1u);
  EXPECT_LT(asked, 500u);
}

TEST(Gateway, TakesAMessageRejectAsTheAnswerToItsRequest) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  fix::MessageReject reject;
  reject.ref_cl_ord_id = f.id(1);
  f.gateway->on_message_reject(reject, f.info());
  EXPECT_EQ(f.last().kind, ReportKind::kRejected);
  f.request(f.limit_order(2));
  f.accept(f.id(2));
  f.request(f.cancel(3, f.id(2)));
  reject.ref_cl_ord_id = f.id(3);
  f.gateway->on_message_reject(reject, f.info());
  EXPECT_EQ(f.last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 1u);
}

TEST(Gateway, CountsReportsThatCannotBe) {
  GatewayFixture f;
  f.report(ExecType::kNew, f.id(9), 100, 0);
  EXPECT_EQ(f.gateway->counters().unknown_reports.get(), 1u);
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.accept(f.id(1));  // twice
  EXPECT_EQ(f.gateway->counters().impossible_reports.get(), 1u);
  f.report(ExecType::kReplaced, f.id(5), 100, 0, 0, 0, f.id(1));  // nobody asked
  EXPECT_EQ(f.gateway->counters().impossible_reports.get(), 2u);
  f.report(ExecType::kPendingCancel, f.id(1), 100, 0);
  EXPECT_EQ(f.gateway->counters().ignored_reports.get(), 1u);
  EXPECT_EQ(f.strategies.reports.size(), 1u);
}

TEST(Gateway, CountsRequestsAndReportsOfTheNewestConnectionAlone) {
  GatewayFixture f;
  const StrategyCounters& counted = f.gateway->slot(0).counters;
  const std::uint64_t connections = counted.connections.get();
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  EXPECT_EQ(counted.connection_requests.get(), 1u);
  EXPECT_EQ(counted.connection_reports.get(), 1u);
  f.gateway->on_strategy_lost(0);
  f.gateway->on_strategy_connected(0);
  EXPECT_EQ(counted.connections.get(), connections + 1);
  EXPECT_EQ(counted.connection_requests.get(), 0u);
  EXPECT_EQ(counted.connection_reports.get(), 0u);
  f.request(f.limit_order(2));
  f.request(f.limit_order(2));  // refused: the id was used
  EXPECT_EQ(counted.connection_requests.get(), 2u);
  EXPECT_EQ(counted.connection_reports.get(), 1u);
}

TEST(Gateway, UndoesAnOrderThatTheSessionWouldNotTake) {
  GatewayFixture f;
  f.venue.full = true;
  EXPECT_EQ(f.request(f.limit_order(1)), RejectReason::kSessionDown);
  EXPECT_EQ(f.position().open_buy_shares, 0u);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(f.journal.records.size(), 2u);
  f.venue.full = false;
  f.request(f.limit_order(2));
  f.accept(f.id(2));
  f.venue.full = true;
  EXPECT_EQ(f.request(f.cancel(3, f.id(2))), RejectReason::kSessionDown);
  f.venue.full = false;
  EXPECT_EQ(f.request(f.cancel(4, f.id(2))), RejectReason::kNone);
}

// A cancel can only make less of what nobody knows exactly; an order could be one too many.
TEST(Gateway, SendsCancelsOnlyWhileReportsOfTheVenueAreMissing) {
  GatewayFixture f;
  for (std::uint32_t order = 1; order <= 3; ++order) {
    f.request(f.limit_order(order));
    f.accept(f.id(order));
  }
  f.venue.reports_missing = true;
  EXPECT_EQ(f.request(f.limit_order(4)), RejectReason::kVenueGap);
  EXPECT_EQ(f.request(f.replace(5, f.id(1), 1'000'000, 200)), RejectReason::kVenueGap);
  EXPECT_EQ(f.request(f.cancel(6, f.id(1))), RejectReason::kNone);
  EXPECT_EQ(wire::name(RejectReason::kVenueGap), "venue_gap");
  f.gateway->on_strategy_lost(0);
  while (f.gateway->turn()) {
  }
  EXPECT_EQ(f.venue.orders.size(), 3u);
  EXPECT_EQ(f.venue.cancels.size(), 3u);
  f.gateway->on_strategy_connected(0);
  f.venue.reports_missing = false;
  EXPECT_EQ(f.request(f.limit_order(7)), RejectReason::kNone);
}

TEST(Gateway, CancelsTheOrdersOfAStrategyThatDied) {
  GatewayFixture f;
  for (std::uint32_t i = 1; i <= 40; ++i) {
    f.request(f.limit_order(i));
    f.accept(f.id(i));
  }
  f.gateway->on_strategy_lost(0);
  EXPECT_EQ(f.gateway->counters().orphaned_orders.get(), 40u);
  f.gateway->turn();
  EXPECT_LT(f.venue.cancels.size(), 40u);  // a bounded number a turn
  while (f.gateway->turn()) {
  }
  ASSERT_EQ(f.venue.cancels.size(), 40u);
  const std::size_t told = f.strategies.reports.size();
  for (const auto& cancel : f.venue.cancels)
    f.report(ExecType::kCanceled, cancel.cl_ord_id, 0, 0, 0, 0, cancel.orig_cl_ord_id);
  EXPECT_EQ(f.strategies.reports.size(), told);
  EXPECT_EQ(f.gateway->counters().reports_dropped.get(), 40u);
  EXPECT_TRUE(f.gateway->settled());
  EXPECT_EQ(f.gateway->counters().changes.own.get(), 40u);
}

TEST(Gateway, SparesTheOrdersOfTheStrategysNextLife) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.venue.logged_on = false;
  f.gateway->on_strategy_lost(0);
  f.gateway->on_strategy_connected(0);
  f.venue.logged_on = true;
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kNone);
  f.accept(f.id(2));
  f.gateway->turn();
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  EXPECT_EQ(f.venue.cancels[0].orig_cl_ord_id, f.id(1));
  // The answer names the order, not the cancel that the strategy never sent.
  f.report(ExecType::kCanceled, f.venue.cancels[0].cl_ord_id, 0, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.last().order_id, f.id(1));
  EXPECT_EQ(f.last().target_order_id, f.id(1));
  // An order of the life before is unknown to this one, not too late.
  EXPECT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kUnknownOrder);
}

TEST(Gateway, KeepsReportsInOrderWhileCreditsAreOut) {
  GatewayFixture f;
  f.request(f.limit_order(1, 1'000'000, 300));
  f.strategies.credits = 0;
  f.accept(f.id(1), 300);
  f.report(ExecType::kPartialFill, f.id(1), 200, 100, 100, 1'000'000);
  EXPECT_TRUE(f.strategies.reports.empty());
  EXPECT_FALSE(f.gateway->settled());
  f.strategies.credits = 1;
  f.report(ExecType::kPartialFill, f.id(1), 100, 200, 100, 1'000'000);
  EXPECT_TRUE(f.strategies.reports.empty());  // it may not overtake
  f.strategies.credits = 10;
  EXPECT_TRUE(f.gateway->turn());
  ASSERT_EQ(f.strategies.reports.size(), 3u);
  EXPECT_EQ(f.strategies.reports[0].kind, ReportKind::kAccepted);
  EXPECT_EQ(f.strategies.reports[2].cumulative_shares, 200u);
}

TEST(Gateway, LetsTheVenueWaitForAStrategyThatReadsSlowlyAndLosesNothing) {
  GatewayFixture f;
  f.strategies.credits = 0;
  f.request(f.limit_order(1, 1'000'000, 1000));
  f.accept(f.id(1), 1000);
  std::uint32_t filled = 0;
  const auto fill = [&] {
    ++filled;
    f.report(ExecType::kPartialFill, f.id(1), 1000 - filled, filled, 1, 1'000'000);
  };
  while (f.gateway->ready()) fill();
  EXPECT_EQ(filled, 6u);  // there is still room for all that one more message can bring
  EXPECT_EQ(f.gateway->requests_taken(0), 0u);
  f.gateway->turn();
  EXPECT_FALSE(f.gateway->ready());
  while (filled < 500) {
    f.strategies.credits = 1;  // it reads, one after the other
    f.gateway->turn();
    ASSERT_TRUE(f.gateway->ready());
    fill();
  }
  f.strategies.credits = 100;
  f.gateway->turn();
  ASSERT_EQ(f.strategies.reports.size(), 501u);
  for (std::uint32_t i = 1; i <= 500; ++i) ASSERT_EQ(f.strategies.reports[i].cumulative_shares, i);
  EXPECT_TRUE(f.strategies.dropped.empty());
  EXPECT_EQ(f.gateway->counters().reports_dropped.get(), 0u);
  EXPECT_GT(f.gateway->counters().venue_held.get(), 1u);
}

TEST(Gateway, CutsOffAStrategyThatReadsNothingForLongAndGoesOnWithTheOthers) {
  GatewayFixture f({}, 0);
  f.request(f.limit_order(1, 1'000'000, 300));
  f.accept(f.id(1), 300);
  f.strategies.credits = 0;
  for (std::uint32_t i = 1; f.gateway->ready(); ++i)
    f.report(ExecType::kPartialFill, f.id(1), 300 - i, i, 1, 1'000'000);
  EXPECT_TRUE(f.strategies.dropped.empty());
  f.gateway->turn();
  ASSERT_EQ(f.strategies.dropped.size(), 1u);
  EXPECT_EQ(f.gateway->counters().reports_dropped.get(), 7u);
  EXPECT_EQ(f.position().position_shares, 7);
  EXPECT_TRUE(f.gateway->ready());
  f.gateway->turn();
  EXPECT_EQ(f.venue.cancels.size(), 1u);  // it leaves nothing open behind
  f.gateway->on_strategy_lost(0);
  EXPECT_EQ(f.gateway->counters().orphaned_orders.get(), 1u);
}

TEST(Gateway, TakesRequestsOnlyWhileTheReportsThatTheyBringFindRoom) {
  GatewayFixture f;
  EXPECT_EQ(f.gateway->requests_taken(0), 2u);  // half a queue of 8, two reports each
  f.request(f.limit_order(1));
  EXPECT_EQ(f.gateway->requests_taken(0), 1u);
  f.request(f.limit_order(2));
  EXPECT_EQ(f.gateway->requests_taken(0), 0u);
  f.accept(f.id(1));
  EXPECT_EQ(f.gateway->requests_taken(0), 1u);
  f.request(f.cancel(3, f.id(1)));
  EXPECT_EQ(f.gateway->requests_taken(0), 0u);
  f.report(ExecType::kCanceled, f.id(3), 0, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.gateway->requests_taken(0), 1u);
  // Nothing is answered for now: what comes is refused at once.
  f.venue.logged_on = false;
  EXPECT_EQ(f.gateway->requests_taken(0), 2u);
  f.venue.logged_on = true;
  f.report(ExecType::kRejected, f.id(2), 0, 0);
  EXPECT_EQ(f.gateway->requests_taken(0), 2u);
  f.venue.slow = true;
  EXPECT_EQ(f.gateway->requests_taken(0), 0u);
  f.venue.slow = false;
  f.journal.room_for_changes = false;
  EXPECT_EQ(f.gateway->requests_taken(0), 0u);
}

TEST(Gateway, RefusesMoreStrategiesThanItHasRoomForAndItsOwnId) {
  GatewayFixture f;
  EXPECT_EQ(f.gateway->assign_slot(kOwnStrategyId), nullptr);
  EXPECT_EQ(f.gateway->assign_slot(kStrategy), f.slot);
  EXPECT_NE(f.gateway->assign_slot(10), nullptr);
  EXPECT_NE(f.gateway->assign_slot(11), nullptr);
  EXPECT_NE(f.gateway->assign_slot(12), nullptr);
  EXPECT_EQ(f.gateway->assign_slot(13), nullptr);
}

// The market is 100.00 to 100.10, the collar 10 basis points.
TEST(Gateway, MeasuresAReplacedStopOrderLikeANewOne) {
  Limits limits;
  limits.collar_basis_points = 10;
  GatewayFixture f(limits);
  wire::OrderRequest stop = f.limit_order(1, 0);
  stop.type = wire::OrderType::kStop;
  stop.stop_price = 1'100'000;
  ASSERT_EQ(f.request(stop), RejectReason::kNone);
  f.accept(f.id(1));
  wire::OrderRequest later = f.replace(2, f.id(1), 0, 50);
  later.type = wire::OrderType::kStop;
  EXPECT_EQ(f.request(later), RejectReason::kMalformed) << "without a stop price";
  later.order_id = f.id(3);
  later.stop_price = 1'200'000;
  EXPECT_EQ(f.request(later), RejectReason::kNone);
  ASSERT_EQ(f.venue.replaces.size(), 1u);
  const fix::OrderCancelReplaceRequest& sent = f.venue.replaces.back();
  EXPECT_EQ(sent.type, fix::OrderType::kStopLimit) << "as it was sent at first";
  EXPECT_EQ(sent.stop_price.value, 1'200'000);
  EXPECT_EQ(sent.price.value, 1'201'200) << "the collar";
  EXPECT_EQ(sent.order_qty, 50u);
}

}  // namespace
}  // namespace tickpath::oeg
