// Peers that the running programs must not let do what they try: another role's service, another
// wire version, memory that was not granted. A row of the fault table each.
#include <vector>

#include <gmock/gmock.h>

#include "common/link/link.hpp"
#include "common/wire/wire.hpp"
#include "tests/fault/fault_run.hpp"
#include "tests/fault/fault_table.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;
using wire::Role;
using wire::Service;

class Strangers : public ::testing::Test {
 protected:
  // Whoever asks waits no longer than this for an answer.
  static std::uint32_t setup_ms() { return test_support::over_network() ? 10'000 : 2'000; }

  void SetUp() override {
    // Nobody falls silent here: on an emulated machine, what does all the same is no stranger's
    // work.
    if (test_support::over_network())
      for (const char* const program : {"strategy", "oeg", "risk"})
        run_.configure(program, {"--set", "heartbeat.dead_after=15s"});
    begin(test_support::test_device_options());
  }
  // Programs as configured so far; the stranger's own device.
  void begin(const rdma::DeviceOptions& stranger) {
    run_.begin();
    device_ = rdma::open_device(stranger);
    lost_before_ = losses();
    sent_before_ = run_.counts(kTrade);
  }
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", run_.logs().c_str());
  }

  wire::Hello hello(Role role, Service service) const {
    return wire::make_hello(role, service, "stranger");
  }
  // Asks and must be refused with `text`: milliseconds until it is told so.
  double refused(const std::string& program, const wire::Hello& hello, const std::string& text,
                 std::uint16_t link_version = link::LinkPart::kVersion) {
    const std::vector<std::byte> joined =
        link::join_hello(link::bytes_of(hello), link::LinkPart{.version = link_version});
    rdma::ConnectParameters parameters{
        .endpoint = run_.folder().endpoint(program), .hello = joined, .timeout_ms = setup_ms()};
    const auto queue = device_->create_queue(64, nullptr);
    const std::int64_t from_ns = monotonic_ns();
    try {
      (void)device_->connect(*queue, parameters);
      ADD_FAILURE() << program << " let it in";
    } catch (const rdma::SetupError& error) {
      EXPECT_EQ(error.cause(), rdma::SetupCause::kRefused) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
    return ms_since(from_ns);
  }
  // Posts one request on a connection and tells how it completed.
  rdma::CompletionStatus status_of(link::Connection& connection, const rdma::WorkRequest& request) {
    EXPECT_EQ(connection.queue_pair().post_send(request), rdma::PostStatus::kOk);
    rdma::Completion done;
    const bool came = run_.wait_until([&] {
      return connection.completion_queue().poll({&done, 1}) != 0;
    });
    EXPECT_TRUE(came);
    return done.status;
  }
  // Connections that the programs lost to each other.
  std::uint64_t losses() const {
    return run_.counter("strategy", "gateway", "oeg_losses") +
           run_.counter("strategy", "feed", "mdh_losses") +
           run_.counter("risk", "orders", "oeg_losses") +
           run_.counter("risk", "feed", "mdh_losses") +
           run_.counter("oeg", "strategies", "strategy_losses") +
           run_.counter("oeg", "risk", "risk_losses") + run_.counter("oeg", "market", "mdh_losses");
  }
  void finish(std::vector<FaultRow> rows) {
    const std::int64_t from_ns = monotonic_ns();
    EXPECT_TRUE(run_.trades());
    const auto trades_ms = static_cast<long>(ms_since(from_ns));
    const std::uint64_t lost = losses() - lost_before_;
    EXPECT_EQ(lost, 0u) << "others lost their connections";
    const std::string others_do =
        run_.done_since(kTrade, sent_before_) + ", " + std::to_string(lost) + " connections lost";
    EXPECT_TRUE(run_.end());
    const std::string broken = run_.broken_books({});
    EXPECT_EQ(broken, "");
    for (FaultRow& row : rows) {
      row.others_do = others_do;
      row.came_back = "never away: an order accepted " + std::to_string(trades_ms) + " ms later";
      row.books_hold = broken.empty();
      add_row(std::move(row));
    }
  }

  FaultRun run_;
  std::unique_ptr<rdma::Device> device_;
  std::uint64_t lost_before_ = 0;
  const std::vector<Deed> kTrade{{"orders sent", "oeg", "orders", "sent"}};
  std::vector<std::uint64_t> sent_before_;
};

TEST_F(Strangers, AWrongRoleOrAnotherWireVersionIsRefusedWithAReasonAndDisturbsNobody) {
  FaultRow role{"wrong role: a strategy asks oeg for risk's part", "oeg (refuses, says why)",
                static_cast<double>(setup_ms())};
  role.measured_ms = refused("oeg", hello(Role::kStrategy, Service::kDropCopy),
                             "role strategy has no right to service");
  EXPECT_EQ(run_.counter("oeg", "connections", "refused_right"), 1u);

  FaultRow version{"a peer of another wire version, and of another link version",
                   "mdh, oeg (refuse, say why)", static_cast<double>(setup_ms())};
  for (const auto& [program, service] :
       {std::pair{"mdh", Service::kBookUpdates}, std::pair{"oeg", Service::kOrders}}) {
    wire::Hello other = hello(Role::kStrategy, service);
    other.wire_version = wire::kWireVersion + 1;
    const std::string both = "speaks wire version " + std::to_string(wire::kWireVersion) +
                             ", the peer version " + std::to_string(other.wire_version);
    version.measured_ms = std::max(version.measured_ms, refused(program, other, both));
    EXPECT_EQ(run_.counter(program, "connections", "refused_version"), 1u);
    version.measured_ms =
        std::max(version.measured_ms, refused(program, hello(Role::kStrategy, service),
                                              "of something else", link::LinkPart::kVersion + 1));
  }
  finish({role, version});
}

// On verbs, where roles are proven: every program and the stranger have a certificate of one CA.
class StrangersWithCertificates : public Strangers {
 protected:
  void SetUp() override {
    if (!test_support::over_network()) GTEST_SKIP() << "shm trusts the user's own processes";
    const std::string keys = run_.folder().path() + "/keys";
    const Finished made = run({program("tickpath"), "keys", "--dir", keys});
    ASSERT_EQ(made.exit_code, 0) << made.output;
    for (const char* const each : {"mdh", "strategy", "oeg", "risk"})
      run_.configure(each, {"--set", "security.mode=tls", "--set", "security.keys=" + keys});
    for (const char* const each : {"strategy", "oeg", "risk"})
      run_.configure(each, {"--set", "heartbeat.dead_after=15s"});
    rdma::DeviceOptions stranger = test_support::test_device_options();
    stranger.security = {net::SecurityMode::kTls, keys, "strategy"};
    begin(stranger);
  }
};

TEST_F(StrangersWithCertificates, ARoleOtherThanTheCertificatesIsRefusedWithAReason) {
  FaultRow role{
      "wrong role over TLS: a strategy's certificate says to be risk, or asks for its part",
      "oeg (refuses, says why)", static_cast<double>(setup_ms())};
  role.measured_ms = refused("oeg", hello(Role::kRisk, Service::kDropCopy),
                             "it says to be risk, and its key is of strategy");
  EXPECT_EQ(run_.counter("oeg", "connections", "refused_role"), 1u);
  role.measured_ms =
      std::max(role.measured_ms, refused("oeg", hello(Role::kStrategy, Service::kDropCopy),
                                         "role strategy has no right to service"));
  EXPECT_EQ(run_.counter("oeg", "connections", "refused_right"), 1u);
  finish({role});
}

TEST_F(Strangers, AWrongKeyEndsItsOwnConnectionAndNoOther) {
  // No bound of ours: the peer's device refuses, and its answer takes a round trip.
  FaultRow row{"wrong rkey: a tool reads and writes what it was not granted",
               "the tool (remote access error)", -1};
  const auto memory = device_->allocate(4096, rdma::kLocalWrite, "stranger");
  using Attempt = std::function<void(rdma::WorkRequest&, const rdma::RemoteRegion&)>;
  const std::vector<Attempt> attempts{
      [](auto& request, const auto&) { request.opcode = rdma::Opcode::kWrite; },
      [](auto& request, const auto&) { request.opcode = rdma::Opcode::kFetchAdd; },
      [](auto& request, const auto&) { request.rkey ^= 0x5a5a5a5a; },
      [](auto& request, const auto& region) { request.remote_address += region.length_bytes; }};
  for (const Attempt& attempt : attempts) {
    const link::TableConnection tool = link::connect_tables(
        *device_, run_.folder().endpoint("oeg"),
        link::bytes_of(hello(Role::kTool, Service::kRemoteTables)), {}, setup_ms(), "oeg");
    const rdma::RemoteRegion& table = tool.connection->extras()[wire::OegTablesGrants::kPositions];
    rdma::WorkRequest request{.opcode = rdma::Opcode::kRead,
                              .flags = rdma::kSignaled,
                              .local_address = memory->data(),
                              .length_bytes = 8,
                              .lkey = memory->lkey(),
                              .rkey = table.rkey,
                              .remote_address = table.address};
    EXPECT_EQ(status_of(*tool.connection, request), rdma::CompletionStatus::kSuccess);
    attempt(request, table);
    const std::int64_t from_ns = monotonic_ns();
    EXPECT_EQ(status_of(*tool.connection, request), rdma::CompletionStatus::kRemoteAccess);
    row.measured_ms = std::max(row.measured_ms, ms_since(from_ns));
    EXPECT_TRUE(run_.wait_until([&] { return tool.connection->failed(); }));
  }
  finish({row});
}

}  // namespace
}  // namespace tickpath::test_support
