#include "common/wire/order_state.hpp"

#include <gtest/gtest.h>

#include "common/wire/wire.hpp"

namespace tickpath::wire {
namespace {

using trading::OrderState;

OrderState after(OrderState state, ReportKind kind, std::uint32_t leaves, std::uint32_t cumulative,
                 bool expected = true) {
  EXPECT_EQ(apply(state, kind, leaves, cumulative), expected);
  return state;
}

TEST(OrderState, FollowsAnOrderFromRequestToFill) {
  OrderState state = after(OrderState::kPendingNew, ReportKind::kAccepted, 100, 0);
  EXPECT_EQ(state, OrderState::kWorking);
  state = after(state, ReportKind::kFill, 60, 40);
  EXPECT_EQ(state, OrderState::kPartlyFilled);
  state = after(state, ReportKind::kFill, 0, 100);
  EXPECT_EQ(state, OrderState::kFilled);
  EXPECT_TRUE(is_final(state));
}

TEST(OrderState, LetsNothingButRejectsFollowAFinalState) {
  for (const OrderState final_state :
       {OrderState::kFilled, OrderState::kCanceled, OrderState::kRejected, OrderState::kExpired}) {
    for (const ReportKind kind :
         {ReportKind::kAccepted, ReportKind::kRejected, ReportKind::kFill, ReportKind::kCanceled,
          ReportKind::kExpired, ReportKind::kReplaced}) {
      EXPECT_EQ(after(final_state, kind, 0, 0, false), final_state);
    }
    EXPECT_EQ(after(final_state, ReportKind::kCancelRejected, 0, 0), final_state);
  }
}

TEST(OrderState, KeepsAPartlyFilledOrderPartlyFilledThroughAReplacement) {
  EXPECT_EQ(after(OrderState::kPartlyFilled, ReportKind::kReplaced, 50, 10),
            OrderState::kPartlyFilled);
  EXPECT_EQ(after(OrderState::kWorking, ReportKind::kReplaced, 50, 0), OrderState::kWorking);
  EXPECT_EQ(after(OrderState::kPartlyFilled, ReportKind::kReplaced, 0, 10), OrderState::kFilled);
}

TEST(OrderState, StaysAsItIsWhenAStopOrderIsTriggered) {
  for (const OrderState state : {OrderState::kWorking, OrderState::kPartlyFilled})
    EXPECT_EQ(after(state, ReportKind::kTriggered, 10, 0), state);
  for (const OrderState state : {OrderState::kPendingNew, OrderState::kFilled})
    EXPECT_EQ(after(state, ReportKind::kTriggered, 10, 0, false), state);
}

TEST(OrderState, RefusesASecondAcknowledgement) {
  EXPECT_EQ(after(OrderState::kWorking, ReportKind::kAccepted, 10, 0, false), OrderState::kWorking);
  EXPECT_EQ(after(OrderState::kWorking, ReportKind::kRejected, 10, 0, false), OrderState::kWorking);
}

TEST(OrderId, KeepsItsPartsAndTheTopByteFree) {
  const std::uint64_t id = OrderId::make(255, 65535, 0xffff'ffff);
  EXPECT_EQ(id >> 56, 0u);
  EXPECT_EQ(OrderId::strategy(id), 255);
  EXPECT_EQ(OrderId::incarnation(id), 65535);
}

TEST(ControlBlock, KillsOneStrategyOrAll) {
  ControlBlock block{};
  EXPECT_FALSE(block.killed(200));
  block.kill_strategy[3] = std::uint64_t{1} << (200 - 192);
  EXPECT_TRUE(block.killed(200));
  EXPECT_FALSE(block.killed(199));
  block.kill_all = 1;
  EXPECT_TRUE(block.killed(0));
}

TEST(BookUpdate, PacksBothStates) {
  BookUpdate update{};
  update.set_states(FeedState::kStale, TradingState::kTrading);
  EXPECT_EQ(update.feed_state(), FeedState::kStale);
  EXPECT_EQ(update.trading_state(), TradingState::kTrading);
}

TEST(Names, AreGivenForEveryValueAndQuestionMarksOutside) {
  EXPECT_EQ(name(ReportKind::kFillCanceled), "fill_canceled");
  EXPECT_EQ(name(static_cast<UpdateKind>(200)), "?");
}

TEST(DirectoryEntry, NamesAreTrimmed) {
  DirectoryEntry entry{};
  std::fill(std::begin(entry.symbol), std::end(entry.symbol), ' ');
  entry.symbol[0] = 'A';
  EXPECT_EQ(entry.name(), "A");
}

}  // namespace
}  // namespace tickpath::wire
