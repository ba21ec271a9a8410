// Which peer is a FIX session's: strangers at sim's order port while oeg is dead, and another
// program at the venue's port.
#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clock/clock.hpp"
#include "common/fix/codec.hpp"
#include "common/net/endpoint.hpp"
#include "tests/fault/fault_run.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;

class OrderPort : public ::testing::Test {
 protected:
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", run_.logs().c_str());
  }
  // A Logon with oeg's CompIDs, and what was answered until the connection ended; | for separators.
  std::string log_on(const std::string& body) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = net::Endpoint{0x7f000001, run_.folder().order_port()}.to_sockaddr();
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      return ::close(socket), "cannot connect";
    fix::UtcText now;
    std::string text = "35=A|49=TICKPATH|56=SIM|34=1|52=" +
                       std::string(now.at(clock::realtime_ns()), fix::UtcText::kLength) +
                       "|98=0|108=30|" + body;
    for (char& c : text)
      if (c == '|') c = fix::kSoh;
    std::string message = "8=FIX.4.2\0019=" + std::to_string(text.size()) + fix::kSoh + text;
    char trailer[16];
    std::snprintf(trailer, sizeof trailer, "10=%03u\x01", fix::checksum(message));
    message += trailer;
    (void)!::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    const timeval limit{20, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string heard;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::recv(socket, buffer, sizeof buffer, 0)) > 0)
      heard.append(buffer, static_cast<std::size_t>(got));
    // What it had not read of us makes the end a reset.
    if (got < 0 && errno != ECONNRESET) heard += "(it is open still)";
    ::close(socket);
    for (char& c : heard)
      if (c == fix::kSoh) c = '|';
    return heard;
  }

  FaultRun run_;
};

TEST_F(OrderPort, WhileOegIsDeadNobodyElseIsItAndItComesBack) {
  if (test_support::over_network()) GTEST_SKIP() << "the same code on every provider";
  const std::string file = run_.folder().path() + "/password";
  std::ofstream(file) << "a secret\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  run_.configure("sim", {"--set", "orders.session.0.password_file=" + file});
  run_.configure("oeg", {"--set", "venue.password_file=" + file});
  run_.begin();
  run_.kill("oeg");
  run_.reap("oeg");
  ASSERT_TRUE(run_.wait_until([&] {
    const nlohmann::json now = run_.status("sim");
    return now.is_object() && !now.at("sessions").at(0).value("connected", true);
  }));

  EXPECT_THAT(log_on("141=Y|95=8|96=a secret|"), HasSubstr("|58=ResetSeqNumFlag (141) other than"));
  EXPECT_THAT(log_on(""), HasSubstr("|58=the credentials of this session are others, or missing|"));
  EXPECT_THAT(log_on("141=Y|95=6|96=secret|"), HasSubstr("|58=the credentials"));
  EXPECT_EQ(run_.counter("sim", "session.TICKPATH", "bad_logons"), 3u);
  if (::geteuid() == 0) {  // only root can be another user
    int answer[2];
    ASSERT_EQ(::pipe(answer), 0);
    const pid_t other = ::fork();
    if (other == 0) {
      const std::string heard = ::setuid(4'242) == 0 ? log_on("95=8|96=a secret|") : "as root";
      (void)!::write(answer[1], heard.data(), heard.size());
      ::_exit(0);
    }
    ::close(answer[1]);
    char heard[4096];
    EXPECT_EQ(::read(answer[0], heard, sizeof heard), 0) << "it was answered";
    ::close(answer[0]);
    ::waitpid(other, nullptr, 0);
    EXPECT_EQ(run_.counter("sim", "session.TICKPATH", "wrong_peers"), 1u);
  }
  EXPECT_EQ(run_.counter("sim", "session.TICKPATH", "logons"), 1u);

  run_.start("oeg");
  EXPECT_TRUE(run_.trades());
  EXPECT_TRUE(run_.end());
  EXPECT_EQ(run_.broken_books({.oeg = false}), "");
}

TEST_F(OrderPort, OegDoesNotLogOnToAnotherUsersProgram) {
  if (test_support::over_network()) GTEST_SKIP() << "the same code on every provider";
  run_.configure("sim", {"--set", "replay.file=" + run_.folder().generate(1'000, 1)});
  run_.configure("oeg", {"--set", "venue.users=[\"4242\"]"});
  run_.start("sim");
  run_.start("oeg", false);
  std::string reason;
  EXPECT_TRUE(run_.wait_until([&] {
    const nlohmann::json now = run_.status("oeg");
    if (now.is_object()) reason = now.value("not_ready_reason", "");
    return reason.find("what listens there is not the venue: it is a program of user " +
                       std::to_string(::geteuid())) != std::string::npos;
  })) << reason;
  EXPECT_EQ(run_.counter("oeg", "fix", "sent"), 0u);
  EXPECT_EQ(run_.counter("sim", "session.TICKPATH", "received"), 0u);
  run_.signal("oeg", SIGTERM);
  run_.reap("oeg");
}

}  // namespace
}  // namespace tickpath::test_support
