#include "common/control/admin_server.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/control/admin_client.hpp"
#include "common/net/file_descriptor.hpp"
#include "tests/support/descriptors.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::control {
namespace {

struct AdminServerTest : ::testing::Test {
  AdminServerTest() {
    server.add("later", "answers when the test says so",
               [this](const Json&, const AdminServer::Answer& answer) { later = answer; });
  }
  net::FileDescriptor connect() {
    net::FileDescriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    io.poll();
    return made;
  }
  void ask(const net::FileDescriptor& socket, const std::string& line) {
    ASSERT_EQ(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
    io.poll();
  }
  // One line; empty when the server has closed.
  std::string answer(const net::FileDescriptor& socket) {
    std::string all;
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!all.ends_with('\n') && std::chrono::steady_clock::now() < end) {
      io.poll();
      char buffer[4096];
      const ssize_t got = ::recv(socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (got == 0) return {};
      if (got > 0) all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }

  test_support::Folder scratch;
  std::string path = scratch / "test.admin";
  boost::asio::io_context io;
  AdminServer server{io, path};
  AdminServer::Answer later;
};

TEST_F(AdminServerTest, AnswersHoweverManyHoldConnectionsInSilence) {
  std::vector<net::FileDescriptor> silent;
  for (std::size_t i = 0; i < 4 * AdminServer::kSessionsMax; ++i) silent.push_back(connect());
  const net::FileDescriptor asking = connect();
  ask(asking, "{\"command\": \"commands\"}\n");
  EXPECT_NE(answer(asking).find("\"ok\":true"), std::string::npos);
  EXPECT_EQ(answer(silent.front()), "") << "the oldest is closed";
  ask(silent.back(), "{\"command\": \"commands\"}\n");
  EXPECT_NE(answer(silent.back()), "") << "the newest are not";
}

// No descriptor left: the connection waits, and the program does not spin meanwhile.
TEST_F(AdminServerTest, PausesWhileThereAreNoDescriptors) {
  if (test_support::kSanitized) GTEST_SKIP() << test_support::kNeedsDescriptors;
  auto none_but_one = std::make_unique<test_support::NoDescriptors>(1u);
  const net::FileDescriptor asking = connect();
  std::size_t handlers = 0;
  for (int i = 0; i < 1000; ++i) handlers += io.poll();
  none_but_one.reset();
  EXPECT_GE(server.accept_failures(), 1u);
  EXPECT_LT(handlers, 500u) << "a failed accept at each look";
  ask(asking, "{\"command\": \"commands\"}\n");
  EXPECT_NE(answer(asking).find("\"ok\":true"), std::string::npos);
}

TEST_F(AdminServerTest, ClosesNobodyWhoWaitsForAnAnswer) {
  const net::FileDescriptor waiting = connect();
  ask(waiting, "{\"command\": \"later\"}\n");
  std::vector<net::FileDescriptor> silent;
  for (std::size_t i = 0; i < 2 * AdminServer::kSessionsMax; ++i) silent.push_back(connect());
  ASSERT_TRUE(later);
  later({{"ok", true}});
  EXPECT_EQ(answer(waiting), "{\"ok\":true}\n");
}

TEST_F(AdminServerTest, TheSocketIsOpenToItsOwnerAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const AdminServer other(io, scratch / "other.admin");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((scratch / "other.admin").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

// Scenario: directory and socket were opened to all by hand.
TEST_F(AdminServerTest, AnotherUserIsToldSoAndCommandsNothing) {
  SKIP_UNLESS_ROOT();
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  test_support::OtherUser stranger([this] {
    try {
      (void)admin_command(path, {{"command", "later"}}, 20'000);
      return 1;
    } catch (const SystemError& error) {
      const bool says = std::strstr(error.what(), "user 65534 (process ") != nullptr;
      return error.errno_value() == EACCES && says ? 0 : 2;
    } catch (const Error&) {
      return 3;
    }
  });
  const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
  while (server.refused() == 0 && std::chrono::steady_clock::now() < end) io.poll();
  EXPECT_EQ(stranger.wait(), 0);
  EXPECT_EQ(server.refused(), 1u);
  EXPECT_FALSE(later);
}

TEST_F(AdminServerTest, RefusesWhatIsNoRequestAndGoesOn) {
  const net::FileDescriptor socket = connect();
  for (const char* const line : {"\n", "{\n", "[1]\n", "{\"command\": 1}\n", "\xff\xfe\n",
                                 "{\"command\": \"\xff\"}\n", "{\"command\": \"none\"}\n"}) {
    ask(socket, line);
    EXPECT_NE(answer(socket).find("\"ok\":false"), std::string::npos) << line;
  }
  const net::FileDescriptor long_winded = connect();
  const std::string endless(AdminServer::kRequestBytesMax + 1, '[');
  ask(long_winded, endless);
  EXPECT_EQ(answer(long_winded), "") << "longer than a request may be";
}

}  // namespace
}  // namespace tickpath::control
