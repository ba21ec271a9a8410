// What a parking datapath thread asks the kernel for while peers come and go.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "common/base/datapath_guard.hpp"
#include "common/rdma/shm/connection.hpp"
#include "tests/support/alloc_guard/syscall_guard.hpp"

namespace tickpath::rdma::detail {
namespace {

// The guard ends the process at any other call.
int acknowledge_while_peers_leave() {
  constexpr int kPeers = 5000;
  test_support::watch_system_calls();
  const auto wake = std::make_shared<Wake>();
  std::atomic<bool> stop{false};
  std::thread poller([&] {
    const DatapathScope scope;
    while (!stop.load(std::memory_order_relaxed)) {
      wake->acknowledge();
      for (int i = 0; i < 200; ++i) cpu_relax();
    }
  });
  for (int i = 0; i < kPeers; ++i) {
    UniqueFd theirs;
    const WakeEnd end(wake, theirs);
    wake_by(theirs);
  }
  stop = true;
  poller.join();
  return test_support::watched_threads() == 1 ? 0 : 2;
}

TEST(ShmWakeCalls, AThreadThatAcknowledgesNeverWaitsForAPeerThatLeavesNorWakesIt) {
  bool watched = true;
  EXPECT_EXIT(
      std::_Exit(acknowledge_while_peers_leave()),
      [&watched](int status) {
        watched = !(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        return !watched || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
      },
      "");
  if (!watched) GTEST_SKIP() << "this kernel takes no seccomp filter from us";
}

}  // namespace
}  // namespace tickpath::rdma::detail
