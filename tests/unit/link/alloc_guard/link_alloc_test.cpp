// Nothing that a datapath calls allocates or frees: the guard ends this program at the first call.
// Its own binary, because the guard replaces malloc.

#include "common/base/datapath_guard.hpp"
#include "common/link/link.hpp"
#include "tests/support/alloc_guard/alloc_guard.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::link::test {
namespace {

struct Update {
  std::uint64_t words[7];
};
struct Image {
  std::uint64_t ring_sequence;
  std::uint64_t words[34];
};
struct Message {
  std::uint64_t words[8];
};

struct Handler {
  void on_update(const Update&, std::uint64_t) noexcept { ++updates; }
  void on_image(std::uint32_t, const Image&) noexcept { ++images; }
  void on_overrun(std::uint64_t) noexcept { ++overruns; }
  void on_link(LinkEvent) noexcept { ++events; }
  void on_message(const Message&) noexcept { ++messages; }
  void on_message(ClientId from, std::uint64_t, const Message&) noexcept {
    client = from;
    ++messages;
  }
  void on_client(ClientId from, std::uint64_t, LinkEvent) noexcept {
    client = from;
    ++events;
  }
  std::uint64_t updates = 0, images = 0, overruns = 0, events = 0, messages = 0;
  ClientId client;
};

template <class Done>
bool on_datapath(Done&& done) {
  const DatapathScope scope;
  return eventually(done);
}

void run_ring(RingMode mode, MulticastOptions multicast = {}, std::uint32_t lost_per_mille = 0) {
  Fabric fabric;
  Publisher<Update, Image> publisher(*fabric.device, nullptr,
                                     {.image_count = 8, .multicast = std::move(multicast)});
  SubscriberOptions options{.mode = mode, .depth = 32, .image_count = 8};
  options.loss.per_mille = lost_per_mille;
  auto subscriber =
      std::make_unique<Subscriber<Update, Image>>(*fabric.device, nullptr, std::move(options));
  fabric.meet([&] { connect_now(*subscriber, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(publisher, request, {}, {}); });
  Handler handler;
  const auto turn = [&] {
    publisher.flush([](std::uint32_t, Image& image) noexcept { ++image.words[0]; });
    publisher.turn();
  };
  ASSERT_TRUE(on_datapath([&] {  // with overruns: a hundred updates a turn into 32 slots
    for (std::uint32_t i = 0; i < 100; ++i) {
      publisher.publish({});
      publisher.mark_dirty(i % 8);
      if (i % 2 == 0) subscriber->poll(handler, 1);
    }
    turn();
    for (int poll = 0; poll < 64; ++poll) subscriber->poll(handler);
    return handler.updates > 2000 && handler.overruns > 20 && handler.images > 8;
  }));
  ASSERT_TRUE(on_datapath([&] {
    publisher.close();
    publisher.turn();
    subscriber->poll(handler);
    return subscriber->state() == SubscriberState::kDown;
  }));
  subscriber.reset();
  ASSERT_TRUE(on_datapath([&] {
    publisher.turn();
    return publisher.subscriber_count() == 0;
  }));
}

TEST(LinkAllocation, RingsAndImagesAllocateNothingInPollMode) { run_ring(RingMode::kPoll); }
TEST(LinkAllocation, RingsAndImagesAllocateNothingInImmediateMode) {
  run_ring(RingMode::kImmediate);
}

TEST(LinkAllocation, MulticastAllocatesNothingNorDoesWhatIsReadOfIt) {
  const std::string group =
      std::filesystem::temp_directory_path() / ("tp-alloc-group-" + std::to_string(::getpid()));
  run_ring(RingMode::kPoll, {.group = group, .depth = 16}, 100);
}

TEST(LinkAllocation, ChannelsAllocateNothingFromTheFirstMessageToTheEnd) {
  Fabric fabric;
  ChannelServer<Message, Message> server(*fabric.device, nullptr, {.depth = 8});
  auto client = std::make_unique<ChannelClient<Message, Message>>(*fabric.device, nullptr,
                                                                  ChannelOptions{.depth = 8});
  fabric.meet([&] { connect_now(*client, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(server, request, {}, {}, 1); });
  Handler at_client;
  Handler at_server;
  ASSERT_TRUE(on_datapath([&] {
    client->poll(at_client);
    server.poll(at_server);
    while (client->send({}) == SendStatus::kOk) {
    }
    (void)server.send(at_server.client, {});
    return at_server.messages > 2000 && at_client.messages > 200;
  }));
  client.reset();
  ASSERT_TRUE(on_datapath([&] {
    server.poll(at_server);
    return server.client_count() == 0;
  }));
}

TEST(LinkAllocation, TablesControlBlocksAndHeartbeatsAllocateNothing) {
  Fabric fabric;
  TableOwner<Image> table(*fabric.device, 4, "table");
  ControlBlock<Image> block(*fabric.device, "block");
  Heartbeat heartbeat(*fabric.device, "beat");
  const rdma::Grant grants[] = {table.grant(), block.grant(), heartbeat.grant()};
  std::unique_ptr<Connection> here;
  std::unique_ptr<Connection> there;
  fabric.meet(
      [&] { there = std::move(connect_tables(*fabric.device, fabric.endpoint, {}).connection); },
      [&](rdma::ConnectionRequest& request) {
        here = accept_tables(*fabric.device, request, {}, grants);
      });
  ASSERT_NE(there, nullptr);
  RemoteTable<Image> remote(*fabric.device, "reader");
  ControlBlockWriter<Image> writer(*fabric.device, "writer");
  HeartbeatMonitor monitor(*fabric.device, {.interval_ns = 1}, "watch");
  int rows = 0;
  int blocks = 0;
  std::uint64_t now = 1;
  ASSERT_TRUE(on_datapath([&] {
    if (now == 1) {
      remote.attach(*there, there->extras()[0]);
      writer.attach(*there, there->extras()[1]);
      monitor.attach(*there, there->extras()[2], now);
    }
    Image image{};
    table.store(2, image);
    heartbeat.beat();
    (void)writer.write(image);
    remote.start(2);
    there->poll();
    rows += remote.finish(image) == RowStatus::kOk;
    blocks += block.read(image) == ReadStatus::kOk;
    return monitor.evaluate(now += 10) == Liveness::kAlive && rows > 100 && blocks > 100;
  }));
}

TEST(LinkAllocation, WasWatchedAllTheTime) {
  EXPECT_GT(tickpath::test_support::allocation_counts().all, 0u);
  EXPECT_EQ(tickpath::test_support::allocation_counts().violations, 0u);
}

}  // namespace
}  // namespace tickpath::link::test
