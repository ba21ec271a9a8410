// Races between a polling thread and the control thread, made for ThreadSanitizer.
#include <array>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/rdma/raw_peer.hpp"

namespace tickpath::rdma {
namespace {

struct Side {
  std::unique_ptr<Device> device = open_device("shm", "");
  std::unique_ptr<MemoryRegion> memory = device->allocate(1 << 16, kAll, "side");
  std::unique_ptr<CompletionChannel> channel = device->create_channel();
  std::unique_ptr<CompletionQueue> queue = device->create_queue(4096, channel.get());

  std::vector<ReceiveRequest> receives(std::uint32_t count) const {
    std::vector<ReceiveRequest> requests;
    for (std::uint32_t i = 0; i < count; ++i) {
      requests.push_back({i, memory->data() + i * 64, 64, memory->lkey()});
    }
    return requests;
  }
};

std::unique_ptr<QueuePair> accept_one(Side& side, Listener& listener, std::uint32_t receives) {
  const auto request = await_request(listener);
  if (request == nullptr) return nullptr;
  return request->accept(*side.queue, QueuePairOptions{.receive_depth = 64}, {}, {},
                         side.receives(receives));
}

std::unique_ptr<QueuePair> connect_one(Side& side, const std::string& endpoint,
                                       std::uint32_t receives) {
  ConnectParameters parameters{.endpoint = endpoint};
  parameters.options.receive_depth = 64;
  const auto initial = side.receives(receives);
  parameters.initial_receives = initial;
  return side.device->connect(*side.queue, parameters).queue_pair;
}

// Scenario: one thread polls a completion queue without pause while the control thread binds new
// queue pairs to it and destroys them again, with messages and posted receives in them.
TEST(ShmThreads, QueuePairsComeAndGoWhileAnotherThreadPolls) {
  Side server, client;
  const std::string endpoint = fresh_endpoint();
  const auto listener = server.device->listen(endpoint);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> received{0};
  std::thread polling([&] {
    std::array<Completion, 8> completions;
    while (!stop.load()) {
      const std::size_t count = server.queue->poll(completions);
      for (std::size_t i = 0; i < count; ++i) {
        received += completions[i].status == CompletionStatus::kSuccess;
      }
    }
  });
  std::uint64_t sent = 0;
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<QueuePair> accepted;
    std::thread accepting([&] { accepted = accept_one(server, *listener, 8); });
    const auto connected = connect_one(client, endpoint, 0);
    accepting.join();
    ASSERT_NE(accepted, nullptr);
    const std::uint64_t before = received.load();
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(connected->post_send(WorkRequest{.opcode = Opcode::kSend, .flags = kInline}),
                PostStatus::kOk);
      ++sent;
    }
    // Every other round they are destroyed with messages still in flight.
    const auto deadline = soon();
    while (round % 2 == 0 && received.load() < before + 4) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }
  stop = true;
  polling.join();
  EXPECT_LE(received.load(), sent);
  EXPECT_GE(received.load(), sent / 2);
}

// Scenario: two polling threads exchange messages; a third cuts the connection in the middle.
TEST(ShmThreads, AnotherThreadMayDisconnectWhileBothSidesAreBusy) {
  for (int round = 0; round < 20; ++round) {
    Side server, client;
    const std::string endpoint = fresh_endpoint();
    const auto listener = server.device->listen(endpoint);
    std::unique_ptr<QueuePair> accepted;
    std::thread accepting([&] { accepted = accept_one(server, *listener, 32); });
    const auto connected = connect_one(client, endpoint, 32);
    accepting.join();
    ASSERT_NE(accepted, nullptr);
    std::atomic<std::uint64_t> exchanged{0};
    const auto busy = [&exchanged](Side& side, QueuePair& queue_pair) {
      std::array<Completion, 8> completions;
      std::size_t flushed = 0;
      while (flushed < 32) {
        WorkRequest send{.wr_id = 1000, .opcode = Opcode::kSend, .flags = kSignaled};
        send.local_address = side.memory->data() + 4096;
        send.length_bytes = 64;
        send.lkey = side.memory->lkey();
        std::ignore = queue_pair.post_send(send);
        const std::size_t count = side.queue->poll(completions);
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t wr_id = completions[i].wr_id;
          if (wr_id == 1000) continue;
          if (completions[i].status == CompletionStatus::kFlushed) {
            ++flushed;
            continue;
          }
          ++exchanged;
          if (queue_pair.post_receive({wr_id, side.memory->data() + wr_id * 64, 64,
                                       side.memory->lkey()}) != PostStatus::kOk) {
            ++flushed;  // already in error: this one will not be flushed
          }
        }
      }
    };
    std::thread left([&] { busy(client, *connected); });
    std::thread right([&] { busy(server, *accepted); });
    const auto deadline = soon();
    while (exchanged.load() < 100 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    (round % 2 == 0 ? connected : accepted)->disconnect();
    left.join();
    right.join();
    EXPECT_GE(exchanged.load(), 100u);
    EXPECT_FALSE(connected->error_text().empty());
    EXPECT_FALSE(accepted->error_text().empty());
  }
}

// Scenario: a thread allocates and frees regions while another posts with the key of a live one.
TEST(ShmThreads, RegionsComeAndGoWhileAnotherThreadPosts) {
  Side server, client;
  const std::string endpoint = fresh_endpoint();
  const auto listener = server.device->listen(endpoint);
  std::unique_ptr<QueuePair> accepted;
  std::thread accepting([&] { accepted = accept_one(server, *listener, 0); });
  const auto connected = connect_one(client, endpoint, 0);
  accepting.join();
  std::atomic<bool> done{false};
  std::thread control([&] {
    for (int i = 0; i < 300; ++i) {
      const auto first = client.device->allocate(4096, kLocalWrite, "one");
      const auto second = client.device->allocate(4096, kAll, "two");
    }
    done = true;
  });
  std::array<Completion, 8> completions;
  // The receiver posts with its key, the sender sends with its own: both are looked up each time.
  std::uint64_t count = 0;
  for (; !done.load(); ++count) {
    WorkRequest send{.opcode = Opcode::kSend, .flags = kSignaled};
    send.local_address = client.memory->data();
    send.length_bytes = 64;
    send.lkey = client.memory->lkey();
    ASSERT_EQ(accepted->post_receive({1, server.memory->data(), 64, server.memory->lkey()}),
              PostStatus::kOk);
    ASSERT_EQ(connected->post_send(send), PostStatus::kOk);
    ASSERT_EQ(server.queue->poll(completions), 1u);
    ASSERT_EQ(client.queue->poll(completions), 1u);
    ASSERT_EQ(completions[0].status, CompletionStatus::kSuccess);
  }
  control.join();
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace tickpath::rdma
