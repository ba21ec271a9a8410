#include "common/control/poll_registry.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/control/waiter.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::control {
namespace {

using test_support::as_other_user;

PollRegistry::Cpus on(std::initializer_list<std::size_t> cpus) {
  PollRegistry::Cpus set;
  for (const std::size_t cpu : cpus) set[cpu] = true;
  return set;
}

TEST(EachHasACore, HoldsWhileThereAreAsManyCoresAsThreads) {
  EXPECT_TRUE(each_has_a_core({}));
  EXPECT_TRUE(each_has_a_core({on({0, 1}), on({0, 1})}));
  EXPECT_FALSE(each_has_a_core({on({0, 1}), on({0, 1}), on({0, 1})}));
}

TEST(EachHasACore, MindsWhereThreadsArePinned) {
  EXPECT_FALSE(each_has_a_core({on({0}), on({0})}));
  EXPECT_TRUE(each_has_a_core({on({0, 1, 2}), on({0}), on({1})}));
  EXPECT_FALSE(each_has_a_core({on({2, 3}), on({0}), on({0, 1}), on({0, 1})}));
}

TEST(EachHasACore, FailsForAThreadThatMayRunNowhere) {
  EXPECT_FALSE(each_has_a_core({PollRegistry::Cpus{}}));
}

// Four cores of two threads: 0 and 4, 1 and 5, ...
std::vector<int> pairs(int cpu) { return {cpu % 4, cpu % 4 + 4}; }
const std::vector<int> kEight{0, 1, 2, 3, 4, 5, 6, 7};

TEST(PickCpu, TakesAWholeCoreThatNobodyIsBoundTo) {
  EXPECT_EQ(pick_cpu(kEight, {}, pairs), 1) << "the first core is the kernel's";
  EXPECT_EQ(pick_cpu(kEight, {on({1})}, pairs), 2);
  EXPECT_EQ(pick_cpu(kEight, {on({5})}, pairs), 2) << "1 is the other half of 5";
  EXPECT_EQ(pick_cpu({6, 7}, {}, pairs), 6);
}

TEST(PickCpu, SpreadsAsManyThreadsAsThereAreCoresOverAllOfThem) {
  std::vector<PollRegistry::Cpus> pollers;
  std::vector<int> chosen;
  for (int thread = 0; thread < 8; ++thread) {
    chosen.push_back(pick_cpu(kEight, pollers, pairs));
    pollers.push_back(on({static_cast<std::size_t>(chosen.back())}));
  }
  EXPECT_EQ(chosen, (std::vector<int>{1, 2, 3, 0, 5, 6, 7, 4}));
  EXPECT_EQ(pick_cpu(kEight, pollers, pairs), -1);
}

TEST(PickCpu, DoesNotMindThreadsThatMayMoveAway) {
  EXPECT_EQ(pick_cpu({2, 3}, {on({2, 3}), on({0, 1, 2, 3})}, pairs), 2);
  EXPECT_EQ(pick_cpu({}, {}, pairs), -1);
}

class NoWork : public Datapath {
 public:
  bool turn() noexcept override { return false; }
};

class Registry : public ::testing::Test {
 protected:
  Registry() {
    char name[] = "/tmp/tickpath-pollers-XXXXXX";
    ::close(::mkstemp(name));
    path_ = name;
  }
  ~Registry() override { ::unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(Registry, AnotherUserCanNeitherOpenNorTruncateIt) {
  SKIP_UNLESS_ROOT();
  ::unlink(path_.c_str());
  PollRegistry registry(path_);
  registry.announce({0});
  EXPECT_EQ(as_other_user([&] {
              if (::open(path_.c_str(), O_RDONLY) >= 0 || ::open(path_.c_str(), O_RDWR) >= 0)
                return 1;
              return ::truncate(path_.c_str(), 0) == 0 ? 2 : 0;
            }),
            0);
  EXPECT_EQ(registry.pollers().size(), 1u);
}

std::string refusal_of(const std::string& path) {
  return test_support::error_of<Error>([&] { PollRegistry registry(path); });
}

TEST_F(Registry, WhatOthersMayChangeIsNotMapped) {
  ASSERT_EQ(::chmod(path_.c_str(), 0622), 0);
  EXPECT_THAT(refusal_of(path_), ::testing::HasSubstr(path_ + " is open to other users"));
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  const std::string second = path_ + ".link";
  ASSERT_EQ(::link(path_.c_str(), second.c_str()), 0);
  EXPECT_THAT(refusal_of(path_), ::testing::HasSubstr("has another name"));
  ::unlink(second.c_str());
  ASSERT_EQ(::symlink(path_.c_str(), second.c_str()), 0);
  EXPECT_THAT(refusal_of(second), ::testing::HasSubstr("cannot open"));
  ::unlink(second.c_str());
  ASSERT_EQ(::mkfifo(second.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(second), ::testing::HasSubstr("is no plain file"));
  ::unlink(second.c_str());
}

TEST_F(Registry, AnotherUsersFileIsRefused) {
  SKIP_UNLESS_ROOT();
  ASSERT_EQ(::chown(path_.c_str(), test_support::kOtherUser, test_support::kOtherUser), 0);
  EXPECT_THAT(refusal_of(path_), ::testing::HasSubstr("belongs to user 65534"));
}

// Scenario: one was stopped while it chose. Others choose all the same, after a second.
TEST_F(Registry, AProgramThatWasStoppedWhileItChoseHoldsNobodyUp) {
  const int stopped = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  struct flock everything {};
  everything.l_type = F_WRLCK;
  everything.l_start = 256 * 192;  // behind the slots
  ASSERT_EQ(::fcntl(stopped, F_OFD_SETLK, &everything), 0);
  PollRegistry registry(path_);
  EXPECT_EQ(registry.announce_on_free_core({0}), 0);
  ::close(stopped);
}

TEST_F(Registry, CountsEveryRegistrationAlsoWithinOneProcess) {
  PollRegistry first(path_);
  first.announce({0, 1});
  EXPECT_TRUE(first.everyone_has_a_core());
  PollRegistry second(path_);
  second.announce({0, 1});
  EXPECT_EQ(first.pollers().size(), 2u);
  EXPECT_TRUE(first.everyone_has_a_core());
  auto third = std::make_unique<PollRegistry>(path_);
  third->announce({0, 1});
  EXPECT_FALSE(first.everyone_has_a_core());
  EXPECT_FALSE(third->everyone_has_a_core());
  third.reset();
  EXPECT_TRUE(first.everyone_has_a_core());
}

TEST_F(Registry, ASpinningThreadYieldsAsSoonAsAnotherIsAnnounced) {
  NoWork datapath;
  PollRegistry first(path_);
  first.announce({0});
  Waiter waiter(WaitMode::kYield, 1'000'000);
  waiter.watch(first.arrivals());
  waiter.reconsidered(first.arrivals().load(), WaitMode::kSpin);
  waiter.wait(datapath);
  EXPECT_EQ(waiter.mode(), WaitMode::kSpin);
  PollRegistry second(path_);
  second.announce({0});
  waiter.wait(datapath);
  EXPECT_EQ(waiter.mode(), WaitMode::kYield);
  waiter.reconsidered(first.arrivals().load(), WaitMode::kSpin);
  waiter.wait(datapath);
  EXPECT_EQ(waiter.mode(), WaitMode::kSpin);
}

TEST_F(Registry, GivesEveryThreadThatAsksForOneACoreOfItsOwn) {
  PollRegistry first(path_);
  PollRegistry second(path_);
  auto third = std::make_unique<PollRegistry>(path_);
  const int a = first.announce_on_free_core({0, 1});
  const int b = second.announce_on_free_core({0, 1});
  EXPECT_EQ(a + b, 1);
  EXPECT_EQ(third->announce_on_free_core({0, 1}), -1);
  EXPECT_EQ(first.pollers().size(), 3u) << "the third polls all the same";
  EXPECT_FALSE(first.everyone_has_a_core());
  third.reset();
  EXPECT_TRUE(first.everyone_has_a_core());
}

// Scenario: programs of one pipeline start together. Each is a process that asks, tells what it
// got, and keeps it until all have asked.
TEST_F(Registry, GivesProcessesThatAskAtTheSameTimeDifferentCores) {
  constexpr int kProcesses = 8;
  int answers[2];
  int hold[2];
  ASSERT_EQ(::pipe(answers), 0);
  ASSERT_EQ(::pipe(hold), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kProcesses; ++cpu) cpus.push_back(cpu + 16);  // no siblings known there
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    ::close(hold[1]);
    PollRegistry own(path_);
    const int cpu = own.announce_on_free_core(cpus);
    (void)!::write(answers[1], &cpu, sizeof(cpu));
    char byte = 0;
    (void)!::read(hold[0], &byte, 1);  // until the parent closes it
    std::_Exit(0);
  }
  std::set<int> given;
  for (int i = 0; i < kProcesses; ++i) {
    int cpu = -2;
    ASSERT_EQ(::read(answers[0], &cpu, sizeof(cpu)), static_cast<ssize_t>(sizeof(cpu)));
    EXPECT_TRUE(given.insert(cpu).second) << "cpu " << cpu << " twice";
  }
  EXPECT_FALSE(given.contains(-1));
  for (const int end : {answers[0], answers[1], hold[0], hold[1]}) ::close(end);
  for (int i = 0; i < kProcesses; ++i) ::wait(nullptr);
}

TEST_F(Registry, OneThatOnlyLooksDoesNotCount) {
  PollRegistry poller(path_);
  poller.announce({3});
  const PollRegistry observer(path_);
  ASSERT_EQ(observer.pollers().size(), 1u);
  EXPECT_TRUE(observer.pollers()[0][3]);
  EXPECT_FALSE(observer.everyone_has_a_core());
}

TEST_F(Registry, AProcessThatWasKilledDoesNotCount) {
  PollRegistry mine(path_);
  mine.announce({0});
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  test_support::Child child([&] {
    PollRegistry theirs(path_);
    theirs.announce({0});
    (void)!::write(ready[1], "x", 1);
    return ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(mine.everyone_has_a_core());
  child.kill();
  EXPECT_TRUE(mine.everyone_has_a_core());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(PollRegistry, AFullFileSystemIsAnErrorAndNotASignal) {
  const auto finished = test_support::on_a_small_disk(8, [](const std::string& folder) {
    std::ofstream(folder + "/filler") << std::string(8 << 10, 'x');
    const std::string error = test_support::error_of<Error>([&] {
      PollRegistry registry(folder + "/pollers");
      registry.announce({0});
    });
    std::puts(error.c_str());
  });
  if (IsSkipped()) return;
  EXPECT_EQ(finished.signal, 0);
  EXPECT_THAT(finished.output, ::testing::HasSubstr("registry of polling threads"));
  EXPECT_THAT(finished.output, ::testing::HasSubstr("No space left"));
}

}  // namespace
}  // namespace tickpath::control
