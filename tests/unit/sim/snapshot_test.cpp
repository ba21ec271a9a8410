// Snapshots: the state that messages lead to, and the server that tells it.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <sys/socket.h>

#include "common/feeds/itch/glimpse.hpp"
#include "common/net/file_descriptor.hpp"
#include "recorded.hpp"
#include "sim/snapshot/glimpse_book.hpp"
#include "sim/snapshot/snapshot_server.hpp"
#include "tests/support/generated_messages.hpp"
#include "tests/support/other_user.hpp"

namespace tickpath::sim {
namespace {

namespace soup = itch::soup;

constexpr book::Options kRoom{.orders_max = 1u << 14, .levels_max = 1u << 13};
itch::AddOrder order(std::uint64_t reference, char side, std::uint32_t price) {
  return {.header = {7, 0, 1'000 + reference},
          .order_reference_number = reference,
          .buy_sell_indicator = side,
          .shares = 100,
          .stock = "ZAAA",
          .price = price};
}

// The sequenced messages of a stream of packets.
std::vector<Bytes> sequenced(std::span<const std::byte> stream) {
  std::vector<Bytes> messages;
  soup::Packet packet;
  for (std::size_t consumed = 0;
       soup::read_packet(stream, packet, consumed) == soup::ReadStatus::kPacket;
       stream = stream.subspan(consumed))
    if (packet.type == soup::PacketType::kSequencedData)
      messages.emplace_back(packet.payload.begin(), packet.payload.end());
  return messages;
}
std::vector<Bytes> snapshot_of(const GlimpseBook& book) {
  std::vector<std::byte> stream;
  const std::uint64_t told = book.append_snapshot(stream);
  const std::vector<Bytes> messages = sequenced(stream);
  EXPECT_EQ(messages.size(), told);
  return messages;
}
std::string types_of(const std::vector<Bytes>& messages) {
  std::string types;
  for (const Bytes& message : messages) types += static_cast<char>(message[0]);
  return types;
}
std::vector<Bytes> generated(std::uint64_t seed, std::uint64_t count) {
  return test_support::generated_messages(seed, count, 30);
}

TEST(GlimpseBooks, TellOrdersFromTheBestPriceAndTheEarliestOn) {
  GlimpseBook book(kRoom);
  book.apply(system_event('O'));
  book.apply(system_event('Q'));
  book.apply(directory(7, "ZAAA"));
  book.apply(trading_action(7, "ZAAA", 'H'));
  book.apply(trading_action(7, "ZAAA", 'T'));
  book.apply(encoded(itch::RegShoRestriction{.header = {7, 0, 4}, .stock = "ZAAA"}));
  for (const auto& [reference, side, price] :
       {std::tuple{1, 'B', 90}, {2, 'B', 100}, {3, 'S', 120}, {4, 'S', 110}, {5, 'B', 100}})
    book.apply(encoded(
        order(static_cast<std::uint64_t>(reference), side, static_cast<std::uint32_t>(price))));
  const std::vector<Bytes> messages = snapshot_of(book);
  EXPECT_EQ(types_of(messages), "SRHYAAAAAG");
  EXPECT_EQ(itch::decode_as<itch::SystemEvent>(messages[0].data()).event_code, 'Q');
  EXPECT_EQ(itch::decode_as<itch::StockTradingAction>(messages[2].data()).trading_state, 'T');
  std::vector<std::uint64_t> references;
  for (std::size_t i = 4; i < 9; ++i)
    references.push_back(
        itch::decode_as<itch::AddOrder>(messages[i].data()).order_reference_number);
  EXPECT_EQ(references, (std::vector<std::uint64_t>{2, 5, 1, 4, 3}));
  EXPECT_EQ(itch::decode_as<itch::AddOrder>(messages[4].data()), order(2, 'B', 100));
  EXPECT_EQ(itch::glimpse::parse_snapshot(messages.back()), 12u);
}

TEST(GlimpseBooks, KeepTheOwnersNameThroughExecutionsAndReplacements) {
  GlimpseBook book(kRoom);
  itch::AddOrderMpid named{.header = {7, 0, 5},
                           .order_reference_number = 1,
                           .buy_sell_indicator = 'S',
                           .shares = 100,
                           .stock = "ZAAA",
                           .price = 500,
                           .attribution = "MAKR"};
  book.apply(encoded(named));
  book.apply(executed(7, 1, 30, 6));
  book.apply(replaced(7, 1, 2, 60, 510));
  const std::vector<Bytes> messages = snapshot_of(book);
  ASSERT_EQ(types_of(messages), "FG");
  const auto told = itch::decode_as<itch::AddOrderMpid>(messages[0].data());
  EXPECT_EQ(told.attribution.view(), "MAKR");
  EXPECT_EQ(told.order_reference_number, 2u);
  EXPECT_EQ(told.shares, 60u);
  EXPECT_EQ(told.price, 510u);
  EXPECT_EQ(told.header.timestamp, kOpenNs) << "of the replacement";
}

// Whoever starts from a snapshot, and goes on with what follows, has the same state at the end:
// the snapshots of both are the same bytes.
TEST(GlimpseBooks, StartAnotherBookThatGoesOnTheSame) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Bytes> messages = generated(seed, 4'000);
    const std::size_t cut = 200 + seed * 350;
    GlimpseBook whole(kRoom), joined(kRoom);
    for (std::size_t i = 0; i < cut; ++i) whole.apply(messages[i]);
    for (const Bytes& message : snapshot_of(whole))
      if (static_cast<char>(message[0]) != itch::glimpse::kSnapshotType) joined.apply(message);
    for (std::size_t i = cut; i < messages.size(); ++i) {
      whole.apply(messages[i]);
      joined.apply(messages[i]);
    }
    std::vector<Bytes> left = snapshot_of(whole), right = snapshot_of(joined);
    EXPECT_EQ(itch::glimpse::parse_snapshot(left.back()), messages.size() + 1);
    left.pop_back();
    right.pop_back();
    EXPECT_EQ(left, right) << "seed " << seed;
    EXPECT_GT(left.size(), 100u);
  }
}

TEST(GlimpseBooks, TellTheOperationalHaltOfEachMarket) {
  GlimpseBook book(kRoom);
  const auto halt = [&book](char market, char action) {
    book.apply(encoded(itch::OperationalHalt{.header = {7, 0, 5},
                                             .stock = "ZAAA",
                                             .market_code = market,
                                             .operational_halt_action = action}));
  };
  for (const char market : {'Q', 'B', 'X'}) halt(market, 'H');
  halt('B', 'T');
  std::map<char, char> told;
  for (const Bytes& message : snapshot_of(book)) {
    if (static_cast<char>(message[0]) != itch::OperationalHalt::kType) continue;
    const auto halted = itch::decode_as<itch::OperationalHalt>(message.data());
    EXPECT_TRUE(told.emplace(halted.market_code, halted.operational_halt_action).second);
  }
  EXPECT_EQ(told, (std::map<char, char>{{'Q', 'H'}, {'B', 'T'}, {'X', 'H'}}));
}

TEST(GlimpseBooks, BeginAnotherDayWithNothing) {
  GlimpseBook book(kRoom);
  book.apply(system_event('O'));
  book.apply(directory(7, "ZAAA"));
  book.apply(encoded(order(1, 'B', 90)));
  book.apply(system_event('C'));
  EXPECT_EQ(types_of(snapshot_of(book)), "SRAG");
  book.apply(system_event('O'));
  EXPECT_EQ(types_of(snapshot_of(book)), "SG");
  book.apply(encoded(order(1, 'S', 110)));
  EXPECT_EQ(types_of(snapshot_of(book)), "SAG");
}

TEST(GlimpseBooks, SayWhenTheyAreNotWhole) {
  GlimpseBook book({.orders_max = 2, .levels_max = 2});
  for (std::uint64_t n = 1; n <= 2; ++n) book.apply(encoded(order(n, 'B', 100)));
  EXPECT_FALSE(book.incomplete());
  book.apply(encoded(order(3, 'B', 100)));
  EXPECT_TRUE(book.incomplete());
}

// ------------------------------------------------------------------------------------ server

class SnapshotServers : public ::testing::Test {
 protected:
  void start(SnapshotOptions options = {}) {
    options.listen = {0x7f00'0001, 0};
    options.book = kRoom;
    server = std::make_unique<SnapshotServer>(options, "DAY");
  }
  net::FileDescriptor connect() {
    net::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in at = server->local().to_sockaddr();
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    const timeval second{1, 0};
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    return socket;
  }
  static void say(const net::FileDescriptor& socket, const Bytes& bytes) {
    ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static Bytes login(const soup::LoginRequest& request) {
    Bytes bytes;
    soup::append(bytes, request);
    return bytes;
  }
  // The datapath's part, and reading, until `done` or the server closes.
  Bytes hear(const net::FileDescriptor& socket, const std::function<bool(const Bytes&)>& done) {
    Bytes all;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done(all) && std::chrono::steady_clock::now() < end) {
      server->turn();
      std::array<std::byte, 4'096> buffer;
      const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) break;
      if (got > 0)
        all.insert(all.end(), buffer.begin(), buffer.begin() + got);
      else
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return all;
  }
  Bytes hear_to_the_end(const net::FileDescriptor& socket) {
    return hear(socket, [](const Bytes&) { return false; });
  }
  testing::AssertionResult answers_a_login(const net::FileDescriptor& socket,
                                           const soup::LoginRequest& request = {}) {
    say(socket, login(request));
    if (whole(hear(socket, whole))) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no whole snapshot came";
  }
  static bool whole(const Bytes& stream) {
    const auto messages = sequenced(stream);
    return !messages.empty() && itch::glimpse::parse_snapshot(messages.back()).has_value();
  }
  void feed(const std::vector<Bytes>& messages, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      while (!server->follow(messages[i])) std::this_thread::yield();
  }
  // What closes the connection without a word counts here.
  void refused_without_a_word(const Bytes& said) {
    const auto socket = connect();
    say(socket, said);
    EXPECT_TRUE(hear_to_the_end(socket).empty());
  }

  std::unique_ptr<SnapshotServer> server;
};

TEST_F(SnapshotServers, AnswerALoginWithTheStateOfEverythingSentByThen) {
  start();
  const std::vector<Bytes> messages = generated(3, 3'000);
  GlimpseBook expected(kRoom);
  std::size_t sent = 0;
  for (const std::size_t upto : {std::size_t{0}, std::size_t{700}, std::size_t{2'500}}) {
    feed(messages, sent, upto);
    for (; sent < upto; ++sent) expected.apply(messages[sent]);
    const auto socket = connect();
    say(socket, login({"anyone", "", "", 1}));
    const Bytes answer = hear(socket, whole);
    soup::Packet first;
    std::size_t consumed = 0;
    ASSERT_EQ(soup::read_packet(answer, first, consumed), soup::ReadStatus::kPacket);
    ASSERT_EQ(first.type, soup::PacketType::kLoginAccepted);
    const auto accepted = soup::parse_login_accepted(first.payload);
    EXPECT_EQ(accepted->session.view(), "DAY");
    EXPECT_EQ(accepted->sequence_number, 1u);
    EXPECT_EQ(sequenced(answer), snapshot_of(expected)) << upto;
  }
  EXPECT_EQ(server->counters().logins.get(), 3u);
  EXPECT_EQ(server->counters().rejected.get(), 0u);
}

TEST_F(SnapshotServers, RejectWhatTheyCannotAnswerAndSayWhy) {
  start(SnapshotOptions{.username = "User", .password = "secret"});
  const auto answer = [&](const soup::LoginRequest& request) {
    const auto socket = connect();
    say(socket, login(request));
    return hear(socket, [](const Bytes& heard) { return heard.size() >= 4; });
  };
  const auto rejection = [](soup::RejectReason reason) {
    Bytes bytes;
    soup::append(bytes, reason);
    return bytes;
  };
  EXPECT_EQ(answer({"user", "wrong", "", 1}), rejection(soup::RejectReason::kNotAuthorized));
  EXPECT_EQ(answer({"other", "secret", "", 1}), rejection(soup::RejectReason::kNotAuthorized));
  EXPECT_EQ(answer({"user", "secret", "NIGHT", 1}),
            rejection(soup::RejectReason::kSessionNotAvailable));
  EXPECT_EQ(answer({"user", "secret", "DAY", 5}),
            rejection(soup::RejectReason::kSessionNotAvailable));
  EXPECT_EQ(server->counters().rejected.get(), 4u);
  EXPECT_TRUE(answers_a_login(connect(), {"USER", "Secret", "DAY", 1})) << "case does not matter";
}

TEST_F(SnapshotServers, CutOffWhoSaysWhatNoClientSaysAndGoOn) {
  start();
  refused_without_a_word(Bytes{std::byte{0}, std::byte{0}, std::byte{'L'}});  // no type
  refused_without_a_word(Bytes(4'000, std::byte{0x7f}));                      // far too long
  Bytes heartbeat;
  soup::append_packet(heartbeat, soup::PacketType::kClientHeartbeat);
  refused_without_a_word(heartbeat);  // before a login
  Bytes accepted;
  soup::append(accepted, soup::LoginAccepted{"DAY", 1});
  refused_without_a_word(accepted);  // a server's word
  Bytes short_login;
  soup::append_packet(short_login, soup::PacketType::kLoginRequest, heartbeat);
  refused_without_a_word(short_login);
  EXPECT_EQ(server->counters().malformed.get(), 5u);
  EXPECT_TRUE(answers_a_login(connect()));
}

TEST_F(SnapshotServers, CloseOnWhoeverDoesNotLogInOrLogsOut) {
  start(SnapshotOptions{.login_ns = 20'000'000});
  EXPECT_TRUE(hear_to_the_end(connect()).empty());
  EXPECT_EQ(server->counters().timeouts.get(), 1u);
  const auto polite = connect();
  EXPECT_TRUE(answers_a_login(polite));
  Bytes logout;
  soup::append_packet(logout, soup::PacketType::kLogoutRequest);
  say(polite, logout);
  hear_to_the_end(polite);  // returns, so it was closed
  EXPECT_EQ(server->counters().sent.get(), 1u);
  EXPECT_EQ(server->counters().lost.get(), 0u);
}

TEST_F(SnapshotServers, AnswerALoginHoweverManyHoldConnectionsInSilence) {
  start();
  std::vector<net::FileDescriptor> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect());
  EXPECT_TRUE(answers_a_login(connect()));
  EXPECT_EQ(server->counters().crowded_out.get(), 25u);
  EXPECT_EQ(server->counters().overloaded.get(), 0u);
}

TEST_F(SnapshotServers, AnotherUserThatHoldsLoginsKeepsNobodyOut) {
  SKIP_UNLESS_ROOT();
  start(SnapshotOptions{.clients_max = 8});
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  // Logs in again and again, and never reads what it is given.
  const test_support::OtherUser stranger([&] {
    std::vector<net::FileDescriptor> held;
    for (int i = 0; i < 40; ++i) {
      held.push_back(connect());
      const Bytes bytes = login({});
      (void)!::send(held.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    (void)!::write(told[1], "x", 1);
    return ::pause();
  });
  char done = 0;
  ASSERT_EQ(::read(told[0], &done, 1), 1);
  EXPECT_TRUE(answers_a_login(connect()));
  EXPECT_GE(server->counters().overloaded.get() + server->counters().crowded_out.get(), 33u);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(SnapshotServers, SendHeartbeatsWhenThereIsNothingElse) {
  start();
  const auto socket = connect();
  say(socket, login({}));
  Bytes heartbeat;
  soup::append_packet(heartbeat, soup::PacketType::kServerHeartbeat);
  const Bytes heard = hear(socket, [&](const Bytes& all) {
    return std::search(all.begin(), all.end(), heartbeat.begin(), heartbeat.end()) != all.end();
  });
  EXPECT_TRUE(whole(heard));
  EXPECT_TRUE(std::equal(heartbeat.rbegin(), heartbeat.rend(), heard.rbegin()));
}

TEST_F(SnapshotServers, RejectLoginsWhenTheirBooksHadNoRoom) {
  start();
  const auto first = connect();
  for (std::uint64_t n = 1; n <= kRoom.orders_max + 1; ++n)
    feed({encoded(order(n, 'B', 100))}, 0, 1);
  say(first, login({}));
  const Bytes heard = hear_to_the_end(first);
  EXPECT_TRUE(sequenced(heard).empty());
  EXPECT_FALSE(heard.empty()) << "it says so";
}

}  // namespace
}  // namespace tickpath::sim
