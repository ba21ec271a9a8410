// Set-ups that go on from tick to tick: both ends of every pattern on one thread, peers that stop
// half-way, and what becomes of those that are under way when rights are taken back.
#include <optional>

#include "common/link/channel.hpp"
#include "common/link/reconnect.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/link/market.hpp"

namespace tickpath::link::test {
namespace {

// How a set-up ended, as the accepting program is told.
struct Outcome {
  Accepted record() {
    return [this](std::uint32_t which, const rdma::SetupError* error) {
      ++told;
      id = which;
      if (error != nullptr) why = error->what();
    };
  }
  int told = 0;
  std::uint32_t id = 0;
  std::string why;
};

struct Words {
  std::uint64_t word[8];
};
struct Heard {
  void on_message(const Words& words) noexcept { last = words.word[0]; }
  void on_message(ClientId, std::uint64_t, const Words& words) noexcept { last = words.word[0]; }
  void on_link(LinkEvent) noexcept {}
  void on_client(ClientId, std::uint64_t, LinkEvent) noexcept {}
  std::uint64_t last = 0;
};

class Pending : public testing::Test {
 protected:
  // Someone who says a subscriber's hello and never confirms: nobody polls it.
  std::unique_ptr<rdma::PendingConnection> half_subscriber() {
    LinkPart part{.pattern = Pattern::kRing,
                  .depth = 64,
                  .payload_bytes = sizeof(Update),
                  .image_bytes = sizeof(TestSubscriber::Record),
                  .image_count = kThings};
    const std::vector<std::byte> hello = join_hello({}, part);
    return fabric.device->start_connect(
        *spare,
        rdma::ConnectParameters{.endpoint = fabric.endpoint, .hello = hello, .timeout_ms = 60'000});
  }
  void start_accept(Outcome& outcome, std::span<const rdma::Grant> extras = {}) {
    const auto request = wait_for_request(*fabric.listener);
    ASSERT_NE(request, nullptr);
    source.publisher.start_accept(*request, {}, extras, "somebody", outcome.record());
  }

  // Both ends, on this thread, until the one is connected and the other has been told.
  bool meets(auto& connecting, auto& accepting, const Outcome& outcome) {
    bool connected = false;
    return eventually([&] {
      connected = connected || connecting.poll_connect().has_value();
      accepting.collect();
      return connected && outcome.told == 1;
    });
  }

  Fabric fabric;
  std::unique_ptr<rdma::CompletionQueue> spare = fabric.device->create_queue(64, nullptr);
  Source source{*fabric.device};
  TestSubscriber subscriber{*fabric.device, nullptr, {.depth = 64, .image_count = kThings}};
};

TEST_F(Pending, SubscriberAndPublisherMeetOnOneThread) {
  subscriber.start_connect(fabric.endpoint, {});
  EXPECT_TRUE(subscriber.connecting());
  EXPECT_FALSE(subscriber.poll_connect());
  Outcome outcome;
  start_accept(outcome);
  EXPECT_TRUE(source.publisher.accepting());
  EXPECT_EQ(source.publisher.subscribers().size(), 0u);
  ASSERT_TRUE(meets(subscriber, source.publisher, outcome));
  EXPECT_EQ(outcome.why, "");
  EXPECT_EQ(outcome.id, 1u);
  EXPECT_FALSE(subscriber.connecting());
  EXPECT_FALSE(source.publisher.accepting());
  Sink sink;
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  source.change_some(20);
  ASSERT_TRUE(close_and_drain(source, subscriber, sink));
  expect_conserved(source, subscriber);
}

TEST_F(Pending, ChannelClientAndServerMeetOnOneThread) {
  ChannelClient<Words, Words> client(*fabric.device, nullptr, {.depth = 8});
  ChannelServer<Words, Words> server(*fabric.device, nullptr, {.depth = 8});
  client.start_connect(fabric.endpoint, {});
  const auto request = wait_for_request(*fabric.listener);
  ASSERT_NE(request, nullptr);
  Outcome outcome;
  server.start_accept(*request, {}, {}, 7, outcome.record());
  ASSERT_TRUE(meets(client, server, outcome));
  Heard at_client;
  Heard at_server;
  client.poll(at_client);
  EXPECT_EQ(client.send(Words{{42}}), SendStatus::kOk);
  EXPECT_TRUE(eventually([&] {
    server.poll(at_server);
    return at_server.last == 42;
  }));
}

TEST_F(Pending, ATableReaderIsServedAndRevokedByItsTag) {
  const auto table = fabric.device->allocate(64, rdma::kLocalWrite | rdma::kRemoteRead, "table");
  const rdma::Grant grant{table.get(), rdma::kRemoteRead};
  TableReaders readers(*fabric.device);
  Outcome outcome;
  TableConnection there;
  fabric.meet([&] { there = connect_tables(*fabric.device, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) {
                readers.start_accept(request, {}, {&grant, 1}, 5, outcome.record());
                EXPECT_TRUE(eventually([&] {
                  readers.collect();
                  return outcome.told == 1;
                }));
              });
  EXPECT_EQ(outcome.why, "");
  EXPECT_EQ(readers.size(), 1u);
  EXPECT_EQ(readers.revoke(4, *table), 0u);
  EXPECT_EQ(readers.revoke(5, *table), 1u);
  there.connection.reset();
  EXPECT_TRUE(eventually([&] {
    readers.collect();
    return readers.size() == 0;
  }));
}

TEST_F(Pending, APeerThatNeverConfirmsHoldsUpNoOtherSubscriber) {
  if (over_network()) GTEST_SKIP() << "a set-up on verbs goes on by itself: nobody stops half-way";
  const auto half = half_subscriber();
  Outcome never;
  start_accept(never);
  subscriber.start_connect(fabric.endpoint, {});
  Outcome outcome;
  start_accept(outcome);
  ASSERT_TRUE(meets(subscriber, source.publisher, outcome));
  EXPECT_EQ(outcome.why, "");
  EXPECT_EQ(source.publisher.subscribers().size(), 1u);
}

// All places of a publisher held by peers that never confirm: the oldest makes room.
TEST_F(Pending, TheOldestSetUpMakesRoomForOneMore) {
  if (over_network()) GTEST_SKIP() << "a set-up on verbs goes on by itself: nobody stops half-way";
  std::vector<std::unique_ptr<rdma::CompletionQueue>> queues;
  std::vector<std::unique_ptr<rdma::PendingConnection>> silent;
  std::vector<Outcome> outcomes(kSubscribersMax + 1);
  for (Outcome& outcome : outcomes) {
    queues.push_back(std::move(spare));
    spare = fabric.device->create_queue(64, nullptr);
    silent.push_back(half_subscriber());
    start_accept(outcome);
  }
  source.publisher.collect();
  EXPECT_NE(outcomes.front().why.find("given up"), std::string::npos) << outcomes.front().why;
  EXPECT_EQ(outcomes.back().told, 0);
}

TEST_F(Pending, NobodyGetsWhatIsRevokedMeanwhile) {
  const auto region = fabric.device->allocate(64, rdma::kLocalWrite | rdma::kRemoteWrite, "block");
  const rdma::Grant grant{region.get(), rdma::kRemoteWrite};
  subscriber.start_connect(fabric.endpoint, {});
  Outcome outcome;
  start_accept(outcome, {&grant, 1});
  EXPECT_EQ(source.publisher.revoke(*region), 0u) << "nobody has it yet";
  source.publisher.collect();
  EXPECT_EQ(outcome.told, 1);
  EXPECT_NE(outcome.why.find("revoked"), std::string::npos) << outcome.why;
  EXPECT_FALSE(source.publisher.accepting());
  EXPECT_TRUE(source.publisher.subscribers().empty());
}

// The peer says all that it should and grants too little: found when its set-up is over.
TEST_F(Pending, APeerThatGrantsTooLittleIsDroppedOnEitherSide) {
  const auto connecting = half_subscriber();  // grants no ring
  Outcome outcome;
  start_accept(outcome);
  std::optional<rdma::Connected> connected;
  ASSERT_TRUE(eventually([&] {
    if (!connected) connected = connecting->poll();
    source.publisher.collect();
    return connected && outcome.told == 1;
  }));
  EXPECT_NE(outcome.why.find("0 regions"), std::string::npos) << outcome.why;
  EXPECT_TRUE(source.publisher.subscribers().empty());

  subscriber.start_connect(fabric.endpoint, {});
  const auto request = wait_for_request(*fabric.listener);
  ASSERT_NE(request, nullptr);
  const auto answered = fabric.device->create_queue(64, nullptr);
  LinkPart part;  // a publisher's answer, without its line for returned receives
  part.pattern = Pattern::kRing;
  part.payload_bytes = sizeof(Update);
  part.image_bytes = sizeof(TestSubscriber::Record);
  const auto accepting = request->start_accept(*answered, {}, join_hello({}, part), {}, {});
  std::string why;
  ASSERT_TRUE(eventually([&] {
    why = test_support::error_of<rdma::SetupError>([&] { (void)subscriber.poll_connect(); });
    return why != "no error";
  }));
  EXPECT_NE(why.find("0 regions"), std::string::npos) << why;
  EXPECT_FALSE(subscriber.connecting());
}

// As a program whose process was stopped, or that listens and never looks.
TEST_F(Pending, AClientGoesOnWithOtherThingsWhileNobodyAnswers) {
  Reconnect reconnect(0);
  int ticks_under_way = 0;
  const auto tick = [&] {
    reconnect.step(1, [&] {
      if (!subscriber.connecting()) subscriber.start_connect(fabric.endpoint, {}, {}, 300);
      const bool connected = subscriber.poll_connect().has_value();
      ++ticks_under_way;
      return connected;
    });
  };
  tick();
  tick();
  EXPECT_EQ(ticks_under_way, 2);
  EXPECT_TRUE(reconnect.down());
  EXPECT_TRUE(eventually([&] {
    tick();
    return !reconnect.error().empty();
  }));
  EXPECT_NE(reconnect.error().find("timed out"), std::string::npos) << reconnect.error();
}

TEST(ReconnectStep, AnAttemptUnderWayIsAskedEachTickAndTheIntervalBeginsAtItsEnd) {
  Reconnect reconnect(100);
  int asked = 0;
  const auto attempt = [&] {
    if (++asked == 3) throw rdma::SetupError(rdma::SetupCause::kTimeout, "nobody answered");
    return asked == 5;
  };
  for (const std::uint64_t now : {1'000u, 1'010u, 1'020u})
    EXPECT_FALSE(reconnect.step(now, attempt));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(reconnect.step(1'119, attempt));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(reconnect.step(1'120, attempt));
  EXPECT_TRUE(reconnect.step(1'130, attempt));
  EXPECT_FALSE(reconnect.down());
}

// Lost before the control thread has heard that it is there.
TEST(ReconnectStep, AConnectionLostWhileItIsMadeIsMadeAgain) {
  Reconnect reconnect(0);
  EXPECT_TRUE(reconnect.step(1, [&] {
    reconnect.mark_down();
    return true;
  }));
  EXPECT_TRUE(reconnect.down());
}

}  // namespace
}  // namespace tickpath::link::test
