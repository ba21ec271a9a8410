// The ofi provider's device: which core provider, and what it says of itself.
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/file_descriptor.hpp"
#include "common/rdma/ofi/shm_names.hpp"
#include "common/rdma/rdma.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma {
namespace {

using testing::HasSubstr;
using testing::Not;

SetupError refusal(const std::string& device) {
  const auto error = test_support::thrown<SetupError>([&] { open_device("ofi", device); });
  return error ? *error : SetupError(SetupCause::kSystem, "opened");
}

TEST(OfiDevice, IsTcpUnlessTold) {
  EXPECT_EQ(open_device("ofi", "")->info().name, "tcp");
  const auto device = open_device("ofi", "tcp:127.0.0.1");
  EXPECT_EQ(device->info().provider, "ofi");
  EXPECT_THAT(device->info().attributes, HasSubstr("127.0.0.1"));
}

TEST(OfiDevice, OfACoreProviderThatIsNotThereNamesTheListOfThem) {
  const SetupError error = refusal("nosuch");
  EXPECT_EQ(error.cause(), SetupCause::kNoDevice);
  EXPECT_THAT(error.what(), HasSubstr("nosuch"));
  EXPECT_THAT(error.what(), HasSubstr("fi_info -l"));
}

// Nothing is seen of libfabric's own filter but that the provider is not there. It reads the
// variable once in a process, so that this one only has to have it.
TEST(OfiDevice, ARefusalNamesTheVariableThatMayBeTheCause) {
  ::setenv("FI_PROVIDER", "^nosuch", 1);
  const SetupError error = refusal("nosuch");
  ::unsetenv("FI_PROVIDER");
  EXPECT_THAT(error.what(), HasSubstr("FI_PROVIDER is \"^nosuch\" in the environment"));
  EXPECT_THAT(refusal("nosuch").what(), Not(HasSubstr("FI_PROVIDER")));
}

// 192.0.2.0/24 is for documentation (RFC 5737): no host has an address of it.
TEST(OfiDevice, TakesNothingButAnAddressOfThisHostBehindTheColon) {
  for (const std::string device : {"tcp:eth0", "tcp:192.0.2.99", "tcp:2001:db8::99"}) {
    const SetupError error = refusal(device);
    EXPECT_EQ(error.cause(), SetupCause::kAddress) << device;
    EXPECT_THAT(error.what(), HasSubstr(device));
    EXPECT_THAT(error.what(), HasSubstr("no IP address of this host"));
  }
}

// Whatever the core provider: this library executes the peer's requests.
TEST(OfiDevice, IsAsShmButForWhoMakesProgress) {
  for (const std::string core : {"tcp", "shm"}) {
    const auto device = open_device("ofi", core);
    const DeviceInfo& info = device->info();
    EXPECT_EQ(info.name, core);
    EXPECT_EQ(info.progress, Progress::kThread);
    EXPECT_EQ(info.atomics, AtomicReach::kCpu);
    EXPECT_TRUE(info.places_last_word);
    EXPECT_TRUE(info.binds_keys);
    EXPECT_TRUE(info.revokes);
    EXPECT_GE(info.queue_depth_max, 1024u);
    EXPECT_THAT(device->notes(), testing::IsEmpty());
  }
}

// The file of an endpoint of `pid`, as libfabric's shm leaves it where a process is killed.
std::filesystem::path shm_file(pid_t pid) {
  std::string name = detail::new_ofi_shm_name();
  name.erase(0, std::string("fi_ns://").size());
  const std::string own = "." + std::to_string(::getpid()) + ".";
  name.replace(name.find(own), own.size(), "." + std::to_string(pid) + ".");
  std::ofstream("/dev/shm/" + name) << "endpoint";
  return "/dev/shm/" + name;
}

TEST(OfiDevice, OfSharedMemoryRemovesWhatKilledProcessesLeftAndNothingElse) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const std::filesystem::path living = shm_file(::getpid());
  const std::filesystem::path waited_for = shm_file(child);  // until it is, it has its number
  (void)open_device("ofi", "shm");
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(waited_for));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::filesystem::path foreign = "/dev/shm/tickpath.no_endpoint." + std::to_string(child);
  std::ofstream(foreign) << "another's";
  (void)open_device("ofi", "shm");
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_FALSE(std::filesystem::exists(waited_for));
  EXPECT_TRUE(std::filesystem::exists(foreign));
  std::filesystem::remove(living);
  std::filesystem::remove(foreign);
}

std::unique_ptr<Device> tcp_device(const std::string& device = "tcp") {
  DeviceOptions options{.provider = "ofi", .device = device};
  options.security.mode = net::SecurityMode::kNone;
  return open_device(options);
}

// What ends with a program: connection, queue and device at once.
std::string farewell_of(Device& staying, const std::string& host = "127.0.0.1",
                        std::unique_ptr<Device> leaving = tcp_device()) {
  const std::string endpoint = host + ":" + std::to_string(test_support::free_port("127.0.0.1"));
  auto their_queue = leaving->create_queue(16, nullptr);
  const auto listener = leaving->listen(endpoint);
  const auto queue = staying.create_queue(16, nullptr);
  ConnectParameters parameters;
  parameters.endpoint = endpoint;
  const auto connecting = staying.start_connect(*queue, parameters);
  std::unique_ptr<ConnectionRequest> request;
  EXPECT_TRUE(test_support::wait_until([&] { return (request = listener->next()) != nullptr; }));
  auto theirs = request->accept(*their_queue, {}, {}, {}, {});
  std::optional<Connected> mine;
  EXPECT_TRUE(test_support::wait_until([&] { return (mine = connecting->poll()).has_value(); }));
  theirs.reset();
  their_queue.reset();
  leaving.reset();
  // libfabric may say first that something is wrong, and the peer why.
  std::string text;
  EXPECT_TRUE(test_support::wait_until([&] {
    text = mine->queue_pair->error_text();
    return text.find("disconnected") != std::string::npos ||
           text.find("ended") != std::string::npos;
  }));
  return text;
}

TEST(OfiDevice, ThatGoesWithItsConnectionsStillSaysThatItLeft) {
  const auto staying = tcp_device();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(farewell_of(*staying), HasSubstr("disconnected"));
}

// Set-up and data.
TEST(OfiDevice, ConnectsOverIpv6) {
  const net::FileDescriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback)) != 0)
    GTEST_SKIP() << "no IPv6 on this host";
  const auto staying = tcp_device("tcp:::1");
  EXPECT_THAT(farewell_of(*staying, "[::1]", tcp_device("tcp:::1")), HasSubstr("disconnected"));
}

TEST(OfiDevice, OfSharedMemoryNamesNoTwoEndpointsAlike) {
  EXPECT_NE(detail::new_ofi_shm_name(), detail::new_ofi_shm_name());
}

}  // namespace
}  // namespace tickpath::rdma
