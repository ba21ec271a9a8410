#include "common/control/admission.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "common/link/handshake.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/rights.hpp"
#include "common/wire/wire.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::control {
namespace {

using ::testing::HasSubstr;

// A peer whose proven role the test chooses, as a provider with authentication would tell it.
class Request final : public rdma::ConnectionRequest {
 public:
  Request(const wire::Hello& hello, std::string proven)
      : bytes_(link::join_hello(link::bytes_of(hello), {})), proven_(std::move(proven)) {}
  explicit Request(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  std::span<const std::byte> hello() const noexcept override { return bytes_; }
  std::string peer() const override { return "10.0.0.2:4711"; }
  std::string peer_role() const override { return proven_; }
  std::unique_ptr<rdma::PendingConnection> start_accept(
      rdma::CompletionQueue&, const rdma::QueuePairOptions&, std::span<const std::byte>,
      std::span<const rdma::Grant>, std::span<const rdma::ReceiveRequest>) override {
    return nullptr;
  }
  void reject(std::string_view reason) noexcept override { rejected = reason; }

  std::string rejected;

 private:
  std::vector<std::byte> bytes_;
  std::string proven_;
};

wire::Hello hello_of(wire::Role role, wire::Service service) {
  return {.role = role, .service = service};
}

struct AdmissionTest : ::testing::Test {
  AdmissionTest() { admission.register_counters(counters, "connections"); }
  std::uint64_t count(const char* name) const { return counters.value("connections", name); }

  Counters counters;
  Admission admission{wire::Role::kOeg};
};

TEST_F(AdmissionTest, LetsEachRoleHaveItsServicesAndTellsTheOthersWhy) {
  std::uint64_t refused = 0;
  for (unsigned role = 1; role <= 6; ++role)
    for (unsigned service = 1; service <= 4; ++service) {
      const auto peer = static_cast<wire::Role>(role);
      const auto asked = static_cast<wire::Service>(service);
      Request request(hello_of(peer, asked), std::string(wire::name(peer)));
      const bool admitted = admission.admit(request).has_value();
      EXPECT_EQ(admitted, wire::may_use(wire::Role::kOeg, peer, asked));
      if (admitted) {
        EXPECT_EQ(request.rejected, "");
        continue;
      }
      ++refused;
      EXPECT_EQ(request.rejected, "role " + std::string(wire::name(peer)) +
                                      " has no right to service " + std::string(wire::name(asked)) +
                                      " of oeg");
    }
  EXPECT_EQ(count("refused_right"), refused);
  EXPECT_EQ(count("refused_connections"), refused);
}

TEST_F(AdmissionTest, BelievesTheKeyAndNotTheHello) {
  Request request(hello_of(wire::Role::kRisk, wire::Service::kDropCopy), "strategy");
  EXPECT_FALSE(admission.admit(request));
  EXPECT_EQ(request.rejected, "it says to be risk, and its key is of strategy");
  EXPECT_EQ(count("refused_role"), 1u);
}

TEST_F(AdmissionTest, TakesTheHellosWordWhereNothingIsProven) {
  Request request(hello_of(wire::Role::kRisk, wire::Service::kDropCopy), "");
  const auto hello = admission.admit(request);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->role, wire::Role::kRisk);
}

TEST_F(AdmissionTest, RefusesAnotherWireVersionByItsNumber) {
  wire::Hello hello = hello_of(wire::Role::kRisk, wire::Service::kDropCopy);
  hello.wire_version = wire::kWireVersion + 1;
  Request request(hello, "risk");
  EXPECT_FALSE(admission.admit(request));
  EXPECT_THAT(request.rejected,
              HasSubstr("the peer version " + std::to_string(wire::kWireVersion + 1)));
  EXPECT_EQ(count("refused_version"), 1u);
}

TEST_F(AdmissionTest, RefusesAHelloOfAnyOtherLength) {
  const wire::Hello hello = hello_of(wire::Role::kRisk, wire::Service::kDropCopy);
  const auto whole = link::join_hello(link::bytes_of(hello), {});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Request request(std::vector<std::byte>(whole.begin(), whole.begin() + length));
    EXPECT_FALSE(admission.admit(request)) << length;
    EXPECT_THAT(request.rejected, HasSubstr("something else"));
  }
}

// Its peers were turned away before they said who they are.
class ListenerOfStrangers final : public rdma::Listener {
 public:
  int file_descriptor() const noexcept override { return -1; }
  std::unique_ptr<rdma::ConnectionRequest> next() override { return nullptr; }
  std::string endpoint() const override { return {}; }
  std::uint64_t bad_peers() const noexcept override { return 5; }
  std::uint64_t bad_peers_by(net::SecureCause cause) const noexcept override {
    return cause == net::SecureCause::kWrongKey ? 3 : 0;
  }
  std::optional<rdma::BadPeer> next_bad_peer() override {
    if (told == 2) return std::nullopt;
    return rdma::BadPeer{"10.0.0.9:" + std::to_string(++told), "its key differs"};
  }

  int told = 0;
};

TEST_F(AdmissionTest, LogsAndCountsByCauseWhoDidNotGetThroughTheSetUp) {
  ::testing::internal::CaptureStderr();
  std::unique_ptr<rdma::Listener> listener;
  Admission::register_bad_peers(counters, "connections", listener);
  auto strangers = std::make_unique<ListenerOfStrangers>();
  const int& told = strangers->told;
  listener = std::move(strangers);
  admission.serve(*listener, [](rdma::ConnectionRequest&) {});
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, HasSubstr("refused 10.0.0.9:1: its key differs"));
  EXPECT_EQ(told, 2) << "all are taken off, and one in a second has a line";
  EXPECT_EQ(count("bad_peers"), 5u);
  EXPECT_EQ(count("bad_peers_wrong_key"), 3u);
  EXPECT_EQ(count("bad_peers_timeout"), 0u);
  EXPECT_EQ(count("refused_connections"), 0u) << "they asked for nothing yet";
}

// Each refusal is counted, and answered; a stranger that asks on and on does not fill the log.
TEST_F(AdmissionTest, WritesSoManyLinesOfStrangersAndNoMore) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 200; ++i) {
    Request request(std::vector<std::byte>(7));
    EXPECT_FALSE(admission.admit(request));
    EXPECT_FALSE(request.rejected.empty());
  }
  const std::string logged = ::testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = logged.find("refused 10.0.0.2", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_GT(lines, 0u);
  EXPECT_LE(lines, 20u);
  EXPECT_EQ(count("refused_connections"), 200u);
}

TEST_F(AdmissionTest, RefusesABarredRoleUntilItIsLetInAgain) {
  admission.bar(wire::Role::kRisk, true);
  Request barred(hello_of(wire::Role::kRisk, wire::Service::kDropCopy), "risk");
  EXPECT_FALSE(admission.admit(barred));
  EXPECT_THAT(barred.rejected, HasSubstr("tickpath restore risk"));
  EXPECT_EQ(count("refused_barred"), 1u);
  Request other(hello_of(wire::Role::kTool, wire::Service::kRemoteTables), "tool");
  EXPECT_TRUE(admission.admit(other));
  admission.bar(wire::Role::kRisk, false);
  Request again(hello_of(wire::Role::kRisk, wire::Service::kDropCopy), "risk");
  EXPECT_TRUE(admission.admit(again));
}

TEST_F(AdmissionTest, RefusesWhoNeedsAnotherShardAndLetsPassWhoDoesNotSay) {
  constexpr wire::Shard kOwn{2, 4};
  const auto admits = [&](std::uint64_t word, wire::Shard own, std::string* why = nullptr) {
    wire::Hello hello = hello_of(wire::Role::kStrategy, wire::Service::kOrders);
    hello.parameters[0] = word;
    Request request(hello, "strategy");
    const bool admitted = admission.admit_shard(request, hello, own, "mdh.shard");
    EXPECT_EQ(admitted, request.rejected.empty());
    if (why != nullptr) *why = request.rejected;
    return admitted;
  };
  EXPECT_TRUE(admits(kOwn.word(), kOwn));
  EXPECT_TRUE(admits(0, kOwn)) << "it takes what there is";
  EXPECT_TRUE(admits(wire::Shard{}.word(), {}));
  EXPECT_EQ(count("refused_shard"), 0u);
  std::string why;
  EXPECT_FALSE(admits(wire::Shard{1, 4}.word(), kOwn, &why));
  EXPECT_THAT(why, HasSubstr("is of shard 2/4 of its venue (mdh.shard), and "));
  EXPECT_THAT(why, HasSubstr("needs one of shard 1/4 of its venue"));
  EXPECT_FALSE(admits(wire::Shard{2, 2}.word(), kOwn));
  EXPECT_FALSE(admits(wire::Shard{}.word(), kOwn, &why)) << "it would miss the other symbols";
  EXPECT_THAT(why, HasSubstr("needs one of all symbols of its venue"));
  EXPECT_FALSE(admits(kOwn.word(), {}));
  EXPECT_EQ(count("refused_shard"), 4u);
}

TEST(RoleNames, LeadBackToTheirRoles) {
  EXPECT_EQ(role_of("risk"), wire::Role::kRisk);
  EXPECT_EQ(role_of("tool"), wire::Role::kTool);
  EXPECT_EQ(role_of("root"), std::nullopt);
  EXPECT_EQ(role_of("?"), std::nullopt);
}

TEST_F(AdmissionTest, WhoIsBarredIsBarredInTheNextLife) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.revoked";
  admission.load_barred(path);
  admission.bar(wire::Role::kRisk, true);
  admission.bar(wire::Role::kTool, true);
  admission.bar(wire::Role::kTool, false);
  admission.save_barred(path);
  Admission next(wire::Role::kOeg);
  next.load_barred(path);
  EXPECT_TRUE(next.barred(wire::Role::kRisk));
  EXPECT_FALSE(next.barred(wire::Role::kTool));
  EXPECT_THAT(next.barred_names(), ::testing::ElementsAre("risk"));
  test_support::write_file(path, "rsik\n");
  EXPECT_THAT(test_support::error_of<Error>([&] { next.load_barred(path); }),
              HasSubstr("'rsik' is none"));
}

}  // namespace
}  // namespace tickpath::control
