// Where order connections are accepted.

#include <boost/asio/io_context.hpp>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/control/runtime_impl.hpp"
#include "common/net/udp_socket.hpp"
#include "sim/orders/listener.hpp"
#include "tests/support/descriptors.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::sim {
namespace {

control::CommonConfig common_in(const std::string& directory) {
  return {.name = "listening", .run_dir = directory, .trace_enabled = false};
}

std::uint16_t free_port() {
  return net::UdpSocket(net::UdpSocket::Options{.local = {INADDR_LOOPBACK, 0}}).local().port;
}

// No descriptor left: the connection waits, and the program does not spin meanwhile.
TEST(OrderListener, PausesWhileThereAreNoDescriptors) {
  if (test_support::kSanitized) GTEST_SKIP() << test_support::kNeedsDescriptors;
  const test_support::Folder folder;
  {
    control::RuntimeImpl runtime("sim", common_in(folder.path()), {});
    int accepted = -1;
    const std::uint16_t port = free_port();
    Listener listener({"127.0.0.1", port}, "orders.session.0.listen",
                      [&](int socket) { accepted = socket; });
    listener.start(runtime);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = net::Endpoint{INADDR_LOOPBACK, port}.to_sockaddr();
    std::size_t handlers = 0;
    {
      const test_support::NoDescriptors none;
      ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
      for (int i = 0; i < 1000; ++i) handlers += runtime.io().poll();
    }
    EXPECT_GE(listener.accept_failures().get(), 1u);
    EXPECT_LT(handlers, 500u) << "a failed accept at each look";
    EXPECT_TRUE(
        test_support::turn_until([&] { return accepted >= 0; }, [&] { runtime.io().poll(); }));
    ::close(accepted);
    ::close(client);
  }
}

}  // namespace
}  // namespace tickpath::sim
