// What datagrams on shm promise beyond the conformance suite: rings, rights, folders, and threads.
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/rdma/datagram.hpp"
#include "common/rdma/shm/datagram_setup.hpp"
#include "tests/support/child.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::rdma::datagram_tests {
namespace {

constexpr std::uint32_t kReceiveBytes = kGrhBytes + 64;

struct Side {
  explicit Side(Device& device, const DatagramOptions& options = {}, bool parks = false)
      : memory(device.allocate(std::size_t{kReceiveBytes} * 257, kLocalWrite, "side")),
        channel(parks ? device.create_channel() : nullptr),
        queue(device.create_queue(4096, channel.get())),
        pair(device.create_datagram_queue_pair(*queue, options)) {}

  void post(std::uint64_t index) {
    EXPECT_EQ(pair->post_receive({.wr_id = index,
                                  .local_address = memory->data() + index * kReceiveBytes,
                                  .length_bytes = kReceiveBytes,
                                  .lkey = memory->lkey()}),
              PostStatus::kOk);
  }
  void post_all(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) post(i);
  }
  PostStatus send(const AddressHandle& to, std::uint64_t number, std::uint8_t flags = kInline) {
    DatagramRequest request = datagram_to(to);
    request.flags = flags;
    request.local_address = &number;
    request.length_bytes = sizeof(number);
    return pair->post_send(request);
  }
  // The number of the next datagram, its receive posted again; 0 if there is none now.
  std::uint64_t take() {
    Completion completion;
    if (queue->poll({&completion, 1}) == 0) return 0;
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
    std::uint64_t number = 0;
    std::memcpy(&number, memory->data() + completion.wr_id * kReceiveBytes + kGrhBytes,
                sizeof(number));
    post(completion.wr_id);
    return number;
  }
  std::uint64_t await() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      if (const std::uint64_t number = take(); number != 0) return number;
      std::this_thread::yield();
    }
    return 0;
  }

  std::unique_ptr<MemoryRegion> memory;
  std::unique_ptr<CompletionChannel> channel;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<DatagramQueuePair> pair;
};

std::unique_ptr<MulticastMembership> join(Side& side, const std::string& group,
                                          MulticastRole role) {
  auto membership = side.pair->join(group, role);
  wait_for(*membership);
  return membership;
}

SetupCause cause_of(const std::function<void()>& call, std::string* text = nullptr) {
  try {
    call();
  } catch (const SetupError& error) {
    if (text != nullptr) *text = error.what();
    return error.cause();
  }
  ADD_FAILURE() << "nothing was thrown";
  return SetupCause::kSystem;
}

class ShmDatagram : public testing::Test {
 protected:
  std::unique_ptr<Device> device = open_device("shm", "");
  test_support::Folder folder;
  std::string group = folder / "group";
};

TEST_F(ShmDatagram, AReceiverThatIsOverrunCountsWhatItLost) {
  Side sender(*device), receiver(*device);
  receiver.post_all(256);
  const DatagramOptions few{.ring_datagrams = 16};
  Side narrow(*device, few);
  const auto sends = join(narrow, group, MulticastRole::kSender);
  const auto receives = join(receiver, group, MulticastRole::kReceiver);
  ASSERT_EQ(receives->senders(), 1u);
  for (std::uint64_t number = 1; number <= 100; ++number)
    ASSERT_EQ(narrow.send(*sends->group(), number), PostStatus::kOk);
  std::uint64_t got = 0, last = 0;
  while (last != 100) {
    last = receiver.await();
    ASSERT_NE(last, 0u);
    ++got;
  }
  const DatagramCounters counters = receiver.pair->counters();
  EXPECT_EQ(counters.received, got);
  EXPECT_EQ(counters.received + counters.overrun, 100u);
  EXPECT_GT(counters.overrun, 80u);
  EXPECT_EQ(narrow.pair->counters().sent, 100u);
}

TEST_F(ShmDatagram, WhatIsDroppedIsCountedByItsReason) {
  Side sender(*device), receiver(*device);
  const auto handle = sender.pair->create_address_handle(receiver.pair->address());
  const auto settle = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (std::chrono::steady_clock::now() < until) EXPECT_EQ(receiver.take(), 0u);
  };
  ASSERT_EQ(sender.send(*handle, 1), PostStatus::kOk);
  settle();
  EXPECT_EQ(receiver.pair->counters().without_receive, 1u);
  DatagramRequest request = datagram_to(*handle);
  request.flags = 0;
  request.lkey = sender.memory->lkey();
  request.local_address = sender.memory->data();
  request.length_bytes = 65;
  receiver.post_all(1);
  ASSERT_EQ(sender.pair->post_send(request), PostStatus::kOk);
  settle();
  EXPECT_EQ(receiver.pair->counters().too_long, 1u);
  request.length_bytes = 8;
  request.remote_q_key = 1;
  ASSERT_EQ(sender.pair->post_send(request), PostStatus::kOk);
  settle();
  EXPECT_EQ(receiver.pair->counters().wrong_q_key, 1u);
  // The receive that met them all is still there.
  ASSERT_EQ(sender.send(*handle, 9), PostStatus::kOk);
  EXPECT_EQ(receiver.await(), 9u);
  EXPECT_EQ(receiver.pair->counters().received, 1u);
}

TEST_F(ShmDatagram, ASendQueueIsFullUntilASignalledSendIsPolled) {
  Side sender(*device, {.send_depth = 4});
  const auto handle = sender.pair->create_address_handle({.qp_number = 77});  // nobody
  for (int i = 0; i < 3; ++i) ASSERT_EQ(sender.send(*handle, 1), PostStatus::kOk);
  ASSERT_EQ(sender.send(*handle, 1, kInline | kSignaled), PostStatus::kOk);
  EXPECT_EQ(sender.send(*handle, 1), PostStatus::kQueueFull);
  EXPECT_EQ(sender.pair->counters().refused, 1u);
  Completion completion;
  ASSERT_EQ(sender.queue->poll({&completion, 1}), 1u);
  EXPECT_EQ(completion.opcode, Opcode::kSend);
  EXPECT_EQ(sender.send(*handle, 1), PostStatus::kOk);
}

TEST_F(ShmDatagram, ASendersRingCannotBeMappedWritableByItsReceivers) {
  Side sender(*device);
  const auto sends = join(sender, group, MulticastRole::kSender);
  const detail::GroupFolder seen(group);
  ASSERT_EQ(seen.senders().size(), 1u);
  const detail::UniqueFd socket = seen.connect(seen.senders()[0]);
  ASSERT_TRUE(socket.valid());
  detail::DatagramSetup attend;
  attend.type = detail::DatagramSetupType::kAttend;
  detail::send_datagram_setup(socket, attend, {});
  pollfd waiting{socket.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 5000), 1);
  const auto offer = detail::receive_datagram_setup(socket);
  ASSERT_TRUE(offer.has_value());
  ASSERT_EQ(offer->descriptors.size(), 2u);
  const int ring = offer->descriptors[0].get();
  void* const read = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, ring, 0);
  EXPECT_NE(read, MAP_FAILED);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0), MAP_FAILED);
  EXPECT_NE(::mprotect(read, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::ftruncate(ring, 0), 0);
  ::munmap(read, 4096);
}

TEST_F(ShmDatagram, WhatASenderIsToldInBadFaithEndsThatReceiverOnly) {
  Side sender(*device), receiver(*device);
  receiver.post_all(8);
  const auto sends = join(sender, group, MulticastRole::kSender);
  const auto receives = join(receiver, group, MulticastRole::kReceiver);
  const detail::GroupFolder seen(group);
  const detail::UniqueFd socket = seen.connect(seen.senders()[0]);
  const detail::DatagramSetup wrong;  // an offer, from a receiver
  detail::send_datagram_setup(socket, wrong, {});
  pollfd waiting{socket.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 5000), 1);
  EXPECT_THROW((void)detail::receive_datagram_setup(socket), SetupError) << "it hung up";
  ASSERT_EQ(sender.send(*sends->group(), 5), PostStatus::kOk);
  EXPECT_EQ(receiver.await(), 5u);
}

TEST_F(ShmDatagram, AGroupIsAFolderOfThisUsersAlone) {
  std::string text;
  Side side(*device);
  const auto join_at = [&](const std::string& path) {
    return [&side, path] { (void)side.pair->join(path, MulticastRole::kBoth); };
  };
  ::mkdir(group.c_str(), 0700);
  ::chmod(group.c_str(), 0777);
  EXPECT_EQ(cause_of(join_at(group), &text), SetupCause::kPermission);
  EXPECT_NE(text.find(group), std::string::npos) << text;
  EXPECT_EQ(cause_of(join_at(""), &text), SetupCause::kAddress);
  EXPECT_EQ(cause_of(join_at(folder / "no/such/parent"), &text), SetupCause::kAddress);
  test_support::write_file(folder / "file", "x");
  EXPECT_EQ(cause_of(join_at(folder / "file"), &text), SetupCause::kAddress);
  EXPECT_NE(text.find("folder"), std::string::npos) << text;
}

TEST_F(ShmDatagram, AGroupsPathMayBeLongerThanASocketsName) {
  Side sender(*device), receiver(*device);
  receiver.post_all(4);
  std::string path = folder.path();
  while (path.size() < 300) {
    path += "/a_part_of_a_path_that_is_quite_long";
    ::mkdir(path.c_str(), 0700);
  }
  const auto sends = join(sender, path, MulticastRole::kSender);
  const auto receives = join(receiver, path, MulticastRole::kReceiver);
  ASSERT_EQ(sender.send(*sends->group(), 3), PostStatus::kOk);
  EXPECT_EQ(receiver.await(), 3u);
}

TEST_F(ShmDatagram, AGroupWhoseFolderWasRemovedSaysSo) {
  Side receiver(*device);
  const auto receives = join(receiver, group, MulticastRole::kReceiver);
  EXPECT_EQ(receives->error_text(), "");
  std::filesystem::remove_all(group);
  EXPECT_NE(receives->error_text().find(group), std::string::npos);
}

TEST(ShmDatagramFolder, WhatAKilledSenderLeftBehindIsClearedByTheNext) {
  const test_support::Folder folder;
  const std::string group = folder / "group";
  {
    // Before this process has other threads.
    test_support::Child killed([&] {
      const auto own = open_device("shm", "");
      Side sender(*own);
      const auto sends = join(sender, group, MulticastRole::kSender);
      test_support::write_file(folder / "ready", "1");
      for (;;) ::pause();
      return 0;
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!std::filesystem::exists(folder / "ready")) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  const auto device = open_device("shm", "");
  const detail::GroupFolder seen(group);
  ASSERT_EQ(seen.senders().size(), 1u) << "killed, it could not clean up";
  const std::string dead = seen.senders()[0];
  Side sender(*device), receiver(*device);
  receiver.post_all(4);
  const auto receives = join(receiver, group, MulticastRole::kReceiver);
  EXPECT_EQ(receives->senders(), 0u);
  {
    const auto sends = join(sender, group, MulticastRole::kSender);
    ASSERT_EQ(seen.senders().size(), 1u);
    EXPECT_NE(seen.senders()[0], dead);
    ASSERT_EQ(sender.send(*sends->group(), 3), PostStatus::kOk);
    EXPECT_EQ(receiver.await(), 3u);
  }
  EXPECT_TRUE(seen.senders().empty()) << "who leaves in order takes its name along";
}

TEST_F(ShmDatagram, OneSystemCallWakesHoweverManySleepAndNoneIsMadeForThoseWhoSpin) {
  Side sender(*device);
  const auto sends = join(sender, group, MulticastRole::kSender);
  std::vector<std::unique_ptr<Side>> sleepers;
  std::vector<std::unique_ptr<MulticastMembership>> memberships;
  for (int i = 0; i < 5; ++i) {
    sleepers.push_back(std::make_unique<Side>(*device, DatagramOptions{}, true));
    sleepers.back()->post_all(8);
    memberships.push_back(join(*sleepers.back(), group, MulticastRole::kReceiver));
  }
  for (std::uint64_t number = 1; number <= 3; ++number) {
    ASSERT_EQ(sender.send(*sends->group(), number), PostStatus::kOk);
    for (const auto& each : sleepers) EXPECT_EQ(each->await(), number);
  }
  EXPECT_EQ(sender.pair->counters().wakeups, 0u);
  for (const auto& each : sleepers) {
    each->channel->acknowledge();
    each->queue->arm(false);
    ASSERT_EQ(each->take(), 0u);
  }
  ASSERT_EQ(sender.send(*sends->group(), 4), PostStatus::kOk);
  EXPECT_EQ(sender.pair->counters().wakeups, 1u);
  for (const auto& each : sleepers) {
    pollfd waiting{each->channel->file_descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
    each->channel->acknowledge();
    EXPECT_EQ(each->await(), 4u);
  }
  // Nobody armed again.
  ASSERT_EQ(sender.send(*sends->group(), 5), PostStatus::kOk);
  EXPECT_EQ(sender.pair->counters().wakeups, 1u);
}

TEST_F(ShmDatagram, ASleeperForSolicitedDatagramsSleepsThroughOthers) {
  Side sender(*device);
  const auto sends = join(sender, group, MulticastRole::kSender);
  Side sleeper(*device, {}, true);
  sleeper.post_all(8);
  const auto receives = join(sleeper, group, MulticastRole::kReceiver);
  sleeper.channel->acknowledge();
  sleeper.queue->arm(true);
  ASSERT_EQ(sleeper.take(), 0u);
  ASSERT_EQ(sender.send(*sends->group(), 1), PostStatus::kOk);
  pollfd waiting{sleeper.channel->file_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 30), 0);
  ASSERT_EQ(sender.send(*sends->group(), 2, kInline | kSolicited), PostStatus::kOk);
  EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
}

// Scenario: senders and receivers join and leave while others send and poll, each in a thread of
// its own, one of them parked. Nothing is torn, and nobody waits for anybody.
TEST_F(ShmDatagram, MembersComeAndGoWhileOthersSendAndPoll) {
  constexpr int kRounds = TICKPATH_SANITIZED ? 10 : 40;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> received{0};
  const auto send_on = [&] {
    const auto own = open_device("shm", "");
    Side sender(*own, {.ring_datagrams = 64});
    const auto sends = join(sender, group, MulticastRole::kSender);
    for (std::uint64_t number = 1; !stop; ++number) {
      if (sender.send(*sends->group(), number, kInline | kSignaled) == PostStatus::kQueueFull) {
        std::array<Completion, 64> completions;
        (void)sender.queue->poll(completions);
      }
      if (number % 16 == 0) std::this_thread::yield();
    }
  };
  const auto receive_on = [&](bool parks) {
    const auto own = open_device("shm", "");
    Side receiver(*own, {}, parks);
    receiver.post_all(64);
    const auto receives = join(receiver, group, MulticastRole::kReceiver);
    while (!stop) {
      if (receiver.take() != 0) {
        ++received;
        continue;
      }
      if (!parks) continue;
      receiver.queue->arm(false);
      if (receiver.take() != 0) continue;
      pollfd waiting{receiver.channel->file_descriptor(), POLLIN, 0};
      ::poll(&waiting, 1, 10);
      receiver.channel->acknowledge();
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(send_on);
  threads.emplace_back(receive_on, false);
  threads.emplace_back(receive_on, true);
  // Here: one that is polled by another thread than it joins and leaves on.
  Side mine(*device, {.ring_datagrams = 64});
  mine.post_all(64);
  threads.emplace_back([&] {
    while (!stop) {
      if (mine.take() != 0) ++received;
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    const auto receives = join(mine, group, MulticastRole::kReceiver);
    const auto other = mine.pair->create_address_handle(mine.pair->address());
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
  }
  stop = true;
  for (std::thread& each : threads) each.join();
  EXPECT_GT(received, 0u);
}

}  // namespace
}  // namespace tickpath::rdma::datagram_tests
