#include "tests/support/alloc_guard/syscall_guard.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/datapath_guard.hpp"

namespace tickpath::test_support {
namespace {

// A filter cannot be taken back: each test works in a process of its own, which EXPECT_EXIT makes.
class SystemCallGuard : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_EXIT(
        {
          watch_system_calls();
          { const DatapathScope scope; }
          std::_Exit(watched_threads() == 1 ? 0 : 1);
        },
        [this](int status) {
          available_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
          return true;
        },
        "");
    if (!available_) GTEST_SKIP() << "this kernel takes no seccomp filter from us";
  }
  bool available_ = false;
};

TEST_F(SystemCallGuard, EndsTheProgramAtACallOfAPollingThreadAndNamesBoth) {
  EXPECT_DEATH(
      {
        watch_system_calls();
        std::thread([] {
          ::pthread_setname_np(::pthread_self(), "poller");
          const DatapathScope scope;
          (void)::syscall(SYS_getpid);
        }).join();
      },
      "call 39 \\(getpid\\).* thread poller");
}

TEST_F(SystemCallGuard, EndsTheProgramAtAReadOfAFile) {
  EXPECT_DEATH(
      {
        watch_system_calls();
        const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        char byte = 0;
        const DatapathScope scope;
        (void)!::read(file, &byte, 1);
      },
      "call 0 \\(read\\)");
}

TEST_F(SystemCallGuard, EndsTheProgramAtALockThatHasToWait) {
  EXPECT_DEATH(
      {
        watch_system_calls();
        std::timed_mutex mutex;
        mutex.lock();
        std::thread([&mutex] {
          const DatapathScope scope;
          (void)mutex.try_lock_for(std::chrono::milliseconds(1));
        }).join();
      },
      "\\(futex\\)");
}

// Each call does its work, also those that the handler carries out.
TEST_F(SystemCallGuard, LetsSocketsAndTheWaitModesPass) {
  const auto poll_once = [] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    const int event = ::eventfd(0, EFD_CLOEXEC);
    const std::uint64_t one = 1;
    std::uint64_t got = 0;
    char byte = 'x';
    const DatapathScope scope;
    if (::send(ends[0], "a", 1, 0) != 1 || ::recv(ends[1], &byte, 1, 0) != 1 || byte != 'a')
      return 2;
    if (::write(ends[1], "b", 1) != 1 || ::read(ends[0], &byte, 1) != 1 || byte != 'b') return 3;
    if (::write(event, &one, sizeof(one)) != sizeof(one)) return 4;
    pollfd waiting{event, POLLIN, 0};
    const timespec soon{5, 0};
    if (::ppoll(&waiting, 1, &soon, nullptr) != 1) return 5;
    if (::read(event, &got, sizeof(got)) != sizeof(got) || got != 1) return 6;
    if (::sched_yield() != 0) return 7;
    // A failure arrives as one.
    if (::send(-1, "a", 1, 0) != -1 || errno != EBADF) return 8;
    return 0;
  };
  EXPECT_EXIT(
      {
        watch_system_calls();
        std::_Exit(poll_once());
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(SystemCallGuard, LeavesSessionsAndWhatComesAfterPollingAlone) {
  const auto live = [] {
    int result = 1;
    std::thread([&result] {
      {
        const DatapathScope scope;
        const SessionScope session;
        const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        char byte = 0;
        if (file < 0 || ::read(file, &byte, 1) != 1 || ::close(file) != 0) return;
      }
      if (::open("/no/such/file", O_RDONLY) != -1 || errno != ENOENT) return;
      result = 0;
    }).join();
    return watched_threads() == 1 ? result : 2;
  };
  EXPECT_EXIT(
      {
        watch_system_calls();
        std::_Exit(live());
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tickpath::test_support
