// Peers that do not get through the set-up over a stream (ofi; verbs has the same listener).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "common/rdma/rdma.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::rdma {
namespace {

bool is_readable(const Listener& listener) {
  pollfd descriptor{listener.file_descriptor(), POLLIN, 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

TEST(BadPeers, OfAStreamWakeTheListenerAndAreToldWithTheirAddressAndCause) {
  const std::unique_ptr<Device> device = open_device("ofi", "tcp");
  const std::unique_ptr<Listener> listener = device->listen("127.0.0.1:0");
  const std::string endpoint = listener->endpoint();
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  const int stranger = test_support::connect_to(port);
  const std::string own = "127.0.0.1:" + std::to_string(test_support::port_of(stranger));
  ASSERT_EQ(::send(stranger, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
  ASSERT_TRUE(test_support::turn_until([&] { return is_readable(*listener); }, [] {}));
  EXPECT_EQ(listener->next(), nullptr);
  const std::optional<BadPeer> bad = listener->next_bad_peer();
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->peer, own);
  EXPECT_THAT(bad->why, ::testing::Not(::testing::HasSubstr(own))) << "said already";
  EXPECT_EQ(listener->next_bad_peer(), std::nullopt);
  EXPECT_FALSE(is_readable(*listener));
  EXPECT_EQ(listener->bad_peers(), 1u);
  std::uint64_t by_cause = 0;
  for (std::size_t cause = 0; cause < net::kSecureCauses; ++cause)
    by_cause += listener->bad_peers_by(static_cast<net::SecureCause>(cause));
  EXPECT_EQ(by_cause, 1u);
  ::close(stranger);
}

}  // namespace
}  // namespace tickpath::rdma
