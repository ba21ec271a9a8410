// Multicast groups of the verbs provider on scripted hosts (fake_verbs.hpp): where they are joined,
// how datagrams to them are marked, and what is noticed when the network ends a membership.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/datagram.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma {
namespace {

using test_support::fake_host;
using test_support::FakeVerbs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Member {
  explicit Member(const char* host, const std::string& choice = "", VerbsOptions options = {})
      : verbs(fake_host(host)) {
    DeviceOptions device_options{.provider = "verbs", .device = choice, .verbs = options};
    device_options.security.mode = net::SecurityMode::kNone;
    device = open_device(device_options);
    queue = device->create_queue(64, nullptr);
    pair = device->create_datagram_queue_pair(*queue, {});
  }
  MulticastMembership& join(MulticastRole role, const std::string& group = "239.255.1.1") {
    membership = pair->join(group, role);
    wait_for(*membership);
    return *membership;
  }

  FakeVerbs verbs;
  std::unique_ptr<Device> device;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<DatagramQueuePair> pair;
  std::unique_ptr<MulticastMembership> membership;
};

TEST(VerbsMembership, OnInfiniBandIsJoinedAtIpoibsAddressAndInItsPartition) {
  Member member("infiniband", "10.8.0.1");
  member.join(MulticastRole::kBoth);
  EXPECT_THAT(member.verbs.bound(), ElementsAre("10.8.0.1"));
  EXPECT_THAT(member.verbs.pkey_indexes(), Each(1));
}

TEST(VerbsMembership, OfAPortWithoutAnAddressIsRefused) {
  Member member("two_devices", "mlx5_0");
  EXPECT_FALSE(member.device->info().multicast);
  EXPECT_THAT(test_support::error_of([&] { member.join(MulticastRole::kSender); }),
              HasSubstr("no IP address"));
}

TEST(VerbsMembership, OnRoceMarksDatagramsAsConnectionsAre) {
  Member plain("roce");
  plain.join(MulticastRole::kSender);
  EXPECT_EQ(plain.verbs.handles().back().grh.traffic_class, 0);
  EXPECT_EQ(plain.verbs.handles().back().grh.hop_limit, 1) << "it stays in its subnet";
}

TEST(VerbsMembership, OnRoceTakesTrafficClassAndHopsFromTheConfiguration) {
  Member marked("roce", "", {.traffic_class = 106, .multicast_hops = 8});
  marked.join(MulticastRole::kSender);
  EXPECT_EQ(marked.verbs.handles().back().grh.traffic_class, 106);
  EXPECT_EQ(marked.verbs.handles().back().grh.hop_limit, 8);
}

TEST(VerbsMembership, IsLostWhereTheNetworkSaysSo) {
  for (const rdma_cm_event_type type : {RDMA_CM_EVENT_MULTICAST_ERROR, RDMA_CM_EVENT_ADDR_CHANGE}) {
    Member member("roce");
    MulticastMembership& membership = member.join(MulticastRole::kReceiver);
    EXPECT_TRUE(membership.poll());
    EXPECT_EQ(membership.error_text(), "");
    member.verbs.tell(type, -ENETRESET);
    membership.poll();
    EXPECT_THAT(membership.error_text(), HasSubstr("239.255.1.1 is lost"));
  }
}

TEST(VerbsMembership, IsLostWhereItsAddressWasRemovedOrMoved) {
  Member member("roce");
  MulticastMembership& membership = member.join(MulticastRole::kReceiver);
  ibv_async_event event{};
  event.event_type = IBV_EVENT_GID_CHANGE;
  event.element.port_num = 1;
  member.verbs.tell(event);  // of another address
  const auto lost = [&] {
    membership.poll();
    return !membership.error_text().empty();
  };
  EXPECT_FALSE(test_support::wait_until(lost, std::chrono::milliseconds(20)));
  member.verbs.move_gid("::ffff:10.0.0.1");
  member.verbs.tell(event);
  EXPECT_TRUE(test_support::wait_until(lost));
  EXPECT_THAT(membership.error_text(), HasSubstr("lost the address 10.0.0.1"));
}

TEST(VerbsDatagramQueuePair, FailsWithItsCompletionQueue) {
  Member member("roce");
  member.verbs.fail_queue();
  EXPECT_TRUE(
      test_support::wait_until([&] { return member.pair->state() == QueuePairState::kError; }));
  EXPECT_NE(member.pair->error_text(), "");
}

}  // namespace
}  // namespace tickpath::rdma
