// SEND and RECV: matching, lengths, waiting for a receive (RNR).
#include <chrono>
#include <cstring>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

TEST_P(Fabric, DeliversMessagesOfEveryLengthIntoThePostedBuffer) {
  connect();
  fill_pattern(0, 4096, 1);
  for (const std::uint32_t length :
       {0u, 1u, 8u, 47u, 48u, 49u, 63u, 64u, 65u, 111u, 112u, 113u, 128u, 1000u, 4096u}) {
    peer().ask("fill main 8000 8192 204");
    EXPECT_EQ(peer().ask("receive 5 8192 4096"), "ok");
    post(mine().request(Opcode::kSend, length, 0, length, kFull, 0, kSignaled));
    expect_done(length);
    EXPECT_EQ(peer().ask("poll 1 5000"), "1 5:0:" + std::to_string(length) + ":0");
    std::vector<std::byte> expected(8192, std::byte{204});
    std::memcpy(expected.data() + 192, mine().memory().data(), length);
    ASSERT_EQ(peer_sum("main", 8000, 8192), std::to_string(checksum(expected.data(), 8192)))
        << length;
  }
}

TEST_P(Fabric, ConsumesReceivesInTheOrderOfPosting) {
  connect();
  for (int i = 0; i < 5; ++i) {
    peer().ask("receive " + std::to_string(70 + i) + " " + std::to_string(i * 64) + " 64");
  }
  for (std::uint64_t i = 0; i < 5; ++i) {
    WorkRequest request = mine().request(Opcode::kSendWithImm, i, 0, 8, kFull, 0, 0);
    request.imm_data = static_cast<std::uint32_t>(i);
    post(request);
  }
  EXPECT_EQ(peer().ask("poll 5 5000"), "5 70:0:8:0 71:0:8:1 72:0:8:2 73:0:8:3 74:0:8:4");
}

TEST_P(Fabric, FailsBothSidesWhenAMessageIsLargerThanTheReceive) {
  connect();
  peer().ask("fill main 0 256 7");
  peer().ask("receive 1 0 64");
  peer().ask("receive 2 64 64");
  post(mine().request(Opcode::kSend, 11, 0, 64, kFull, 0, 0));
  post(mine().request(Opcode::kSend, 12, 0, 65, kFull, 0, 0));  // unsignalled: fails all the same
  // The one before has not been answered either.
  expect_failed(has(Capability::kTellsRefused) ? 12 : 11, CompletionStatus::kRemoteInvalid);
  EXPECT_EQ(peer().ask("poll 2 5000").substr(0, 8), "2 1:0:64");
  EXPECT_TRUE(becomes_error());
  EXPECT_EQ(peer().ask("state").substr(0, 5), "error");
  // Nothing of the long message went into the buffer behind it.
  EXPECT_EQ(peer_sum("main", 64, 192),
            std::to_string(checksum(std::vector<std::byte>(192, std::byte{7}).data(), 192)));
}

TEST_P(Fabric, ReportsALengthErrorToTheReceiver) {
  connect();
  peer().ask("receive 1 0 16");
  peer().ask("receive 2 64 64");
  post(mine().request(Opcode::kSend, 1, 0, 17, kFull, 0, kSignaled));
  expect_failed(1, CompletionStatus::kRemoteInvalid);
  std::uint64_t first = 0, second = 0;
  int status = 0, behind = 0;
  const std::string answer = peer().ask("poll 2 5000");
  ASSERT_EQ(
      std::sscanf(answer.c_str(), "2 %lu:%d:0:0 %lu:%d:0:0", &first, &status, &second, &behind), 4)
      << answer;
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 2u);
  const auto failed = static_cast<CompletionStatus>(status);
  if (!vague(failed)) {
    EXPECT_EQ(to_string(failed), to_string(CompletionStatus::kLocalLength));
  }
  EXPECT_EQ(behind, static_cast<int>(CompletionStatus::kFlushed));
}

TEST_P(Fabric, WaitsForAReceiveAndKeepsLaterRequestsBehind) {
  connect();
  const std::uint64_t before = 1, after = 2;
  std::memcpy(mine().memory().data(), &before, 8);
  post(mine().request(Opcode::kWrite, 1, 0, 8, kFull, 0, kSignaled));
  expect_done(1);
  std::memcpy(mine().memory().data(), &after, 8);
  post(mine().request(Opcode::kSend, 2, 64, 8, kFull, 0, kSignaled));
  post(mine().request(Opcode::kWrite, 3, 0, 8, kFull, 0, kSignaled));
  EXPECT_TRUE(mine().poll(1, 100).empty());  // no receive yet
  EXPECT_EQ(peer().ask("word 0"), "1");      // the WRITE did not overtake the SEND
  peer().ask("receive 9 128 64");
  expect_done(2);
  expect_done(3);
  EXPECT_EQ(peer().ask("poll 1 5000"), "1 9:0:8:0");
  EXPECT_EQ(peer().ask("word 0"), "2");
  // verbs devices retry by themselves and do not tell.
  if (mine().device().info().provider == "shm") {
    EXPECT_GE(mine().queue_pair().counters().rnr_waits, 1u);
  }
}

TEST_P(Fabric, CopiesAnInlineRequestThatHasToWait) {
  connect();
  std::uint64_t value = 4711;
  WorkRequest request = mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, kInline | kSignaled);
  request.local_address = &value;
  request.lkey = 0;
  post(request);
  value = 0;
  EXPECT_TRUE(mine().poll(1, 20).empty());
  peer().ask("receive 9 128 64");
  expect_done(1);
  peer().ask("poll 1 5000");
  EXPECT_EQ(peer().ask("word 128"), "4711");
}

// More READs than a device has under way at once, and messages that could go at once behind them.
TEST_P(Fabric, SendsInlineMessagesBehindTheRequestsThatWait) {
  connect();
  peer().ask("receive 8 128 64");
  peer().ask("receive 9 192 64");
  constexpr std::uint64_t kReads = 40;
  for (std::uint64_t i = 0; i < kReads; ++i)
    post(mine().request(Opcode::kRead, i, 64, 8, kFull, 0, kSignaled));
  std::uint64_t value = 0;
  WorkRequest message = mine().request(Opcode::kSend, kReads, 0, 8, kFull, 0, kInline | kSignaled);
  message.local_address = &value;
  message.lkey = 0;
  value = 4711;
  post(message);
  post(mine().request(Opcode::kWrite, kReads + 1, 64, 8, kFull, 8, kSignaled));
  value = 4712;
  message.wr_id = kReads + 2;
  post(message);
  value = 0;
  for (std::uint64_t i = 0; i < kReads + 3; ++i) expect_done(i);
  EXPECT_EQ(peer().ask("poll 2 5000"), "2 8:0:8:0 9:0:8:0");
  EXPECT_EQ(peer().ask("word 128"), "4711");
  EXPECT_EQ(peer().ask("word 192"), "4712");
}

TEST_P(Fabric, GivesUpWaitingForAReceiveAfterItsRetries) {
  EndpointOptions options;
  options.queue_pair.rnr_retry = 3;
  options.queue_pair.min_rnr_timer_us = 20'000;
  connect(options);
  const auto before = std::chrono::steady_clock::now();
  post(mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, 0));
  post(mine().request(Opcode::kSend, 2, 0, 8, kFull, 0, kSignaled));
  post(mine().request(Opcode::kWrite, 3, 0, 8, kFull, 0, 0));
  expect_done(1, CompletionStatus::kRnrRetryExceeded);
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_GE(took, std::chrono::milliseconds(55));
  EXPECT_LT(took, std::chrono::milliseconds(scaled_ms(2000)));
  expect_done(2, CompletionStatus::kFlushed);
  expect_done(3, CompletionStatus::kFlushed);
  EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
  EXPECT_NE(mine().queue_pair().error_text().find("RNR"), std::string::npos);
}

TEST_P(Fabric, WaitsForEverWhenRnrRetryIsSeven) {
  EndpointOptions options;
  options.queue_pair.min_rnr_timer_us = 1000;  // seven of them would be over in 7 ms
  connect(options);
  post(mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, kSignaled));
  EXPECT_TRUE(mine().poll(1, 200).empty());
  peer().ask("receive 9 128 64");
  expect_done(1);
}

// A message must never be lost, repeated or reordered while both sides run at full speed and the
// receiver is now and then late with its receives.
TEST_P(Fabric, EchoesManyMessagesInOrder) {
  connect(EndpointOptions{.initial_receives = 32}, "initial_receives=16 receive_depth=16");
  const std::uint64_t kCount = work(50'000);
  peer().tell("echo " + std::to_string(kCount) + " 0");
  std::uint64_t sent = 0, received = 0, completed = 0;
  while (received < kCount) {
    if (sent < kCount && sent - received < 24) {
      std::byte* message = mine().memory().data() + (sent % 64) * 256;
      std::memcpy(message, &sent, 8);
      const auto length = static_cast<std::uint32_t>(8 + sent % 200);
      std::memset(message + 8, static_cast<int>(sent & 0xff), length - 8);
      post(mine().request(Opcode::kSend, 1, (sent % 64) * 256, length, kFull, 0, kSignaled));
      ++sent;
    }
    for (const Completion& each : mine().poll(4, 0)) {
      ASSERT_EQ(each.status, CompletionStatus::kSuccess) << mine().queue_pair().error_text();
      if (each.wr_id < kFirstReceiveId) {
        ++completed;
        continue;
      }
      const std::size_t offset = kReceiveOffset + (each.wr_id - kFirstReceiveId) * kReceiveBytes;
      std::uint64_t number = 0;
      std::memcpy(&number, mine().memory().data() + offset, 8);
      ASSERT_EQ(number, received);
      ASSERT_EQ(each.byte_length, 8 + received % 200);
      ASSERT_EQ(mine().post_receive(each.wr_id, offset, kReceiveBytes), PostStatus::kOk);
      ++received;
    }
  }
  EXPECT_EQ(peer().answer(), "");
  completed += mine().poll(kCount - completed, scaled_ms(10'000)).size();
  EXPECT_EQ(completed, kCount);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
