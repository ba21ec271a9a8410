// The TCP connection to the exchange, from the control thread, which must never wait for it.
#include "oeg/venue_connector.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock/clock.hpp"
#include "common/control/runtime_impl.hpp"
#include "common/net/file_descriptor.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::oeg {
namespace {

class Venue : public testing::Test {
 protected:
  Venue() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(venue_.get(), reinterpret_cast<sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(venue_.get(), 4), 0);
    ::getsockname(venue_.get(), reinterpret_cast<sockaddr*>(&at), &length);
    port_ = ntohs(at.sin_port);
  }

  control::CommonConfig common() const {
    return {.name = "oeg", .run_dir = directory_, .trace_enabled = false};
  }
  // Ticks until it has a socket, and gives the io_context its turns where `with_io`.
  bool connects(const std::string& host, bool with_io) {
    control::RuntimeImpl runtime("oeg", common(), {});
    int connected = -1;
    VenueConnector connector(runtime, {host, port_}, {}, 1'000'000, 1'000'000, [&](int socket) {
      connected = socket;
      return true;
    });
    const auto end = std::chrono::steady_clock::now() +
                     (with_io ? test_support::kPatience : std::chrono::milliseconds(200));
    while (connected < 0 && std::chrono::steady_clock::now() < end) {
      connector.tick(true, 0);
      if (with_io) runtime.io().poll();
      ::usleep(1000);
    }
    if (connected >= 0) ::close(connected);
    return connected >= 0;
  }

  test_support::Folder folder_;
  std::string directory_ = folder_.path();
  net::FileDescriptor venue_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

TEST_F(Venue, IsReachedByItsAddressAtOnce) { EXPECT_TRUE(connects("127.0.0.1", false)); }

// A name server that does not answer takes seconds, which no tick may take.
TEST_F(Venue, IsLookedUpByItsNameBesideTheTicks) {
  EXPECT_FALSE(connects("localhost", false)) << "looked up within a tick";
  EXPECT_TRUE(connects("localhost", true));
}

// A venue that ends the session within a tick of the Logon that it has answered.
TEST_F(Venue, AnAnsweredLogonEndsTheBackOffHoweverShortTheSessionWas) {
  constexpr std::int64_t kPauseNs = 400'000'000;
  control::RuntimeImpl runtime("oeg", common(), {});
  int connections = 0;
  VenueConnector connector(runtime, {"127.0.0.1", port_}, {}, kPauseNs, 1000 * kPauseNs,
                           [&](int socket) {
                             ++connections;
                             return ::close(socket) == 0;
                           });
  std::int64_t before = 0, after = 0;  // around the last connection
  for (int awaited = 1; awaited <= 3; ++awaited)
    while (connections < awaited) {
      before = clock::monotonic_ns();
      connector.tick(true, 0);
      after = clock::monotonic_ns();
      ::usleep(1000);
    }
  EXPECT_GE(connector.next_try_ns(), before + 2 * kPauseNs);
  connector.tick(false, 1);
  EXPECT_LE(connector.next_try_ns(), after + kPauseNs);
}

}  // namespace
}  // namespace tickpath::oeg
