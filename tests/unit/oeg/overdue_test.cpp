// A venue that does not answer: what becomes of orders that are to go.
#include <gtest/gtest.h>

#include "common/wire/control_block.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::CxlRejReason;
using fix::ExecType;
using fix::OrdStatus;
using trading::RejectReason;
using wire::ReportKind;

// Every request is overdue at once.
class Overdue : public ::testing::Test, protected GatewayFixture {
 protected:
  Overdue() {
    options.answer_max_ns = 0;
    start();
  }
  void kill() {
    wire::ControlBlock block{};
    block.set_kill(wire::kKillAll, true, true);
    gateway->set_control_block(block);
  }
  // Order 1 rests, and its replacement 2 has no answer.
  void leave_a_replacement_unanswered() {
    rest(1);
    ASSERT_EQ(request(replace(2, id(1), 1'000'000, 150)), RejectReason::kNone);
  }
  void answer_status(OrdStatus status, std::uint32_t cumulative) {
    fix::ExecutionReport message{.cl_ord_id = id(1), .cum_qty = cumulative, .ord_status = status};
    message.status = true;
    message.symbol = fix::Symbol::from("AAPL");
    gateway->reports().on_execution_report(message, info());
  }
  const fix::OrderCancelRequest& newest_cancel() const { return venue.cancels.back(); }
  const Order* order(std::uint64_t order_id) { return gateway->ledger().find(order_id); }
};

TEST_F(Overdue, AnUnansweredReplacementDoesNotShieldItsOrderFromAKill) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 1u);
  EXPECT_EQ(newest_cancel().orig_cl_ord_id, id(1)) << "the last confirmed id";
  report(ExecType::kCanceled, newest_cancel().cl_ord_id, 0, 0, 0, 0, id(1));
  ASSERT_GE(strategies.reports.size(), 2u);
  const wire::OrderReport& canceled = strategies.reports[strategies.reports.size() - 2];
  EXPECT_EQ(canceled.kind, ReportKind::kCanceled);
  EXPECT_EQ(canceled.order_id, id(1)) << "the strategy never asked for the cancel";
  EXPECT_EQ(last().kind, ReportKind::kReplaceRejected) << "it waits for no answer any more";
  EXPECT_EQ(last().order_id, id(2));
  EXPECT_EQ(last().reason, RejectReason::kTooLate);
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->ledger().orders(), 0u);
  EXPECT_EQ(gateway->ledger().unanswered(kStrategy), 0u);
}

TEST_F(Overdue, NothingIsOverdueBeforeItsTime) {
  options.answer_max_ns = 3'600'000'000'000;
  start();
  leave_a_replacement_unanswered();
  kill();
  turn_to_the_end();
  EXPECT_TRUE(venue.cancels.empty());
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kPendingRequest);
}

TEST_F(Overdue, AnUnansweredCancelIsRepeatedThenAskedForThenListed) {
  rest(1);
  ASSERT_EQ(request(cancel(2, id(1))), RejectReason::kNone);
  gateway->on_strategy_lost(0);
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 2u);
  EXPECT_EQ(newest_cancel().orig_cl_ord_id, id(1));
  EXPECT_TRUE(venue.status_requests.empty());
  gateway->turn();
  ASSERT_EQ(venue.status_requests.size(), 1u);
  EXPECT_EQ(venue.status_requests[0].cl_ord_id, id(1));
  EXPECT_TRUE(events.exceptions.empty());
  turn_to_the_end();
  ASSERT_EQ(events.exceptions.size(), 1u);
  EXPECT_EQ(events.exceptions[0].kind, ExceptionKind::kUnanswered);
  EXPECT_EQ(events.exceptions[0].order_id, id(1));
  EXPECT_EQ(events.exceptions[0].strategy, kStrategy);
  EXPECT_EQ(venue.cancels.size(), 2u);
  EXPECT_EQ(venue.status_requests.size(), 1u) << "nothing is repeated while it is unanswered";
}

TEST_F(Overdue, AnOrderWithoutAnAnswerHoldsNoSymbol) {
  options.stop_on_exception = true;
  start();
  leave_a_replacement_unanswered();
  ASSERT_EQ(request(cancel(3, id(1))), RejectReason::kNone);
  turn_to_the_end();
  ASSERT_EQ(events.exceptions.size(), 1u);
  EXPECT_EQ(request(limit_order(4)), RejectReason::kNone);
}

TEST_F(Overdue, AStrategyMayCancelAgainWhatTheVenueDoesNotAnswer) {
  leave_a_replacement_unanswered();
  EXPECT_EQ(request(replace(3, id(1), 1'000'000, 160)), RejectReason::kPendingRequest);
  ASSERT_EQ(request(cancel(4, id(1))), RejectReason::kNone);
  EXPECT_EQ(newest_cancel().cl_ord_id, id(4));
  EXPECT_EQ(request(cancel(5, id(1))), RejectReason::kPendingRequest) << "one at a time";
  gateway->turn();
  EXPECT_EQ(venue.status_requests.size(), 1u) << "oeg looks after it from now on";
  report(ExecType::kCanceled, id(4), 0, 0, 0, 0, id(1));
  EXPECT_EQ(strategies.reports[strategies.reports.size() - 2].order_id, id(4));
  EXPECT_EQ(last().order_id, id(2));
  EXPECT_TRUE(gateway->settled());
}

TEST_F(Overdue, ALateReplacementRenamesTheOrderAndItIsCancelledByTheNewId) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  const std::uint64_t second = newest_cancel().cl_ord_id;
  report(ExecType::kReplaced, id(2), 150, 0, 0, 0, id(1));
  EXPECT_EQ(position().open_buy_shares, 150u);
  // The second cancel named an id that the order has no more.
  reject_change(second, id(1), CxlRejReason::kUnknownOrder);
  ASSERT_NE(order(id(2)), nullptr);
  EXPECT_EQ(order(id(2))->state, trading::OrderState::kWorking);
  slot->next_own_cancel = {};
  gateway->turn();
  EXPECT_EQ(newest_cancel().orig_cl_ord_id, id(2));
  report(ExecType::kCanceled, newest_cancel().cl_ord_id, 0, 0, 0, 0, id(2));
  EXPECT_TRUE(gateway->settled());
}

TEST_F(Overdue, WhatTheVenueDoesNotKnowMayHaveBeenRenamedWithoutAWord) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  reject_change(newest_cancel().cl_ord_id, id(1), CxlRejReason::kUnknownOrder);
  ASSERT_NE(order(id(1)), nullptr);
  EXPECT_FALSE(trading::is_final(order(id(1))->state));
  slot->next_own_cancel = {};
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 2u);
  EXPECT_EQ(newest_cancel().orig_cl_ord_id, id(2));
  reject_change(newest_cancel().cl_ord_id, id(2), CxlRejReason::kUnknownOrder);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u) << "it knows neither";
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->counters().reports.lost_by_venue.get(), 1u);
}

TEST_F(Overdue, ASecondCancelThatIsRefusedIsRepeated) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(venue.cancels.size(), static_cast<std::size_t>(i + 1));
    reject_change(newest_cancel().cl_ord_id, id(1), CxlRejReason::kAlreadyPending);
    for (int turn = 0; turn < 3; ++turn) {
      slot->next_own_cancel = {};
      gateway->turn();
    }
  }
  EXPECT_EQ(events.exceptions.size(), 1u);
}

TEST_F(Overdue, AFillEndsItAndNoAnswerIsOwed) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  report(ExecType::kFill, id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(last().kind, ReportKind::kReplaceRejected);
  reject_change(newest_cancel().cl_ord_id, id(1));
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->ledger().orders(), 0u);
  EXPECT_EQ(position().position_shares, 100);
}

TEST_F(Overdue, AStatusThatIsFinalEndsTheOrder) {
  leave_a_replacement_unanswered();
  kill();
  gateway->turn();
  answer_status(OrdStatus::kCanceled, 0);
  EXPECT_NE(order(id(1)), nullptr) << "nobody has asked yet";
  gateway->turn();
  answer_status(OrdStatus::kNew, 0);
  EXPECT_EQ(gateway->ledger().open_orders(), 1u);
  answer_status(OrdStatus::kCanceled, 40);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  ASSERT_EQ(events.exceptions.size(), 1u) << "shares that were never reported";
  EXPECT_EQ(events.exceptions[0].kind, ExceptionKind::kQuantities);
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->ledger().orders(), 0u);
}

TEST_F(Overdue, ANewDayAnswersBothRequests) {
  leave_a_replacement_unanswered();
  ASSERT_EQ(request(cancel(3, id(1))), RejectReason::kNone);
  gateway->reports().on_numbers_reset(true);
  EXPECT_TRUE(gateway->nothing_unanswered());
  EXPECT_EQ(gateway->ledger().unanswered(kStrategy), 0u);
}

TEST_F(Overdue, ARejectOfTheStatusRequestSaysNothingAboutTheOrder) {
  request(limit_order(1));
  request(cancel(2, id(1)));
  kill();
  turn_to_the_end();
  gateway->reports().on_message_reject({.ref_msg_type = 'H', .ref_cl_ord_id = id(1)}, info());
  EXPECT_EQ(gateway->ledger().open_orders(), 1u);
}

TEST_F(Overdue, ASecondCancelThatNeverLeftIsAsIfItHadNotBeen) {
  leave_a_replacement_unanswered();
  venue.full = true;
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kSessionDown);
  venue.full = false;
  EXPECT_EQ(order(id(1))->pending_id, id(2));
  EXPECT_EQ(request(cancel(4, id(1))), RejectReason::kNone);
  report(ExecType::kCanceled, id(4), 0, 0, 0, 0, id(1));
  EXPECT_TRUE(gateway->settled());
}

}  // namespace
}  // namespace tickpath::oeg
