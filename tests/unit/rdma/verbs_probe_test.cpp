// What verbs asks of a device when it is opened, on scripted hosts (fake_verbs.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rdma/datagram.hpp"
#include "common/rdma/verbs/core.hpp"
#include "common/rdma/verbs/memory.hpp"
#include "common/rdma/verbs/probe.hpp"
#include "common/rdma/verbs/sends.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma::detail {
namespace {

using test_support::fake_host;
using test_support::FakeVerbs;
using ::testing::Contains;
using ::testing::HasSubstr;

DeviceOptions bare_verbs() {
  DeviceOptions options{.provider = "verbs"};
  options.security.mode = net::SecurityMode::kNone;
  return options;
}

TEST(VerbsProbe, ADeviceThatGivesWindowsAndBindsNoneGoesWithout) {
  const FakeVerbs verbs(fake_host("vf"));
  const auto device = open_device(bare_verbs());
  EXPECT_FALSE(device->info().binds_keys);
  EXPECT_THAT(device->notes(), Contains(HasSubstr("no memory windows of type 2")));
}

TEST(VerbsProbe, ADeviceThatBindsWindowsHasThem) {
  for (const char* const host : {"roce", "infiniband"}) {
    const FakeVerbs verbs(fake_host(host));
    EXPECT_TRUE(open_device(bare_verbs())->info().binds_keys) << host;
  }
}

// The double reckons as libmlx5 does: 320 bytes a request with 64 inline, of 2 MiB.
TEST(VerbsProbe, TheDepthThatADeviceNamesIsOneThatItGives) {
  const FakeVerbs verbs(fake_host("roce"));
  const VerbsCore core(bare_verbs());
  EXPECT_GT(core.info().queue_depth_max, 6000u);
  EXPECT_LE(core.info().queue_depth_max, 6553u);
  EXPECT_EQ(core.info().receive_depth_max, 32'768u);
  ibv_cq* const queue = ::ibv_create_cq(core.context(), 16, nullptr, nullptr, 0);
  ibv_qp_cap cap{core.info().queue_depth_max, 1, 1, 1, 64};
  EXPECT_NE(create_queue_pair(core, queue, IBV_QPT_RC, cap, "queue pair"), nullptr);
  EXPECT_GE(cap.max_inline_data, 64u);
  ::ibv_destroy_cq(queue);
}

// Such a region has a key of its own, as on a device without windows.
TEST(VerbsProbe, ARegionOfMoreThanTwoGibGoesWithoutAWindow) {
  EXPECT_TRUE(fits_window(std::size_t{1} << 31));
  EXPECT_FALSE(fits_window((std::size_t{1} << 31) + 1));
}

// Sixteen queue pairs whose sends are more than the queue was made for.
TEST(VerbsCompletionQueue, HasRoomForItsQueuePairsWhereADeviceResizesNone) {
  for (const bool resizes : {true, false}) {
    test_support::FakeHost host = fake_host("roce");
    host.devices[0].resizes_queues = resizes;
    const FakeVerbs verbs(host);
    const auto device = open_device(bare_verbs());
    const auto queue = device->create_queue(64, nullptr);
    std::vector<std::unique_ptr<DatagramQueuePair>> pairs;
    for (int i = 0; i < 16; ++i)
      pairs.push_back(device->create_datagram_queue_pair(*queue, {.send_depth = 1024}));
    EXPECT_EQ(pairs.size(), 16u) << resizes;
  }
}

TEST(VerbsProbe, AnAdaptersLibraryMustKeepItsLocks) {
  const FakeVerbs verbs(fake_host("roce"));
  ::setenv("MLX5_SINGLE_THREADED", "1", 1);
  const auto error = test_support::thrown<SetupError>([] { (void)open_device(bare_verbs()); });
  ::unsetenv("MLX5_SINGLE_THREADED");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("MLX5_SINGLE_THREADED=1 is in the environment"));
  EXPECT_NE(open_device(bare_verbs()), nullptr);
}

}  // namespace
}  // namespace tickpath::rdma::detail
