// Both ends in processes of their own: death, and threads that race for real.
#include "common/link/channel.hpp"
#include "tests/support/child.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/process_ends.hpp"

namespace tickpath::link::test {
namespace {

using test_support::Child;

class TwoProcesses : public OfBothModes {};

INSTANTIATE_TEST_SUITE_P(Modes, TwoProcesses, kBothModes, mode_name);

// The subscriber is another process that reads as fast as it can, on a ring so small that it is
// overrun often; it checks everything itself and tells by its exit status.
TEST_P(TwoProcesses, ConserveWhenThePublisherRunsAtFullSpeed) {
  const std::string endpoint = fresh_endpoint();
  Child child([&] {
    Subscribed end(endpoint, options(64));
    read_to_the_end(end);
    return broken_promise(end);
  });
  Publishing end(endpoint);
  ASSERT_TRUE(end.let_one_in());
  ASSERT_TRUE(publish_and_close(end));
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(TwoProcesses, ThePublisherRunsOnWhenASubscriberIsStoppedOrKilled) {
  const std::string endpoint = fresh_endpoint();
  Child child([&] {
    Subscribed end(endpoint, options(64));
    for (;;)
      if (end.subscriber.poll(end.sink) == 0) std::this_thread::yield();
    return 0;
  });
  Publishing end(endpoint);
  ASSERT_TRUE(end.let_one_in());
  Source& source = end.source;
  child.signal(SIGSTOP);
  for (int turn = 0; turn < 1'000; ++turn) {
    source.change_some(10);
    source.end_turn();
  }
  EXPECT_EQ(source.publisher.sequence(), 10'000u);
  EXPECT_EQ(source.publisher.subscriber_count(), 1u);
  child.kill();
  ASSERT_TRUE(eventually([&] {
    source.change_some(1);
    source.end_turn();
    return source.publisher.subscriber_count() == 0;
  }));
  source.publisher.collect();
  EXPECT_TRUE(source.publisher.subscribers().empty());
}

TEST_P(TwoProcesses, ASubscriberLearnsThatItsPublisherWasKilled) {
  const std::string endpoint = fresh_endpoint();
  Child child([&] {
    Publishing end(endpoint);
    if (!end.let_one_in()) return 1;
    for (;;) {
      end.source.change_some(1);
      end.source.end_turn();
      std::this_thread::yield();
    }
    return 0;
  });
  Subscribed end(endpoint, options(1024));
  TestSubscriber& subscriber = end.subscriber;
  Sink& sink = end.sink;
  ASSERT_TRUE(eventually([&] {
    subscriber.poll(sink);
    return sink.updates.size() > 100;
  }));
  child.kill();
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(sink.events.back(), LinkEvent::kLost);
  expect_sound(sink);
  if (!test_support::over_network())
    std::filesystem::remove(endpoint);  // the killed listener could not
}

// Only an immediate ring wakes its reader.
TEST(TwoProcessSleep, ASleepingSubscriberIsWokenByAnUpdate) {
  const std::string endpoint = fresh_endpoint();
  Child child([&] {
    Subscribed end(endpoint, {.mode = RingMode::kImmediate, .depth = 64, .image_count = kThings});
    return sleep_until_closed(end, 40);
  });
  Publishing end(endpoint);
  ASSERT_TRUE(end.let_one_in());
  publish_with_pauses(end.source, 40);
  ASSERT_TRUE(end.close());
  EXPECT_EQ(child.wait(), 0);
}

struct Echo {
  std::uint64_t number;
  std::uint64_t fill[7];
};
struct EchoServerLog {
  void on_message(ClientId client, std::uint64_t, const Echo& message) noexcept {
    disorder += message.number != ++received;
    while (server->send(client, message) == SendStatus::kFull) {
    }
  }
  void on_client(ClientId, std::uint64_t, LinkEvent event) noexcept { last = event; }
  ChannelServer<Echo, Echo>* server = nullptr;
  std::uint64_t received = 0;
  std::uint64_t disorder = 0;
  LinkEvent last = LinkEvent::kConnected;
};
struct EchoClientLog {
  void on_message(const Echo& message) noexcept { disorder += message.number != ++received; }
  void on_link(LinkEvent) noexcept {}
  std::uint64_t received = 0;
  std::uint64_t disorder = 0;
};

TEST(TwoProcessChannel, EchoesEverythingAndTellsWhenTheClientWasKilled) {
  constexpr std::uint64_t kMessages = 20'000;
  const std::string endpoint = fresh_endpoint();
  Child child([&] {
    const std::unique_ptr<rdma::Device> device = open_test_device();
    ChannelClient<Echo, Echo> client(*device, nullptr, {.depth = 64});
    connect_when_there([&] { connect_now(client, endpoint, {}); });
    EchoClientLog log;
    std::uint64_t sent = 0;
    for (;;) {
      if (client.poll(log) == 0) std::this_thread::yield();
      if (log.disorder != 0) return 2;
      // No more under way than the echo can hold on both sides.
      if (sent < kMessages && sent - log.received < 32)
        sent += client.send({sent + 1, {}}) == SendStatus::kOk;
    }
  });
  const std::unique_ptr<rdma::Device> device = open_test_device();
  const std::unique_ptr<rdma::Listener> listener = device->listen(endpoint);
  ChannelServer<Echo, Echo> server(*device, nullptr, {.depth = 64});
  EchoServerLog log{.server = &server};
  const auto request = wait_for_request(*listener);
  ASSERT_NE(request, nullptr);
  accept_now(server, *request, {}, {}, 1);
  ASSERT_TRUE(eventually([&] {
    if (server.poll(log) == 0) std::this_thread::yield();
    return log.received == kMessages;
  }));
  EXPECT_EQ(log.disorder, 0u);
  child.kill();
  ASSERT_TRUE(eventually([&] {
    server.poll(log);
    return server.client_count() == 0;
  }));
  EXPECT_EQ(log.last, LinkEvent::kLost);
}

}  // namespace
}  // namespace tickpath::link::test
