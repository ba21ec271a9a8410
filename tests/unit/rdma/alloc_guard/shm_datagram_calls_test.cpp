// What sending and taking datagrams asks of the kernel and the heap: nothing while receivers spin,
// one write to wake our monitor when one sleeps.
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "common/base/datapath_guard.hpp"
#include "common/rdma/datagram.hpp"
#include "tests/support/alloc_guard/syscall_guard.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::rdma {
namespace {

constexpr std::uint32_t kSlot = kGrhBytes + 64;
constexpr std::uint64_t kReceives = 64;

// Both guards end the process at any allocation and any other call.
int send_and_take(std::uint64_t datagrams) {
  const test_support::Folder folder;
  const auto device = open_device("shm", "");
  const auto memory = device->allocate((kReceives + 1) * kSlot, kLocalWrite, "guarded");
  const auto channel = device->create_channel();
  const auto queue = device->create_queue(4096, channel.get());
  const auto pair = device->create_datagram_queue_pair(*queue, {.ring_datagrams = 16});
  const auto membership = pair->join(folder / "group", MulticastRole::kBoth);
  wait_for(*membership);
  const auto post = [&](std::uint64_t index) {
    return pair->post_receive({.wr_id = index,
                               .local_address = memory->data() + index * kSlot,
                               .length_bytes = kSlot,
                               .lkey = memory->lkey()}) == PostStatus::kOk;
  };
  for (std::uint64_t i = 0; i < kReceives; ++i) {
    if (!post(i)) return 3;
  }
  test_support::watch_system_calls();
  int status = 0;
  std::thread polling([&] {
    const DatapathScope scope;
    std::array<Completion, 16> completions;
    for (std::uint64_t number = 0; number < datagrams; ++number) {
      DatagramRequest request = datagram_to(*membership->group());
      request.wr_id = kReceives;
      request.local_address = memory->data() + kReceives * kSlot;
      request.length_bytes = 64;
      request.lkey = memory->lkey();
      if (number % 1000 == 0) queue->arm(false);
      // Now and then more than the ring holds: the receiver is overrun.
      const int copies = number % 100 == 0 ? 40 : 1;
      for (int i = 0; i < copies; ++i)
        if (pair->post_send(request) != PostStatus::kOk) status = 4;
      for (std::size_t got = 1; got != 0;) {
        got = queue->poll(completions);
        for (std::size_t i = 0; i < got; ++i)
          if (completions[i].wr_id != kReceives && !post(completions[i].wr_id)) status = 5;
      }
    }
  });
  polling.join();
  const DatagramCounters counters = pair->counters();
  if (counters.received == 0 || counters.overrun == 0 || counters.wakeups == 0) status = 6;
  return test_support::watched_threads() == 1 ? status : 2;
}

TEST(ShmDatagramCalls, SendingAndTakingDatagramsAllocatesNothingAndCallsTheKernelForSleepersAlone) {
  bool watched = true;
  EXPECT_EXIT(
      std::_Exit(send_and_take(20'000)),
      [&watched](int status) {
        watched = !(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        return !watched || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
      },
      "");
  if (!watched) GTEST_SKIP() << "this kernel takes no seccomp filter from us";
}

}  // namespace
}  // namespace tickpath::rdma
