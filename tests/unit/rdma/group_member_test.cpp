// A multicast group that the network took away and does not give back, on a scripted host
// (fake_verbs.hpp).
#include "common/link/detail/group_member.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/rdma.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::link {
namespace {

using std::chrono::milliseconds;
using test_support::wait_until;

// Each try is a request to the network, so there is one a second.
TEST(GroupMember, TriesARefusedJoinAgainAfterAPauseAndSaysWhyMeanwhile) {
  test_support::FakeVerbs verbs(test_support::fake_host("roce"));
  rdma::DeviceOptions options{.provider = "verbs"};
  options.security.mode = net::SecurityMode::kNone;
  const auto device = rdma::open_device(options);
  const auto queue = device->create_queue(64, nullptr);
  const auto pair = device->create_datagram_queue_pair(*queue, {});
  GroupMember member(*pair, "239.255.1.1", rdma::MulticastRole::kBoth);
  member.wait();
  ASSERT_EQ(verbs.joins(), 1u);
  verbs.refuse_joins(true);
  verbs.tell(RDMA_CM_EVENT_MULTICAST_ERROR, -ENETRESET);
  const auto joins = [&](std::size_t count) {
    return [&, count] {
      member.keep();
      return verbs.joins() >= count;
    };
  };
  ASSERT_TRUE(wait_until(joins(2))) << "at once";
  EXPECT_FALSE(wait_until(joins(3), milliseconds(300))) << "a pause";
  EXPECT_NE(member.error_text(), "");
  ASSERT_TRUE(wait_until(joins(3)));
  verbs.refuse_joins(false);
  EXPECT_FALSE(wait_until(joins(4), milliseconds(300)));
  ASSERT_TRUE(wait_until([&] {
    member.keep();
    return member.error_text().empty();
  }));
  EXPECT_EQ(verbs.joins(), 4u);
  EXPECT_NE(member.group(), nullptr);
}

}  // namespace
}  // namespace tickpath::link
