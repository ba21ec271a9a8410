#include "tests/conformance/provider_fixture.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <thread>

#include <unistd.h>

namespace tickpath::rdma::conformance {
namespace {

std::string fresh_path() {
  static std::atomic<int> number{0};
  return (std::filesystem::temp_directory_path() /
          ("tickpath." + std::to_string(::getpid()) + "." + std::to_string(number++)))
      .string();
}

}  // namespace

// Another provider joins the suite by one line here.
INSTANTIATE_TEST_SUITE_P(Providers, Fabric, testing::Values(Provider{"shm", fresh_path}),
                         [](const auto& provider) { return std::string(provider.param.name); });

void PrintTo(const Provider& provider, std::ostream* out) { *out << provider.name; }

Fabric::Fabric()
    : address_(GetParam().new_address()), mine_(GetParam().name), peer_(GetParam().name) {}

QueuePair& Fabric::connect(const EndpointOptions& options, const std::string& peer_options) {
  peer_.ask("listen " + address_);
  peer_.tell("accept " + peer_options);
  QueuePair& queue_pair = mine_.connect(address_, options, "hello");
  EXPECT_EQ(peer_.answer(), "hello");
  return queue_pair;
}

void Fabric::post(const WorkRequest& request) {
  ASSERT_EQ(mine_.queue_pair().post_send(request), PostStatus::kOk);
}

Completion Fabric::one(int timeout_ms) {
  const auto completions = mine_.poll(1, timeout_ms);
  EXPECT_EQ(completions.size(), 1u) << "no completion in time";
  return completions.empty() ? Completion{} : completions[0];
}

void Fabric::expect_done(std::uint64_t wr_id, CompletionStatus status) {
  const Completion completion = one();
  EXPECT_EQ(completion.wr_id, wr_id);
  EXPECT_EQ(to_string(completion.status), to_string(status));
}

bool Fabric::becomes_error() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (mine_.queue_pair().state() != QueuePairState::kError) {
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
    mine_.memory().data()[offset + i] =
        static_cast<std::byte>((i * 31 + seed * 7 + i / 256) & 0xff);
  }
}

std::string Fabric::peer_sum(const std::string& region, std::size_t offset, std::size_t length) {
  return peer_.ask("sum " + region + " " + std::to_string(offset) + " " + std::to_string(length));
}

}  // namespace tickpath::rdma::conformance
