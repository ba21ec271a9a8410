// The patterns over a device that refuses posts and fails completions.

#include "common/link/channel.hpp"
#include "common/link/heartbeat.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fault_device.hpp"
#include "tests/unit/link/market.hpp"

namespace tickpath::link::test {
namespace {

class FaultyPublishing : public OfBothModes {};

INSTANTIATE_TEST_SUITE_P(Modes, FaultyPublishing, kBothModes, mode_name);

// The send queue is full now and then: slots, images and watermarks are not written when they
// should be. Whatever is missing is counted, and the last state always arrives.
TEST_P(FaultyPublishing, CountsExactlyWhatAFullSendQueueKeptBack) {
  std::uint64_t refused = 0;
  std::uint64_t skipped = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultPlan plan(seed);
    Fabric fabric(std::make_unique<FaultDevice>(open_test_device(), plan));
    Source source(*fabric.device);
    Sink sink;
    TestSubscriber subscriber(*fabric.device, nullptr, options(seed % 2 == 0 ? 8 : 256));
    join(fabric, source, subscriber);
    plan.refuse_per_mille = 300;  // each refused post is tried twice
    std::mt19937 random(seed);
    for (int step = 0; step < 300; ++step) {
      switch (random() % 4) {
        case 0:
          source.change_some(random() % 6);
          break;
        case 1:
          source.end_turn();
          break;
        default:
          subscriber.poll(sink, 1 + random() % 4);
      }
    }
    refused += plan.refused;
    plan.refuse_per_mille = 0;
    // An image that could not be written is written now.
    ASSERT_TRUE(reach_live(source, subscriber, sink));
    ASSERT_TRUE(close_and_drain(source, subscriber, sink));
    skipped += source.publisher.counters().slots_skipped.get();
    expect_sound(sink);
    expect_same_values(source, sink);
    expect_conserved(source, subscriber);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(skipped, 100u);
}

TEST_P(FaultyPublishing, DropsASubscriberWhoseCompletionsFail) {
  FaultPlan plan(3);
  Fabric fabric(std::make_unique<FaultDevice>(open_test_device(), plan));
  Source source(*fabric.device, {.image_count = kThings, .send_depth = 16});
  Sink sink;
  TestSubscriber subscriber(*fabric.device, nullptr, options(64));
  join(fabric, source, subscriber);
  ASSERT_TRUE(reach_live(source, subscriber, sink));
  plan.fail_per_mille = 1000;
  ASSERT_TRUE(eventually([&] {
    source.change_some(1);
    source.end_turn();
    return source.publisher.subscriber_count() == 0;
  }));
  plan.fail_per_mille = 0;
  EXPECT_GE(plan.failed, 1u);
  source.publisher.collect();
  ASSERT_TRUE(reach_down(subscriber, sink));
  EXPECT_EQ(sink.events.back(), LinkEvent::kLost);
  expect_sound(sink);
}

struct Message {
  std::uint64_t number;
  std::uint64_t fill[7];
};
struct Log {
  void on_message(ClientId, std::uint64_t, const Message& message) noexcept {
    numbers.push_back(message.number);
  }
  void on_client(ClientId client, std::uint64_t, LinkEvent) noexcept { id = client; }
  void on_message(const Message& message) noexcept { numbers.push_back(message.number); }
  void on_link(LinkEvent) noexcept {}
  std::vector<std::uint64_t> numbers;
  ClientId id;
};

TEST(FaultyChannel, SaysFullAndLosesNothingWhenTheSendQueueIsFull) {
  FaultPlan plan(11);
  Fabric fabric(std::make_unique<FaultDevice>(open_test_device(), plan));
  ChannelServer<Message, Message> server(*fabric.device, nullptr, {.depth = 8});
  ChannelClient<Message, Message> client(*fabric.device, nullptr, {.depth = 8});
  fabric.meet([&] { connect_now(client, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(server, request, {}, {}, 1); });
  Log at_client;
  Log at_server;
  client.poll(at_client);
  server.poll(at_server);
  plan.refuse_per_mille = 500;
  std::uint64_t sent = 0;
  ASSERT_TRUE(eventually([&] {
    sent += server.send(at_server.id, {sent + 1, {}}) == SendStatus::kOk;
    if (client.send({1, {}}) == SendStatus::kDown) return false;
    server.poll(at_server);
    client.poll(at_client);
    return sent == 2000;
  }));
  plan.refuse_per_mille = 0;
  ASSERT_TRUE(eventually([&] {
    client.poll(at_client);
    return at_client.numbers.size() == sent;
  }));
  for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(at_client.numbers[i], i + 1);
  EXPECT_GT(plan.refused, 100u);
}

// The peer's host vanished: no answer, no failure, nothing. The clock is the test's.
TEST(FaultyWatching, CountsAPeerAsDeadWhoseAnswersStayOutAndAsAliveWhenTheyComeAfterAll) {
  FaultPlan plan;
  Fabric fabric(std::make_unique<FaultDevice>(open_test_device(), plan));
  Heartbeat heartbeat(*fabric.device, "beat");
  const rdma::Grant grant = heartbeat.grant();
  std::unique_ptr<Connection> here, there;
  fabric.meet([&] { there = connect_tables(*fabric.device, fabric.endpoint, {}).connection; },
              [&](rdma::ConnectionRequest& request) {
                here = accept_tables(*fabric.device, request, {}, {&grant, 1});
              });
  const HeartbeatOptions options;
  HeartbeatMonitor monitor(*fabric.device, options, "watch");
  std::uint64_t now = 1'000'000'000;
  monitor.attach(*there, there->extras()[0], now);
  const auto turn = [&] {
    heartbeat.beat();
    there->poll();
    return monitor.evaluate(now += 100'000);
  };
  ASSERT_TRUE(eventually([&] { return turn() == Liveness::kAlive; }));
  plan.withhold = true;
  const std::uint64_t vanished = now;
  while (turn() != Liveness::kDead) ASSERT_LT(now, vanished + 50'000'000);
  EXPECT_GE(now, vanished + options.dead_after_ns);
  EXPECT_FALSE(there->failed()) << "the transport has not given up";
  plan.withhold = false;
  EXPECT_TRUE(eventually([&] { return turn() == Liveness::kAlive; }));
}

}  // namespace
}  // namespace tickpath::link::test
