// Set-up in steps: neither side ever waits for the other, so both can run on one thread, and a peer
// that is stopped, silent or stops half-way costs nobody else any time.
#include <list>
#include <optional>

#include <sys/socket.h>

#include "tests/support/descriptors.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/rdma/raw_peer.hpp"

namespace tickpath::rdma {
namespace {

struct ShmPending : ::testing::Test {
  std::unique_ptr<PendingConnection> start_connect(std::uint32_t timeout_ms = 60'000) {
    return device->start_connect(*near,
                                 ConnectParameters{.endpoint = endpoint, .timeout_ms = timeout_ms});
  }
  std::unique_ptr<PendingConnection> start_accept(ConnectionRequest& request,
                                                  CompletionQueue& queue) {
    return request.start_accept(queue, {}, {}, {}, {});
  }
  // Polls until it throws; the cause.
  static std::optional<SetupCause> failure_of(PendingConnection& pending) {
    return test_support::cause_of<SetupError>([&] { wait_for(pending); });
  }

  std::unique_ptr<Device> device = open_device("shm", "");
  std::unique_ptr<CompletionQueue> near = device->create_queue(64, nullptr);
  std::unique_ptr<CompletionQueue> far = device->create_queue(64, nullptr);
  std::unique_ptr<CompletionQueue> other = device->create_queue(64, nullptr);
  std::string endpoint = fresh_endpoint();
  std::unique_ptr<Listener> listener = device->listen(endpoint);
};

TEST_F(ShmPending, BothEndsConnectOnOneThread) {
  const auto memory = device->allocate(64, kLocalWrite | kRemoteWrite, "target");
  const std::unique_ptr<PendingConnection> connecting = start_connect();
  EXPECT_FALSE(connecting->poll());
  const auto request = listener->next();
  ASSERT_NE(request, nullptr);
  const Grant grant{memory.get(), kRemoteWrite};
  const std::byte answer{7};
  const auto accepting = request->start_accept(*far, {}, {&answer, 1}, {&grant, 1}, {});
  EXPECT_FALSE(accepting->poll());
  std::optional<Connected> connected = connecting->poll();
  ASSERT_TRUE(connected);
  EXPECT_EQ(connected->answer, std::vector<std::byte>{answer});
  const std::optional<Connected> accepted = accepting->poll();
  ASSERT_TRUE(accepted);

  const std::uint64_t value = 42;
  WorkRequest write{.flags = kInline,
                    .local_address = &value,
                    .length_bytes = sizeof(value),
                    .rkey = connected->queue_pair->remote_regions()[0].rkey,
                    .remote_address = connected->queue_pair->remote_regions()[0].address};
  EXPECT_EQ(connected->queue_pair->post_send(write), PostStatus::kOk);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(memory->data()), value);
}

// As a process that was stopped: the kernel completes the connection, and nobody reads the hello.
TEST_F(ShmPending, AListenerThatNeverLooksTimesOut) {
  const auto connecting = start_connect(200);
  EXPECT_FALSE(connecting->poll());
  EXPECT_EQ(failure_of(*connecting), SetupCause::kTimeout);
}

TEST_F(ShmPending, AFullQueueOfNewcomersIsTriedAgain) {
  std::list<detail::UniqueFd> strangers;
  for (detail::UniqueFd each = detail::connect_socket(endpoint); each.valid();
       each = detail::connect_socket(endpoint))
    strangers.push_back(std::move(each));
  const auto connecting = start_connect();
  EXPECT_FALSE(connecting->poll());
  strangers.clear();
  EXPECT_EQ(listener->next(), nullptr);  // makes room: they are gone
  EXPECT_FALSE(connecting->poll());      // says hello
  const auto request = listener->next();
  ASSERT_NE(request, nullptr);
  const auto accepting = start_accept(*request, *far);
  EXPECT_TRUE(connecting->poll());
  EXPECT_TRUE(accepting->poll());
}

TEST_F(ShmPending, APeerThatNeverConfirmsHoldsUpNobodyElse) {
  RawPeer silent(endpoint);
  silent.hello();
  const auto first = listener->next();
  ASSERT_NE(first, nullptr);
  const auto never = start_accept(*first, *far);
  EXPECT_FALSE(never->poll());

  const auto connecting = start_connect();
  const auto second = listener->next();
  ASSERT_NE(second, nullptr);
  const auto accepting = start_accept(*second, *other);
  EXPECT_TRUE(connecting->poll());
  EXPECT_TRUE(accepting->poll());
  EXPECT_FALSE(never->poll());
  EXPECT_EQ(failure_of(*never), SetupCause::kTimeout);
}

TEST_F(ShmPending, HalfAHelloIsNoRequestAndHoldsUpNobodyElse) {
  RawPeer half(endpoint);
  const std::uint64_t part = detail::SetupHeader::kMagic;
  ASSERT_EQ(::send(half.socket.get(), &part, sizeof(part), 0), static_cast<ssize_t>(sizeof(part)));
  EXPECT_EQ(listener->next(), nullptr);
  EXPECT_EQ(listener->bad_peers(), 1u);
  const auto connecting = start_connect();
  EXPECT_NE(listener->next(), nullptr);
}

TEST_F(ShmPending, WhoIsGivenUpIsSeenToGo) {
  auto connecting = start_connect();
  const auto request = listener->next();
  ASSERT_NE(request, nullptr);
  const auto accepting = start_accept(*request, *far);
  connecting.reset();
  EXPECT_EQ(failure_of(*accepting), SetupCause::kRefused);

  auto again = start_connect();
  const auto second = listener->next();
  ASSERT_NE(second, nullptr);
  start_accept(*second, *other).reset();
  EXPECT_EQ(failure_of(*again), SetupCause::kRefused);
}

// No descriptor left: whoever watches the listener must not spin, and nobody is lost.
TEST_F(ShmPending, NewcomersWaitWhileThereAreNoDescriptors) {
  if (test_support::kSanitized) GTEST_SKIP() << test_support::kNeedsDescriptors;
  RawPeer peer(endpoint);
  peer.hello();
  pollfd watched{listener->file_descriptor(), POLLIN, 0};
  {
    const test_support::NoDescriptors none;
    EXPECT_EQ(listener->next(), nullptr);
    EXPECT_EQ(::poll(&watched, 1, 0), 0);
  }
  EXPECT_EQ(listener->bad_peers(), 1u);
  ASSERT_EQ(device->notes().size(), 1u);
  EXPECT_NE(device->notes()[0].find("ulimit -n"), std::string::npos);
  EXPECT_EQ(::poll(&watched, 1, 60'000), 1);
  EXPECT_NE(await_request(*listener), nullptr);
}

// More connections than the listener remembers, all silent: whoever speaks is let in at once.
TEST_F(ShmPending, SilentPeersDoNotKeepOutOneWhoSpeaks) {
  std::list<RawPeer> silent;
  for (int i = 0; i < 200; ++i) {
    if (i % 32 == 0) {  // the kernel's queue has 64 places
      EXPECT_EQ(listener->next(), nullptr);
    }
    silent.emplace_back(endpoint);
    ASSERT_TRUE(silent.back().socket.valid());
  }
  EXPECT_EQ(listener->next(), nullptr);
  const auto connecting = start_connect();
  const auto request = listener->next();
  ASSERT_NE(request, nullptr);
  const auto accepting = start_accept(*request, *far);
  EXPECT_TRUE(connecting->poll());
  EXPECT_TRUE(accepting->poll());
  EXPECT_GE(listener->bad_peers(), 200u - 64u);
}

}  // namespace
}  // namespace tickpath::rdma
