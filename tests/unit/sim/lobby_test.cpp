// Which connections wait in front of an order session, and which one gets it.
#include "sim/orders/lobby.hpp"

#include <array>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/fix/codec.hpp"
#include "common/log/log.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::sim {
namespace {

using namespace std::chrono_literals;

std::string framed(const std::string& type, const std::string& sender = "OEG",
                   const std::string& version = "FIX.4.2") {
  std::string body =
      "35=" + type + "|49=" + sender + "|56=SIM|34=1|52=20261121-10:11:12|98=0|108=30|";
  std::string message = "8=" + version + "|9=" + std::to_string(body.size()) + "|" + body;
  for (char& c : message)
    if (c == '|') c = fix::kSoh;
  char trailer[16];
  std::snprintf(trailer, sizeof(trailer), "10=%03u\x01", fix::checksum(message));
  return message + trailer;
}

class LobbyTest : public ::testing::Test {
 protected:
  LobbyTest() {
    options_.name = "the port";
    options_.sessions = {{.sender = "SIM", .target = "OEG"},
                         {.sender = "SIM", .target = "BROKER"},
                         {.sender = "SIM", .target = "OEG44", .version = fix::Version::k44}};
    options_.waiting_max = options_.address_max = 1;  // of each session
    open();
  }
  void open() {
    lobby_ = std::make_unique<Lobby>(
        options_,
        [this](int, std::function<void()> look) {
          looks_.push_back(std::move(look));
          return control::Subscription();
        },
        [this](std::size_t session) { return session == 0 ? slot_ : Lobby::Slot::kFree; },
        [this](std::size_t session, int socket) {
          sessions_.push_back(session);
          admitted_.push_back(socket);
        });
  }
  ~LobbyTest() override {
    for (const int socket : ends_) ::close(socket);
    for (const int socket : admitted_) ::close(socket);
  }
  // Our end of a connection.
  int connect() {
    const auto [theirs, ours] = test_support::socket_pair();
    ends_.push_back(ours);
    lobby_->accept(theirs);
    return ours;
  }
  void say(int socket, const std::string& text, std::size_t connection) {
    ASSERT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    looks_[connection]();
  }
  static bool closed(int socket) {
    char byte = 0;
    const ssize_t got = ::recv(socket, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);  // what it had said was not read
  }

  LobbyOptions options_;
  Lobby::Slot slot_ = Lobby::Slot::kFree;
  std::vector<std::function<void()>> looks_;
  std::vector<int> ends_;
  std::vector<int> admitted_;
  std::vector<std::size_t> sessions_;
  std::unique_ptr<Lobby> lobby_;
};

TEST_F(LobbyTest, TheSessionGoesToWhoeverLogsOnAndItsLogonIsLeftToBeRead) {
  const int idle = connect();
  const int peer = connect();
  const std::string logon = framed("A");
  say(peer, logon.substr(0, 20), 1);
  EXPECT_TRUE(admitted_.empty());
  say(peer, logon.substr(20), 1);
  ASSERT_EQ(admitted_.size(), 1u);
  char bytes[256];
  const ssize_t got = ::recv(admitted_[0], bytes, sizeof bytes, MSG_DONTWAIT);
  EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(got)), logon);
  EXPECT_FALSE(closed(idle));
  EXPECT_EQ(lobby_->waiting(), 1u);
}

// Address and port: of several programs on one host, which one it was.
TEST_F(LobbyTest, WhoIsTurnedAwayStandsInTheLogWithItsPort) {
  const test_support::Folder folder;
  const auto [theirs, ours] = test_support::tcp_pair();
  ends_.push_back(ours);
  // A thread of its own, because a thread keeps the log that it was given.
  std::thread([&, accepted = theirs, peer = ours] {
    log::open_for_this_thread({.name = "sim", .path = folder / "sim.log"});
    lobby_->accept(accepted);
    say(peer, "GET / HTTP/1.1\r\n\r\n", 0);
    log::flush();
  }).join();
  const std::string line = test_support::read_file(folder / "sim.log");
  const std::string from = "127.0.0.1:" + std::to_string(test_support::port_of(ours)) + " ";
  EXPECT_NE(line.find("a connection from " + from), std::string::npos) << line;
}

TEST_F(LobbyTest, WhoeverSaysSomethingElseIsCutOff) {
  std::size_t connection = 0;
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\n\r\n"), framed("A", "OTHER"), framed("0"),
        framed("A", "OEG", "FIX.4.4"), std::string(5'000, '8')}) {
    const int socket = connect();
    say(socket, words, connection++);
    EXPECT_TRUE(closed(socket)) << words.substr(0, 40);
  }
  EXPECT_TRUE(admitted_.empty());
  EXPECT_EQ(lobby_->counters().strangers.get(), 5u);
}

TEST_F(LobbyTest, OfTooManyTheOneThatHasWaitedLongestGoes) {
  const int first = connect();
  const int second = connect();
  connect();
  EXPECT_FALSE(closed(first));
  connect();
  EXPECT_TRUE(closed(first));
  EXPECT_FALSE(closed(second));
  EXPECT_EQ(lobby_->waiting(), 3u);
  EXPECT_EQ(lobby_->counters().crowded_out.get(), 1u);
}

TEST_F(LobbyTest, SilenceEndsAConnection) {
  const int socket = connect();
  const auto now = Lobby::Clock::now();
  lobby_->turn(now + 5s);
  EXPECT_FALSE(closed(socket));
  lobby_->turn(now + 11s);
  EXPECT_TRUE(closed(socket));
  EXPECT_EQ(lobby_->counters().silent.get(), 1u);
}

TEST_F(LobbyTest, ALogonWaitsForASlotThatWasJustTakenAndIsRefusedWhileAnotherIsLoggedOn) {
  slot_ = Lobby::Slot::kTaken;
  say(connect(), framed("A"), 0);
  lobby_->turn(Lobby::Clock::now());
  EXPECT_TRUE(admitted_.empty());
  slot_ = Lobby::Slot::kFree;
  lobby_->turn(Lobby::Clock::now());
  EXPECT_EQ(admitted_.size(), 1u);
  slot_ = Lobby::Slot::kLoggedOn;
  const int second = connect();
  say(second, framed("A"), 1);
  EXPECT_TRUE(closed(second));
  EXPECT_EQ(lobby_->counters(0).refused_logons.get(), 1u);
}

// As venues do whose clients fail over: what the older one sent is there to be read, to its end.
TEST_F(LobbyTest, ASecondLogonEndsTheOlderConnectionWhereThatIsAllowed) {
  options_.sessions[0].second_logon = SecondLogon::kReplace;
  open();
  const int first = connect();
  say(first, framed("A"), 0);
  ASSERT_EQ(admitted_.size(), 1u);
  slot_ = Lobby::Slot::kLoggedOn;
  const int second = connect();
  say(second, framed("A"), 1);
  EXPECT_TRUE(lobby_->replacing());
  EXPECT_TRUE(closed(first));
  EXPECT_EQ(::send(first, "8", 1, MSG_NOSIGNAL), -1) << "the older one can send no more";
  EXPECT_FALSE(closed(second));
  std::array<char, 512> bytes;
  EXPECT_GT(::recv(admitted_[0], bytes.data(), bytes.size(), MSG_DONTWAIT), 0);
  EXPECT_EQ(::recv(admitted_[0], bytes.data(), bytes.size(), MSG_DONTWAIT), 0);
  // Once: until the session has seen the end, it waits.
  lobby_->turn(Lobby::Clock::now());
  EXPECT_EQ(lobby_->counters(0).replaced.get(), 1u);
  EXPECT_EQ(admitted_.size(), 1u);
  slot_ = Lobby::Slot::kFree;
  lobby_->turn(Lobby::Clock::now());
  EXPECT_EQ(admitted_.size(), 2u);
  EXPECT_FALSE(lobby_->replacing());
}

TEST_F(LobbyTest, NobodyEndsAConnectionWithoutItsPassword) {
  options_.sessions[0].second_logon = SecondLogon::kReplace;
  options_.sessions[0].password = "open sesame";
  open();
  const int first = connect();
  say(first, framed("A"), 0);  // the session itself checks it
  slot_ = Lobby::Slot::kLoggedOn;
  const int second = connect();
  say(second, framed("A"), 1);
  EXPECT_TRUE(closed(second));
  EXPECT_FALSE(closed(first));
  EXPECT_EQ(lobby_->counters(0).refused_logons.get(), 1u);
  EXPECT_EQ(lobby_->counters(0).replaced.get(), 0u);
}

TEST_F(LobbyTest, SessionsOfOnePortAreToldApartByVersionAndCompIds) {
  slot_ = Lobby::Slot::kLoggedOn;  // of the first alone
  say(connect(), framed("A", "OEG44", "FIX.4.4"), 0);
  say(connect(), framed("A", "BROKER"), 1);
  const int wrong = connect();
  say(wrong, framed("A", "OEG44", "FIX.4.2"), 2);
  EXPECT_EQ(sessions_, (std::vector<std::size_t>{2, 1}));
  EXPECT_TRUE(closed(wrong));
  EXPECT_EQ(lobby_->counters(1).admitted.get(), 1u);
  EXPECT_EQ(lobby_->counters(2).admitted.get(), 1u);
  EXPECT_EQ(lobby_->counters(0).admitted.get(), 0u);
}

// The kernel is asked about real sockets in tests/unit/net.
TEST_F(LobbyTest, ALogonOfAPeerThatMayNotIsCutOff) {
  options_.sessions[0].peers = net::PeerRule({"10.1.2.3"}, {}, "orders.session");
  open();
  const int socket = connect();
  say(socket, framed("A"), 0);
  EXPECT_TRUE(closed(socket));
  EXPECT_TRUE(admitted_.empty());
  EXPECT_EQ(lobby_->counters(0).wrong_peers.get(), 1u);
}

TEST(LogBudgets, LetSoManyLinesThroughAndCountTheRest) {
  LogBudget budget(2, 1'000ms);
  const LogBudget::Clock::time_point now{std::chrono::hours(1)};
  EXPECT_TRUE(budget.take(now));
  EXPECT_TRUE(budget.take(now));
  EXPECT_FALSE(budget.take(now + 1ms));
  EXPECT_FALSE(budget.take(now + 2ms));
  EXPECT_EQ(budget.take_unsaid(now + 3ms), 0u) << "not among those that were";
  EXPECT_EQ(budget.take_unsaid(now + 1'000ms), 2u);
  EXPECT_EQ(budget.take_unsaid(now + 1'001ms), 0u);
  EXPECT_TRUE(budget.take(now + 1'002ms));
}

}  // namespace
}  // namespace tickpath::sim
