// What a kill does to orders: those that are open, and those that become known after it.
#include <gtest/gtest.h>

#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::ExecType;
using wire::RejectReason;
using wire::ReportKind;

wire::ControlBlock kill_of(std::uint32_t id, bool cancel = true) {
  wire::ControlBlock block{};
  block.set_kill(id, true, cancel);
  return block;
}

void turn_to_the_end(GatewayFixture& f) {
  while (f.gateway->turn()) {
  }
}

void confirm_cancels(GatewayFixture& f) {
  for (const auto& cancel : f.venue.cancels)
    f.report(ExecType::kCanceled, cancel.cl_ord_id, 0, 0, 0, 0, cancel.orig_cl_ord_id);
}

TEST(Kill, CancelsWhatIsOpenAndTellsTheStrategyOfEach) {
  GatewayFixture f;
  for (std::uint32_t i = 1; i <= 40; ++i) {
    f.request(f.limit_order(i));
    f.accept(f.id(i));
  }
  f.gateway->set_control_block(kill_of(kStrategy));
  EXPECT_EQ(f.slot->counters.open_orders.get(), 40u);
  EXPECT_EQ(f.request(f.limit_order(41)), RejectReason::kKillSwitch);
  turn_to_the_end(f);
  ASSERT_EQ(f.venue.cancels.size(), 40u);
  confirm_cancels(f);
  EXPECT_EQ(f.last().kind, ReportKind::kCanceled);
  EXPECT_EQ(f.last().order_id, f.id(40));
  turn_to_the_end(f);
  EXPECT_EQ(f.slot->counters.open_orders.get(), 0u);
  EXPECT_EQ(f.venue.cancels.size(), 40u) << "each once";
  EXPECT_TRUE(f.gateway->settled());
}

TEST(Kill, OfAllCancelsTheOrdersOfEveryStrategy) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->set_control_block(kill_of(wire::kKillAll));
  turn_to_the_end(f);
  EXPECT_EQ(f.venue.cancels.size(), 1u);
}

TEST(Kill, OfAnotherStrategyCancelsNothing) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->set_control_block(kill_of(kStrategy + 1));
  turn_to_the_end(f);
  EXPECT_TRUE(f.venue.cancels.empty());
}

TEST(Kill, ThatKeepsOrdersOnlyStopsNewOnes) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->set_control_block(kill_of(kStrategy, false));
  turn_to_the_end(f);
  EXPECT_TRUE(f.venue.cancels.empty());
  EXPECT_EQ(f.slot->counters.open_orders.get(), 1u);
  EXPECT_EQ(f.request(f.limit_order(2)), RejectReason::kKillSwitch);
  EXPECT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kNone);
}

// What the venue makes of requests that were on their way when the kill came is cancelled as well.
TEST(Kill, CancelsAReplacementThatIsAcceptedAfterIt) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  ASSERT_EQ(f.request(f.replace(2, f.id(1), 1'000'100, 200)), RejectReason::kNone);
  f.gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end(f);
  EXPECT_TRUE(f.venue.cancels.empty()) << "one request at a time";
  f.report(ExecType::kReplaced, f.id(2), 200, 0, 0, 0, f.id(1));
  turn_to_the_end(f);
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  EXPECT_EQ(f.venue.cancels[0].orig_cl_ord_id, f.id(2));
}

TEST(Kill, CancelsAnOrderThatTheVenueHasNotAcceptedYet) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end(f);
  ASSERT_EQ(f.venue.cancels.size(), 1u);
  f.accept(f.id(1));
  confirm_cancels(f);
  EXPECT_TRUE(f.gateway->settled());
}

TEST(Kill, CancelsWhenTheSessionIsUpAgain) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.venue.logged_on = false;
  f.gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end(f);
  EXPECT_TRUE(f.venue.cancels.empty());
  f.venue.logged_on = true;
  turn_to_the_end(f);
  EXPECT_EQ(f.venue.cancels.size(), 1u);
}

TEST(Kill, ThatIsLiftedLeavesTheOrdersThatComeAfterItAlone) {
  GatewayFixture f;
  f.request(f.limit_order(1));
  f.accept(f.id(1));
  f.gateway->set_control_block(kill_of(kStrategy));
  turn_to_the_end(f);
  confirm_cancels(f);
  f.gateway->set_control_block({});
  ASSERT_EQ(f.request(f.limit_order(2)), RejectReason::kNone);
  f.accept(f.id(2));
  turn_to_the_end(f);
  EXPECT_EQ(f.venue.cancels.size(), 1u);
}

}  // namespace
}  // namespace tickpath::oeg
