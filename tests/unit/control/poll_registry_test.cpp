#include "common/control/poll_registry.hpp"

#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/control/waiter.hpp"

namespace tickpath::control {
namespace {

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
  const pid_t child = ::fork();
  if (child == 0) {
    PollRegistry theirs(path_);
    theirs.announce({0});
    (void)!::write(ready[1], "x", 1);
    ::pause();
    std::_Exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(mine.everyone_has_a_core());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(mine.everyone_has_a_core());
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace tickpath::control
