#include "tests/conformance/provider_fixture.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tickpath::rdma::conformance {
namespace {

std::string fresh_path() {
  static std::atomic<int> number{0};
  return (std::filesystem::temp_directory_path() /
          ("tickpath." + std::to_string(::getpid()) + "." + std::to_string(number++)))
      .string();
}

std::string nothing_missing() { return {}; }

// A port that was free a moment ago, at the address that the environment names.
std::string fresh_port_at(const char* variable) {
  const char* address = std::getenv(variable);
  const std::string host = address == nullptr ? "127.0.0.1" : address;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof(any);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any));
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&any), &length);
  ::close(fd);
  return host + ":" + std::to_string(ntohs(any.sin_port));
}

// At the address of the RDMA device.
std::string fresh_port() { return fresh_port_at("TICKPATH_VERBS_ADDRESS"); }
std::string fresh_peer_port() {
  const bool elsewhere = std::getenv("TICKPATH_PEER_ADDRESS") != nullptr;
  return fresh_port_at(elsewhere ? "TICKPATH_PEER_ADDRESS" : "TICKPATH_VERBS_ADDRESS");
}

std::string verbs_missing() {
  static const std::string reason = [] {
    try {
      open_test_device("verbs");
      return std::string();
    } catch (const SetupError& error) {
      // Anything but a missing device is for the tests to fail with.
      if (error.cause() != SetupCause::kNoDevice) return std::string();
      return std::string("no verbs device here: ") + error.what();
    }
  }();
  return reason;
}

}  // namespace

// Another provider joins the suite by one line here; every test runs on each.
INSTANTIATE_TEST_SUITE_P(
    Providers, Fabric,
    testing::Values(Provider{"shm", fresh_path, fresh_path, nothing_missing, 1},
                    Provider{"verbs", fresh_port, fresh_peer_port, verbs_missing, 50}),
    [](const auto& provider) { return std::string(provider.param.name); });

void PrintTo(const Provider& provider, std::ostream* out) { *out << provider.name; }

void Fabric::SetUp() {
  const std::string missing = GetParam().missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  address_ = GetParam().new_peer_address();
  my_address_ = GetParam().new_address();
  mine_ = std::make_unique<Endpoint>(GetParam().name);
  peer_ = std::make_unique<PeerProcess>(GetParam().name);
}

void Fabric::TearDown() {
  peer_.reset();
  mine_.reset();
}

QueuePair& Fabric::connect(const EndpointOptions& options, const std::string& peer_options) {
  peer().ask("listen " + address_);
  peer().tell("accept " + peer_options);
  QueuePair& queue_pair = mine().connect(address_, options, "hello");
  EXPECT_EQ(peer().answer(), "hello");
  return queue_pair;
}

void Fabric::post(const WorkRequest& request) {
  ASSERT_EQ(mine().queue_pair().post_send(request), PostStatus::kOk);
}

Completion Fabric::one(int timeout_ms) {
  const auto completions = mine().poll(1, timeout_ms);
  EXPECT_EQ(completions.size(), 1u) << "no completion in time";
  return completions.empty() ? Completion{} : completions[0];
}

void Fabric::expect_done(std::uint64_t wr_id, CompletionStatus status) {
  const Completion completion = one();
  EXPECT_EQ(completion.wr_id, wr_id);
  EXPECT_EQ(to_string(completion.status), to_string(status));
}

bool Fabric::vague(CompletionStatus status) const {
  return std::string_view(GetParam().name) != "shm" && status == CompletionStatus::kGeneral;
}

void Fabric::expect_failed(std::uint64_t wr_id, CompletionStatus status) {
  const Completion completion = one();
  EXPECT_EQ(completion.wr_id, wr_id);
  if (!vague(completion.status)) {
    EXPECT_EQ(to_string(completion.status), to_string(status));
  }
  EXPECT_FALSE(mine().queue_pair().error_text().empty());
}

bool Fabric::becomes_error() {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(scaled_ms(5000));
  while (mine().queue_pair().state() != QueuePairState::kError) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::uint64_t Fabric::local_sum(const std::byte* data, std::size_t length) {
  std::uint64_t hash = 1469598103934665603u;  // FNV-1a, as the peer's "sum"
  for (std::size_t i = 0; i < length; ++i) {
    hash = (hash ^ std::to_integer<std::uint64_t>(data[i])) * 1099511628211u;
  }
  return hash;
}

void Fabric::fill_pattern(std::size_t offset, std::size_t length, unsigned seed) {
  for (std::size_t i = 0; i < length; ++i) {
    mine().memory().data()[offset + i] =
        static_cast<std::byte>((i * 31 + seed * 7 + i / 256) & 0xff);
  }
}

std::string Fabric::peer_sum(const std::string& region, std::size_t offset, std::size_t length) {
  return peer().ask("sum " + region + " " + std::to_string(offset) + " " + std::to_string(length));
}

}  // namespace tickpath::rdma::conformance
