// What must not work, and what each end is told.
#include <fstream>
#include <random>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/net/setup_frame.hpp"
#include "tests/support/other_user.hpp"
#include "tests/unit/net_secure/fixture.hpp"

namespace tickpath::net {
namespace {

using boost::asio::ip::tcp;
using ::testing::HasSubstr;

struct SecureFailures : SecureStreamTest {
  void expect_refused(SecureCause at_client, SecureCause at_server) {
    EXPECT_EQ(client_, nullptr);
    EXPECT_EQ(server_, nullptr) << "the caller was handed a stream that proved nothing";
    EXPECT_EQ(client_failure_.cause, at_client) << client_failure_.text;
    EXPECT_EQ(server_failure_.cause, at_server) << server_failure_.text;
    EXPECT_EQ(failed(at_server), 1u);
    EXPECT_EQ(acceptor_->counters().authenticated.get(), 0u);
    EXPECT_THAT(client_failure_.text, HasSubstr("127.0.0.1:"));
  }
  // A peer that is no program of ours.
  tcp::socket raw(const char* from = "127.0.0.1") {
    tcp::socket socket(io_, {boost::asio::ip::make_address(from), 0});
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), acceptor_->port()});
    return socket;
  }
  // Waits until the listener has closed it; returns what it was sent.
  std::string drain(tcp::socket& socket) {
    std::string text;
    bool ended = false;
    std::function<void()> next;
    std::array<char, 256> chunk;
    next = [&] {
      socket.async_read_some(boost::asio::buffer(chunk), [&](const auto& error, std::size_t count) {
        text.append(chunk.data(), count);
        if (error)
          ended = true;
        else
          next();
      });
    };
    next();
    EXPECT_TRUE(run_until([&] { return ended; }));
    return text;
  }
  KeyFolder ours_, theirs_;
};

// ------------------------------------------------------------------------------------ wrong keys

TEST_F(SecureFailures, AnotherPreSharedKeyIsAWrongKeyOnBothSides) {
  listen(ours_.make(true).load(SecurityMode::kPsk, "oeg"));
  connect(theirs_.make(true).load(SecurityMode::kPsk, "risk"), "oeg");
  expect_refused(SecureCause::kWrongKey, SecureCause::kWrongKey);
}

TEST_F(SecureFailures, AKeyOfAnotherPairDoesNotOpenThisOne) {
  listen(ours_.make(true).load(SecurityMode::kPsk, "oeg"));
  // Whoever stole the strategy's file renames it to be risk.
  std::filesystem::copy_file(ours_.path() + "/strategy.psk", theirs_.path() + "/risk.psk");
  connect(theirs_.load(SecurityMode::kPsk, "risk"), "oeg");
  expect_refused(SecureCause::kWrongKey, SecureCause::kWrongKey);
}

TEST_F(SecureFailures, ARoleWithoutAKeyHereIsToldApart) {
  ours_.make(true);
  std::ifstream all(ours_.path() + "/oeg.psk");
  std::string kept, line;
  while (std::getline(all, line))
    if (line.rfind("risk ", 0) != 0) kept += line + "\n";
  std::filesystem::copy_file(ours_.path() + "/risk.psk", theirs_.path() + "/risk.psk");
  std::ofstream(ours_.path() + "/oeg.psk") << kept;
  listen(ours_.load(SecurityMode::kPsk, "oeg"));
  connect(theirs_.load(SecurityMode::kPsk, "risk"), "oeg");
  expect_refused(SecureCause::kWrongKey, SecureCause::kWrongKey);
  EXPECT_THAT(server_failure_.text, HasSubstr("no key for risk"));
}

TEST_F(SecureFailures, CallingAnotherRoleWithAPreSharedKeyIsRefused) {
  ours_.make(true);
  listen(ours_.load(SecurityMode::kPsk, "mdh"));
  connect(ours_.load(SecurityMode::kPsk, "risk"), "oeg");
  expect_refused(SecureCause::kWrongKey, SecureCause::kWrongRole);
  EXPECT_THAT(server_failure_.text, HasSubstr("this is mdh"));
}

TEST_F(SecureFailures, APreSharedKeyNeedsARoleToCall) {
  listen(ours_.make(true).load(SecurityMode::kPsk, "oeg"));
  connect(ours_.load(SecurityMode::kPsk, "risk"), "");
  EXPECT_EQ(client_failure_.cause, SecureCause::kPolicy);
}

TEST_F(SecureFailures, ACertificateOfAnotherCaIsNotTrusted) {
  listen(ours_.make(false).load(SecurityMode::kTls, "oeg"));
  connect(theirs_.make(false).load(SecurityMode::kTls, "risk"), "oeg");
  expect_refused(SecureCause::kUntrusted, SecureCause::kUntrusted);
}

// A client that verifies nobody: only the server's judgement stands between it and us.
TEST_F(SecureFailures, AStrangerThatTrustsEverybodyIsRefusedByTheServer) {
  listen(ours_.make(false).load(SecurityMode::kTls, "oeg"));
  theirs_.make(false);
  boost::asio::ssl::context context(boost::asio::ssl::context::tls_client);
  context.use_certificate_file(theirs_.path() + "/risk.crt", boost::asio::ssl::context::pem);
  context.use_private_key_file(theirs_.path() + "/risk.key", boost::asio::ssl::context::pem);
  for (const bool shows_certificate : {true, false}) {
    boost::asio::ssl::context bare(boost::asio::ssl::context::tls_client);
    boost::asio::ssl::stream<tcp::socket> stranger(raw(), shows_certificate ? context : bare);
    const std::uint64_t before = failed(SecureCause::kUntrusted);
    bool done = false;
    stranger.async_handshake(boost::asio::ssl::stream_base::client,
                             [&](const auto&) { done = true; });
    EXPECT_TRUE(run_until([&] { return done && failed(SecureCause::kUntrusted) > before; }));
    EXPECT_EQ(server_, nullptr);
  }
}

TEST_F(SecureFailures, ACertificateThatExpiredWhileTheProgramRanIsRefused) {
  ours_.make(false);
  listen(ours_.load(SecurityMode::kTls, "oeg"));
  constexpr std::int64_t kValidS = 4;
  const std::int64_t end = std::time(nullptr) + kValidS + 1;
  const auto client = ours_.make(false, kValidS, {"risk"}).load(SecurityMode::kTls, "risk");
  std::this_thread::sleep_until(std::chrono::system_clock::from_time_t(end));
  connect(client, "oeg");
  expect_refused(SecureCause::kExpired, SecureCause::kExpired);
}

TEST_F(SecureFailures, AServerWhoseCertificateExpiredIsRefusedByTheClient) {
  ours_.make(false);
  constexpr std::int64_t kValidS = 4;
  const std::int64_t end = std::time(nullptr) + kValidS + 1;
  listen(ours_.make(false, kValidS, {"oeg"}).load(SecurityMode::kTls, "oeg"));
  std::this_thread::sleep_until(std::chrono::system_clock::from_time_t(end));
  connect(ours_.load(SecurityMode::kTls, "risk"), "oeg");
  expect_refused(SecureCause::kExpired, SecureCause::kExpired);
}

TEST_F(SecureFailures, APreSharedKeyThatExpiredWhileTheProgramRanIsRefused) {
  constexpr std::int64_t kValidS = 3;
  const std::int64_t end = std::time(nullptr) + kValidS + 1;
  listen(ours_.make(true, kValidS).load(SecurityMode::kPsk, "oeg"));
  const auto client = ours_.load(SecurityMode::kPsk, "risk");
  std::this_thread::sleep_until(std::chrono::system_clock::from_time_t(end));
  connect(client, "oeg");
  EXPECT_EQ(client_failure_.cause, SecureCause::kExpired) << client_failure_.text;
  EXPECT_EQ(server_, nullptr);
}

TEST_F(SecureFailures, AServerOfAnotherRoleIsNotSpokenTo) {
  ours_.make(false);
  listen(ours_.load(SecurityMode::kTls, "tool"));
  connect(ours_.load(SecurityMode::kTls, "risk"), "oeg");
  expect_refused(SecureCause::kWrongRole, SecureCause::kClosed);
  EXPECT_THAT(client_failure_.text, HasSubstr("we called oeg, and this is tool"));
}

// ---------------------------------------------------------------------------------- other modes

TEST_F(SecureFailures, ModesThatDifferAreToldAsSuch) {
  ours_.make(false).make(true);
  const SecurityMode modes[] = {SecurityMode::kLoopback, SecurityMode::kPsk, SecurityMode::kTls};
  for (const SecurityMode server : modes) {
    for (const SecurityMode client : modes) {
      if (server == client) continue;
      SCOPED_TRACE(std::string(to_string(client)) + " calls " + std::string(to_string(server)));
      listen(ours_.load(server, "oeg"));
      connect(ours_.load(client, "risk"), "oeg");
      EXPECT_EQ(server_, nullptr);
      EXPECT_EQ(acceptor_->counters().failures(), 1u);
      EXPECT_THAT(client_failure_.text, HasSubstr("security.mode")) << client_failure_.text;
    }
  }
}

// ------------------------------------------------------------------------------ no TLS, no hurry

TEST_F(SecureFailures, GarbageIsNotTls) {
  for (const SecurityMode mode : {SecurityMode::kPsk, SecurityMode::kTls}) {
    ours_.make(mode == SecurityMode::kPsk);
    listen(ours_.load(mode, "oeg"));
    tcp::socket socket = raw();
    boost::asio::write(socket, boost::asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));
    (void)drain(socket);
    EXPECT_EQ(failed(SecureCause::kNotTls), 1u) << server_failure_.text;
    EXPECT_EQ(server_, nullptr);
  }
}

TEST_F(SecureFailures, RandomBytesNeverGetInAndNeverStopTheListener) {
  std::mt19937 random(11);
  ours_.make(true);
  for (const SecurityMode mode : {SecurityMode::kLoopback, SecurityMode::kPsk}) {
    listen(ours_.load(mode, "oeg"), StreamLimits{.setup_timeout_ms = 100});
    for (int round = 0; round < 40; ++round) {
      tcp::socket socket = raw();
      std::string bytes(1 + random() % 400, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      // Some begin like a record or a frame, so that the first bytes are not what stops them.
      if (round % 4 == 1) bytes.replace(0, 3, "\x16\x03\x01", 3);
      if (round % 4 == 2) bytes.replace(0, std::min<std::size_t>(4, bytes.size()), "\x20\0\0\0", 4);
      boost::asio::write(socket, boost::asio::buffer(bytes));
      (void)drain(socket);
    }
    EXPECT_EQ(acceptor_->counters().authenticated.get(), 0u);
    ASSERT_TRUE(run_until([&] { return acceptor_->counters().failures() == 40; }));
    connect(ours_.load(mode, "risk"), "oeg");
    ASSERT_FALSE(client_failure_) << client_failure_.text;
    client_->close();
    client_ = nullptr;
    server_ = nullptr;
  }
}

TEST_F(SecureFailures, ASilentPeerIsDroppedInTime) {
  StreamLimits limits{.setup_timeout_ms = 50};
  ours_.make(false);
  for (const SecurityMode mode : {SecurityMode::kLoopback, SecurityMode::kTls}) {
    listen(ours_.load(mode, "oeg"), limits);
    tcp::socket socket = raw();
    (void)drain(socket);
    EXPECT_EQ(failed(SecureCause::kTimeout), 1u) << server_failure_.text;
  }
}

TEST_F(SecureFailures, APeerThatSendsAByteNowAndThenGainsNoTime) {
  listen(ours_.load(SecurityMode::kLoopback, "oeg"), StreamLimits{.setup_timeout_ms = 150});
  tcp::socket socket = raw();
  const std::vector<std::byte> hello = encode_frame(Greeting{}.encode());
  std::size_t sent = 0;
  while (failed(SecureCause::kTimeout) == 0 && sent < hello.size()) {
    boost::system::error_code ignored;
    boost::asio::write(socket, boost::asio::buffer(hello.data() + sent, 1), ignored);
    ++sent;
    const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() >= next; }));
  }
  EXPECT_EQ(failed(SecureCause::kTimeout), 1u);
  EXPECT_LT(sent, hello.size());
}

TEST_F(SecureFailures, AServerThatNeverAnswersIsGivenUp) {
  tcp::acceptor silent(io_, {boost::asio::ip::make_address("127.0.0.1"), 0});
  ours_.make(false).make(true);
  StreamLimits limits{.setup_timeout_ms = 50};
  for (const SecurityMode mode :
       {SecurityMode::kLoopback, SecurityMode::kPsk, SecurityMode::kTls}) {
    SecureFailure failure;
    secure_connect(
        io_, ours_.load(mode, "risk"), {"127.0.0.1", silent.local_endpoint().port(), "oeg"},
        [&](const SecureFailure& told, std::shared_ptr<SecureStream>) { failure = told; }, limits);
    ASSERT_TRUE(run_until([&] { return bool(failure); }));
    EXPECT_EQ(failure.cause, SecureCause::kTimeout) << failure.text;
  }
}

TEST_F(SecureFailures, TooManyInSetUpAreTurnedAwayAndLaterOnesTaken) {
  listen(ours_.load(SecurityMode::kLoopback, "oeg"),
         StreamLimits{.setup_timeout_ms = 200, .pending_max = 3});
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(raw());
  ASSERT_TRUE(run_until([&] { return failed(SecureCause::kOverload) == 2; }));
  ASSERT_TRUE(run_until([&] { return failed(SecureCause::kTimeout) == 3; }));
  connect(ours_.load(SecurityMode::kLoopback, "risk"), "oeg");
  EXPECT_FALSE(client_failure_) << client_failure_.text;
}

TEST_F(SecureFailures, AnAddressWithManyInSetUpLeavesPlacesToOthers) {
  StreamLimits limits;
  limits.setup_timeout_ms = 60'000;  // nobody is given up meanwhile
  const std::uint32_t limit = limits.pending_address_max;
  ASSERT_LT(limit, limits.pending_max);
  listen(ours_.load(SecurityMode::kLoopback, "oeg"), limits);
  std::vector<tcp::socket> silent;
  for (std::uint32_t i = 0; i < limit + 3; ++i) silent.push_back(raw("127.0.0.2"));
  ASSERT_TRUE(run_until([&] { return failed(SecureCause::kOverload) == 3; }));
  EXPECT_THAT(server_failure_.text, HasSubstr("127.0.0.2"));
  const auto take_from = [&](const char* address) {
    const std::uint64_t accepted = acceptor_->counters().accepted.get();
    silent.push_back(raw(address));
    return run_until([&] { return acceptor_->counters().accepted.get() == accepted + 1; });
  };
  ASSERT_TRUE(take_from("127.0.0.1"));
  EXPECT_EQ(failed(SecureCause::kOverload), 3u) << "another address has places of its own";
  silent.front().close();
  ASSERT_TRUE(run_until([&] { return failed(SecureCause::kClosed) == 1; }));
  ASSERT_TRUE(take_from("127.0.0.2"));
  EXPECT_EQ(failed(SecureCause::kOverload), 3u) << "a place that was given back";
}

TEST_F(SecureFailures, WithoutProofAnotherUserOfThisHostStatesNoRole) {
  SKIP_UNLESS_ROOT();
  listen(ours_.load(SecurityMode::kLoopback, "oeg"));
  const std::uint16_t port = acceptor_->port();
  test_support::OtherUser stranger([port] {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in at = Endpoint{INADDR_LOOPBACK, port}.to_sockaddr();
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return 1;
    Greeting hello{.role = "risk"};
    const std::vector<std::byte> frame = encode_frame(hello.encode());
    (void)!::send(socket, frame.data(), frame.size(), MSG_NOSIGNAL);
    char answer = 0;
    return ::recv(socket, &answer, 1, 0) > 0 ? 2 : 0;  // closed, without a word
  });
  ASSERT_TRUE(run_until([&] { return failed(SecureCause::kPolicy) == 1; }));
  EXPECT_THAT(server_failure_.text, HasSubstr("it is a program of user 65534"));
  EXPECT_EQ(stranger.wait(), 0);
  EXPECT_EQ(server_, nullptr);
}

TEST_F(SecureFailures, WithoutProofAnotherUsersListenerIsNotAnswered) {
  SKIP_UNLESS_ROOT();
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  test_support::OtherUser stranger([&] {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at = Endpoint{INADDR_LOOPBACK, 0}.to_sockaddr();
    socklen_t length = sizeof at;
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&at), length) != 0 ||
        ::listen(socket, 4) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &length) != 0)
      return 1;
    const std::uint16_t port = ntohs(at.sin_port);
    if (::write(told[1], &port, sizeof port) != sizeof port) return 2;
    const int caller = ::accept(socket, nullptr, nullptr);
    char hello = 0;
    return ::recv(caller, &hello, 1, 0) > 0 ? 3 : 0;
  });
  std::uint16_t port = 0;
  ASSERT_EQ(::read(told[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  SecureFailure failure;
  secure_connect(io_, ours_.load(SecurityMode::kLoopback, "risk"), {"127.0.0.1", port, "oeg"},
                 [&](const SecureFailure& seen, std::shared_ptr<SecureStream>) { failure = seen; });
  ASSERT_TRUE(run_until([&] { return bool(failure); }));
  EXPECT_EQ(failure.cause, SecureCause::kPolicy) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("it is a program of user 65534"));
  EXPECT_EQ(stranger.wait(), 0) << "it was told something";
  ::close(told[0]);
  ::close(told[1]);
}

// ---------------------------------------------------------------------------------------- frames

TEST_F(SecureFailures, AnOversizeFrameEndsTheStream) {
  StreamLimits small{.frame_bytes_max = 100};
  ours_.make(false);
  listen(ours_.load(SecurityMode::kTls, "oeg"), small);
  connect(ours_.load(SecurityMode::kTls, "risk"), "oeg");
  ASSERT_NE(server_, nullptr);
  client_->send(bytes_of(std::string(101, 'x')));
  EXPECT_EQ(receive(*server_), "<malformed frame>");
  EXPECT_EQ(receive(*client_), "<closed by the peer>");
}

TEST_F(SecureFailures, AFrameThatIsNeverFinishedEndsTheStream) {
  listen(ours_.load(SecurityMode::kLoopback, "oeg"), StreamLimits{.frame_timeout_ms = 50});
  tcp::socket socket = raw();
  Greeting hello{.role = "risk"};
  boost::asio::write(socket, boost::asio::buffer(encode_frame(hello.encode())));
  ASSERT_TRUE(run_until([&] { return server_ != nullptr; }));
  std::vector<std::byte> frame = encode_frame(bytes_of("half of it"));
  frame.resize(frame.size() / 2);
  boost::asio::write(socket, boost::asio::buffer(frame));
  EXPECT_EQ(receive(*server_), "<timed out>");
}

TEST_F(SecureFailures, APlainPeerOfUnknownRoleIsToldWhy) {
  listen(ours_.load(SecurityMode::kLoopback, "oeg"));
  tcp::socket socket = raw();
  Greeting hello{.role = "intruder"};
  boost::asio::write(socket, boost::asio::buffer(encode_frame(hello.encode())));
  EXPECT_THAT(drain(socket), HasSubstr("\"intruder\", which is no role"));
  EXPECT_EQ(failed(SecureCause::kUnknownRole), 1u);
}

}  // namespace
}  // namespace tickpath::net
