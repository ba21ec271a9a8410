// Cancels that the engine itself sends, of all open orders: at its stop, for one.
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using testing::Scripted;
using trading::RejectReason;
using wire::ReportKind;

class OwnCancels : public testing::EngineTest {
 protected:
  OwnCancels() : strategy(add(1)) {
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
  const StrategyCounters& counters() const { return engine.instances()[0]->counters; }
  Scripted& strategy;
};

TEST_F(OwnCancels, ThatAreRefusedForAPassingReasonAreRepeatedLater) {
  const std::uint64_t id = rest();
  engine.begin_stop();
  engine.on_turn();
  ASSERT_EQ(counters().cancels.get(), 1u);
  tell(ReportKind::kCancelRejected, port.last().order_id, id, RejectReason::kSessionDown);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 1u) << "not at once";
  engine.advance(1'000'000 + 10'000'000);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 2u);
}

// A venue that is away: each of its refusals would bring the next cancel, of every open order.
TEST_F(OwnCancels, ThatAreRefusedAgainAndAgainAreRepeatedEverMoreRarely) {
  const std::uint64_t first = rest();
  const std::uint64_t second = rest();
  engine.begin_stop();
  std::uint64_t now = 1'000'000;
  std::size_t answered = port.count;
  const auto refuse_all = [&] {
    engine.on_turn();
    for (; answered < port.count; ++answered)
      tell(ReportKind::kCancelRejected, port.sent[answered].order_id,
           port.sent[answered].target_order_id, RejectReason::kSessionDown);
  };
  refuse_all();
  for (int i = 0; i < 5'000; ++i) {
    engine.advance(now += 1'000'000);
    refuse_all();
  }
  EXPECT_LE(counters().cancels.get(), 2u * 14) << "in five seconds";
  EXPECT_GE(counters().cancels.get(), 2u * 10);
  for (int i = 0; i < 640 && port.count == answered; ++i) {
    engine.advance(now += 1'000'000);
    engine.on_turn();
  }
  ASSERT_EQ(port.count, answered + 2) << "the longest wait";
  tell(ReportKind::kCanceled, port.sent[answered].order_id, first);
  tell(ReportKind::kCancelRejected, port.sent[answered + 1].order_id, second,
       RejectReason::kMessageRate);
  engine.advance(now + 10'000'000);
  engine.on_turn();
  EXPECT_EQ(port.count, answered + 3) << "the venue is back: the shortest wait";
}

}  // namespace
}  // namespace tickpath::strategy
