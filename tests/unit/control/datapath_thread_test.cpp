#include "common/control/datapath_thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <linux/mempolicy.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/datapath_guard.hpp"
#include "common/base/error.hpp"
#include "tests/support/parking.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::control {
namespace {

CommonConfig config(WaitMode wait) { return {.wait = wait}; }

// Counts its turns and remembers what it was called in.
class Counting : public Datapath {
 public:
  void on_thread_start() noexcept override { started = datapath_state(); }
  bool turn() noexcept override {
    state = datapath_state();
    ++turns;
    return false;
  }
  void on_thread_end() noexcept override { ended = datapath_state(); }

  void wait_for_turns(int count) const {
    while (turns < count) std::this_thread::yield();
  }

  std::atomic<int> turns{0};
  std::atomic<DatapathState> started{DatapathState::kSession};
  std::atomic<DatapathState> state{DatapathState::kOutside};
  std::atomic<DatapathState> ended{DatapathState::kSession};
};

TEST(DatapathThread, IsAtItsFirstTurnWhenStartReturns) {
  Counting datapath;
  DatapathThread thread(config(WaitMode::kYield), "test");
  thread.start(datapath);
  EXPECT_NE(thread.thread_id(), 0);
  EXPECT_EQ(datapath.started, DatapathState::kOutside);
  EXPECT_TRUE(thread.stop());
}

// The kernel's policy for the calling thread, and the first 64 of its nodes.
std::pair<int, unsigned long> memory_policy() {
  int policy = -1;
  unsigned long nodes[16] = {};
  if (::syscall(SYS_get_mempolicy, &policy, nodes, 1024UL, nullptr, 0UL) != 0) policy = -1;
  return {policy, nodes[0]};
}

// A thread of its own: the policy stays with whoever asked for it.
TEST(DatapathThread, PrefersMemoryOfTheNodeOfItsCore) {
  const int cpu = allowed_cpus().front();
  const int node = numa_node_of(cpu);
  if (node < 0 || memory_policy().first < 0) GTEST_SKIP() << "this kernel says nothing of nodes";
  std::thread([&] {
    const DatapathThread anywhere(config(WaitMode::kPark), "test");
    EXPECT_EQ(memory_policy().first, MPOL_DEFAULT);
    const DatapathThread pinned({.cpu = cpu, .wait = WaitMode::kPark}, "test");
    EXPECT_EQ(memory_policy(), std::pair(int{MPOL_PREFERRED}, 1UL << node));
    std::pair<int, unsigned long> inherited;
    std::thread([&] { inherited = memory_policy(); }).join();
    EXPECT_EQ(inherited, memory_policy()) << "threads that it starts";
  }).join();
}

TEST(Cpu, PreferMemoryOfANodeThatIsNotThereIsRefused) {
  EXPECT_FALSE(prefer_memory_of(-1));
  EXPECT_FALSE(prefer_memory_of(1023));
  EXPECT_EQ(numa_node_of(1 << 20), -1);
}

TEST(DatapathThread, TurnsUnderAScopeAndStartsAndEndsOutsideIt) {
  for (const WaitMode mode : {WaitMode::kSpin, WaitMode::kYield, WaitMode::kPark}) {
    Counting datapath;
    DatapathThread thread(config(mode), "test");
    thread.start(datapath);
    datapath.wait_for_turns(3);
    EXPECT_TRUE(thread.stop());
    EXPECT_EQ(datapath.started, DatapathState::kOutside);
    EXPECT_EQ(datapath.state, DatapathState::kPolling);
    EXPECT_EQ(datapath.ended, DatapathState::kOutside);
    // Before it sleeps, a thread that parks looks once more.
    const auto turns = static_cast<std::uint64_t>(datapath.turns);
    EXPECT_LE(thread.turns().get(), turns);
    if (mode != WaitMode::kPark) {
      EXPECT_EQ(thread.turns().get(), turns);
    }
    EXPECT_EQ(thread.mode(), mode);
  }
}

TEST(DatapathThread, ThatIsToRunOnACpuItMayNotUseIsRefusedWithTheAllowedOnes) {
  CommonConfig common = config(WaitMode::kYield);
  common.cpu = 4000;
  EXPECT_THAT(test_support::error_of<Error>([&] { const DatapathThread thread(common, "test"); }),
              testing::HasSubstr("datapath.cpu = 4000"));
}

TEST(DatapathThread, RunsWhereItIsPinned) {
  struct Where : Counting {
    bool turn() noexcept override {
      cpu = ::sched_getcpu();
      return Counting::turn();
    }
    std::atomic<int> cpu{-1};
  } datapath;
  CommonConfig common = config(WaitMode::kYield);
  common.cpu = allowed_cpus().back();
  DatapathThread thread(common, "test");
  thread.start(datapath);
  datapath.wait_for_turns(3);
  EXPECT_TRUE(thread.stop());
  EXPECT_EQ(datapath.cpu, common.cpu);
  EXPECT_EQ(thread.cores(), "cpu " + std::to_string(common.cpu));
}

TEST(DatapathThread, ThatMayChooseItsCpuIsBoundToOneOrSaysThatNoneIsFree) {
  CommonConfig common = config(WaitMode::kYield);
  common.cpu = kCpuAuto;
  std::vector<std::unique_ptr<DatapathThread>> threads;
  std::vector<std::string> bound;
  // One more than there are cores: whatever else polls on this host, the last one finds none.
  for (std::size_t i = 0; i <= allowed_cpus().size(); ++i) {
    threads.push_back(std::make_unique<DatapathThread>(common, "auto"));
    const std::string cores = threads.back()->cores();
    if (cores.find("unpinned") == std::string::npos) bound.push_back(cores);
  }
  EXPECT_THAT(threads.back()->cores(), testing::HasSubstr("unpinned"));
  std::sort(bound.begin(), bound.end());
  EXPECT_EQ(std::adjacent_find(bound.begin(), bound.end()), bound.end()) << "one core twice";
}

TEST(DatapathThread, AutoYieldsOnceMoreThreadsPollThanThereAreCores) {
  CommonConfig common = config(WaitMode::kAuto);
  common.cpu = allowed_cpus().front();  // pinned: two of them always compete
  DatapathThread first(common, "first");
  DatapathThread second(common, "second");
  first.reconsider();
  EXPECT_EQ(first.mode(), WaitMode::kYield);
  EXPECT_EQ(second.mode(), WaitMode::kYield);
}

// Sleeps on an eventfd; work is what the test announces.
class Parking : public Datapath {
 public:
  Parking() : event_(::eventfd(0, EFD_NONBLOCK)), descriptors_{event_} {}
  ~Parking() override { ::close(event_); }
  bool turn() noexcept override {
    ++turns;
    if (work.exchange(0) == 0) return false;
    ++done;
    return true;
  }
  void arm() noexcept override { ++armed; }
  std::span<const int> wake_descriptors() const noexcept override { return descriptors_; }
  void woken() noexcept override {
    std::uint64_t count = 0;
    (void)!::read(event_, &count, sizeof(count));
  }
  void give_work() {
    work = 1;
    const std::uint64_t one = 1;
    (void)!::write(event_, &one, sizeof(one));
  }
  std::atomic<int> turns{0}, armed{0}, done{0}, work{0};

 private:
  int event_;
  std::array<int, 1> descriptors_;
};

TEST(Park, SleepsUntilADescriptorWakesIt) {
  CommonConfig common = config(WaitMode::kPark);
  common.park_timeout_ns = 1'000'000'000;
  Parking datapath;
  DatapathThread thread(common, "park");
  thread.start(datapath);
  while (datapath.armed < 1) std::this_thread::yield();
  const auto before = std::chrono::steady_clock::now();
  datapath.give_work();
  while (datapath.done < 1) std::this_thread::yield();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(500));
  EXPECT_LT(datapath.turns, 20) << "it slept, it did not poll";
  datapath.give_work();  // so that it sees the stop without waiting for the time-out
  EXPECT_TRUE(thread.stop());
}

// As a completion queue of verbs: arm() asks for one event, at the next arrival; what came before
// it wakes nobody.
class OneEventEach final : public Datapath {
 public:
  OneEventEach() : event_(::eventfd(0, EFD_NONBLOCK)), descriptors_{event_} {}
  ~OneEventEach() override { ::close(event_); }
  bool turn() noexcept override {
    if (taken == arrived) return false;
    taken = arrived;
    return true;
  }
  void arm() noexcept override { armed_ = true; }
  std::span<const int> wake_descriptors() const noexcept override { return descriptors_; }
  void woken() noexcept override {
    std::uint64_t count = 0;
    (void)!::read(event_, &count, sizeof(count));
  }
  void arrive() {
    ++arrived;
    const std::uint64_t one = 1;
    if (std::exchange(armed_, false)) (void)!::write(event_, &one, sizeof(one));
  }
  int arrived = 0;
  int taken = 0;

 private:
  int event_;
  std::array<int, 1> descriptors_;
  bool armed_ = false;
};

TEST(Park, SleepsBesideNoArrivalAtWhicheverStepItComes) {
  OneEventEach datapath;
  test_support::expect_no_arrival_is_slept_through(
      datapath, [&] { datapath.arrive(); }, [&] { return datapath.taken == datapath.arrived; });
  EXPECT_EQ(datapath.arrived, 3);
}

TEST(DatapathThread, TurnsSeveralAndGoesOnWithTheOthersWhenOneLeaves) {
  for (const WaitMode mode : {WaitMode::kSpin, WaitMode::kYield, WaitMode::kPark}) {
    Counting first;
    Counting second;
    Counting third;
    DatapathThread thread(config(mode), "test");
    thread.start(first);
    first.wait_for_turns(1);
    thread.start(second);
    thread.start(third);
    second.wait_for_turns(2);
    third.wait_for_turns(2);
    first.wait_for_turns(first.turns + 2);
    EXPECT_EQ(second.started, DatapathState::kOutside);
    EXPECT_EQ(second.state, DatapathState::kPolling);
    ASSERT_TRUE(thread.leave(second));
    EXPECT_EQ(second.ended, DatapathState::kOutside);
    EXPECT_EQ(third.ended, DatapathState::kSession) << "it has not left";
    const int turns = second.turns;
    first.wait_for_turns(first.turns + 3);
    third.wait_for_turns(third.turns + 3);
    EXPECT_EQ(second.turns, turns) << "whoever has left is not turned";
    ASSERT_TRUE(thread.leave(first));
    third.wait_for_turns(third.turns + 2);
    EXPECT_TRUE(thread.leave(second)) << "it is out already";
    EXPECT_TRUE(thread.stop());
    EXPECT_EQ(third.ended, DatapathState::kOutside);
  }
}

TEST(DatapathThread, OneThatDoesNotComeOutOfATurnKeepsNobodyWaitingForEver) {
  struct Stuck : Counting {
    bool turn() noexcept override {
      stuck = true;
      while (!over) std::this_thread::yield();
      return Counting::turn();
    }
    std::atomic<bool> stuck{false};
    std::atomic<bool> over{false};
  } stuck;
  Counting other;
  DatapathThread thread(config(WaitMode::kYield), "test");
  thread.start(other);
  thread.start(stuck);
  ASSERT_TRUE(test_support::wait_until([&] { return stuck.stuck.load(); }));
  EXPECT_FALSE(thread.leave(other));
  stuck.over = true;
  EXPECT_TRUE(thread.stop());
}

TEST(DatapathGroup, SleepsUntilADescriptorOfAnyWakesIt) {
  CommonConfig common = config(WaitMode::kPark);
  common.park_timeout_ns = 1'000'000'000;
  Parking first;
  Parking second;
  DatapathThread thread(common, "park");
  thread.start(first);
  first.give_work();  // so that it takes in the other one without waiting for the time-out
  thread.start(second);
  for (Parking* each : {&second, &first, &second}) {
    const int armed = each->armed;
    const int done = each->done;
    while (each->armed == armed) {
      first.give_work();
      second.give_work();
      std::this_thread::yield();
    }
    const auto before = std::chrono::steady_clock::now();
    each->give_work();
    while (each->done == done) std::this_thread::yield();
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(500));
  }
  first.give_work();
  EXPECT_TRUE(thread.stop());
}

TEST(DatapathGroup, SleepsBesideNoArrivalOfAnyAtWhicheverStepItComes) {
  OneEventEach first;
  OneEventEach second;
  DatapathGroup group;
  group.add(first);
  group.add(second);
  for (OneEventEach* each : {&first, &second}) {
    test_support::expect_no_arrival_is_slept_through(
        group, [&] { each->arrive(); }, [&] { return each->taken == each->arrived; });
    EXPECT_EQ(each->arrived, 3);
  }
}

TEST(DatapathGroup, DoesNotSleepWhereOneMayNotOrThereAreMoreDescriptorsThanASleepWatches) {
  struct Many : Counting {
    bool may_sleep() noexcept override { return may; }
    std::span<const int> wake_descriptors() const noexcept override {
      return {descriptors.data(), count};
    }
    std::array<int, kWakeDescriptorsMax> descriptors{};
    std::size_t count = kWakeDescriptorsMax / 2;
    bool may = true;
  };
  Many first;
  Many second;
  first.descriptors.fill(7);
  second.descriptors.fill(8);
  DatapathGroup group;
  group.add(first);
  group.add(second);
  EXPECT_TRUE(group.may_sleep());
  ASSERT_EQ(group.wake_descriptors().size(), std::size_t{kWakeDescriptorsMax});
  EXPECT_EQ(group.wake_descriptors().front(), 7);
  EXPECT_EQ(group.wake_descriptors().back(), 8);
  second.count += 1;
  EXPECT_FALSE(group.may_sleep());
  group.remove(first);
  EXPECT_TRUE(group.may_sleep());
  EXPECT_EQ(group.wake_descriptors().size(), second.count);
  group.add(first);
  second.count = 1;
  first.may = false;
  EXPECT_FALSE(group.may_sleep());
}

TEST(Park, DoesNotSleepWhereTheDatapathMayNot) {
  struct Restless : Counting {
    bool may_sleep() noexcept override { return false; }
  } datapath;
  EXPECT_EQ(park(datapath, 1'000'000'000'000, [](ParkStep) noexcept {}), Parked::kNotAtAll);
}

TEST(Park, LooksAroundAfterItsTimeOut) {
  CommonConfig common = config(WaitMode::kPark);
  common.park_timeout_ns = 1'000'000;
  Counting datapath;
  DatapathThread thread(common, "park");
  thread.start(datapath);
  datapath.wait_for_turns(5);
  EXPECT_TRUE(thread.stop());
}

}  // namespace
}  // namespace tickpath::control
