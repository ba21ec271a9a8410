// Queue limits, signalling, and many queue pairs on one completion queue.
#include <array>
#include <atomic>
#include <map>

#include "tests/conformance/provider_fixture.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::conformance {
namespace {

TEST_P(Fabric, CompletesInTheOrderOfPosting) {
  connect();
  const Opcode third = has(Capability::kAtomics) ? Opcode::kFetchAdd : Opcode::kWrite;
  const Opcode opcodes[] = {Opcode::kWrite, Opcode::kRead, third};
  for (std::uint64_t i = 0; i < 200; ++i) {
    post(mine().request(opcodes[i % 3], i, 64, 8, kFull, 0, kSignaled));
  }
  for (std::uint64_t i = 0; i < 200; ++i) expect_done(i);
}

TEST_P(Fabric, CompletesOnlySignalledRequests) {
  connect();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, i % 10 == 0 ? kSignaled : 0));
  }
  for (std::uint64_t i = 10; i <= 100; i += 10) expect_done(i);
  EXPECT_TRUE(mine().poll(1, 20).empty());
}

TEST_P(Fabric, ReportsAFullSendQueueAndPostsNothing) {
  EndpointOptions options;
  options.queue_pair.send_depth = 16;
  QueuePair& queue_pair = connect(options);
  for (std::uint64_t i = 0; i < 16; ++i) {
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, kSignaled));
  }
  const WorkRequest one_more = mine().request(Opcode::kWrite, 99, 0, 8, kFull, 0, kSignaled);
  EXPECT_EQ(queue_pair.post_send(one_more), PostStatus::kQueueFull);
  EXPECT_EQ(queue_pair.counters().refused, 1u);
  expect_done(0);
  post(one_more);
  EXPECT_EQ(queue_pair.post_send(one_more), PostStatus::kQueueFull);
  for (std::uint64_t i = 1; i < 16; ++i) expect_done(i);
  expect_done(99);
  EXPECT_TRUE(mine().poll(1, 20).empty());
}

TEST_P(Fabric, HasExactlyADepthThatIsNoPowerOfTwo) {
  EndpointOptions options;
  options.queue_pair.send_depth = 13;
  QueuePair& queue_pair = connect(options);
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const WorkRequest request = mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, kSignaled);
    if (i - done == 13) {
      ASSERT_EQ(queue_pair.post_send(request), PostStatus::kQueueFull) << i;
      expect_done(done++);
    }
    post(request);
  }
  for (; done < 100; ++done) expect_done(done);
}

// A queue pair can be as deep as DeviceInfo says, with the inline bytes of a slot. Half of it here:
// one completion queue has to hold what both directions may flush, and rxe's holds no more.
TEST_P(Fabric, HasHalfTheDepthThatTheDeviceNamesBesideReceives) {
  EndpointOptions options;
  options.queue_pair.send_depth = mine().device().info().queue_depth_max / 2;
  options.queue_pair.inline_bytes = 64;
  options.completion_depth = options.queue_pair.send_depth;
  QueuePair& queue_pair = connect(options);
  EXPECT_GE(queue_pair.inline_bytes(), 64u);
  for (std::uint64_t i = 1; i <= 1000; ++i)
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, i % 100 == 0 ? kSignaled : 0));
  for (std::uint64_t i = 100; i <= 1000; i += 100) expect_done(i);
}

TEST_P(Fabric, FreesUnsignalledRequestsWithALaterSignalledOne) {
  EndpointOptions options;
  options.queue_pair.send_depth = 16;
  QueuePair& queue_pair = connect(options);
  for (std::uint64_t i = 0; i < 15; ++i) {
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, 0));
  }
  post(mine().request(Opcode::kWrite, 15, 0, 8, kFull, 0, kSignaled));
  const WorkRequest more = mine().request(Opcode::kWrite, 16, 0, 8, kFull, 0, 0);
  EXPECT_EQ(queue_pair.post_send(more), PostStatus::kQueueFull);  // done, but not polled
  expect_done(15);
  for (std::uint64_t i = 0; i < 16; ++i) post(more);
  EXPECT_EQ(queue_pair.post_send(more), PostStatus::kQueueFull);
}

TEST_P(Fabric, RefusesToOverrunTheCompletionQueue) {
  QueuePair& queue_pair = connect(EndpointOptions{.completion_depth = 8});
  for (std::uint64_t i = 0; i < 8; ++i) {
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, kSignaled));
  }
  EXPECT_EQ(queue_pair.post_send(mine().request(Opcode::kWrite, 8, 0, 8, kFull, 0, kSignaled)),
            PostStatus::kQueueFull);
  EXPECT_EQ(mine().post_receive(1, 0, 64), PostStatus::kQueueFull);
  for (std::uint64_t i = 0; i < 8; ++i) expect_done(i);
  post(mine().request(Opcode::kWrite, 8, 0, 8, kFull, 0, kSignaled));
  expect_done(8);
}

TEST_P(Fabric, ReportsAFullReceiveQueue) {
  EndpointOptions options;
  options.queue_pair.receive_depth = 4;
  connect(options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(mine().post_receive(i, i * 64, 64), PostStatus::kOk);
  }
  EXPECT_EQ(mine().post_receive(4, 256, 64), PostStatus::kQueueFull);
  peer().ask("send 1 0 8 1");
  expect_done(0);
  EXPECT_EQ(mine().post_receive(4, 256, 64), PostStatus::kOk);
}

TEST_P(Fabric, CountsWaitingRequestsInTheSendQueue) {
  EndpointOptions options;
  options.queue_pair.send_depth = 4;
  QueuePair& queue_pair = connect(options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    post(mine().request(Opcode::kSend, i, 0, 8, kFull, 0, kSignaled));
  }
  EXPECT_EQ(queue_pair.post_send(mine().request(Opcode::kSend, 4, 0, 8, kFull, 0, kSignaled)),
            PostStatus::kQueueFull);
  for (int i = 0; i < 4; ++i) peer().ask("receive 1 0 64");
  for (std::uint64_t i = 0; i < 4; ++i) expect_done(i);
}

TEST_P(Fabric, PostsAListWithOneCallAndSaysHowMuchOfItFitted) {
  EndpointOptions options;
  options.queue_pair.send_depth = 8;
  QueuePair& queue_pair = connect(options);
  std::vector<WorkRequest> requests;
  for (std::uint64_t i = 0; i < 10; ++i) {
    requests.push_back(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, kSignaled));
  }
  std::size_t posted = 0;
  EXPECT_EQ(queue_pair.post_send(std::span<const WorkRequest>(requests), &posted),
            PostStatus::kQueueFull);
  EXPECT_EQ(posted, 8u);
  for (std::uint64_t i = 0; i < 8; ++i) expect_done(i);
  EXPECT_TRUE(mine().poll(1, 10).empty());
}

TEST_P(Fabric, RefusesAReceiveOpcodeForPosting) {
  QueuePair& queue_pair = connect();
  EXPECT_EQ(queue_pair.post_send(mine().request(Opcode::kRecv, 1, 0, 8, kFull, 0, kSignaled)),
            PostStatus::kBadRequest);
}

// One thread posts and polls, and never stops, while the control thread makes connections that use
// the same completion queue: set-up may need the queue for itself for moments.
TEST_P(Fabric, ConnectionsMadeMeanwhileLoseAndReorderNoCompletionOfOthers) {
  connect();
  QueuePair& busy = mine().queue_pair();
  WorkRequest request = mine().request(Opcode::kWrite, 0, 0, 8, kFull, 0, kSignaled);
  std::atomic<bool> stop{false};
  std::uint64_t posted = 0, wrong = 0;
  std::atomic<std::uint64_t> completed{0};
  std::thread poller([&] {
    std::array<Completion, 4> some;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while ((!stop || completed != posted) && std::chrono::steady_clock::now() < limit) {
      request.wr_id = posted;
      if (!stop && busy.post_send(request) == PostStatus::kOk) ++posted;
      const std::size_t got = mine().queue().poll(some);
      for (std::size_t i = 0; i < got; ++i) {
        wrong += some[i].wr_id != completed || some[i].status != CompletionStatus::kSuccess ||
                 some[i].qp_number != busy.number();
        ++completed;
      }
    }
  });
  for (int i = 0; i < 12; ++i) {
    // On a busy machine the thread may not have run since the last connection.
    const auto limit = std::chrono::steady_clock::now() + test_support::kPatience;
    for (const std::uint64_t seen = completed;
         completed == seen && std::chrono::steady_clock::now() < limit;)
      std::this_thread::yield();
    peer().tell("accept");
    mine().connect(address_, {}, "hello");
    peer().answer();
    if (i % 3 == 2) mine().queue_pairs().pop_back();  // and one that ends meanwhile
  }
  stop = true;
  poller.join();
  EXPECT_GE(posted, 12u);
  EXPECT_EQ(completed.load(), posted);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Fabric, ServesManyConnectionsFromOneCompletionQueue) {
  constexpr std::size_t kConnections = 20;
  const std::uint64_t kRounds = work(200);
  EndpointOptions options;
  options.queue_pair.receive_depth = 8;
  options.initial_receives = 8;
  peer().ask("listen " + address_);
  std::map<std::uint32_t, std::size_t> by_number;
  for (std::size_t i = 0; i < kConnections; ++i) {
    peer().tell("accept receive_depth=8 initial_receives=8");
    by_number[mine().connect(address_, options, "hello").number()] = i;
    peer().answer();
  }
  ASSERT_EQ(by_number.size(), kConnections);
  // Every connection sends to the peer, which echoes to the one in use last only; so talk to each
  // in turn, and let the others' completions arrive in between.
  std::map<std::uint32_t, std::uint64_t> completions;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      mine().use(i);
      post(mine().request(Opcode::kWrite, round, 0, 8, kFull, i * 8, kSignaled));
    }
    for (const Completion& each : mine().poll(kConnections, 5000)) {
      ASSERT_EQ(each.status, CompletionStatus::kSuccess);
      ASSERT_EQ(each.wr_id, completions[each.qp_number]++);
    }
  }
  for (const auto& [number, index] : by_number) EXPECT_EQ(completions[number], kRounds) << index;
  // One of them ends; the others go on.
  mine().use(3);
  const std::uint32_t gone = mine().queue_pair().number();
  mine().queue_pair().disconnect();
  for (const Completion& each : mine().poll(8, 5000)) {
    EXPECT_EQ(each.qp_number, gone);
    EXPECT_EQ(each.status, CompletionStatus::kFlushed);
  }
  mine().use(4);
  post(mine().request(Opcode::kWrite, 7, 0, 8, kFull, 0, kSignaled));
  expect_done(7);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
