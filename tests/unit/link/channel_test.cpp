#include "common/link/channel.hpp"

#include <map>
#include <random>

#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::link::test {
namespace {

struct Request {
  std::uint64_t number;
  std::uint64_t fill[7];
};
struct Report {
  std::uint64_t number;
  std::uint64_t fill[7];
};

using Client = ChannelClient<Request, Report>;
using Server = ChannelServer<Report, Request>;

Request request_of(std::uint64_t number) {
  Request request{number, {}};
  for (std::uint64_t& word : request.fill) word = number;
  return request;
}

struct ServerLog {
  void on_message(ClientId client, std::uint64_t tag, const Request& request) noexcept {
    for (const std::uint64_t word : request.fill) torn += word != request.number;
    numbers[tag].push_back(request.number);
    last = client;
  }
  void on_client(ClientId client, std::uint64_t tag, LinkEvent event) noexcept {
    events.emplace_back(tag, event);
    if (event == LinkEvent::kConnected) ids[tag] = client;
  }
  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, ClientId> ids;
  std::vector<std::pair<std::uint64_t, LinkEvent>> events;
  ClientId last;
  std::uint64_t torn = 0;
};

// Takes only so many of a client.
struct ReluctantLog : ServerLog {
  std::size_t messages_taken(std::uint64_t tag) const noexcept { return tag == 1 ? taken : 100; }
  std::size_t taken = 0;
};

struct ClientLog {
  void on_message(const Report& report) noexcept { numbers.push_back(report.number); }
  void on_link(LinkEvent event) noexcept { events.push_back(event); }
  std::vector<std::uint64_t> numbers;
  std::vector<LinkEvent> events;
};

class Channel : public testing::Test {
 protected:
  static constexpr std::uint32_t kDepth = 8;
  void join(Client& client, std::uint64_t tag) {
    fabric.meet(
        [&] { connect_now(client, fabric.endpoint, {}); },
        [&](rdma::ConnectionRequest& request) { accept_now(server, request, {}, {}, tag); });
    ClientLog log;
    client.poll(log);
    server.poll(at_server);
    ASSERT_TRUE(client.up());
  }
  // The server polls until `done`.
  template <class Log, class Done>
  bool served(Log& log, Done&& done) {
    return eventually([&] {
      server.poll(log);
      return done();
    });
  }
  bool goes_down(Client& client) {
    return eventually([&] {
      client.poll(at_client);
      return !client.up();
    });
  }
  ChannelOptions options{.depth = kDepth};
  Fabric fabric;
  Server server{*fabric.device, nullptr, options};
  ServerLog at_server;
  ClientLog at_client;
};

TEST_F(Channel, CarriesMessagesBothWaysInOrder) {
  Client client(*fabric.device, nullptr, options);
  join(client, 5);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(client.send(request_of(i)), SendStatus::kOk);
    ASSERT_TRUE(eventually([&] { return server.poll(at_server) != 0; }));
    ASSERT_EQ(server.send(at_server.last, {i, {}}), SendStatus::kOk);
    ASSERT_TRUE(eventually([&] { return client.poll(at_client) != 0; }));
  }
  ASSERT_EQ(at_server.numbers[5].size(), 1000u);
  ASSERT_EQ(at_client.numbers.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(at_server.numbers[5][i], i + 1);
    EXPECT_EQ(at_client.numbers[i], i + 1);
  }
  EXPECT_EQ(at_server.torn, 0u);
  // Every message of the one side gave the other its credits back.
  EXPECT_EQ(client.counters().credits_written.get(), 0u);
  EXPECT_EQ(server.counters().credits_written.get(), 0u);
}

TEST_F(Channel, IsFullWhenTheReceiverTakesNothingAndGoesOnWhenItDoes) {
  Client client(*fabric.device, nullptr, options);
  join(client, 1);
  for (std::uint64_t i = 1; i <= kDepth; ++i) {
    EXPECT_EQ(client.credits(), kDepth - i + 1);
    EXPECT_EQ(client.send(request_of(i)), SendStatus::kOk);
  }
  EXPECT_EQ(client.send(request_of(99)), SendStatus::kFull);
  EXPECT_EQ(client.counters().full.get(), 1u);
  ASSERT_TRUE(served(at_server, [&] { return at_server.numbers[1].size() == kDepth; }));
  // Nothing went the other way, so the credits came by WRITE.
  EXPECT_GE(server.counters().credits_written.get(), 1u);
  ASSERT_TRUE(eventually([&] { return client.send(request_of(kDepth + 1)) == SendStatus::kOk; }));
}

TEST_F(Channel, StreamsOneWayAsFastAsCreditsReturn) {
  Client client(*fabric.device, nullptr, options);
  join(client, 1);
  constexpr std::uint64_t kMessages = 5000;
  for (std::uint64_t sent = 0; sent < kMessages;) {
    while (sent < kMessages && client.send(request_of(sent + 1)) == SendStatus::kOk) ++sent;
    server.poll(at_server);
    client.poll(at_client);
  }
  ASSERT_TRUE(served(at_server, [&] { return at_server.numbers[1].size() == kMessages; }));
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(at_server.numbers[1][i], i + 1);
}

TEST_F(Channel, LosesNothingUnderAnyInterleaving) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Client client(*fabric.device, nullptr, options);
    join(client, seed);
    ClientLog told;
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    for (int step = 0; step < 400; ++step) {
      switch (random() % 4) {
        case 0:
          sent += client.send(request_of(sent + 1)) == SendStatus::kOk;
          break;
        case 1:
          answered += server.send(at_server.ids[seed], {answered + 1, {}}) == SendStatus::kOk;
          break;
        case 2:
          server.poll(at_server, 1 + random() % 3);
          break;
        default:
          client.poll(told, 1 + random() % 3);
      }
    }
    ASSERT_TRUE(eventually([&] {
      server.poll(at_server);
      client.poll(told);
      return at_server.numbers[seed].size() == sent && told.numbers.size() == answered;
    }));
    for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(at_server.numbers[seed][i], i + 1);
    for (std::uint64_t i = 0; i < answered; ++i) ASSERT_EQ(told.numbers[i], i + 1);
  }
}

TEST_F(Channel, GoesOnOneWayBetweenEndsOfDifferentDepths) {
  for (const std::uint32_t depth : {2u, 128u}) {
    Client client(*fabric.device, nullptr, ChannelOptions{.depth = depth});
    join(client, depth);
    std::uint64_t sent = 0;
    std::vector<std::uint64_t>& arrived = at_client.numbers;
    arrived.clear();
    ASSERT_TRUE(eventually([&] {  // the server sends alone, the client reads alone
      sent += server.send(at_server.ids[depth], {sent, {}}) == SendStatus::kOk ? 1 : 0;
      client.poll(at_client);
      return arrived.size() >= 500;
    })) << arrived.size();
    arrived.clear();
    at_server.numbers[depth].clear();
    ASSERT_TRUE(eventually([&] {
      (void)client.send(request_of(1));
      server.poll(at_server);
      return at_server.numbers[depth].size() >= 500;
    })) << at_server.numbers[depth].size();
  }
}

TEST_F(Channel, ServesManyClientsAndKnowsWhoIsWho) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t tag = 0; tag < 8; ++tag) {
    clients.push_back(std::make_unique<Client>(*fabric.device, nullptr, options));
    join(*clients.back(), tag);
  }
  EXPECT_EQ(server.client_count(), 8u);
  for (std::uint64_t tag = 0; tag < 8; ++tag)
    ASSERT_EQ(clients[tag]->send(request_of(100 + tag)), SendStatus::kOk);
  ASSERT_TRUE(eventually([&] {
    server.poll(at_server);
    for (std::uint64_t tag = 0; tag < 8; ++tag)
      if (at_server.numbers[tag].empty()) return false;
    return true;
  }));
  for (std::uint64_t tag = 0; tag < 8; ++tag) {
    EXPECT_EQ(at_server.numbers[tag].front(), 100 + tag);
    ASSERT_EQ(server.send(at_server.ids[tag], {200 + tag, {}}), SendStatus::kOk);
    ClientLog log;
    ASSERT_TRUE(eventually([&] { return clients[tag]->poll(log) != 0; }));
    EXPECT_EQ(log.numbers, std::vector<std::uint64_t>{200 + tag});
  }
}

TEST_F(Channel, ABusyClientDoesNotStarveAQuietOne) {
  Client busy(*fabric.device, nullptr, options);
  Client quiet(*fabric.device, nullptr, options);
  join(busy, 1);
  join(quiet, 2);
  for (std::uint64_t i = 1; i <= kDepth; ++i) ASSERT_EQ(busy.send(request_of(i)), SendStatus::kOk);
  ASSERT_EQ(quiet.send(request_of(1)), SendStatus::kOk);
  server.poll(at_server, 2);
  EXPECT_EQ(at_server.numbers[1].size(), 2u);
  EXPECT_EQ(at_server.numbers[2].size(), 1u);
}

TEST_F(Channel, LeavesAClientItsMessagesAndSoItsCreditsUntilTheServerTakesThem) {
  Client slowed(*fabric.device, nullptr, options);
  Client other(*fabric.device, nullptr, options);
  join(slowed, 1);
  join(other, 2);
  ReluctantLog log;
  for (std::uint64_t i = 1; i <= kDepth; ++i) {
    ASSERT_EQ(slowed.send(request_of(i)), SendStatus::kOk);
    ASSERT_EQ(other.send(request_of(i)), SendStatus::kOk);
    for (int turn = 0; turn < 100; ++turn) server.poll(log);
  }
  EXPECT_TRUE(log.numbers[1].empty());
  ASSERT_TRUE(served(log, [&] { return log.numbers[2].size() == kDepth; }));
  EXPECT_EQ(slowed.send(request_of(99)), SendStatus::kFull);
  log.taken = 3;
  server.poll(log);
  EXPECT_EQ(log.numbers[1].size(), 3u);
  log.taken = 100;
  ASSERT_TRUE(served(log, [&] { return log.numbers[1].size() == kDepth; }));
  ASSERT_TRUE(eventually([&] { return slowed.send(request_of(9)) == SendStatus::kOk; }));
}

// The count of what it has read comes with messages that the server does not take: were it not
// looked at, both sides would wait for each other.
TEST_F(Channel, AServerThatTakesNothingStillLearnsWhatTheClientHasRead) {
  Client client(*fabric.device, nullptr, options);
  join(client, 1);
  ReluctantLog log;
  for (std::uint64_t sent = 0; sent < kDepth; ++sent)
    ASSERT_EQ(server.send(at_server.ids[1], {sent, {}}), SendStatus::kOk);
  ASSERT_TRUE(eventually([&] { return client.poll(at_client, 1) != 0; }));
  ASSERT_EQ(client.send(request_of(1)), SendStatus::kOk);  // "one taken"
  ASSERT_TRUE(served(log, [&] { return server.credits(at_server.ids[1]) == 1; }));
  EXPECT_TRUE(log.numbers[1].empty());
}

TEST_F(Channel, TakesWhatALostClientSentWhateverItsServerWouldTake) {
  auto client = std::make_unique<Client>(*fabric.device, nullptr, options);
  join(*client, 1);
  ReluctantLog log;
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_EQ(client->send(request_of(i)), SendStatus::kOk);
  client.reset();
  ASSERT_TRUE(served(log, [&] { return server.client_count() == 0; }));
  EXPECT_EQ(log.numbers[1].size(), 5u);
  EXPECT_EQ(log.events.back().second, LinkEvent::kLost);
}

TEST_F(Channel, TellsAnOrderlyEndFromALossAndDeliversWhatCameBefore) {
  auto polite = std::make_unique<Client>(*fabric.device, nullptr, options);
  auto rude = std::make_unique<Client>(*fabric.device, nullptr, options);
  join(*polite, 1);
  join(*rude, 2);
  at_server.events.clear();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(polite->send(request_of(i)), SendStatus::kOk);
    ASSERT_EQ(rude->send(request_of(i)), SendStatus::kOk);
  }
  polite->close();
  EXPECT_EQ(polite->send(request_of(6)), SendStatus::kDown);
  rude.reset();
  ASSERT_TRUE(served(at_server, [&] { return server.client_count() == 0; }));
  EXPECT_EQ(at_server.numbers[1].size(), 5u);
  EXPECT_EQ(at_server.numbers[2].size(), 5u);
  std::map<std::uint64_t, LinkEvent> ends(at_server.events.begin(), at_server.events.end());
  EXPECT_EQ(ends[1], LinkEvent::kClosed);
  EXPECT_EQ(ends[2], LinkEvent::kLost);
  EXPECT_EQ(server.send(at_server.ids[2], {}), SendStatus::kDown);
  server.collect();  // the control thread lets go of them: the polite client learns it
  ASSERT_TRUE(goes_down(*polite));
  EXPECT_EQ(at_client.events.back(), LinkEvent::kClosed);
}

TEST_F(Channel, ConnectsAgainAfterALoss) {
  Client client(*fabric.device, nullptr, options);
  auto first = std::make_unique<Server>(*fabric.device, nullptr, options);
  fabric.meet([&] { connect_now(client, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(*first, request, {}, {}, 1); });
  client.poll(at_client);
  ASSERT_TRUE(client.up());
  first.reset();
  ASSERT_TRUE(goes_down(client));
  EXPECT_EQ(client.send(request_of(1)), SendStatus::kDown);
  EXPECT_EQ(at_client.events, (std::vector{LinkEvent::kConnected, LinkEvent::kLost}));
  client.collect();
  join(client, 9);
  ASSERT_EQ(client.send(request_of(1)), SendStatus::kOk);
  ASSERT_TRUE(served(at_server, [&] { return at_server.numbers[9].size() == 1; }));
}

TEST_F(Channel, WakesAServerThatSleeps) {
  const std::unique_ptr<rdma::CompletionChannel> channel = fabric.device->create_channel();
  Server sleeper(*fabric.device, channel.get(), options);
  Client client(*fabric.device, nullptr, options);
  fabric.meet([&] { connect_now(client, fabric.endpoint, {}); },
              [&](rdma::ConnectionRequest& request) { accept_now(sleeper, request, {}, {}, 1); });
  client.poll(at_client);
  std::thread serving([&] {
    while (at_server.numbers[1].size() < 50) {
      if (sleeper.poll(at_server) != 0) continue;
      sleeper.arm();
      if (sleeper.poll(at_server) != 0 || !sleeper.may_sleep()) continue;
      pollfd waiting{channel->file_descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, 5000) == 1) channel->acknowledge();
    }
  });
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ASSERT_TRUE(eventually([&] { return client.send(request_of(i)) == SendStatus::kOk; }));
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  serving.join();
  EXPECT_EQ(at_server.numbers[1].back(), 50u);
}

TEST_F(Channel, RefusesAPeerOfAnotherPattern) {
  Client client(*fabric.device, nullptr, options);
  EXPECT_THROW(fabric.meet([&] { connect_now(client, fabric.endpoint, {}); },
                           [&](rdma::ConnectionRequest& request) {
                             EXPECT_THROW(accept_tables(*fabric.device, request, {}, {}),
                                          rdma::SetupError);
                           }),
               rdma::SetupError);
}

TEST_F(Channel, RefusesADepthThatIsNoPowerOfTwo) {
  EXPECT_THROW(Client(*fabric.device, nullptr, ChannelOptions{.depth = 100}), rdma::SetupError);
}

}  // namespace
}  // namespace tickpath::link::test
