// Relaxed ordering of PCIe asked for: what is registered with it works, on a device that may or may
// not know it, and memory with remote rights stays as it was, which is said.
#include <chrono>
#include <cstring>
#include <future>

#include <gmock/gmock.h>

#include "common/rdma/rdma.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::rdma {
namespace {

std::unique_ptr<Device> open_relaxed() {
  DeviceOptions options{.provider = "verbs"};
  options.verbs.relaxed_ordering = true;
  return open_device(options);
}

TEST(RelaxedOrdering, IsAskedForInMemoryWithoutRemoteRightsOnlyAndReadsArriveThere) {
  std::unique_ptr<Device> device;
  try {
    device = open_relaxed();
  } catch (const SetupError& error) {
    if (error.cause() != SetupCause::kNoDevice) throw;
    GTEST_SKIP() << error.what();
  }
  EXPECT_THAT(device->info().attributes,
              ::testing::HasSubstr("relaxed ordering asked for in memory without remote rights"));
  const auto local = device->allocate(4096, kLocalWrite, "answers");
  EXPECT_THAT(device->notes(),
              ::testing::Not(::testing::Contains(::testing::HasSubstr("fabric.relaxed_ordering"))));
  const auto remote = device->allocate(4096, kLocalWrite | kRemoteRead, "table");
  EXPECT_THAT(device->notes(),
              ::testing::Contains(::testing::HasSubstr("is left out where peers")));
  std::memset(remote->data(), 0x5a, 4096);

  const auto owner_queue = device->create_queue(16, nullptr);
  const auto reader_queue = device->create_queue(16, nullptr);
  const auto listener = device->listen(test_support::verbs_address() + ":0");
  auto accepted = std::async(std::launch::async, [&] {
    const Grant grant{remote.get(), kRemoteRead};
    std::unique_ptr<ConnectionRequest> request;
    while (request == nullptr) request = listener->next();
    return request->accept(*owner_queue, {}, {}, {&grant, 1}, {});
  });
  const auto reader =
      device
          ->connect(*reader_queue,
                    ConnectParameters{.endpoint = listener->endpoint(), .timeout_ms = 20'000})
          .queue_pair;
  const auto owner = accepted.get();
  const RemoteRegion from = reader->remote_regions()[0];
  const WorkRequest request{.opcode = Opcode::kRead,
                            .flags = kSignaled,
                            .local_address = local->data(),
                            .length_bytes = 4096,
                            .lkey = local->lkey(),
                            .rkey = from.rkey,
                            .remote_address = from.address};
  ASSERT_EQ(reader->post_send(request), PostStatus::kOk);
  Completion done;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (reader_queue->poll({&done, 1}) == 0) ASSERT_LT(std::chrono::steady_clock::now(), end);
  ASSERT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(local->data(), remote->data(), 4096), 0);
}

}  // namespace
}  // namespace tickpath::rdma
