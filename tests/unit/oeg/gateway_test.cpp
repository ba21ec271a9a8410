#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg::gateway_tests {
namespace {

using fix::ExecType;
using trading::RejectReason;
using wire::ReportKind;

class Gateway : public ::testing::Test, protected GatewayFixture {};

TEST_F(Gateway, CarriesAnOrderFromRequestToLastFill) {
  ASSERT_EQ(request(limit_order(1, 1'000'000, 300)), RejectReason::kNone);
  EXPECT_EQ(position().open_buy_shares, 300u);
  accept(id(1), 300);
  EXPECT_EQ(last().kind, ReportKind::kAccepted);
  EXPECT_EQ(last().order_id, id(1));
  EXPECT_EQ(last().trace_id, 1001u);
  EXPECT_EQ(last().limit_price, 1'000'000u);
  report(ExecType::kPartialFill, id(1), 200, 100, 100, 999'900);
  EXPECT_EQ(last().kind, ReportKind::kFill);
  EXPECT_EQ(last().last_shares, 100u);
  EXPECT_EQ(last().leaves_shares, 200u);
  EXPECT_EQ(last().execution_id, 2u);
  EXPECT_EQ(position().open_buy_shares, 200u);
  report(ExecType::kFill, id(1), 0, 300, 200, 1'000'000);
  EXPECT_EQ(position().position_shares, 300);
  EXPECT_EQ(position().cash, -(100 * std::int64_t{999'900} + 200 * std::int64_t{1'000'000}));
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_TRUE(gateway->settled());
}

TEST_F(Gateway, JournalsBeforeItSendsWithTheNumberItSends) {
  venue.seq = 17;
  request(limit_order(1));
  ASSERT_EQ(journal.records.size(), 1u);
  EXPECT_EQ(journal.records[0].fix_seq, 17u);
  EXPECT_EQ(std::string_view(journal.records[0].symbol), "AAPL");
  accept(id(1));
  EXPECT_EQ(journal.records[1].event.event, wire::EventKind::kReported);
  EXPECT_EQ(journal.records[1].fix_seq, 1u);
  // risk hears the same, in the same order.
  ASSERT_EQ(events.events.size(), 2u);
  EXPECT_EQ(events.events[0].event, wire::EventKind::kRequested);
  EXPECT_EQ(events.events[1].state, trading::OrderState::kWorking);
}

TEST_F(Gateway, CancelsAnOrderByItsOwner) {
  rest(1);
  ASSERT_EQ(request(cancel(2, id(1))), RejectReason::kNone);
  ASSERT_EQ(venue.cancels.size(), 1u);
  EXPECT_EQ(venue.cancels[0].cl_ord_id, id(2));
  EXPECT_EQ(venue.cancels[0].orig_cl_ord_id, id(1));
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kPendingRequest);
  report(ExecType::kCanceled, id(2), 0, 0, 0, 0, id(1));
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
  EXPECT_EQ(last().order_id, id(2));
  EXPECT_EQ(last().target_order_id, id(1));
  EXPECT_EQ(request(cancel(4, id(1))), RejectReason::kTooLate);
  EXPECT_EQ(request(cancel(5, id(40))), RejectReason::kUnknownOrder);
  EXPECT_EQ(last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(gateway->counters().changes.accepted.get(), 1u);
}

TEST_F(Gateway, GivesTheOrderItsNewIdWhenItIsReplaced) {
  rest(1);
  ASSERT_EQ(request(replace(2, id(1), 1'000'500, 150)), RejectReason::kNone);
  ASSERT_EQ(venue.replaces.size(), 1u);
  EXPECT_EQ(venue.replaces[0].order_qty, 150u);
  report(ExecType::kReplaced, id(2), 150, 0, 0, 0, id(1));
  EXPECT_EQ(last().kind, ReportKind::kReplaced);
  EXPECT_EQ(last().order_id, id(2));
  EXPECT_EQ(last().limit_price, 1'000'500u);
  EXPECT_EQ(position().open_buy_shares, 150u);
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kTooLate);
  report(ExecType::kFill, id(2), 0, 150, 150, 1'000'500);
  EXPECT_EQ(position().position_shares, 150);
}

// FIX carries ExecInst over to no replacement, and a venue may forget the rest as well.
TEST_F(Gateway, AReplacementRepeatsTheTermsOfItsOrder) {
  wire::OrderRequest order = limit_order(1, 1'000'000, 500);
  order.instructions = wire::kPostOnly;
  order.display_shares = 100;
  ASSERT_EQ(request(order), RejectReason::kNone);
  accept(id(1), 500);
  for (std::uint32_t next = 2; next <= 3; ++next) {
    ASSERT_EQ(request(replace(next, id(next - 1), 1'000'500, 400)), RejectReason::kNone);
    EXPECT_TRUE(venue.replaces.back().post_only);
    EXPECT_EQ(venue.replaces.back().max_floor, 100u);
    report(ExecType::kReplaced, id(next), 400, 0, 0, 0, id(next - 1));
  }
  const JournalRecord& asked = journal.records[0];
  EXPECT_EQ(asked.display_shares, 100u);
  EXPECT_EQ(asked.instructions, wire::kPostOnly);
}

TEST_F(Gateway, RecordsTheExchangesTimeOfEachRequestAndReport) {
  rest(1);
  EXPECT_EQ(journal.records.back().exchange_time_ns(), 0u) << "no message had one";
  market_at(34'200'000'000'007);
  ASSERT_EQ(request(limit_order(2)), RejectReason::kNone);
  EXPECT_EQ(journal.records.back().exchange_time_ns(), 34'200'000'000'007u);
  EXPECT_EQ(journal.records.back().order_shares, 100u);
  market_at(40'000'000'000'000);
  report(ExecType::kFill, id(2), 0, 100, 100, 1'000'000);
  EXPECT_EQ(journal.records.back().exchange_time_ns(), 40'000'000'000'000u);
  EXPECT_EQ(journal.records.back().execution_id, executions);
  market_at(0, wire::UpdateKind::kFeedState);  // mdh's own word
  EXPECT_EQ(gateway->instruments().exchange_time_ns(), 40'000'000'000'000u);
}

TEST_F(Gateway, FollowsAVenueThatTakesSharesOffAnOrderUntraded) {
  rest(1);
  report(ExecType::kRestated, id(1), 60, 0);
  EXPECT_EQ(last().kind, ReportKind::kRestated);
  EXPECT_EQ(last().order_id, id(1));
  EXPECT_EQ(last().leaves_shares, 60u);
  EXPECT_EQ(position().open_buy_shares, 60u);
  EXPECT_EQ(position().position_shares, 0);
  EXPECT_EQ(gateway->counters().reports.restated.get(), 1u);
  EXPECT_EQ(gateway->counters().reports.ignored.get(), 0u);
  EXPECT_EQ(gateway->ledger().find(id(1))->shares, 60u);
  report(ExecType::kFill, id(1), 0, 60, 60, 1'000'000);
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_EQ(position().position_shares, 60);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
}

// FIX 4.2 and 4.4 have no ExecType for it: a venue says Restated with another OrdType, or L.
TEST_F(Gateway, TellsThatAStopOrderWasTriggeredHoweverTheVenueSaysIt) {
  for (const auto& [counter, type] :
       {std::pair{1u, ExecType::kRestated}, {2u, ExecType::kTriggered}}) {
    wire::OrderRequest stop = limit_order(counter, 1'010'000);
    stop.type = trading::OrderType::kStopLimit;
    stop.stop_price = 1'005'000;
    ASSERT_EQ(request(stop), RejectReason::kNone);
    accept(id(counter));
    fix::ExecutionReport triggered{.exec_id = ++executions,
                                   .cl_ord_id = id(counter),
                                   .leaves_qty = 100,
                                   .exec_type = type,
                                   .symbol = fix::Symbol::from("AAPL")};
    if (type == ExecType::kRestated) triggered.order_type = trading::OrderType::kLimit;
    gateway->reports().on_execution_report(triggered, info());
    EXPECT_EQ(last().kind, ReportKind::kTriggered);
    EXPECT_EQ(last().order_id, id(counter));
    EXPECT_EQ(last().leaves_shares, 100u);
    EXPECT_EQ(journal.records.back().event.report_kind, ReportKind::kTriggered);
    EXPECT_EQ(events.events.back().state, trading::OrderState::kWorking);
  }
  EXPECT_EQ(gateway->counters().reports.triggered.get(), 2u);
  EXPECT_EQ(gateway->counters().reports.restated.get(), 0u);
  EXPECT_EQ(position().open_buy_shares, 200u);
}

TEST_F(Gateway, ARestatementThatOnlyRepeatsTheTypeOfALimitOrderTriggersNothing) {
  rest(1);
  gateway->reports().on_execution_report({.exec_id = ++executions,
                                          .cl_ord_id = id(1),
                                          .leaves_qty = 60,
                                          .exec_type = ExecType::kRestated,
                                          .order_type = trading::OrderType::kLimit,
                                          .symbol = fix::Symbol::from("AAPL")},
                                         info());
  EXPECT_EQ(last().kind, ReportKind::kRestated);
}

TEST_F(Gateway, BooksNoRestatementThatAddsOrTradesShares) {
  rest(1);
  report(ExecType::kRestated, id(1), 150, 0);
  report(ExecType::kRestated, id(1), 60, 40);
  report(ExecType::kRestated, id(1), 0, 0);
  EXPECT_EQ(gateway->counters().reports.impossible.get(), 3u);
  EXPECT_EQ(position().open_buy_shares, 100u);
}

// The replacement names a total: what the order loses meanwhile, it may bring back.
TEST_F(Gateway, ReservesForAReplacementWhatItsOrderLosesMeanwhile) {
  rest(1);
  ASSERT_EQ(request(replace(2, id(1), 1'000'500, 150)), RejectReason::kNone);
  report(ExecType::kRestated, id(1), 60, 0);
  const Order& order = *gateway->ledger().find(id(1));
  EXPECT_EQ(order.leaves, 60u);
  EXPECT_EQ(order.reserved_shares, 90u);
  EXPECT_EQ(gateway->ledger().position(order.row).reserved_buy, 90u);
  report(ExecType::kReplaced, id(2), 150, 0, 0, 0, id(1));
  EXPECT_EQ(position().open_buy_shares, 150u);
  EXPECT_EQ(gateway->ledger().position(0).reserved_buy, 0u);
}

TEST_F(Gateway, RefusesAReplacementThatChangesSideOrFallsBelowWhatIsFilled) {
  rest(1);
  report(ExecType::kPartialFill, id(1), 40, 60, 60, 1'000'000);
  EXPECT_EQ(request(replace(2, id(1), 1'000'000, 60)), RejectReason::kMalformed);
  wire::OrderRequest other_side = replace(3, id(1), 1'000'000, 100);
  other_side.side = Side::kSell;
  EXPECT_EQ(request(other_side), RejectReason::kMalformed);
  EXPECT_EQ(last().kind, ReportKind::kReplaceRejected);
  EXPECT_EQ(request(replace(4, id(1), 1'000'000, 61)), RejectReason::kNone);
}

TEST_F(Gateway, SettlesACancelThatCrossesTheFill) {
  rest(1);
  request(cancel(2, id(1)));
  report(ExecType::kFill, id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_FALSE(gateway->settled());  // the cancel's answer is still to come
  reject_change(id(2), id(1));
  EXPECT_EQ(last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(last().reason, RejectReason::kTooLate);
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->ledger().find(id(1)), nullptr);
}

TEST_F(Gateway, TellsTheVenuesRejectsAndExpiries) {
  request(limit_order(1));
  report(ExecType::kRejected, id(1), 0, 0);
  EXPECT_EQ(last().kind, ReportKind::kRejected);
  EXPECT_EQ(last().reason, RejectReason::kVenue);
  request(limit_order(2));
  report(ExecType::kExpired, id(2), 0, 0);  // an IOC that found nothing, without an ack
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(gateway->counters().orders.accepted.get(), 1u);
  EXPECT_EQ(gateway->counters().orders.rejected.get(), 1u);
  EXPECT_EQ(position().open_buy_shares, 0u);
}

TEST_F(Gateway, AnOrderThatTheVenueDoesNotKnowIsOver) {
  rest(1);
  request(cancel(2, id(1)));
  reject_change(id(2), id(1), fix::CxlRejReason::kUnknownOrder);
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(last().order_id, id(1));
  EXPECT_EQ(last().reason, RejectReason::kUnknownOrder);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->counters().reports.lost_by_venue.get(), 1u);
}

TEST_F(Gateway, RepeatsAnOwnCancelThatTheVenueRefusesButDoesNotFloodIt) {
  rest(1);
  gateway->cancel_everything();
  for (int turn = 0; turn < 1'000; ++turn) {
    gateway->turn();
    Order* const order = gateway->ledger().find(id(1));
    ASSERT_NE(order, nullptr);
    if (order->pending_id != 0)
      reject_change(order->pending_id, id(1), fix::CxlRejReason::kBrokerOption);
  }
  const std::uint64_t asked = gateway->counters().changes.own.get();
  EXPECT_GE(asked, 1u);
  EXPECT_LT(asked, 500u);
}

TEST_F(Gateway, TakesAMessageRejectAsTheAnswerToItsRequest) {
  request(limit_order(1));
  fix::MessageReject reject{.ref_cl_ord_id = id(1)};
  gateway->reports().on_message_reject(reject, info());
  EXPECT_EQ(last().kind, ReportKind::kRejected);
  rest(2);
  request(cancel(3, id(2)));
  reject.ref_cl_ord_id = id(3);
  gateway->reports().on_message_reject(reject, info());
  EXPECT_EQ(last().kind, ReportKind::kCancelRejected);
  EXPECT_EQ(gateway->ledger().open_orders(), 1u);
}

TEST_F(Gateway, CountsReportsThatCannotBe) {
  report(ExecType::kNew, id(9), 100, 0);
  EXPECT_EQ(gateway->counters().reports.unknown.get(), 1u);
  rest(1);
  accept(id(1));  // twice
  EXPECT_EQ(gateway->counters().reports.impossible.get(), 1u);
  report(ExecType::kReplaced, id(5), 100, 0, 0, 0, id(1));  // nobody asked
  EXPECT_EQ(gateway->counters().reports.impossible.get(), 2u);
  report(ExecType::kPendingCancel, id(1), 100, 0);
  EXPECT_EQ(gateway->counters().reports.ignored.get(), 1u);
  EXPECT_EQ(strategies.reports.size(), 1u);
}

TEST_F(Gateway, CountsRequestsAndReportsOfTheNewestConnectionAlone) {
  const StrategyCounters& counted = gateway->slots()[0].counters;
  const std::uint64_t connections = counted.connections.get();
  rest(1);
  EXPECT_EQ(counted.connection_requests.get(), 1u);
  EXPECT_EQ(counted.connection_reports.get(), 1u);
  gateway->on_strategy_lost(0);
  gateway->on_strategy_connected(0);
  EXPECT_EQ(counted.connections.get(), connections + 1);
  EXPECT_EQ(counted.connection_requests.get(), 0u);
  EXPECT_EQ(counted.connection_reports.get(), 0u);
  request(limit_order(2));
  request(limit_order(2));  // refused: the id was used
  EXPECT_EQ(counted.connection_requests.get(), 2u);
  EXPECT_EQ(counted.connection_reports.get(), 1u);
}

TEST_F(Gateway, UndoesAnOrderThatTheSessionWouldNotTake) {
  venue.full = true;
  EXPECT_EQ(request(limit_order(1)), RejectReason::kSessionDown);
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(journal.records.size(), 2u);
  venue.full = false;
  rest(2);
  venue.full = true;
  EXPECT_EQ(request(cancel(3, id(2))), RejectReason::kSessionDown);
  venue.full = false;
  EXPECT_EQ(request(cancel(4, id(2))), RejectReason::kNone);
}

// The strategy's router leaves a venue out whose oeg has said so, instead of meeting refusals.
TEST_F(Gateway, TellsEachStrategyWhenItRefusesEveryOrderAndWhenItAcceptsAgain) {
  const auto told = [this] {
    gateway->turn();
    const wire::OrderReport& last = strategies.reports.back();
    EXPECT_EQ(last.kind, wire::ReportKind::kAccepting);
    EXPECT_EQ(last.strategy_id, kStrategy);
    return last.reason;
  };
  gateway->turn();
  EXPECT_TRUE(strategies.reports.empty()) << "nothing has changed";
  venue.logged_on = false;
  EXPECT_EQ(told(), RejectReason::kSessionDown);
  gateway->turn();
  EXPECT_EQ(strategies.reports.size(), 1u) << "once a change";
  venue.logged_on = true;
  venue.reports_missing = true;
  EXPECT_EQ(told(), RejectReason::kVenueGap);
  venue.reports_missing = false;
  gateway->checks().set_risk_alive(false);
  EXPECT_EQ(told(), RejectReason::kRiskAbsent);
  gateway->checks().set_risk_alive(true);
  EXPECT_EQ(told(), RejectReason::kNone);
  journal.room = false;
  EXPECT_EQ(told(), RejectReason::kJournalFull);
  journal.room = true;
  venue.trades = false;  // of a pair: it may not trade now
  EXPECT_EQ(told(), RejectReason::kSessionDown);
  venue.trades = true;
  EXPECT_EQ(told(), RejectReason::kNone);
  wire::ControlBlock block{};
  block.set_kill(kStrategy, true, false);
  gateway->set_control_block(block);
  EXPECT_EQ(told(), RejectReason::kKillSwitch);
  block.set_kill(kStrategy, false, false);
  gateway->set_control_block(block);
  EXPECT_EQ(told(), RejectReason::kNone);
  gateway->checks().stop_accepting();
  EXPECT_EQ(told(), RejectReason::kSessionDown);
  EXPECT_EQ(gateway->counters().reports.sent.get(), 0u) << "it answers nothing";
}

TEST_F(Gateway, TellsWhetherItAcceptsBeforeTheEndOfThePositionsAndAsSoonAsThereIsACredit) {
  venue.logged_on = false;
  strategies.credits = 0;
  gateway->begin_positions(0);
  turn_to_the_end();
  EXPECT_TRUE(gateway->reports_wait());
  strategies.credits = 1'000;
  turn_to_the_end();
  EXPECT_FALSE(gateway->reports_wait());
  ASSERT_EQ(strategies.reports.size(), 2u);
  EXPECT_EQ(strategies.reports[0].kind, wire::ReportKind::kAccepting);
  EXPECT_EQ(strategies.reports[0].reason, RejectReason::kSessionDown);
  EXPECT_EQ(strategies.reports[1].kind, wire::ReportKind::kPositionsEnd);
  venue.logged_on = true;
  EXPECT_TRUE(gateway->reports_wait()) << "it does not sleep on news";
  strategies.reports.clear();
  gateway->begin_positions(0);
  turn_to_the_end();
  ASSERT_EQ(strategies.reports.size(), 2u);
  EXPECT_EQ(strategies.reports[0].reason, RejectReason::kNone) << "said on each connection";
}

// A cancel can only make less of what nobody knows exactly; an order could be one too many.
TEST_F(Gateway, SendsCancelsOnlyWhileReportsOfTheVenueAreMissing) {
  for (std::uint32_t order = 1; order <= 3; ++order) {
    rest(order);
  }
  venue.reports_missing = true;
  EXPECT_EQ(request(limit_order(4)), RejectReason::kVenueGap);
  EXPECT_EQ(request(replace(5, id(1), 1'000'000, 200)), RejectReason::kVenueGap);
  EXPECT_EQ(request(cancel(6, id(1))), RejectReason::kNone);
  EXPECT_EQ(trading::name(RejectReason::kVenueGap), "venue_gap");
  gateway->on_strategy_lost(0);
  turn_to_the_end();
  EXPECT_EQ(venue.orders.size(), 3u);
  EXPECT_EQ(venue.cancels.size(), 3u);
  gateway->on_strategy_connected(0);
  venue.reports_missing = false;
  EXPECT_EQ(request(limit_order(7)), RejectReason::kNone);
}

TEST_F(Gateway, CancelsTheOrdersOfAStrategyThatDied) {
  for (std::uint32_t i = 1; i <= 40; ++i) {
    rest(i);
  }
  gateway->on_strategy_lost(0);
  EXPECT_EQ(gateway->counters().orphaned_orders.get(), 40u);
  gateway->turn();
  EXPECT_LT(venue.cancels.size(), 40u);  // a bounded number a turn
  turn_to_the_end();
  ASSERT_EQ(venue.cancels.size(), 40u);
  const std::size_t told = strategies.reports.size();
  confirm_cancels();
  EXPECT_EQ(strategies.reports.size(), told);
  EXPECT_EQ(gateway->counters().reports.dropped.get(), 40u);
  EXPECT_TRUE(gateway->settled());
  EXPECT_EQ(gateway->counters().changes.own.get(), 40u);
}

TEST_F(Gateway, SparesTheOrdersOfTheStrategysNextLife) {
  rest(1);
  venue.logged_on = false;
  gateway->on_strategy_lost(0);
  gateway->on_strategy_connected(0);
  venue.logged_on = true;
  EXPECT_EQ(request(limit_order(2)), RejectReason::kNone);
  accept(id(2));
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 1u);
  EXPECT_EQ(venue.cancels[0].orig_cl_ord_id, id(1));
  // The answer names the order, not the cancel that the strategy never sent.
  report(ExecType::kCanceled, venue.cancels[0].cl_ord_id, 0, 0, 0, 0, id(1));
  EXPECT_EQ(last().order_id, id(1));
  EXPECT_EQ(last().target_order_id, id(1));
  // An order of the life before is unknown to this one, not too late.
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kUnknownOrder);
}

TEST_F(Gateway, KeepsReportsInOrderWhileCreditsAreOut) {
  request(limit_order(1, 1'000'000, 300));
  strategies.credits = 0;
  accept(id(1), 300);
  report(ExecType::kPartialFill, id(1), 200, 100, 100, 1'000'000);
  EXPECT_TRUE(strategies.reports.empty());
  EXPECT_FALSE(gateway->settled());
  strategies.credits = 1;
  report(ExecType::kPartialFill, id(1), 100, 200, 100, 1'000'000);
  EXPECT_TRUE(strategies.reports.empty());  // it may not overtake
  strategies.credits = 10;
  EXPECT_TRUE(gateway->turn());
  ASSERT_EQ(strategies.reports.size(), 3u);
  EXPECT_EQ(strategies.reports[0].kind, ReportKind::kAccepted);
  EXPECT_EQ(strategies.reports[2].cumulative_shares, 200u);
}

TEST_F(Gateway, LetsTheVenueWaitForAStrategyThatReadsSlowlyAndLosesNothing) {
  strategies.credits = 0;
  rest(1, 1000);
  std::uint32_t filled = 0;
  const auto fill = [&] {
    ++filled;
    report(ExecType::kPartialFill, id(1), 1000 - filled, filled, 1, 1'000'000);
  };
  while (gateway->reports().ready()) fill();
  EXPECT_EQ(filled, 6u);  // there is still room for all that one more message can bring
  EXPECT_EQ(gateway->requests_taken(0), 0u);
  gateway->turn();
  EXPECT_FALSE(gateway->reports().ready());
  while (filled < 500) {
    strategies.credits = 1;  // it reads, one after the other
    gateway->turn();
    ASSERT_TRUE(gateway->reports().ready());
    fill();
  }
  strategies.credits = 100;
  gateway->turn();
  ASSERT_EQ(strategies.reports.size(), 501u);
  for (std::uint32_t i = 1; i <= 500; ++i) ASSERT_EQ(strategies.reports[i].cumulative_shares, i);
  EXPECT_TRUE(strategies.dropped.empty());
  EXPECT_EQ(gateway->counters().reports.dropped.get(), 0u);
  EXPECT_GT(gateway->counters().reports.venue_held.get(), 1u);
}

TEST_F(Gateway, CutsOffAStrategyThatReadsNothingForLongAndGoesOnWithTheOthers) {
  options.unread_max_ns = 0;
  start();
  rest(1, 300);
  strategies.credits = 0;
  for (std::uint32_t i = 1; gateway->reports().ready(); ++i)
    report(ExecType::kPartialFill, id(1), 300 - i, i, 1, 1'000'000);
  EXPECT_TRUE(strategies.dropped.empty());
  gateway->turn();
  ASSERT_EQ(strategies.dropped.size(), 1u);
  EXPECT_EQ(gateway->counters().reports.dropped.get(), 7u);
  EXPECT_EQ(position().position_shares, 7);
  EXPECT_TRUE(gateway->reports().ready());
  gateway->turn();
  EXPECT_EQ(venue.cancels.size(), 1u);  // it leaves nothing open behind
  gateway->on_strategy_lost(0);
  EXPECT_EQ(gateway->counters().orphaned_orders.get(), 1u);
}

TEST_F(Gateway, TakesRequestsOnlyWhileTheReportsThatTheyBringFindRoom) {
  EXPECT_EQ(gateway->requests_taken(0), 2u);  // half a queue of 8, two reports each
  request(limit_order(1));
  EXPECT_EQ(gateway->requests_taken(0), 1u);
  request(limit_order(2));
  EXPECT_EQ(gateway->requests_taken(0), 0u);
  accept(id(1));
  EXPECT_EQ(gateway->requests_taken(0), 1u);
  request(cancel(3, id(1)));
  EXPECT_EQ(gateway->requests_taken(0), 0u);
  report(ExecType::kCanceled, id(3), 0, 0, 0, 0, id(1));
  EXPECT_EQ(gateway->requests_taken(0), 1u);
  // Nothing is answered for now: what comes is refused at once.
  venue.logged_on = false;
  EXPECT_EQ(gateway->requests_taken(0), 2u);
  venue.logged_on = true;
  report(ExecType::kRejected, id(2), 0, 0);
  EXPECT_EQ(gateway->requests_taken(0), 2u);
  venue.slow = true;
  EXPECT_EQ(gateway->requests_taken(0), 0u);
  venue.slow = false;
  journal.room_for_changes = false;
  EXPECT_EQ(gateway->requests_taken(0), 0u);
}

TEST_F(Gateway, RefusesMoreStrategiesThanItHasRoomForAndItsOwnId) {
  EXPECT_EQ(gateway->slots().assign(kOwnStrategyId), nullptr);
  EXPECT_EQ(gateway->slots().assign(kStrategy), slot);
  EXPECT_NE(gateway->slots().assign(10), nullptr);
  EXPECT_NE(gateway->slots().assign(11), nullptr);
  EXPECT_NE(gateway->slots().assign(12), nullptr);
  EXPECT_EQ(gateway->slots().assign(13), nullptr);
}

// An id that was only said, by whoever proved the role of a strategy.
TEST_F(Gateway, AStrategyThatNeverTradedMakesRoomForAnother) {
  StrategySlot* const failed = gateway->slots().assign_to_peer(10);
  StrategySlot* const connected = gateway->slots().assign_to_peer(11);
  StrategySlot* const traded = gateway->slots().assign_to_peer(12);
  connected->taken.store(true);
  traded->last_id = 1;
  EXPECT_EQ(gateway->slots().assign_to_peer(13), failed);
  EXPECT_EQ(failed->id.load(), 13);
  failed->taken.store(true);
  EXPECT_EQ(gateway->slots().assign_to_peer(10), nullptr) << "the others are in use";
  EXPECT_EQ(gateway->slots().assign_to_peer(11), connected);
  // Its connection is gone, and it never sent an order.
  gateway->on_strategy_connected(gateway->slots().index(*connected));
  gateway->on_strategy_lost(gateway->slots().index(*connected));
  EXPECT_EQ(gateway->slots().assign_to_peer(10), connected);
  EXPECT_EQ(gateway->slots().assign_to_peer(kStrategy), slot) << "it has its slot for good";
}

// The market is 100.00 to 100.10, the collar 10 basis points.
TEST_F(Gateway, MeasuresAReplacedStopOrderLikeANewOne) {
  limit({.collar_basis_points = 10});
  wire::OrderRequest stop = limit_order(1, 0);
  stop.type = trading::OrderType::kStop;
  stop.stop_price = 1'100'000;
  ASSERT_EQ(request(stop), RejectReason::kNone);
  accept(id(1));
  wire::OrderRequest later = replace(2, id(1), 0, 50);
  later.type = trading::OrderType::kStop;
  EXPECT_EQ(request(later), RejectReason::kMalformed) << "without a stop price";
  later.order_id = id(3);
  later.stop_price = 1'200'000;
  EXPECT_EQ(request(later), RejectReason::kNone);
  ASSERT_EQ(venue.replaces.size(), 1u);
  const fix::OrderCancelReplaceRequest& sent = venue.replaces.back();
  EXPECT_EQ(sent.type, trading::OrderType::kStopLimit) << "as it was sent at first";
  EXPECT_EQ(sent.stop_price.value, 1'200'000);
  EXPECT_EQ(sent.price.value, 1'201'200) << "the collar";
  EXPECT_EQ(sent.order_qty, 50u);
}

}  // namespace
}  // namespace tickpath::oeg::gateway_tests
