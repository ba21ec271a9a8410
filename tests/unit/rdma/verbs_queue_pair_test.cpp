// Queue pairs of the verbs provider on scripted hosts (fake_verbs.hpp), without a peer.
#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "common/rdma/datagram.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/core.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"
#include "common/rdma/verbs/memory.hpp"
#include "common/rdma/verbs/queue_pair.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/patience.hpp"

namespace {

bool sparse = false;  // pages are not populated: a region of gigabytes costs nothing

}  // namespace

// The linker leads the calls of mmap() here (tests/unit/CMakeLists.txt).
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
void* __real_mmap(void* address, std::size_t bytes, int protection, int flags, int fd, off_t at);
void* __wrap_mmap(void* address, std::size_t bytes, int protection, int flags, int fd, off_t at) {
  if (sparse) flags &= ~MAP_POPULATE;
  return __real_mmap(address, bytes, protection, flags, fd, at);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace tickpath::rdma::detail {
namespace {

using test_support::fake_host;
using test_support::FakeVerbs;

DeviceOptions without_keys() {
  DeviceOptions options{.provider = "verbs"};
  options.security.mode = net::SecurityMode::kNone;
  return options;
}

// An adapter, and a queue that completes for one queue pair.
struct Adapter {
  FakeVerbs verbs{fake_host("roce")};
  std::shared_ptr<VerbsCore> core = std::make_shared<VerbsCore>(without_keys());
  VerbsCompletionQueue queue{core, 64, nullptr};
  VerbsRegion memory{core, 4096, kLocalWrite | kRemoteRead, "memory"};

  std::vector<Completion> polled() {
    std::vector<Completion> all;
    std::array<Completion, 16> some;
    // Bounded: what completes without end is a failure, too.
    for (std::size_t count = 1; count != 0 && all.size() < 64;) {
      count = queue.poll(some);
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
  }
  ReceiveRequest receive(std::uint64_t wr_id) const {
    return {
        .wr_id = wr_id, .local_address = memory.data(), .length_bytes = 512, .lkey = memory.lkey()};
  }
};

// A connected one.
struct Connected : Adapter {
  Connected() {
    pair =
        std::make_unique<VerbsQueuePair>(core, queue, QueuePairOptions{}, std::span<const Grant>(),
                                         std::span<const ReceiveRequest>());
    connection = std::make_shared<VerbsConnection>(*core, nullptr, "10.0.0.2");
    connection->start();
    pair->initialise(&id, connection, {});
  }
  void send(std::uint64_t wr_id, std::uint8_t flags) {
    ASSERT_EQ(pair->post_send(WorkRequest{.wr_id = wr_id, .flags = flags}), PostStatus::kOk);
  }

  rdma_cm_id id{};
  std::shared_ptr<VerbsConnection> connection;
  std::unique_ptr<VerbsQueuePair> pair;
};

struct Datagrams : Adapter {
  Datagrams() {
    pair = std::make_unique<VerbsDatagramQueuePair>(core, queue, DatagramOptions{});
    handle = pair->create_address_handle(pair->address());
  }
  void send(std::uint64_t wr_id, std::uint8_t flags) {
    ASSERT_EQ(
        pair->post_send(DatagramRequest{
            .wr_id = wr_id, .opcode = Opcode::kSend, .flags = flags, .destination = handle.get()}),
        PostStatus::kOk);
  }

  std::unique_ptr<VerbsDatagramQueuePair> pair;
  std::unique_ptr<AddressHandle> handle;
};

template <class Side>
class FailedDevice : public testing::Test {
 protected:
  Side side_;
};
using Sides = testing::Types<Connected, Datagrams>;
TYPED_TEST_SUITE(FailedDevice, Sides);

// Such a device may complete late what was flushed in its place.
TYPED_TEST(FailedDevice, CompletesNothingASecondTime) {
  auto& side = this->side_;
  side.verbs.keep_completions();
  side.send(1, kSignaled);
  side.send(2, 0);
  side.send(3, kSignaled);
  for (const std::uint64_t wr_id : {4u, 5u})
    ASSERT_EQ(side.pair->post_receive(side.receive(wr_id)), PostStatus::kOk);
  side.verbs.fail_queue();
  ASSERT_TRUE(
      test_support::wait_until([&] { return side.pair->state() == QueuePairState::kError; }));
  std::vector<std::uint64_t> ids;
  EXPECT_TRUE(test_support::wait_until([&] {
    for (const Completion& each : side.polled()) {
      EXPECT_EQ(each.status, CompletionStatus::kFlushed);
      ids.push_back(each.wr_id);
    }
    return ids.size() >= 5;
  }));
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3, 4, 5));
  const std::uint64_t sent = side.pair->counters().sent;
  side.verbs.flush_kept();
  EXPECT_THAT(side.polled(), testing::IsEmpty());
  EXPECT_EQ(side.pair->counters().sent, sent);
}

// Windows have 2 GiB at most: such a region has a key of its own, as on a device without windows.
TEST(LargeRegions, AreGrantedByRegistrationBesideOthersThatGetAWindow) {
  constexpr std::size_t kLarge = (std::size_t{2} << 30) + 4096;
  Adapter adapter;
  sparse = true;
  VerbsRegion large(adapter.core, kLarge, kLocalWrite | kRemoteRead, "large");
  sparse = false;
  const std::array<Grant, 2> grants{Grant{&large, kRemoteRead}, {&adapter.memory, kRemoteRead}};
  VerbsQueuePair pair(adapter.core, adapter.queue, {}, grants, {});
  const auto connection = std::make_shared<VerbsConnection>(*adapter.core, nullptr, "10.0.0.2");
  connection->start();
  rdma_cm_id id{};
  pair.initialise(&id, connection, {});
  pair.bind_grants(SetupDeadline(std::chrono::seconds(5)));
  ASSERT_EQ(pair.granted().size(), 2u);
  EXPECT_EQ(pair.granted()[0].window, nullptr);
  EXPECT_NE(pair.granted()[1].window, nullptr);
  const std::vector<RemoteRegion> regions = pair.regions_for_peer();
  EXPECT_EQ(regions[0].length_bytes, kLarge);
  EXPECT_NE(regions[0].rkey, 0u);
  EXPECT_EQ(regions[1].length_bytes, 4096u);
}

}  // namespace
}  // namespace tickpath::rdma::detail
