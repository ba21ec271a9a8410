// The client over TCP: against sim's server, and against servers that do everything wrong.
#include <chrono>
#include <functional>
#include <thread>

#include <sys/socket.h>

#include "common/net/file_descriptor.hpp"
#include "sim/snapshot/snapshot_server.hpp"
#include "tests/unit/mdh/random_network.hpp"
#include "tests/unit/mdh/venue_snapshot.hpp"

namespace tickpath::mdh::test {
namespace {

namespace soup = itch::soup;
using Status = SnapshotPort::Status;

constexpr book::Options kClientRoom{.orders_max = 1u << 14, .levels_max = 1u << 13};
constexpr net::Endpoint kAnyPort{0x7f00'0001, 0};

std::vector<Bytes> messages_of(const Snapshot& snapshot) {
  std::vector<Bytes> all;
  snapshot.for_each([&](std::span<const std::byte> message) {
    all.emplace_back(message.begin(), message.end());
  });
  return all;
}

Status end_of(
    SnapshotClient& client, const std::function<void()>& meanwhile = [] {}) {
  client.request();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (client.poll() == Status::kPending && std::chrono::steady_clock::now() < end) {
    meanwhile();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return client.poll();
}

class SnapshotClients : public ::testing::Test {
 protected:
  static sim::SnapshotOptions server_options() { return {.listen = kAnyPort, .book = kClientRoom}; }
  static SnapshotClientOptions client_options(const net::Endpoint& server) {
    return {.server = server};
  }
};

TEST_F(SnapshotClients, BringWhatSimHasByThenAgainAndAgain) {
  sim::SnapshotServer server(server_options(), "DAY");
  SnapshotClient client(client_options(server.local()));
  sim::GlimpseBook expected(kClientRoom);
  const std::vector<Bytes> all = generated(5, 4'000);
  std::size_t sent = 0;
  for (const std::size_t upto : {std::size_t{10}, std::size_t{1'500}, all.size()}) {
    for (; sent < upto; ++sent) {
      ASSERT_TRUE(server.follow(all[sent]));
      expected.apply(all[sent]);
    }
    ASSERT_EQ(end_of(client, [&] { server.turn(); }), Status::kReady);
    Snapshot made;
    fill(made, expected, itch::mold::Session("DAY"));
    EXPECT_EQ(client.snapshot().session.view(), "DAY");
    EXPECT_EQ(client.snapshot().next_sequence, upto + 1);
    EXPECT_EQ(messages_of(client.snapshot()), messages_of(made));
    client.release();
    EXPECT_EQ(client.poll(), Status::kNone);
  }
  EXPECT_EQ(client.counters().requested.get(), 3u);
  EXPECT_EQ(client.counters().received.get(), 3u);
  EXPECT_EQ(client.counters().failed.get(), 0u);
}

TEST_F(SnapshotClients, FailWithAReasonWhenTheyAreNotLetIn) {
  sim::SnapshotOptions options = server_options();
  options.password = "secret";
  sim::SnapshotServer server(options, "DAY");
  SnapshotClient client(client_options(server.local()));
  EXPECT_EQ(end_of(client), Status::kFailed);
  EXPECT_EQ(client.counters().rejected.get(), 1u);
  client.release();
  SnapshotClientOptions right = client_options(server.local());
  right.password = "secret";
  SnapshotClient other(right);
  EXPECT_EQ(end_of(other, [&] { server.turn(); }), Status::kReady);
}

TEST_F(SnapshotClients, FailWhenNobodyListensAndMayBeAskedAgain) {
  net::Endpoint gone;
  {
    sim::SnapshotServer server(server_options(), "DAY");
    gone = server.local();
  }
  SnapshotClient client(client_options(gone));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(end_of(client), Status::kFailed);
    client.release();
  }
  EXPECT_EQ(client.counters().failed.get(), 3u);
}

// A server of one connection that says what it is told and then holds it open, or closes it.
class RawServer {
 public:
  // beat: said again and again while the connection is held.
  RawServer(Bytes said, bool close, Bytes beat = {})
      : said_(std::move(said)), close_(close), beat_(std::move(beat)) {
    listener_ = net::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at = kAnyPort.to_sockaddr();
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    endpoint_ = {0x7f00'0001, ntohs(at.sin_port)};
    thread_ = std::thread([this] { serve(); });
  }
  ~RawServer() {
    (void)::shutdown(listener_.get(), SHUT_RDWR);  // nobody may have come
    thread_.join();
  }
  net::Endpoint endpoint() const { return endpoint_; }

 private:
  void serve() {
    const net::FileDescriptor peer(::accept(listener_.get(), nullptr, nullptr));
    for (std::size_t at = 0; at < said_.size();) {  // in small pieces
      const std::size_t size = std::min<std::size_t>(7, said_.size() - at);
      if (::send(peer.get(), said_.data() + at, size, MSG_NOSIGNAL) < 0) return;
      at += size;
    }
    std::array<std::byte, 256> heard;
    while (!beat_.empty() && ::send(peer.get(), beat_.data(), beat_.size(), MSG_NOSIGNAL) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    while (!close_ && ::recv(peer.get(), heard.data(), heard.size(), 0) > 0) {
    }
  }

  Bytes said_;
  bool close_;
  Bytes beat_;
  net::FileDescriptor listener_;
  net::Endpoint endpoint_;
  std::thread thread_;
};

struct Wrong {
  const char* name;
  std::vector<Bytes> said;
  bool close;
  bool malformed;
  Bytes beat{};
};

TEST_F(SnapshotClients, SurviveServersThatDoEverythingWrong) {
  const auto let_in = [](std::uint64_t sequence) {
    Bytes bytes;
    soup::append(bytes, soup::LoginAccepted{"DAY", sequence});
    return bytes;
  };
  const auto of_type = [](soup::PacketType type, const Bytes& payload = {}) {
    Bytes bytes;
    soup::append_packet(bytes, type, payload);
    return bytes;
  };
  const auto data = [&](const Bytes& message) {
    return of_type(soup::PacketType::kSequencedData, message);
  };
  const Bytes in = let_in(1);
  const Bytes beat = of_type(soup::PacketType::kServerHeartbeat);
  const Bytes order = data(add(1, "A", 1, 'B', 1, 1));
  Bytes short_add = add(1, "AAPL", 1, 'B', 1, 1);
  short_add.pop_back();
  const std::vector<Wrong> all{
      {"closes at once", {}, true, false},
      {"closes in the middle", {in, order}, true, false},
      {"ends the session", {in, of_type(soup::PacketType::kEndOfSession)}, false, false},
      {"sends a packet without a type", {in, Bytes(2)}, false, true},
      {"sends an unknown type", {in, of_type(static_cast<soup::PacketType>('?'))}, false, true},
      {"sends data before the login", {order}, false, true},
      {"lets in twice", {in, in}, false, true},
      {"starts elsewhere than at 1", {let_in(7)}, false, true},
      {"sends a short message", {in, data(short_add)}, false, true},
      {"sends an execution", {in, data(execute(1, 1, 1))}, false, true},
      {"sends an empty message", {in, data({})}, false, true},
      {"ends without a number", {in, data(Bytes(21, std::byte{'G'}))}, false, true},
      {"is silent", {}, false, false},
      {"is silent in the middle", {in}, false, false},
      {"beats and sends nothing", {}, false, false, beat},
      {"beats, and sends no more data", {in, order}, false, false, beat},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.name);
    Bytes said;
    for (const Bytes& part : wrong.said) said.insert(said.end(), part.begin(), part.end());
    RawServer server(said, wrong.close, wrong.beat);
    SnapshotClientOptions options = client_options(server.endpoint());
    options.timeout_ns = 200'000'000;
    SnapshotClient client(options);
    EXPECT_EQ(end_of(client), Status::kFailed);
    EXPECT_EQ(client.counters().failed.get(), 1u);
    EXPECT_EQ(client.counters().malformed.get(), wrong.malformed ? 1u : 0u);
  }
}

TEST_F(SnapshotClients, TakeNoMoreThanTheBooksCouldHold) {
  Bytes said;
  soup::append(said, soup::LoginAccepted{"DAY", 1});
  for (std::uint64_t n = 1; n <= 100; ++n)
    soup::append_packet(said, soup::PacketType::kSequencedData, add(1, "A", n, 'B', 1, 1));
  RawServer server(said, false);
  SnapshotClientOptions options = client_options(server.endpoint());
  options.bytes_max = 1'000;
  SnapshotClient client(options);
  EXPECT_EQ(end_of(client), Status::kFailed);
}

TEST_F(SnapshotClients, AreGoneWithoutWaitingWhileTheyAsk) {
  RawServer server({}, false);
  SnapshotClient client(client_options(server.endpoint()));
  client.request();
}

// From the lines' bytes to the books: a late joiner that nobody answers but the snapshot server.
TEST_F(SnapshotClients, LetALateJoinerInOverTcp) {
  sim::SnapshotServer server(server_options(), "S");
  SnapshotClient client(client_options(server.local()));
  VectorSink whole_sink, late_sink;
  trace::TraceWriter trace{{}};
  log::HotLog log;
  define_notes(log);
  Feed whole(small_options(), whole_sink, trace, log);
  Feed late(small_options(), late_sink, trace, log);
  Arbiter both({}, late, nullptr, &client, log);
  OneLine lossless(whole, log);
  const std::vector<Bytes> all = generated(9, 3'000);
  std::size_t sent = 0;
  const auto send_one = [&] {
    const Bytes bytes = packet("S", sent + 1, {all[sent]});
    lossless.hear(bytes);
    ASSERT_TRUE(server.follow(all[sent]));
    if (++sent <= 2'000) return;
    both.collect(Line::kA, bytes, {0, tsc_now()});
    both.process(tsc_now());
  };
  while (sent < 2'010) send_one();
  EXPECT_TRUE(both.waiting());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (both.waiting() && std::chrono::steady_clock::now() < end) {
    server.turn();
    both.process(tsc_now());
  }
  ASSERT_EQ(late.state(), wire::FeedState::kGood);
  while (sent < all.size()) send_one();
  late.books().verify();
  EXPECT_EQ(both.counters().snapshots.get(), 1u);
  expect_same_books(whole, late);
}

}  // namespace
}  // namespace tickpath::mdh::test
