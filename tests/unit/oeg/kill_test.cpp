// What a kill does to orders: those that are open, and those that become known after it.
#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::ExecType;
using trading::RejectReason;
using wire::ReportKind;

wire::ControlBlock kill_of(std::uint32_t id, bool cancel = true) {
  wire::ControlBlock block{};
  block.set_kill(id, true, cancel);
  return block;
}

class Kill : public ::testing::Test, protected GatewayFixture {};

TEST_F(Kill, CancelsWhatIsOpenAndTellsTheStrategyOfEach) {
  for (std::uint32_t i = 1; i <= 40; ++i) {
    rest(i);
  }
  gateway->set_control_block(kill_of(kStrategy));
  EXPECT_EQ(slot->counters.open_orders.get(), 40u);
  EXPECT_EQ(request(limit_order(41)), RejectReason::kKillSwitch);
  turn_to_the_end();
  ASSERT_EQ(venue.cancels.size(), 40u);
  confirm_cancels();
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
  EXPECT_EQ(last().order_id, id(40));
  turn_to_the_end();
  EXPECT_EQ(slot->counters.open_orders.get(), 0u);
  EXPECT_EQ(venue.cancels.size(), 40u) << "each once";
  EXPECT_TRUE(gateway->settled());
}

TEST_F(Kill, CancelsWhatIsOpenThoughThereIsNoRoomForAnythingElse) {
  rest(1);
  journal.room = journal.room_for_changes = journal.room_for_reports = false;
  gateway->set_control_block(kill_of(kStrategy));
  journal.room_for_own_cancels = false;
  gateway->turn();
  EXPECT_TRUE(venue.cancels.empty()) << "the journal says first what is sent";
  journal.room_for_own_cancels = true;
  gateway->turn();
  EXPECT_EQ(venue.cancels.size(), 1u);
}

// pair.trade_alone = false, and no standby.
TEST_F(Kill, CancelsWhatIsOpenWhereNoNewOrderMayGo) {
  rest(1);
  rest(2);
  venue.trades = false;
  EXPECT_EQ(request(limit_order(3)), RejectReason::kSessionDown);
  EXPECT_EQ(request(cancel(4, id(1))), RejectReason::kNone) << "a cancel always passes";
  gateway->set_control_block(kill_of(kStrategy));
  gateway->turn();
  EXPECT_EQ(venue.cancels.size(), 2u);
}

TEST_F(Kill, OfAllCancelsTheOrdersOfEveryStrategy) {
  rest(1);
  gateway->set_control_block(kill_of(wire::kKillAll));
  turn_to_the_end();
  EXPECT_EQ(venue.cancels.size(), 1u);
}

TEST_F(Kill, OfAnotherStrategyCancelsNothing) {
  rest(1);
  gateway->set_control_block(kill_of(kStrategy + 1));
  turn_to_the_end();
  EXPECT_TRUE(venue.cancels.empty());
}

TEST_F(Kill, ThatKeepsOrdersOnlyStopsNewOnes) {
  rest(1);
  gateway->set_control_block(kill_of(kStrategy, false));
  turn_to_the_end();
  EXPECT_TRUE(venue.cancels.empty());
  EXPECT_EQ(slot->counters.open_orders.get(), 1u);
  EXPECT_EQ(request(limit_order(2)), RejectReason::kKillSwitch);
  EXPECT_EQ(request(cancel(3, id(1))), RejectReason::kNone);
}

// What the venue makes of requests that were on their way when the kill came is cancelled as well.
TEST_F(Kill, CancelsAReplacementThatIsAcceptedAfterIt) {
  rest(1);
  ASSERT_EQ(request(replace(2, id(1), 1'000'100, 200)), RejectReason::kNone);
  gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end();
  EXPECT_TRUE(venue.cancels.empty()) << "one request at a time";
  report(ExecType::kReplaced, id(2), 200, 0, 0, 0, id(1));
  turn_to_the_end();
  ASSERT_EQ(venue.cancels.size(), 1u);
  EXPECT_EQ(venue.cancels[0].orig_cl_ord_id, id(2));
}

TEST_F(Kill, CancelsAnOrderThatTheVenueHasNotAcceptedYet) {
  request(limit_order(1));
  gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end();
  ASSERT_EQ(venue.cancels.size(), 1u);
  accept(id(1));
  confirm_cancels();
  EXPECT_TRUE(gateway->settled());
}

TEST_F(Kill, CancelsWhenTheSessionIsUpAgain) {
  rest(1);
  venue.logged_on = false;
  gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end();
  EXPECT_TRUE(venue.cancels.empty());
  venue.logged_on = true;
  turn_to_the_end();
  EXPECT_EQ(venue.cancels.size(), 1u);
}

TEST_F(Kill, ThatIsLiftedLeavesTheOrdersThatComeAfterItAlone) {
  rest(1);
  gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end();
  confirm_cancels();
  gateway->set_control_block({});
  ASSERT_EQ(request(limit_order(2)), RejectReason::kNone);
  accept(id(2));
  turn_to_the_end();
  EXPECT_EQ(venue.cancels.size(), 1u);
}

}  // namespace
}  // namespace tickpath::oeg
