// Completion channels: a parked thread sleeps, and is woken when it must be.

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

class ParkedFabric {
 public:
  static EndpointOptions options(std::uint32_t receives) {
    return {.channel = true, .initial_receives = receives};
  }
  // Whatever woke the channel before is consumed.
  static void settle(Endpoint& endpoint) {
    while (wait_readable(endpoint.channel().file_descriptor(), 0)) endpoint.channel().acknowledge();
  }
};

TEST_P(Fabric, WakesAnArmedQueueWhenAMessageArrives) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine());
  mine().queue().arm(false);
  EXPECT_TRUE(mine().poll(1, 0).empty());
  EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 20));
  peer().ask("send 1 0 16 1");
  EXPECT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)));
  mine().channel().acknowledge();
  expect_done(kFirstReceiveId);
  EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 0));
}

TEST_P(Fabric, DoesNotWakeAQueueThatIsNotArmed) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine());
  peer().ask("send 1 0 16 1");
  EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 50));
  expect_done(kFirstReceiveId);
}

TEST_P(Fabric, GivesOneEventForOneArming) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine());
  mine().queue().arm(false);
  for (int i = 0; i < 3; ++i) peer().ask("send 1 0 16 1");
  EXPECT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)));
  EXPECT_EQ(peer().ask("poll 3 1000").substr(0, 1), "3");
  mine().channel().acknowledge();
  EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 20));
  EXPECT_EQ(mine().poll(3, 1000).size(), 3u);
}

TEST_P(Fabric, AWriteWakesNobody) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine());
  mine().queue().arm(false);
  peer().ask("write 1 0 64 0");
  EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 50));
}

TEST_P(Fabric, WakesForSolicitedMessagesOnlyIfArmedSo) {
  connect(ParkedFabric::options(4));
  ParkedFabric::settle(mine());
  mine().queue().arm(true);
  peer().ask("send 1 0 16 1");
  if (has(Capability::kSolicits)) {
    EXPECT_FALSE(wait_readable(mine().channel().file_descriptor(), 50));
  }
  peer().ask("send 2 0 16 " + std::to_string(kSignaled | kSolicited));
  EXPECT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)));
  EXPECT_EQ(mine().poll(2, 1000).size(), 2u);
}

// The race of parking: the message may arrive before, while or after the queue is armed. A lost
// wake-up would leave both sides asleep for ever.
TEST_P(Fabric, LosesNoWakeUpBetweenTwoParkedSides) {
  EndpointOptions options = ParkedFabric::options(8);
  connect(options, "channel=1 initial_receives=8");
  const std::uint64_t kCount = work(5'000);
  peer().tell("echo " + std::to_string(kCount) + " 1");
  for (std::uint64_t i = 0; i < kCount; ++i) {
    post(mine().request(Opcode::kSend, 1, 0, 16, kFull, 0, 0));
    if (i % 64 == 63) post(mine().request(Opcode::kWrite, 2, 0, 8, kFull, 0, kSignaled));
    for (bool answered = false; !answered;) {
      Completion completion;
      std::size_t got = mine().queue().poll({&completion, 1});
      if (got == 0) {
        mine().queue().arm(false);
        got = mine().queue().poll({&completion, 1});
        if (got == 0) {
          ASSERT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)))
              << "message " << i;
          mine().channel().acknowledge();
          continue;
        }
      }
      ASSERT_EQ(completion.status, CompletionStatus::kSuccess);
      if (completion.wr_id < kFirstReceiveId) continue;
      const std::size_t offset =
          kReceiveOffset + (completion.wr_id - kFirstReceiveId) * kReceiveBytes;
      ASSERT_EQ(mine().post_receive(completion.wr_id, offset, kReceiveBytes), PostStatus::kOk);
      answered = true;
    }
  }
  EXPECT_EQ(peer().answer(), "");
}

TEST_P(Fabric, WakesAParkedSenderToTryAgainWhenItsMessageWaitsForAReceive) {
  connect(ParkedFabric::options(0));
  post(mine().request(Opcode::kSend, 1, 0, 16, kFull, 0, kSignaled));
  ParkedFabric::settle(mine());
  mine().queue().arm(false);
  EXPECT_TRUE(mine().poll(1, 0).empty());
  peer().ask("receive 9 0 64");
  EXPECT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)));
  mine().channel().acknowledge();
  expect_done(1);
}

TEST_P(Fabric, WakesAParkedSideWhenThePeerDies) {
  connect(ParkedFabric::options(1));
  ParkedFabric::settle(mine());
  mine().queue().arm(true);
  EXPECT_TRUE(mine().poll(1, 0).empty());
  peer().signal(SIGKILL);
  EXPECT_TRUE(wait_readable(mine().channel().file_descriptor(), scaled_ms(5000)));
  expect_done(kFirstReceiveId, CompletionStatus::kFlushed);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
