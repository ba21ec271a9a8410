// Completion channels: a parked thread sleeps, and is woken when it must be.
#include <cstring>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

class ParkedFabric {
 public:
  static EndpointOptions options(std::uint32_t receives) {
    EndpointOptions options;
    options.channel = true;
    options.initial_receives = receives;
    return options;
  }
  // Whatever woke the channel before is consumed.
  static void settle(Endpoint& endpoint) {
    while (wait_readable(endpoint.channel().file_descriptor(), 0)) endpoint.channel().acknowledge();
  }
};

TEST_P(Fabric, WakesAnArmedQueueWhenAMessageArrives) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(false);
  EXPECT_TRUE(mine_.poll(1, 0).empty());
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 20));
  peer_.ask("send 1 0 16 1");
  EXPECT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000));
  mine_.channel().acknowledge();
  expect_done(kFirstReceiveId);
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 0));
}

TEST_P(Fabric, DoesNotWakeAQueueThatIsNotArmed) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine_);
  peer_.ask("send 1 0 16 1");
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 50));
  expect_done(kFirstReceiveId);
}

TEST_P(Fabric, GivesOneEventForOneArming) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(false);
  for (int i = 0; i < 3; ++i) peer_.ask("send 1 0 16 1");
  EXPECT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000));
  EXPECT_EQ(peer_.ask("poll 3 1000").substr(0, 1), "3");
  mine_.channel().acknowledge();
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 20));
  EXPECT_EQ(mine_.poll(3, 1000).size(), 3u);
}

TEST_P(Fabric, AWriteWakesNobody) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(false);
  peer_.ask("write 1 0 64 0");
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 50));
}

TEST_P(Fabric, WakesForSolicitedMessagesOnlyIfArmedSo) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(true);
  peer_.ask("send 1 0 16 1");
  EXPECT_FALSE(wait_readable(mine_.channel().file_descriptor(), 50));
  peer_.ask("send 2 0 16 " + std::to_string(kSignaled | kSolicited));
  EXPECT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000));
  EXPECT_EQ(mine_.poll(2, 1000).size(), 2u);
}

// The race of parking: the message may arrive before, while or after the queue is armed. A lost
// wake-up would leave both sides asleep for ever.
TEST_P(Fabric, LosesNoWakeUpBetweenTwoParkedSides) {
  EndpointOptions options = ParkedFabric::options(8);
  connect(options, "channel=1 initial_receives=8");
  constexpr std::uint64_t kCount = 5'000;
  peer_.tell("echo " + std::to_string(kCount) + " 1");
  for (std::uint64_t i = 0; i < kCount; ++i) {
    post(mine_.request(Opcode::kSend, 1, 0, 16, kFull, 0, 0));
    if (i % 64 == 63) post(mine_.request(Opcode::kWrite, 2, 0, 8, kFull, 0, kSignaled));
    for (bool answered = false; !answered;) {
      Completion completion;
      std::size_t got = mine_.queue().poll({&completion, 1});
      if (got == 0) {
        mine_.queue().arm(false);
        got = mine_.queue().poll({&completion, 1});
        if (got == 0) {
          ASSERT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000)) << "message " << i;
          mine_.channel().acknowledge();
          continue;
        }
      }
      ASSERT_EQ(completion.status, CompletionStatus::kSuccess);
      if (completion.wr_id < kFirstReceiveId) continue;
      const std::size_t offset =
          kReceiveOffset + (completion.wr_id - kFirstReceiveId) * kReceiveBytes;
      ASSERT_EQ(mine_.post_receive(completion.wr_id, offset, kReceiveBytes), PostStatus::kOk);
      answered = true;
    }
  }
  EXPECT_EQ(peer_.answer(), "");
}

TEST_P(Fabric, WakesAParkedSenderToTryAgainWhenItsMessageWaitsForAReceive) {
  connect(ParkedFabric::options(0));
  post(mine_.request(Opcode::kSend, 1, 0, 16, kFull, 0, kSignaled));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(false);
  EXPECT_TRUE(mine_.poll(1, 0).empty());
  peer_.ask("receive 9 0 64");
  EXPECT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000));
  mine_.channel().acknowledge();
  expect_done(1);
}

TEST_P(Fabric, WakesAParkedSideWhenThePeerDies) {
  connect(ParkedFabric::options(1));
  ParkedFabric::settle(mine_);
  mine_.queue().arm(true);
  EXPECT_TRUE(mine_.poll(1, 0).empty());
  peer_.signal(SIGKILL);
  EXPECT_TRUE(wait_readable(mine_.channel().file_descriptor(), 5000));
  expect_done(kFirstReceiveId, CompletionStatus::kFlushed);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
