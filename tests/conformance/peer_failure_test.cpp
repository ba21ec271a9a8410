// The peer dies, hangs up or goes away in the middle: it is noticed in bounded time, nothing hangs.
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

using std::chrono::steady_clock;

// Far above what is measured, so that a loaded machine does not fail the test; the measured time is
// in the test's record. verbs rounds peer_timeout_ms up to its own steps, hence the factor.
constexpr int kNoticeLimitMs = 1000;

TEST_P(Fabric, NoticesAKilledPeerInBoundedTime) {
  connect(EndpointOptions{.initial_receives = 2});
  const auto before = steady_clock::now();
  peer().signal(SIGKILL);
  const Completion first = one(5000);
  const auto took = steady_clock::now() - before;
  RecordProperty("noticed_us", static_cast<int>(took / std::chrono::microseconds(1)));
  EXPECT_EQ(to_string(first.status), to_string(CompletionStatus::kFlushed));
  EXPECT_LT(took, std::chrono::milliseconds(scaled_ms(kNoticeLimitMs)));
  expect_done(kFirstReceiveId + 1, CompletionStatus::kFlushed);
  EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
  const std::string text = mine().queue_pair().error_text();
  EXPECT_NE(text.find(std::to_string(peer().pid())), std::string::npos) << text;
  EXPECT_EQ(mine().queue_pair().post_send(mine().request(Opcode::kWrite, 2, 0, 8, kFull, 0, 0)),
            PostStatus::kNotReady);
}

TEST_P(Fabric, FailsTheRequestThatWaitedForADeadPeerAndFlushesTheRest) {
  connect();
  post(mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, 0));
  post(mine().request(Opcode::kSend, 2, 0, 8, kFull, 0, 0));
  post(mine().request(Opcode::kWrite, 3, 0, 8, kFull, 0, kSignaled));
  peer().signal(SIGKILL);
  expect_done(1, CompletionStatus::kRetryExceeded);
  expect_done(2, CompletionStatus::kFlushed);
  expect_done(3, CompletionStatus::kFlushed);
}

TEST_P(Fabric, DeliversWhatThePeerSentBeforeItDied) {
  connect(EndpointOptions{.initial_receives = 4});
  // Completed there, so it is here: what was only posted, a device may still have had before it.
  for (int i = 0; i < 3; ++i) {
    peer().ask("send 1 0 16 1");
    EXPECT_EQ(peer().ask("poll 1 5000").substr(0, 6), "1 1:0:");
  }
  peer().signal(SIGKILL);
  ASSERT_TRUE(becomes_error());
  for (std::uint64_t i = 0; i < 3; ++i) expect_done(kFirstReceiveId + i);
  expect_done(kFirstReceiveId + 3, CompletionStatus::kFlushed);
  EXPECT_TRUE(mine().poll(1, 10).empty());
}

TEST_P(Fabric, DisconnectFlushesBothSides) {
  connect(EndpointOptions{.initial_receives = 2}, "initial_receives=1");
  post(mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, kSignaled));
  expect_done(1);
  post(mine().request(Opcode::kSend, 2, 0, 8, kFull, 0, 0));  // waits
  mine().queue_pair().disconnect();
  // In order within each queue; which queue comes first is the device's choice.
  std::vector<std::uint64_t> receives, sends;
  for (const Completion& each : mine().poll(3, 5000)) {
    EXPECT_EQ(to_string(each.status), to_string(CompletionStatus::kFlushed));
    (each.wr_id >= kFirstReceiveId ? receives : sends).push_back(each.wr_id);
  }
  EXPECT_EQ(sends, std::vector<std::uint64_t>{2});
  EXPECT_EQ(receives, (std::vector<std::uint64_t>{kFirstReceiveId, kFirstReceiveId + 1}));
  EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
  EXPECT_EQ(peer().ask("poll 1 5000"), "1 1000:0:8:0");  // sent before
  std::string state = peer().ask("state");
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(scaled_ms(5000));
  while (state == "ready" && steady_clock::now() < deadline) {
    std::this_thread::yield();
    state = peer().ask("state");
  }
  EXPECT_NE(state.find("disconnected"), std::string::npos) << state;
}

TEST_P(Fabric, SeesThePeerDisconnect) {
  connect(EndpointOptions{.initial_receives = 1});
  peer().ask("disconnect");
  expect_done(kFirstReceiveId, CompletionStatus::kFlushed);
  EXPECT_NE(mine().queue_pair().error_text().find("disconnected"), std::string::npos);
}

TEST_P(Fabric, SurvivesAPeerThatDestroysWhatIsBeingWritten) {
  connect();
  PeerProcess writer(GetParam().name);
  const std::string address = GetParam().new_address();
  mine().listen(address);
  let_connect(writer, address);
  writer.tell("write_until_error");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // Queue pairs and the region go while the writer writes into them.
  mine().queue_pairs().clear();
  mine().destroy_memory();
  const std::string answer = writer.answer();
  EXPECT_NE(answer.find("disconnected"), std::string::npos) << answer;
  // And the writer lives on.
  EXPECT_EQ(writer.ask("fill main 0 8 1"), "");
}

TEST_P(Fabric, DestroyingUnpolledWorkFreesItsRoomInTheCompletionQueue) {
  EndpointOptions options{.completion_depth = 8};
  options.queue_pair.receive_depth = 4;
  options.initial_receives = 4;
  peer().ask("listen " + address_);
  for (int i = 0; i < 10; ++i) {
    peer().tell("accept");
    mine().connect(address_, options, "hello");
    peer().answer();
    EXPECT_TRUE(mine().poll(1, 0).empty());
    for (std::uint64_t wr_id = 0; wr_id < 4; ++wr_id) {
      post(mine().request(Opcode::kWrite, wr_id, 0, 8, kFull, 0, kSignaled));
    }
    mine().queue_pairs().clear();
    EXPECT_TRUE(mine().poll(1, 0).empty());
  }
}

TEST_P(Fabric, KeepsWorkingWhileThePeerIsOnlySlow) {
  connect(EndpointOptions{.initial_receives = 1});
  peer().signal(SIGSTOP);
  EXPECT_TRUE(mine().poll(1, 100).empty());
  EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kReadyToSend);
  peer().signal(SIGCONT);
  peer().ask("send 1 0 16 1");
  expect_done(kFirstReceiveId);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
