// A session day that ends at the venue: its orders, its requests on their way, and a restart.

#include <gtest/gtest.h>

#include "oeg/recovery.hpp"
#include "tests/support/process.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using trading::RejectReason;
using wire::ReportKind;

class SessionDay : public ::testing::Test, protected GatewayFixture {};

TEST_F(SessionDay, WhatIsStillOpenIsCancelledAtTheNextLogonAndPositionsStay) {
  rest(1);
  report(fix::ExecType::kPartialFill, id(1), 60, 40, 40, 1'000'000);
  venue.logged_on = false;
  gateway->reports().on_numbers_reset(true);
  gateway->turn();
  EXPECT_TRUE(venue.cancels.empty());
  EXPECT_EQ(gateway->counters().open_at_day_end.get(), 1u);

  venue.logged_on = true;
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 1u);
  // The order has ended with the day, and the report of it was lost with the old numbers.
  reject_change(venue.cancels[0].cl_ord_id, id(1));
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(position().position_shares, 40);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kNone) << "the new day";
}

TEST_F(SessionDay, AnOrderGoodTillCanceledOutlivesIt) {
  for (std::uint32_t counter = 1; counter <= 2; ++counter) {
    wire::OrderRequest order = limit_order(counter);
    order.time_in_force = trading::TimeInForce::kGoodTillCancel;
    request(order);
  }
  accept(id(1));  // nothing is known of the other: a cancel finds out
  request(replace(3, id(1), 990'000, 100));
  report(fix::ExecType::kDoneForDay, id(1), 100, 0);
  EXPECT_EQ(gateway->ledger().open_orders(), 2u);
  gateway->reports().on_numbers_reset(true);
  EXPECT_EQ(last().kind, ReportKind::kReplaceRejected);
  turn_to_the_end();
  ASSERT_EQ(venue.cancels.size(), 1u);
  EXPECT_EQ(venue.cancels[0].orig_cl_ord_id, id(2));
  report(fix::ExecType::kFill, id(1), 0, 100, 100, 1'000'000);
  EXPECT_EQ(position().position_shares, 100);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(SessionDay, AReportThatComesAfterAllEndsTheOrderAsAnyOther) {
  rest(1);
  gateway->reports().on_numbers_reset(true);
  gateway->turn();
  ASSERT_EQ(venue.cancels.size(), 1u);
  report(fix::ExecType::kExpired, id(1), 0, 0);
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  reject_change(venue.cancels[0].cl_ord_id, id(1));
  EXPECT_EQ(gateway->ledger().orders(), 0u);
  EXPECT_TRUE(gateway->nothing_unanswered());
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(SessionDay, RequestsOnTheirWayAreAnsweredByOegWhenTheDayEnds) {
  for (const std::uint32_t order : {1u, 2u, 3u}) {
    rest(order);
  }
  request(cancel(4, id(1)));
  request(replace(5, id(2), 990'000, 50));
  // Done, and only the answer to its cancel is missing.
  request(cancel(6, id(3)));
  report(fix::ExecType::kFill, id(3), 0, 100, 100, 1'000'000);
  ASSERT_FALSE(gateway->nothing_unanswered());
  strategies.reports.clear();
  gateway->reports().on_numbers_reset(true);
  ASSERT_EQ(strategies.reports.size(), 3u);
  EXPECT_EQ(strategies.reports[0].kind, ReportKind::kCancelRejected);
  EXPECT_EQ(strategies.reports[0].reason, RejectReason::kSessionDown);
  EXPECT_EQ(strategies.reports[1].kind, ReportKind::kReplaceRejected);
  EXPECT_EQ(strategies.reports[2].kind, ReportKind::kCancelRejected);
  EXPECT_TRUE(gateway->nothing_unanswered());
  EXPECT_EQ(gateway->ledger().orders(), 2u);
  gateway->turn();
  EXPECT_EQ(venue.cancels.size(), 4u) << "of the two that are open, by oeg itself";
}

TEST_F(SessionDay, OnTheSameDayNewNumbersChangeNoOrder) {
  rest(1);
  request(cancel(2, id(1)));
  gateway->reports().on_numbers_reset(false);
  gateway->turn();
  EXPECT_EQ(venue.cancels.size(), 1u);
  report(fix::ExecType::kCanceled, id(2), 0, 0, 0, 0, id(1));
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
}

class SessionDayRecovery : public ::testing::Test {
 protected:
  RecoveryResult recover_into(GatewayFixture& f, const GatewayFixture& died,
                              std::uint32_t next_sender, std::uint32_t next_target) {
    JournalOptions options{.path = folder_ / "journal", .records = 128, .sizes = {64, 16, 16}};
    {
      Journal journal(options);
      for (JournalRecord record : died.journal.records) EXPECT_TRUE(journal.append(record));
    }
    Journal journal(options);
    f.slot->connected = false;
    return recover(*f.gateway, journal, next_sender, next_target);
  }
  test_support::Folder folder_;
};

// The numbers of two sessions say nothing about each other.
TEST_F(SessionDayRecovery, TakesNoOrderForUnsentBecauseANumberOfTheNewSessionEqualsItsOwn) {
  GatewayFixture died;
  died.venue.seq = 7;
  died.request(died.limit_order(1));  // 34=7; the venue was not asked to answer yet
  died.gateway->reports().on_numbers_reset(false);
  GatewayFixture f;
  const RecoveryResult result = recover_into(f, died, 7, 1);
  EXPECT_EQ(result.unsent, 0u);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 1u);
}

TEST_F(SessionDayRecovery, TakesNoReportForProcessedBecauseOfANumberOfTheSessionBefore) {
  GatewayFixture died;
  died.rest(1);
  died.gateway->reports().on_numbers_reset(false);
  GatewayFixture f;
  EXPECT_FALSE(recover_into(f, died, 9, died.report_seq).report_was_processed);
}

TEST_F(SessionDayRecovery, OrdersOfADayThatHasEndedAreCancelledAfterARestartToo) {
  GatewayFixture died;
  died.rest(1);
  died.gateway->reports().on_numbers_reset(true);
  GatewayFixture f;
  recover_into(f, died, 1, 1);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 1u);
  f.gateway->turn();
  EXPECT_EQ(f.venue.cancels.size(), 1u);
}

}  // namespace
}  // namespace tickpath::oeg
