// What the venue asks for once more at a logon.
#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

class Resend : public ::testing::Test, protected GatewayFixture {};

constexpr std::int64_t kYoung = 100'000'000;
constexpr std::int64_t kOld = 5'000'000'000;

TEST_F(Resend, SendsAYoungOrderAgainAndAnOldOneNot) {
  request(limit_order(1));
  EXPECT_TRUE(gateway->reports().may_resend({'D', id(1), kYoung}));
  EXPECT_TRUE(strategies.reports.empty());
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(1), kOld}));
  EXPECT_EQ(last().kind, wire::ReportKind::kRejected);
  EXPECT_EQ(last().reason, trading::RejectReason::kStale);
  EXPECT_EQ(position().open_buy_shares, 0u);
  EXPECT_EQ(gateway->ledger().open_orders(), 0u);
  EXPECT_TRUE(gateway->nothing_unanswered());
  // The order never reached the venue, so it must not count as sent.
  EXPECT_EQ(gateway->counters().orders.sent.get(), 0u);
  EXPECT_EQ(gateway->counters().orders.refused.get(), 1u);
  EXPECT_EQ(gateway->counters().orders.rejected.get(), 0u);
  // Asked for once more: it is known to be over.
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(1), kYoung}));
  EXPECT_EQ(strategies.reports.size(), 1u);
}

TEST_F(Resend, SendsNoOrderThatWouldNotBeSentNow) {
  limit({.collar_basis_points = 100});
  for (std::uint32_t order = 1; order <= 3; ++order) request(limit_order(order));
  set_market(900'000, 901'000);  // the price has moved beyond the collar
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(1), kYoung}));
  EXPECT_EQ(last().reason, trading::RejectReason::kPriceCollar);
  set_market(1'000'000, 1'001'000);
  gateway->checks().set_risk_alive(false);
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(2), kYoung}));
  EXPECT_EQ(last().reason, trading::RejectReason::kRiskAbsent);
  gateway->checks().set_risk_alive(true);
  wire::ControlBlock block{};
  block.kill_all = 1;
  gateway->set_control_block(block);
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(3), kYoung}));
  EXPECT_EQ(last().reason, trading::RejectReason::kKillSwitch);
  EXPECT_EQ(gateway->counters().not_resent.get(), 3u);
}

TEST_F(Resend, MeasuresStopsAndPegsAsWhenTheyWereSent) {
  limit({.collar_basis_points = 100});
  wire::OrderRequest stop = limit_order(1, 1'200'000);
  stop.type = trading::OrderType::kStopLimit;
  stop.stop_price = 1'200'000;
  ASSERT_EQ(request(stop), RejectReason::kNone);
  EXPECT_TRUE(gateway->reports().may_resend({'D', id(1), kYoung}));
  wire::OrderRequest peg = limit_order(2, 1'200'000);
  peg.type = trading::OrderType::kPegged;
  ASSERT_EQ(request(peg), RejectReason::kNone);
  EXPECT_TRUE(gateway->reports().may_resend({'D', id(2), kYoung}));
}

TEST_F(Resend, SendsNoOrderAgainWhileReportsOfTheVenueAreMissing) {
  request(limit_order(1));
  venue.reports_missing = true;
  EXPECT_FALSE(gateway->reports().may_resend({'D', id(1), kYoung}));
  EXPECT_EQ(last().reason, trading::RejectReason::kVenueGap);
}

TEST_F(Resend, SendsCancelsAtAnyAgeAndOldReplacementsNot) {
  rest(1);
  request(replace(2, id(1), 1'000'000, 200));
  EXPECT_FALSE(gateway->reports().may_resend({'G', id(2), kOld}));
  EXPECT_EQ(last().kind, wire::ReportKind::kReplaceRejected);
  EXPECT_EQ(position().open_buy_shares, 100u);
  request(cancel(3, id(1)));
  EXPECT_TRUE(gateway->reports().may_resend({'F', id(3), kOld}));
}

}  // namespace
}  // namespace tickpath::oeg
