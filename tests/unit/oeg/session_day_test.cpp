// A session day that ends at the venue: its orders, its requests on their way, and a restart.
#include <memory>

#include <gtest/gtest.h>

#include "oeg/recovery.hpp"
#include "tests/support/process.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using wire::RejectReason;
using wire::ReportKind;

TEST(SessionDay, WhatIsStillOpenIsCancelledAtTheNextLogonAndPositionsStay) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.report(fix::ExecType::kPartialFill, f.id(1), 60, 40, 40, 1'000'000);
  f.venue.logged_on = false;
  f.gateway->on_numbers_reset(true);
  f.gateway->turn();
  EXPECT_TRUE(f.venue.cancels.empty());
  EXPECT_EQ(f.gateway->counters().open_at_day_end.get(), 1u);

  f.venue.logged_on = true;
  f.gateway->turn();
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  // The order has ended with the day, and the report of it was lost with the old numbers.
  f.reject_change(f.venue.cancels[0].cl_ord_id, f.id(1));
  EXPECT_EQ(f.last().kind, ReportKind::kExpired);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 0u);
  EXPECT_EQ(f.position().position_shares, 40);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kNone) << "the new day";
}

TEST(SessionDay, AReportThatComesAfterAllEndsTheOrderAsAnyOther) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->on_numbers_reset(true);
  f.gateway->turn();
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  f.report(fix::ExecType::kExpired, f.id(1), 0, 0);
  EXPECT_EQ(f.last().kind, ReportKind::kExpired);
  f.reject_change(f.venue.cancels[0].cl_ord_id, f.id(1));
  EXPECT_EQ(f.gateway->ledger().orders(), 0u);
  EXPECT_TRUE(f.gateway->nothing_unanswered());
  EXPECT_TRUE(f.events.exceptions.empty());
}

TEST(SessionDay, RequestsOnTheirWayAreAnsweredByOegWhenTheDayEnds) {
  GatewayFixture f;
  for (const std::uint32_t order : {1u, 2u, 3u}) {
    f.request(f.limit_order(order));
    f.accept(f.id(order));
  }
  f.request(f.cancel(4, f.id(1)));
  f.request(f.replace(5, f.id(2), 990'000, 50));
  // Done, and only the answer to its cancel is missing.
  f.request(f.cancel(6, f.id(3)));
  f.report(fix::ExecType::kFill, f.id(3), 0, 100, 100, 1'000'000);
  ASSERT_FALSE(f.gateway->nothing_unanswered());
  f.strategies.reports.clear();
  f.gateway->on_numbers_reset(true);
  ASSERT_EQ(f.strategies.reports.size(), 3u);
  EXPECT_EQ(f.strategies.reports[0].kind, ReportKind::kCancelRejected);
  EXPECT_EQ(f.strategies.reports[0].reason, RejectReason::kSessionDown);
  EXPECT_EQ(f.strategies.reports[1].kind, ReportKind::kReplaceRejected);
  EXPECT_EQ(f.strategies.reports[2].kind, ReportKind::kCancelRejected);
  EXPECT_TRUE(f.gateway->nothing_unanswered());
  EXPECT_EQ(f.gateway->ledger().orders(), 2u);
  f.gateway->turn();
  EXPECT_EQ(f.venue.cancels.size(), 4u) << "of the two that are open, by oeg itself";
}

TEST(SessionDay, OnTheSameDayNewNumbersChangeNoOrder) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.request(f.cancel(2, f.id(1)));
  f.gateway->on_numbers_reset(false);
  f.gateway->turn();
  EXPECT_EQ(f.venue.cancels.size(), 1u);
  f.report(fix::ExecType::kCanceled, f.id(2), 0, 0, 0, 0, f.id(1));
  EXPECT_EQ(f.last().kind, ReportKind::kCanceled);
}

class SessionDayRecovery : public ::testing::Test {
 protected:
  RecoveryResult recover_into(GatewayFixture& f, const GatewayFixture& died,
                              std::uint32_t next_sender, std::uint32_t next_target) {
    JournalOptions options;
    options.path = folder_ / "journal";
    options.records = 128;
    options.sizes = {64, 16, 16};
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
  died.gateway->on_numbers_reset(false);
  GatewayFixture f;
  const RecoveryResult result = recover_into(f, died, 7, 1);
  EXPECT_EQ(result.unsent, 0u);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 1u);
}

TEST_F(SessionDayRecovery, TakesNoReportForProcessedBecauseOfANumberOfTheSessionBefore) {
  GatewayFixture died;
  died.request(died.limit_order(1));
  died.accept(died.id(1));
  died.gateway->on_numbers_reset(false);
  GatewayFixture f;
  EXPECT_FALSE(recover_into(f, died, 9, died.report_seq).report_was_processed);
}

TEST_F(SessionDayRecovery, OrdersOfADayThatHasEndedAreCancelledAfterARestartToo) {
  GatewayFixture died;
  died.request(died.limit_order(1));
  died.accept(died.id(1));
  died.gateway->on_numbers_reset(true);
  GatewayFixture f;
  recover_into(f, died, 1, 1);
  EXPECT_EQ(f.gateway->ledger().open_orders(), 1u);
  f.gateway->turn();
  EXPECT_EQ(f.venue.cancels.size(), 1u);
}

}  // namespace
}  // namespace tickpath::oeg
