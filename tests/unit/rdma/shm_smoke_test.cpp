// Two devices in one process: the quickest look at every operation. The promises themselves are
// proven between processes in tests/conformance.
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/rdma/ordering.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma {
namespace {

constexpr AccessFlags kAllRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

// Two connected queue pairs, each side with one region granted to the other in full.
struct Pair {
  std::unique_ptr<Device> left_device = open_device("shm", "");
  std::unique_ptr<Device> right_device = open_device("shm", "");
  std::unique_ptr<MemoryRegion> left_memory = left_device->allocate(8192, kAllRights, "left");
  std::unique_ptr<MemoryRegion> right_memory = right_device->allocate(8192, kAllRights, "right");
  std::unique_ptr<CompletionQueue> left_queue = left_device->create_queue(1024, nullptr);
  std::unique_ptr<CompletionQueue> right_queue = right_device->create_queue(1024, nullptr);
  std::unique_ptr<QueuePair> left;
  std::unique_ptr<QueuePair> right;

  Pair() {
    const std::string endpoint = "/tmp/tickpath_smoke." + std::to_string(::getpid());
    auto listener = right_device->listen(endpoint);
    std::thread server([&] {
      std::unique_ptr<ConnectionRequest> request;
      while (request == nullptr) request = listener->next();
      const std::array grants{
          Grant{right_memory.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic}};
      right = request->accept(*right_queue, {}, {}, grants, {});
    });
    ConnectParameters parameters{.endpoint = endpoint};
    const std::array grants{Grant{left_memory.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic}};
    parameters.grants = grants;
    left = left_device->connect(*left_queue, parameters).queue_pair;
    server.join();
  }
};

Completion poll_one(CompletionQueue& queue) {
  Completion completion;
  while (queue.poll({&completion, 1}) == 0) {
  }
  return completion;
}

TEST(ShmSmoke, AWriteLandsInThePeersMemory) {
  Pair pair;
  std::memset(pair.left_memory->data(), 0x5a, 64);
  WorkRequest write{.wr_id = 7, .opcode = Opcode::kWrite, .flags = kSignaled};
  write.local_address = pair.left_memory->data();
  write.length_bytes = 64;
  write.lkey = pair.left_memory->lkey();
  write.rkey = pair.left->remote_regions()[0].rkey;
  write.remote_address = pair.left->remote_regions()[0].address + 128;
  ASSERT_EQ(pair.left->post_send(write), PostStatus::kOk);
  const Completion done = poll_one(*pair.left_queue);
  EXPECT_EQ(done.wr_id, 7u);
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pair.right_memory->data() + 128, pair.left_memory->data(), 64), 0);
  EXPECT_EQ(std::to_integer<int>(pair.right_memory->data()[127]), 0);
  EXPECT_EQ(std::to_integer<int>(pair.right_memory->data()[192]), 0);
}

TEST(ShmSmoke, ASendOfAnySizeArrivesInThePostedReceive) {
  Pair pair;
  for (const std::uint32_t size : {0u, 1u, 47u, 48u, 49u, 64u, 112u, 113u, 4096u}) {
    for (std::uint32_t i = 0; i < size; ++i) pair.left_memory->data()[i] = std::byte(i + size);
    ReceiveRequest receive{.wr_id = size, .local_address = pair.right_memory->data()};
    receive.length_bytes = 4096;
    receive.lkey = pair.right_memory->lkey();
    ASSERT_EQ(pair.right->post_receive(receive), PostStatus::kOk);
    WorkRequest send{.wr_id = 1, .opcode = Opcode::kSendWithImm, .imm_data = 99};
    send.local_address = pair.left_memory->data();
    send.length_bytes = size;
    send.lkey = pair.left_memory->lkey();
    ASSERT_EQ(pair.left->post_send(send), PostStatus::kOk);
    const Completion done = poll_one(*pair.right_queue);
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.wr_id, size);
    EXPECT_EQ(done.byte_length, size);
    EXPECT_EQ(done.imm_data, 99u);
    EXPECT_EQ(std::memcmp(pair.right_memory->data(), pair.left_memory->data(), size), 0);
  }
}

TEST(ShmSmoke, ReadAndAtomicsReachThePeersMemory) {
  Pair pair;
  const RemoteRegion& remote = pair.left->remote_regions()[0];
  const std::uint64_t initial = 40;
  std::memcpy(pair.right_memory->data(), &initial, 8);
  WorkRequest request{.wr_id = 1, .opcode = Opcode::kFetchAdd, .flags = kSignaled};
  request.local_address = pair.left_memory->data();
  request.length_bytes = 8;
  request.lkey = pair.left_memory->lkey();
  request.rkey = remote.rkey;
  request.remote_address = remote.address;
  request.compare_add = 2;
  ASSERT_EQ(pair.left->post_send(request), PostStatus::kOk);
  EXPECT_EQ(poll_one(*pair.left_queue).status, CompletionStatus::kSuccess);
  std::uint64_t value = 0;
  std::memcpy(&value, pair.left_memory->data(), 8);
  EXPECT_EQ(value, 40u);

  request.opcode = Opcode::kCompareSwap;
  request.compare_add = 42;
  request.swap = 7;
  ASSERT_EQ(pair.left->post_send(request), PostStatus::kOk);
  EXPECT_EQ(poll_one(*pair.left_queue).status, CompletionStatus::kSuccess);
  std::memcpy(&value, pair.left_memory->data(), 8);
  EXPECT_EQ(value, 42u);

  request.opcode = Opcode::kRead;
  ASSERT_EQ(pair.left->post_send(request), PostStatus::kOk);
  EXPECT_EQ(poll_one(*pair.left_queue).status, CompletionStatus::kSuccess);
  std::memcpy(&value, pair.left_memory->data(), 8);
  EXPECT_EQ(value, 7u);
}

TEST(ShmSmoke, DestroyingOneSideMovesTheOtherToError) {
  Pair pair;
  ReceiveRequest receive{.wr_id = 5};
  ASSERT_EQ(pair.left->post_receive(receive), PostStatus::kOk);
  pair.right.reset();
  const Completion flushed = poll_one(*pair.left_queue);
  EXPECT_EQ(flushed.wr_id, 5u);
  EXPECT_EQ(flushed.status, CompletionStatus::kFlushed);
  EXPECT_EQ(pair.left->state(), QueuePairState::kError);
  EXPECT_NE(pair.left->error_text().find("disconnected"), std::string::npos);
  EXPECT_EQ(pair.left->post_receive(receive), PostStatus::kNotReady);
}

}  // namespace
}  // namespace tickpath::rdma
