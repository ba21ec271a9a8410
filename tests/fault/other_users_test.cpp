// Another user of the host against a running pipeline: what is tried is refused, counted and told,
// and the pipeline trades on.
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/net/endpoint.hpp"
#include "common/net/multicast.hpp"
#include "tests/fault/fault_run.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;

class OtherUsers : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ROOT();
    if (test_support::over_network()) GTEST_SKIP() << "the same code on every provider";
  }
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", run_.logs().c_str());
  }
  std::string log_of(const std::string& program) {
    std::ifstream file(run_.folder().run_dir() + "/" + program + ".log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void finish() {
    EXPECT_TRUE(run_.trades());
    EXPECT_TRUE(run_.end());
    EXPECT_EQ(run_.broken_books({}), "");
  }

  FaultRun run_;
};

struct ForgedFeed {
  net::Endpoint group, source;
  std::string session;
  std::uint64_t next = 0;
};

// Packets of a new session, and the next numbers of the real one, from wherever the user may send.
// 0: all of them left; 1: it could send as the exchange.
int forge(const ForgedFeed& feed) {
  try {
    net::UdpMulticastSender as_exchange(
        {.group = feed.group, .interface = "127.0.0.1", .source = feed.source});
    return 1;
  } catch (const net::NetError&) {
    // The port is sim's.
  }
  net::UdpMulticastSender same_address({.group = feed.group, .interface = "127.0.0.1"});
  net::UdpMulticastSender other_address(
      {.group = feed.group, .interface = "127.0.0.1", .source = {INADDR_LOOPBACK + 1, 40'404}});
  std::array<std::byte, itch::mold::kHeaderBytes> buffer;
  const auto packet = [&](const std::string& session, std::uint64_t sequence) {
    itch::mold::PacketBuilder builder(buffer);
    builder.begin(itch::mold::Session(session), sequence);
    return builder.finish_session();
  };
  for (int i = 0; i < 20; ++i)
    for (net::UdpMulticastSender* const sender : {&same_address, &other_address}) {
      if (sender->send(packet("FORGED", 1)) != net::IoStatus::kOk) return 2;
      if (sender->send(packet(feed.session, feed.next + 1'000)) != net::IoStatus::kOk) return 2;
    }
  return 0;
}

TEST_F(OtherUsers, DatagramsToTheFeedsGroupAreRefusedAndChangeNothing) {
  run_.begin();
  const nlohmann::json feed = run_.status("mdh").at("feed");
  const std::string source = feed.value("source", "");
  ASSERT_NE(source, "") << "the demo's configuration names none";
  const ForgedFeed forged{net::parse_endpoint(feed.value("group", "")), net::parse_endpoint(source),
                          feed.value("session", ""), run_.counter("mdh", "feed", "next_sequence")};
  ASSERT_EQ(as_other_user([&] { return forge(forged); }), 0);
  EXPECT_TRUE(run_.wait_counter_above("mdh", "feed", "strangers", 39));
  EXPECT_EQ(run_.counter("mdh", "feed", "strangers"), 40u)
      << "the kernel drops what comes from other addresses";
  EXPECT_EQ(run_.counter("mdh", "feed", "sessions"), 1u);
  EXPECT_EQ(run_.counter("mdh", "feed", "gaps"), 0u);
  EXPECT_EQ(run_.counter("mdh", "feed", "ends_of_session"), 0u);
  EXPECT_EQ(run_.status("mdh").at("feed").value("state", ""), "good");
  EXPECT_TRUE(run_.wait_until([&] {
    return log_of("mdh").find("datagrams of another sender are refused") != std::string::npos;
  }));
  finish();
}

// What another user tries on files and sockets; 0: nothing of it works.
int break_in(const std::string& run_dir, const std::string& fabric) {
  const auto denied = [](auto attack) {
    try {
      attack();
      return false;
    } catch (const SystemError& error) {
      return error.errno_value() == EACCES;
    }
  };
  const std::string admin = control::admin_path(run_dir, "sim");
  if (!denied([&] { (void)control::RunDirectory::names(run_dir); })) return 1;
  if (!denied([&] { (void)control::admin_command(admin, {{"command", "stop"}}, 5'000); })) return 2;
  if (::open((run_dir + "/oeg.journal").c_str(), O_RDONLY) >= 0) return 3;
  const std::string registry = "/dev/shm/tickpath-pollers-2.0";
  if (::truncate(registry.c_str(), 0) == 0 || ::open(registry.c_str(), O_RDONLY) >= 0) return 4;
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fabric.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return 5;
  return errno == EACCES ? 0 : 6;
}

TEST_F(OtherUsers, FindFilesAndSocketsClosed) {
  run_.begin();
  // As in a home directory that others may look into.
  ASSERT_EQ(::chmod(run_.folder().path().c_str(), 0755), 0);
  EXPECT_EQ(as_other_user(
                [&] { return break_in(run_.folder().run_dir(), run_.folder().endpoint("oeg")); }),
            0);
  // And if somebody has opened the directory and the socket by hand, the program asks who it is.
  ASSERT_EQ(::chmod(run_.folder().run_dir().c_str(), 0755), 0);
  const std::string admin = control::admin_path(run_.folder().run_dir(), "sim");
  ASSERT_EQ(::chmod(admin.c_str(), 0666), 0);
  EXPECT_EQ(as_other_user([&] {
              try {
                (void)control::admin_command(admin, {{"command", "stop"}}, 20'000);
                return 1;
              } catch (const SystemError& error) {
                return error.errno_value() == EACCES ? 0 : 2;
              }
            }),
            0);
  EXPECT_EQ(run_.counter("sim", "admin", "refused"), 1u);
  EXPECT_THAT(log_of("sim"), HasSubstr("admin socket: user 65534 (process "));
  finish();
  EXPECT_THAT(log_of("sim"), HasSubstr("admin: {\"command\":\"halt\"} by user 0 (process "));
}

}  // namespace
}  // namespace tickpath::test_support
