// Which user is at the other end of a connection, asked of the kernel about real sockets.
#include "common/net/peer_rule.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/file_descriptor.hpp"
#include "common/net/socket_owner.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::net {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr std::uint32_t kHere = 0x7f000001;

Endpoint name_of(int socket, bool peer) {
  sockaddr_in at{};
  socklen_t bytes = sizeof at;
  (peer ? ::getpeername : ::getsockname)(socket, reinterpret_cast<sockaddr*>(&at), &bytes);
  return {ntohl(at.sin_addr.s_addr), ntohs(at.sin_port)};
}

class PeerRuleTest : public ::testing::Test {
 protected:
  PeerRuleTest() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = Endpoint{kHere, 0}.to_sockaddr();
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
  }
  // Both ends of a connection.
  void connect() {
    client_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in at = name_of(listener_.get(), false).to_sockaddr();
    ASSERT_EQ(::connect(client_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    server_ = FileDescriptor(::accept(listener_.get(), nullptr, nullptr));
    ASSERT_GE(server_.get(), 0);
  }

  FileDescriptor listener_, client_, server_;
};

TEST_F(PeerRuleTest, OurOwnUserIsTakenUnlessOthersAreNamed) {
  connect();
  const std::string other = std::to_string(::geteuid() + 1);
  EXPECT_EQ(PeerRule({}, {}, "k").refusal_of_client(server_.get()), "");
  EXPECT_EQ(PeerRule({}, {}, "k").refusal_of_server(client_.get()), "");
  EXPECT_EQ(PeerRule({}, {"any"}, "k").refusal_of_client(server_.get()), "");
  EXPECT_EQ(
      PeerRule({}, {other, std::to_string(::geteuid())}, "k").refusal_of_client(server_.get()), "");
  const PeerRule others({}, {other}, "orders.session");
  const std::string whose = "it is a program of user " + std::to_string(::geteuid());
  EXPECT_THAT(others.refusal_of_client(server_.get()), HasSubstr(whose));
  EXPECT_THAT(others.refusal_of_client(server_.get()), HasSubstr("orders.session.users"));
  EXPECT_THAT(others.refusal_of_server(client_.get()), HasSubstr(whose));
}

TEST_F(PeerRuleTest, AddressesAreTakenOneByOneOrByTheNet) {
  connect();
  const auto refused = [&](const Texts& addresses) {
    return PeerRule(addresses, {}, "k").refusal_of_client(server_.get());
  };
  EXPECT_EQ(refused({"127.0.0.1"}), "");
  EXPECT_EQ(refused({"10.1.2.3", "127.0.0.0/8"}), "");
  EXPECT_EQ(refused({"0.0.0.0/0"}), "");
  EXPECT_EQ(refused({"10.1.2.3", "127.0.0.2"}), "its address is not one of k.peers");
  EXPECT_EQ(PeerRule({"10.1.2.3"}, {}, "k").refusal_of_server(client_.get()),
            "its address is not one of k.peers");
}

TEST_F(PeerRuleTest, WhoeverHasGoneAlreadyHasNoOwner) {
  connect();
  client_ = FileDescriptor();
  EXPECT_THAT(PeerRule({}, {}, "k").refusal_of_client(server_.get()), HasSubstr("cannot be found"));
  connect();
  listener_ = FileDescriptor();
  EXPECT_THAT(PeerRule({}, {}, "k").refusal_of_server(client_.get()), HasSubstr("cannot be found"));
}

TEST_F(PeerRuleTest, AListenerOfEveryAddressIsFoundAtEach) {
  const FileDescriptor wide(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in any = Endpoint{INADDR_ANY, 0}.to_sockaddr();
  ASSERT_EQ(::bind(wide.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(::listen(wide.get(), 1), 0);
  const std::uint16_t port = name_of(wide.get(), false).port;
  EXPECT_EQ(listener_owner({kHere, port}), ::geteuid());
  EXPECT_EQ(socket_owner({kHere, port}, {kHere, 1}), std::nullopt);
}

// Dual-stack sockets stand in another list, in another notation.
TEST_F(PeerRuleTest, ClientsAndListenersOfIpv6AreSeen) {
  const FileDescriptor wide(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (wide.get() < 0) GTEST_SKIP() << "no IPv6 on this host";
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  if (::bind(wide.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    GTEST_SKIP() << "no IPv6 on this host";
  ASSERT_EQ(::listen(wide.get(), 1), 0);
  EXPECT_EQ(listener_owner({kHere, name_of(wide.get(), false).port}), ::geteuid());
  EXPECT_EQ(listed_listener_owner({kHere, name_of(wide.get(), false).port}), ::geteuid());

  client_ = FileDescriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  at.sin6_port = htons(name_of(listener_.get(), false).port);
  at.sin6_addr.s6_addr[10] = at.sin6_addr.s6_addr[11] = 0xff;
  at.sin6_addr.s6_addr[12] = 127;
  at.sin6_addr.s6_addr[15] = 1;
  ASSERT_EQ(::connect(client_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  server_ = FileDescriptor(::accept(listener_.get(), nullptr, nullptr));
  const Endpoint server = name_of(server_.get(), false), theirs = name_of(server_.get(), true);
  EXPECT_EQ(socket_owner(theirs, server), ::geteuid());
  EXPECT_EQ(listed_socket_owner(theirs, server), ::geteuid());
}

// Bytes that this thread has read from files; empty: the kernel does not count them.
std::optional<std::uint64_t> bytes_read() {
  std::ifstream io("/proc/thread-self/io");
  std::string key;
  std::uint64_t count = 0;
  if (io >> key >> count && key == "rchar:") return count;
  return {};
}

// Whoever opens many connections must not make each of the next ones slower.
TEST_F(PeerRuleTest, TheOwnerIsAskedForAloneHoweverManySocketsThereAre) {
  connect();
  std::vector<FileDescriptor> others;
  for (int i = 0; i < 100; ++i) {
    others.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::listen(others.back().get(), 1), 0);
  }
  const auto before = bytes_read();
  if (!before) GTEST_SKIP() << "this kernel does not count what a thread reads";
  const std::uint64_t start = bytes_read().value(), own = start - *before;
  EXPECT_EQ(socket_owner(name_of(server_.get(), true), name_of(server_.get(), false)), ::geteuid());
  EXPECT_EQ(listener_owner(name_of(listener_.get(), false)), ::geteuid());
  EXPECT_LE(*bytes_read() - start, own + 8) << "the list of all sockets was read";
  (void)listed_listener_owner(name_of(listener_.get(), false));
  EXPECT_GT(*bytes_read() - start, own + 1'000) << "this is what would have been seen";
}

TEST_F(PeerRuleTest, TheListOfAllSocketsSaysTheSame) {
  connect();
  const Endpoint server = name_of(server_.get(), false), client = name_of(server_.get(), true);
  EXPECT_EQ(listed_socket_owner(client, server), ::geteuid());
  EXPECT_EQ(listed_listener_owner(name_of(listener_.get(), false)), ::geteuid());
  client_ = FileDescriptor();
  listener_ = FileDescriptor();
  EXPECT_EQ(listed_socket_owner(client, server), std::nullopt);
  EXPECT_EQ(listed_listener_owner({kHere, server.port}), std::nullopt);
  EXPECT_EQ(socket_owner(client, server), std::nullopt);
  EXPECT_EQ(listener_owner({kHere, server.port}), std::nullopt);
}

TEST_F(PeerRuleTest, AnotherUserOfThisHostIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOther = 4'242;
  int done[2];
  ASSERT_EQ(::pipe2(done, O_CLOEXEC), 0);
  const sockaddr_in at = name_of(listener_.get(), false).to_sockaddr();
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    const bool out = ::setuid(kOther) == 0;
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (out && ::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
      ::close(done[1]);
      (void)!::read(done[0], &byte, 1);
    }
    ::_exit(0);
  }
  ::close(done[0]);
  server_ = FileDescriptor(::accept(listener_.get(), nullptr, nullptr));
  EXPECT_THAT(PeerRule({}, {}, "k").refusal_of_client(server_.get()),
              HasSubstr("it is a program of user 4242"));
  EXPECT_EQ(PeerRule({}, {"4242"}, "k").refusal_of_client(server_.get()), "");
  ::close(done[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(PeerRules, NameWhatTheyCannotRead) {
  const auto problem = [](const Texts& addresses, const Texts& users) {
    return test_support::error_of<NetError>([&] { PeerRule(addresses, users, "venue"); });
  };
  EXPECT_EQ(problem({"10.0.0.0/8", "1.2.3.4"}, {"root", "0", "any"}), "no error");
  EXPECT_THAT(problem({"somewhere"}, {}), HasSubstr("venue.peers"));
  EXPECT_THAT(problem({"10.0.0.0/33"}, {}), HasSubstr("0 to 32 bits"));
  EXPECT_THAT(problem({}, {"no-such-user"}), HasSubstr("\"no-such-user\" in venue.users"));
}

}  // namespace
}  // namespace tickpath::net
