#include "tests/conformance/provider_fixture.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <thread>

#include <unistd.h>

#include "tests/support/provider.hpp"

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
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(test_support::free_port("0.0.0.0"));
}

// At the address of the RDMA device.
std::string fresh_port() { return fresh_port_at("TICKPATH_VERBS_ADDRESS"); }
std::string fresh_peer_port() {
  const bool elsewhere = std::getenv("TICKPATH_PEER_ADDRESS") != nullptr;
  return fresh_port_at(elsewhere ? "TICKPATH_PEER_ADDRESS" : "TICKPATH_VERBS_ADDRESS");
}

std::string device_missing(const char* provider) {
  try {
    open_test_device(provider);
    return {};
  } catch (const SetupError& error) {
    // Anything but a missing device is for the tests to fail with.
    if (error.cause() != SetupCause::kNoDevice) return {};
    return std::string("no device of ") + provider + " here: " + error.what();
  }
}

template <const char* kProvider>
std::string missing_here() {
  static const std::string reason = device_missing(kProvider);
  return reason;
}

constexpr char kVerbs[] = "verbs";
constexpr char kOfiTcp[] = "ofi_tcp";
constexpr char kOfiShm[] = "ofi_shm";
constexpr char kOfiTcpRxm[] = "ofi_tcp_rxm";
constexpr char kOfiVerbs[] = "ofi_verbs";
constexpr char kOfiVerbsRxm[] = "ofi_verbs_rxm";

}  // namespace

// Another provider joins the suite by one line here; every test runs on each.
INSTANTIATE_TEST_SUITE_P(
    Providers, Fabric,
    testing::Values(Provider{"shm", fresh_path, fresh_path, nothing_missing, 1},
                    Provider{"verbs", fresh_port, fresh_peer_port, missing_here<kVerbs>, 50},
                    Provider{kOfiTcp, fresh_port, fresh_peer_port, missing_here<kOfiTcp>, 20},
                    Provider{kOfiShm, fresh_port, fresh_peer_port, missing_here<kOfiShm>, 20},
                    Provider{kOfiTcpRxm, fresh_port, fresh_peer_port, missing_here<kOfiTcpRxm>, 20},
                    Provider{kOfiVerbs, fresh_port, fresh_peer_port, missing_here<kOfiVerbs>, 50},
                    Provider{kOfiVerbsRxm, fresh_port, fresh_peer_port, missing_here<kOfiVerbsRxm>,
                             50}),
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
  try {
    QueuePair& queue_pair = mine().connect(address_, options, "hello");
    EXPECT_EQ(peer().answer(), "hello");
    return queue_pair;
  } catch (const SetupError&) {
    peer().answer();  // a failure, with what happened there
    throw;
  }
}

void Fabric::let_connect(PeerProcess& peer, const std::string& address) {
  peer.tell("connect " + address);
  try {
    mine().accept({}, "welcome");
    peer.answer();
  } catch (const SetupError&) {
    peer.answer();  // as in connect()
    throw;
  }
}

bool has_capability(const DeviceInfo& info, Capability capability) {
  switch (capability) {
    case Capability::kAtomics:
      return info.atomics != AtomicReach::kNone;
    case Capability::kLastWordLast:
      return info.places_last_word;
    case Capability::kDatagrams:
      return info.datagram_bytes_max != 0 && info.multicast;
    case Capability::kTellsRefused:
      return info.tells_refused;
    case Capability::kSolicits:
      return info.solicits;
  }
  return false;
}

std::string name_of(Capability capability) {
  switch (capability) {
    case Capability::kAtomics:
      return "remote atomics";
    case Capability::kLastWordLast:
      return "the last word of a WRITE lands last";
    case Capability::kDatagrams:
      return "datagrams and multicast";
    case Capability::kTellsRefused:
      return "a refused request is told from those before it";
    case Capability::kSolicits:
      return "wake-ups for solicited messages only";
  }
  return "unknown";
}

bool Fabric::has(Capability capability) {
  if (has_capability(mine().device().info(), capability)) return true;
  note_missing(testing::UnitTest::GetInstance()->current_test_info()->name(), capability);
  return false;
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
