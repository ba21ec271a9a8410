// Requests of a strategy that oeg does not answer.
#include <gmock/gmock.h>

#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using testing::Scripted;
using trading::RejectReason;
using wire::ReportKind;

class Unanswered : public testing::EngineTest {
 protected:
  Unanswered() : strategy(add(1)) {
    list(3, "AAPL");
    engine.on_market_state(wire::FeedState::kGood);
    engine.advance(1'000'000);
  }
  // An order that oeg has accepted.
  std::uint64_t rest() {
    const auto sent = strategy.limit(3, Scripted::kBuy, 100, 100'000);
    EXPECT_EQ(sent.status, TICKPATH_OK);
    accept(sent.id);
    return sent.id;
  }
  Scripted& strategy;
};

TEST_F(Unanswered, AReplacementWithoutAnAnswerKeepsNoCancelBackForLong) {
  const std::uint64_t id = rest();
  const auto replace = strategy.replace(id, 100'100, 100);
  EXPECT_EQ(strategy.cancel(id).status, TICKPATH_PENDING_REQUEST);
  engine.advance(2'000'000'000);
  const auto cancel = strategy.cancel(id);
  ASSERT_TRUE(cancel);
  EXPECT_EQ(strategy.cancel(id).status, TICKPATH_PENDING_REQUEST) << "one more, not many";
  tell(ReportKind::kCanceled, cancel.id, id);
  EXPECT_FALSE(engine.drained()) << "oeg owes the answer to the replacement";
  tell(ReportKind::kReplaceRejected, replace.id, id, RejectReason::kTooLate);
  EXPECT_TRUE(engine.drained());
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 0u);
}

TEST_F(Unanswered, ASecondCancelThatOegRefusesLeavesTheReplacementPending) {
  const std::uint64_t id = rest();
  const auto replace = strategy.replace(id, 100'100, 100);
  engine.advance(2'000'000'000);
  const auto cancel = strategy.cancel(id);
  tell(ReportKind::kCancelRejected, cancel.id, id, RejectReason::kPendingRequest);
  tickpath_open_order order{};
  ASSERT_TRUE(strategy.open_order(id, order));
  EXPECT_EQ(order.request_pending, 1);
  tell(ReportKind::kReplaceRejected, replace.id, id, RejectReason::kVenue);
  ASSERT_TRUE(strategy.open_order(id, order));
  EXPECT_EQ(order.request_pending, 0);
}

}  // namespace
}  // namespace tickpath::strategy
