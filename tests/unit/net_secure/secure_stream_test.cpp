// What works: frames between two ends that proved who they are.

#include <gmock/gmock.h>

#include "tests/support/thrown.hpp"
#include "tests/unit/net_secure/fixture.hpp"

namespace tickpath::net {
namespace {

using ::testing::HasSubstr;

struct EveryMode : SecureStreamTest, ::testing::WithParamInterface<SecurityMode> {
  EveryMode() {
    if (GetParam() == SecurityMode::kPsk) keys_.make(true);
    if (GetParam() == SecurityMode::kTls) keys_.make(false);
    listen(keys_.load(GetParam(), "oeg"));
  }
  bool proves() const {
    return GetParam() == SecurityMode::kPsk || GetParam() == SecurityMode::kTls;
  }
  void connect_as(const std::string& role) {
    connect(keys_.load(GetParam(), role), "oeg");
    ASSERT_FALSE(client_failure_) << client_failure_.text;
    ASSERT_TRUE(run_until([this] { return server_ != nullptr; }));
  }
  KeyFolder keys_;
};
INSTANTIATE_TEST_SUITE_P(Modes, EveryMode,
                         ::testing::Values(SecurityMode::kLoopback, SecurityMode::kNone,
                                           SecurityMode::kPsk, SecurityMode::kTls),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

TEST_P(EveryMode, TellsEachEndTheRoleOfTheOther) {
  for (const std::string_view role : kRoles) {
    ASSERT_NO_FATAL_FAILURE(connect_as(std::string(role)));
    EXPECT_EQ(server_->peer().role, role);
    EXPECT_EQ(client_->peer().role, "oeg");
    EXPECT_EQ(server_->peer().authenticated, proves());
    EXPECT_EQ(client_->peer().authenticated, proves());
    EXPECT_EQ(server_->peer().expires_unix_s != 0, proves());
    EXPECT_EQ(server_->local_address(), "127.0.0.1");
    EXPECT_THAT(server_->peer().text(), HasSubstr(std::string(role) + " at 127.0.0.1:"));
    client_->close();
    server_->close();
    server_ = nullptr;
  }
  EXPECT_EQ(acceptor_->counters().authenticated.get(), kRoles.size());
  EXPECT_EQ(acceptor_->counters().failures(), 0u);
}

TEST_P(EveryMode, CarriesFramesBothWaysInOrder) {
  ASSERT_NO_FATAL_FAILURE(connect_as("risk"));
  for (const char* text : {"one", "two", "three"}) client_->send(bytes_of(text));
  EXPECT_EQ(receive(*server_), "one");
  server_->send(bytes_of("answer"));
  EXPECT_EQ(receive(*server_), "two");
  EXPECT_EQ(receive(*server_), "three");
  EXPECT_EQ(receive(*client_), "answer");
}

TEST_P(EveryMode, CarriesTheLargestFrameAndRefusesToSendALarger) {
  ASSERT_NO_FATAL_FAILURE(connect_as("risk"));
  const std::string largest(StreamLimits{}.frame_bytes_max, 'x');
  client_->send(bytes_of(largest));
  EXPECT_EQ(receive(*server_), largest);
  SecureFailure failure;
  client_->send(bytes_of(largest + "x"), [&](const SecureFailure& told) { failure = told; });
  ASSERT_TRUE(run_until([&] { return bool(failure); }));
  EXPECT_EQ(failure.cause, SecureCause::kFrame);
  client_->send(bytes_of("still here"));
  EXPECT_EQ(receive(*server_), "still here");
}

TEST_P(EveryMode, TellsTheOtherEndAtOnceWhenOneCloses) {
  ASSERT_NO_FATAL_FAILURE(connect_as("risk"));
  client_->close();
  EXPECT_EQ(receive(*server_), "<closed by the peer>");
  EXPECT_EQ(receive(*server_), "<closed by the peer>") << "and says so again";
}

TEST_P(EveryMode, DeliversWhatWasSentBeforeItFinishes) {
  ASSERT_NO_FATAL_FAILURE(connect_as("risk"));
  client_->send(bytes_of("last words"));
  client_->finish();
  EXPECT_EQ(receive(*server_), "last words");
  EXPECT_EQ(receive(*server_), "<closed by the peer>");
}

TEST_P(EveryMode, EndsAReceiveThatTakesTooLong) {
  ASSERT_NO_FATAL_FAILURE(connect_as("risk"));
  EXPECT_EQ(receive(*server_, 30), "<timed out>");
  EXPECT_EQ(receive(*client_), "<closed by the peer>");
}

TEST_P(EveryMode, ServesManyPeersAtOnce) {
  std::vector<std::shared_ptr<SecureStream>> clients;
  for (int i = 0; i < 20; ++i) {
    secure_connect(io_, keys_.load(GetParam(), "tool"), {"127.0.0.1", acceptor_->port(), "oeg"},
                   [&](const SecureFailure& failure, std::shared_ptr<SecureStream> stream) {
                     EXPECT_FALSE(failure) << failure.text;
                     clients.push_back(std::move(stream));
                   });
  }
  EXPECT_TRUE(run_until([&] { return clients.size() == 20; }));
  EXPECT_EQ(acceptor_->counters().authenticated.get(), 20u);
  for (const auto& client : clients)
    if (client) client->close();
}

TEST_F(SecureStreamTest, WithoutKeysStaysOnThisHost) {
  const auto context = SecureContext::load({SecurityMode::kLoopback, "", "oeg"});
  const auto error = test_support::thrown<SecureError>(
      [&] { const SecureAcceptor acceptor(io_, context, "0.0.0.0", 0); });
  ASSERT_TRUE(error) << "listens to everybody";
  EXPECT_EQ(error->cause(), SecureCause::kPolicy);
  EXPECT_THAT(error->what(), HasSubstr("security.mode"));
  SecureFailure failure;
  secure_connect(io_, context, {"192.0.2.1", 7471, "mdh"},
                 [&](const SecureFailure& told, std::shared_ptr<SecureStream>) { failure = told; });
  ASSERT_TRUE(run_until([&] { return bool(failure); }));
  EXPECT_EQ(failure.cause, SecureCause::kPolicy);
}

TEST_F(SecureStreamTest, WithModeNoneListensAnywhereBecauseItWasChosen) {
  const SecureAcceptor acceptor(io_, SecureContext::load({SecurityMode::kNone, "", "oeg"}),
                                "0.0.0.0", 0);
  EXPECT_NE(acceptor.port(), 0);
}

TEST_F(SecureStreamTest, SaysWhichAddressIsTaken) {
  const auto context = SecureContext::load({SecurityMode::kLoopback, "", "oeg"});
  const SecureAcceptor first(io_, context, "127.0.0.1", 0);
  const auto error = test_support::thrown<SecureError>(
      [&] { const SecureAcceptor second(io_, context, "127.0.0.1", first.port()); });
  ASSERT_TRUE(error) << "two listen at one port";
  EXPECT_EQ(error->cause(), SecureCause::kUnreachable);
  EXPECT_THAT(error->what(), HasSubstr(std::to_string(first.port())));
}

TEST_F(SecureStreamTest, ToNobodyIsUnreachable) {
  const auto context = SecureContext::load({SecurityMode::kLoopback, "", "risk"});
  std::uint16_t port = 0;
  {
    const SecureAcceptor gone(io_, context, "127.0.0.1", 0);
    port = gone.port();
  }
  SecureFailure failure;
  secure_connect(io_, context, {"127.0.0.1", port, "oeg"},
                 [&](const SecureFailure& told, std::shared_ptr<SecureStream>) { failure = told; });
  ASSERT_TRUE(run_until([&] { return bool(failure); }));
  EXPECT_EQ(failure.cause, SecureCause::kUnreachable);
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(port)));
}

}  // namespace
}  // namespace tickpath::net
