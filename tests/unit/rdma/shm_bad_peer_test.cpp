// Peers that misbehave, during set-up and after: they are dropped and counted, and cost nobody
// else.
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/unit/rdma/raw_peer.hpp"

namespace tickpath::rdma {
namespace {

// A listening device with one region, and what it needs to accept.
struct Server {
  std::unique_ptr<Device> device = open_device("shm", "");
  std::unique_ptr<MemoryRegion> memory = device->allocate(4096, kAll, "server");
  std::unique_ptr<MemoryRegion> sealed = device->allocate(4096, kLocalWrite | kRemoteRead, "ro");
  std::unique_ptr<CompletionQueue> queue = device->create_queue(1024, nullptr);
  std::string endpoint = fresh_endpoint();
  std::unique_ptr<Listener> listener = device->listen(endpoint);
  std::unique_ptr<QueuePair> queue_pair;

  // Accepts the next request in a thread, as a control thread would; join() before looking.
  std::thread accept() {
    return std::thread([this] {
      const auto request = await_request(*listener);
      if (request == nullptr) return;
      const std::array grants{Grant{memory.get(), kRemoteWrite | kRemoteRead},
                              Grant{memory.get(), kRemoteRead}, Grant{sealed.get(), kRemoteRead}};
      std::vector<ReceiveRequest> receives(4);
      for (auto& each : receives) {
        each = {1, memory->data(), 64, memory->lkey()};
      }
      try {
        queue_pair = request->accept(*queue, {}, {}, grants, receives);
      } catch (const SetupError& error) {
        failure = error.what();
      }
    });
  }
  std::string failure;
};

// A whole connection with a peer that we drive by hand.
struct Driven {
  Server server;
  RawPeer peer{server.endpoint};

  Driven() {
    std::thread accepting = server.accept();
    peer.hello();
    peer.take_accept();
    peer.confirm();
    accepting.join();
  }

  Completion poll_one() {
    Completion completion;
    const auto deadline = soon();
    while (server.queue->poll({&completion, 1}) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no completion";
        break;
      }
    }
    return completion;
  }
};

TEST(ShmBadPeer, GarbageIsDroppedAndTheNextPeerIsServed) {
  Server server;
  std::mt19937 random(7);
  for (const std::size_t length : {1u, 31u, 32u, 64u, 4000u}) {
    std::vector<unsigned char> garbage(length);
    for (auto& each : garbage) each = static_cast<unsigned char>(random());
    const RawPeer peer(server.endpoint);
    ASSERT_EQ(::send(peer.socket.get(), garbage.data(), length, 0), static_cast<ssize_t>(length));
    EXPECT_EQ(server.listener->next(), nullptr);
  }
  EXPECT_EQ(server.listener->bad_peers(), 5u);
  RawPeer good(server.endpoint);
  good.hello();
  EXPECT_NE(await_request(*server.listener), nullptr);
}

TEST(ShmBadPeer, ASilentPeerHoldsUpNobodyAndIsDroppedInTime) {
  Server server;
  const RawPeer silent(server.endpoint);
  EXPECT_EQ(server.listener->next(), nullptr);
  RawPeer good(server.endpoint);
  good.hello();
  EXPECT_NE(await_request(*server.listener), nullptr);
  EXPECT_EQ(server.listener->bad_peers(), 0u);
  // The listener's descriptor wakes its owner for the clean-up.
  const auto deadline = soon();
  while (server.listener->bad_peers() == 0 && std::chrono::steady_clock::now() < deadline) {
    pollfd waiting{server.listener->file_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 5000), 1);
    EXPECT_EQ(server.listener->next(), nullptr);
  }
  EXPECT_EQ(server.listener->bad_peers(), 1u);
}

TEST(ShmBadPeer, APeerThatLeavesAtOnceIsCounted) {
  Server server;
  { const RawPeer gone(server.endpoint); }
  EXPECT_EQ(server.listener->next(), nullptr);
  EXPECT_EQ(server.listener->bad_peers(), 1u);
}

TEST(ShmBadPeer, AcceptFailsInTimeWhenThePeerNeverConfirms) {
  Server server;
  RawPeer peer(server.endpoint);
  std::thread accepting = server.accept();
  peer.hello();
  peer.take_accept();
  accepting.join();
  EXPECT_NE(server.failure.find("timed out"), std::string::npos) << server.failure;
  EXPECT_EQ(server.queue_pair, nullptr);
}

TEST(ShmBadPeer, AnotherVersionIsRefusedByName) {
  Server server;
  RawPeer peer(server.endpoint);
  std::thread accepting = server.accept();
  peer.hello();
  peer.take_accept();
  detail::send_setup(peer.socket,
                     detail::SetupHeader{.version = 9, .type = detail::SetupType::kConfirm}, {}, {},
                     {});
  accepting.join();
  EXPECT_NE(server.failure.find("version 9"), std::string::npos) << server.failure;
}

TEST(ShmBadPeer, MemoryThatCouldShrinkUnderUsIsRefused) {
  Server server;
  RawPeer peer(server.endpoint);
  std::thread accepting = server.accept();
  peer.hello();
  peer.take_accept();
  const detail::UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<off_t>(peer.layout.size_bytes())), 0);
  detail::SetupHeader header{.type = detail::SetupType::kConfirm,
                             .wire_slots = peer.layout.slots,
                             .message_bytes_max = peer.layout.message_bytes_max};
  const int fd = unsealed.get();
  detail::send_setup(peer.socket, header, {}, {}, {&fd, 1});
  accepting.join();
  EXPECT_NE(server.failure.find("not sealed"), std::string::npos) << server.failure;
}

// Every field of a good confirmation replaced by random values, from a seed that is printed.
TEST(ShmBadPeer, RandomConfirmationsNeverDoMoreThanFail) {
  const std::uint32_t seed = 20260101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Server server;
  const detail::OwnedMemory wire = detail::create_memory(1 << 20, true, "random");
  int accepted = 0;
  for (int i = 0; i < 200; ++i) {
    RawPeer peer(server.endpoint);
    server.failure.clear();
    std::thread accepting = server.accept();
    peer.hello();
    peer.take_accept();
    detail::SetupHeader header{.type = detail::SetupType::kConfirm,
                               .flags = static_cast<std::uint8_t>(random()),
                               .wire_slots = 1u << (random() % 24),
                               .message_bytes_max = static_cast<std::uint32_t>(random() % 5000)};
    std::vector<RemoteRegion> regions(random() % 4);
    for (std::size_t at = 0; at < regions.size(); ++at) {
      regions[at] = {std::uint64_t{random()} << (random() % 40), random() % (1u << 21),
                     (static_cast<std::uint32_t>(random()) & ~15u) | static_cast<std::uint32_t>(at),
                     static_cast<AccessFlags>(random() % 16)};
    }
    std::vector<int> descriptors(random() % 6, wire.fd.get());
    if (!descriptors.empty() && random() % 4 == 0) descriptors[0] = 0;  // standard input
    try {
      detail::send_setup(peer.socket, header, regions, {}, descriptors);
    } catch (const SetupError&) {
      // accept() may have given up already
    }
    accepting.join();
    accepted += server.queue_pair != nullptr;
    EXPECT_NE(server.queue_pair == nullptr, server.failure.empty());
    server.queue_pair.reset();
  }
  EXPECT_LT(accepted, 200);
}

TEST(ShmBadPeer, GarbageOnAnOpenConnectionEndsIt) {
  Driven driven;
  ASSERT_NE(driven.server.queue_pair, nullptr);
  ASSERT_EQ(::send(driven.peer.socket.get(), "nonsense", 8, 0), 8);
  EXPECT_EQ(driven.poll_one().status, CompletionStatus::kFlushed);
  EXPECT_NE(driven.server.queue_pair->error_text().find("protocol"), std::string::npos);
}

TEST(ShmBadPeer, AMessageOfAnImpossibleLengthFailsTheReceive) {
  Driven driven;
  detail::WireSlot& slot = driven.peer.slots()[0];
  slot.length = ~std::uint32_t{0};
  std::atomic_ref<std::uint64_t>(slot.word).store(detail::wire_word(0, detail::WireKind::kSend),
                                                  std::memory_order_release);
  EXPECT_EQ(driven.poll_one().status, CompletionStatus::kLocalLength);
  EXPECT_EQ(driven.poll_one().status, CompletionStatus::kFlushed);
  EXPECT_EQ(driven.server.queue_pair->state(), QueuePairState::kError);
}

TEST(ShmBadPeer, AMessageOfAnUnknownKindFailsTheReceive) {
  Driven driven;
  detail::WireSlot& slot = driven.peer.slots()[0];
  slot.length = 8;
  std::atomic_ref<std::uint64_t>(slot.word).store(
      detail::wire_word(0, static_cast<detail::WireKind>(77)), std::memory_order_release);
  EXPECT_EQ(driven.poll_one().status, CompletionStatus::kGeneral);
  EXPECT_NE(driven.server.queue_pair->error_text().find("protocol"), std::string::npos);
}

TEST(ShmBadPeer, MessagesWithoutAReceiveStayUnread) {
  Driven driven;
  for (std::uint64_t i = 0; i < 10; ++i) {  // four receives are posted
    detail::WireSlot& slot = driven.peer.slots()[i];
    slot.length = 0;
    std::atomic_ref<std::uint64_t>(slot.word).store(detail::wire_word(i, detail::WireKind::kSend),
                                                    std::memory_order_release);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(driven.poll_one().status, CompletionStatus::kSuccess);
  }
  Completion completion;
  EXPECT_EQ(driven.server.queue->poll({&completion, 1}), 0u);
}

TEST(ShmBadPeer, CreditsThatCannotBeFailTheSend) {
  Driven driven;
  driven.peer.own_credits()->posted = std::uint64_t{1} << 40;
  ASSERT_EQ(driven.server.queue_pair->post_send(
                WorkRequest{.wr_id = 6, .opcode = Opcode::kSend, .flags = 0}),
            PostStatus::kOk);
  const Completion failed = driven.poll_one();
  EXPECT_EQ(failed.wr_id, 6u);
  EXPECT_EQ(failed.status, CompletionStatus::kGeneral);
}

TEST(ShmBadPeer, ReadOnlyGrantsCannotBeMappedWritable) {
  Driven driven;
  const auto& accepted = driven.peer.accepted;
  ASSERT_EQ(accepted.descriptors.size(), 4u);  // wire, full, narrowed, sealed
  const auto map = [&](std::size_t index, int protection) {
    void* data =
        ::mmap(nullptr, 4096, protection, MAP_SHARED, accepted.descriptors[index].get(), 0);
    if (data != MAP_FAILED) ::munmap(data, 4096);
    return data != MAP_FAILED;
  };
  EXPECT_TRUE(map(1, PROT_READ | PROT_WRITE));
  EXPECT_TRUE(map(2, PROT_READ));
  EXPECT_FALSE(map(2, PROT_READ | PROT_WRITE));
  EXPECT_TRUE(map(3, PROT_READ));
  EXPECT_FALSE(map(3, PROT_READ | PROT_WRITE));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(::ftruncate(accepted.descriptors[i].get(), 0), 0) << i;
  }
  // Nor made writable later, not even through a mapping that was readable.
  void* data = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, accepted.descriptors[3].get(), 0);
  ASSERT_NE(data, MAP_FAILED);
  EXPECT_NE(::mprotect(data, 4096, PROT_READ | PROT_WRITE), 0);
  ::munmap(data, 4096);
  const char byte = 1;
  EXPECT_LT(::write(accepted.descriptors[3].get(), &byte, 1), 0);
  EXPECT_LT(::write(accepted.descriptors[2].get(), &byte, 1), 0);
}

TEST(ShmBadPeer, KeysDifferBetweenConnections) {
  Driven first;
  RawPeer second(first.server.endpoint);
  std::thread accepting = first.server.accept();
  second.hello();
  second.take_accept();
  second.confirm();
  accepting.join();
  EXPECT_NE(first.peer.accepted.regions[0].rkey, second.accepted.regions[0].rkey);
  EXPECT_EQ(first.peer.accepted.regions[0].address, second.accepted.regions[0].address);
}

}  // namespace
}  // namespace tickpath::rdma
