// Connection set-up: what travels, who is refused, and that waiting ends.
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

// Runs `attempt` and returns what it threw; fails the test if nothing.
template <class Attempt>
SetupError thrown_by(Attempt&& attempt) {
  try {
    attempt();
  } catch (const SetupError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {SetupCause::kSystem, "nothing"};
}

TEST_P(Fabric, CarriesHelloAndAnswerUnchanged) {
  peer().ask("listen " + address_);
  peer().tell("accept");
  mine().connect(address_, {}, "who is there");
  EXPECT_EQ(peer().answer(), "who is there");
  EXPECT_EQ(mine().last_answer(), "welcome");
}

TEST_P(Fabric, TellsGrantedRegionsInOrderWithTheirRights) {
  const QueuePair& queue_pair = connect();
  const auto regions = queue_pair.remote_regions();
  ASSERT_EQ(regions.size(), kRemoteCount);
  const AccessFlags atomic = has(Capability::kAtomics) ? AccessFlags{kRemoteAtomic} : 0;
  EXPECT_EQ(regions[kFull].access, kRemoteWrite | kRemoteRead | atomic);
  EXPECT_EQ(regions[kNarrowed].access, kRemoteRead);
  EXPECT_EQ(regions[kReadOnly].access, kRemoteRead);
  EXPECT_EQ(regions[kWriteOnly].access, kRemoteWrite);
  EXPECT_GE(regions[kFull].length_bytes, kMainBytes);
  EXPECT_EQ(queue_pair.state(), QueuePairState::kReadyToSend);
  EXPECT_TRUE(queue_pair.error_text().empty());
}

TEST_P(Fabric, ThrowsTheReasonOfARejectedConnection) {
  peer().ask("listen " + address_);
  peer().tell("reject wrong role: only risk may write here");
  const SetupError error = thrown_by([&] { mine().connect(address_, {}, "hello"); });
  EXPECT_EQ(error.cause(), SetupCause::kRefused);
  EXPECT_STREQ(error.what(), "wrong role: only risk may write here");
  peer().answer();
  // The listener goes on.
  peer().tell("accept");
  mine().connect(address_, {}, "again");
  EXPECT_EQ(peer().answer(), "again");
}

TEST_P(Fabric, RefusesToConnectWhereNobodyListens) {
  const SetupError error = thrown_by([&] { mine().connect(address_, {}, "hello"); });
  EXPECT_EQ(error.cause(), SetupCause::kRefused);
  EXPECT_NE(std::string(error.what()).find(address_), std::string::npos) << error.what();
}

TEST_P(Fabric, StopsWaitingForAListenerThatDoesNotAnswer) {
  peer().ask("listen " + address_);
  const auto before = std::chrono::steady_clock::now();
  const SetupError error = thrown_by([&] { mine().connect(address_, {}, "hello", 200); });
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(error.cause(), SetupCause::kTimeout);
  EXPECT_GE(took, std::chrono::milliseconds(190));
  EXPECT_LT(took, std::chrono::milliseconds(scaled_ms(3000)));
}

TEST_P(Fabric, RefusesAnAddressThatSomebodyListensOn) {
  peer().ask("listen " + address_);
  const SetupError error = thrown_by([&] { mine().listen(address_); });
  EXPECT_EQ(error.cause(), SetupCause::kAddress);
  EXPECT_NE(std::string(error.what()).find(address_), std::string::npos) << error.what();
}

TEST_P(Fabric, ListensAgainAfterAListenerDiedWithoutCleaningUp) {
  peer().ask("listen " + address_);
  peer().signal(SIGKILL);
  for (int tries = 0;; ++tries) {  // the kernel closes its sockets in its own time
    try {
      mine().listen(address_);
      break;
    } catch (const SetupError&) {
      ASSERT_LT(tries, 1000);
    }
  }
  PeerProcess other(GetParam().name);
  let_connect(other, address_);
}

TEST_P(Fabric, RefusesToGrantRightsThatTheRegionWasNotAllocatedWith) {
  peer().ask("listen " + address_);
  peer().tell("accept");
  mine().prepare({});
  const Grant grant{&mine().read_only(), kRemoteWrite};
  ConnectParameters parameters{.endpoint = address_, .grants = {&grant, 1}};
  const SetupError error = thrown_by([&] { mine().device().connect(mine().queue(), parameters); });
  EXPECT_EQ(error.cause(), SetupCause::kPermission);
  EXPECT_EQ(peer().ask_error("").substr(0, 8), "the peer");  // it learns that we left
}

TEST_P(Fabric, RefusesMoreInitialReceivesThanTheQueueHolds) {
  peer().ask("listen " + address_);
  peer().tell("accept");
  EndpointOptions options;
  options.queue_pair.receive_depth = 4;
  options.initial_receives = 5;
  const SetupError error = thrown_by([&] { mine().connect(address_, options, "hello"); });
  EXPECT_EQ(error.cause(), SetupCause::kLimit);
  peer().ask_error("");
}

TEST_P(Fabric, RefusesAHelloThatIsTooLong) {
  const std::string hello(kHelloBytesMax + 1, 'x');
  const SetupError error = thrown_by([&] { mine().connect(address_, {}, hello); });
  EXPECT_EQ(error.cause(), SetupCause::kLimit);
}

TEST_P(Fabric, HasInitialReceivesPostedBeforeThePeerCanSend) {
  peer().ask("listen " + address_);
  peer().tell("accept initial_receives=4");
  mine().connect(address_, {}, "hello");
  // At once, without waiting for the peer's accept() to return.
  for (std::uint64_t i = 0; i < 4; ++i) post(mine().request(Opcode::kSend, i, 0, 16, kFull, 0, 0));
  peer().answer();
  EXPECT_EQ(peer().ask("poll 4 5000"), "4 1000:0:16:0 1001:0:16:0 1002:0:16:0 1003:0:16:0");
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST_P(Fabric, LeaksNoDescriptorOverManyConnections) {
  peer().ask("listen " + address_);
  std::size_t after_first = 0;
  for (int i = 0; i < 30; ++i) {
    peer().tell("accept");
    mine().connect(address_, {}, "hello");
    peer().answer();
    mine().queue_pairs().clear();
    if (i == 0) after_first = open_descriptors();
  }
  // verbs closes the set-up streams in the background.
  for (int tries = 0; open_descriptors() > after_first && tries < scaled_ms(1000); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(open_descriptors(), after_first);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
