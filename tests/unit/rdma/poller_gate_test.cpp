#include "common/rdma/provider/poller_gate.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::detail {
namespace {

// What the gate guards: each change takes a read and a store of every word, so two at a time lose
// one or see them differ. ThreadSanitizer sees them, too.
struct Guarded {
  std::uint64_t words[4] = {};
  std::uint64_t torn = 0;

  void change() noexcept {
    const std::uint64_t before = words[0];
    for (std::uint64_t& word : words) {
      torn += word != before ? 1 : 0;
      *static_cast<volatile std::uint64_t*>(&word) = before + 1;
    }
  }
};

const auto kNothingLate = [] {};

// Soon favoured, and often; and what a step of another thread's needs.
struct Steps {
  static constexpr unsigned kPatience = 3;
  std::function<void()>* at_refusal = nullptr;
  std::function<void()>* at_finding = nullptr;

  void refused() { run(at_refusal); }
  void found_inside() { run(at_finding); }

 private:
  // Once.
  static void run(std::function<void()>*& step) {
    if (step == nullptr) return;
    std::function<void()>& once = *step;
    step = nullptr;
    once();
  }
};
using Gate = BasicPollerGate<Steps>;

template <class AnyGate>
void be_favoured(AnyGate& gate, unsigned times = Steps::kPatience) {
  for (unsigned i = 0; i < times; ++i) {
    EXPECT_FALSE(gate.favoured());
    ASSERT_TRUE(gate.try_enter());
    gate.leave(kNothingLate);
  }
  ASSERT_TRUE(gate.favoured()) << "the kernel has no membarrier(2)";
}

TEST(PollerGate, LetsOneInAtATime) {
  PollerGate gate;
  ASSERT_TRUE(gate.try_enter());
  EXPECT_FALSE(gate.try_enter_beside());
  gate.leave(kNothingLate);
  ASSERT_TRUE(gate.try_enter_beside());
  EXPECT_FALSE(gate.try_enter());
  EXPECT_FALSE(gate.try_enter_beside());
  gate.leave_beside(kNothingLate);
  be_favoured(gate, NoSteps::kPatience - 1);
  ASSERT_TRUE(gate.try_enter());
  EXPECT_FALSE(gate.try_enter_beside());
  EXPECT_FALSE(gate.favoured());
  EXPECT_FALSE(gate.try_enter_beside());
  gate.leave(kNothingLate);
  ASSERT_TRUE(gate.try_enter_beside());
  EXPECT_FALSE(gate.try_enter());
  gate.leave_beside(kNothingLate);
  be_favoured(gate, NoSteps::kPatience);
  gate.enter_beside();
  EXPECT_FALSE(gate.favoured());
  EXPECT_FALSE(gate.try_enter());
  gate.leave_beside(kNothingLate);
}

TEST(PollerGate, WhatThePollerAskedForIsDoneByWhoLeaves) {
  Gate gate;
  be_favoured(gate);
  ASSERT_TRUE(gate.try_enter_beside());
  EXPECT_FALSE(gate.try_enter_or_ask());
  int late = 0;
  gate.leave_beside([&] { ++late; });
  EXPECT_EQ(late, 1);
  ASSERT_TRUE(gate.try_enter());
  gate.leave([&] { ++late; });
  EXPECT_EQ(late, 1);
}

// The other one leaves between the two tries: the second one succeeds, with the request asked for.
TEST(PollerGate, WhatThePollerAskedForItDoesItselfOnceItIsIn) {
  std::function<void()> step;
  Gate gate(Steps{.at_refusal = &step});
  int late_beside = 0;
  step = [&] { gate.leave_beside([&] { ++late_beside; }); };
  ASSERT_TRUE(gate.try_enter_beside());
  ASSERT_TRUE(gate.try_enter_or_ask());
  EXPECT_EQ(late_beside, 0);
  int late = 0;
  gate.leave([&] { ++late; });
  EXPECT_EQ(late, 1);
  EXPECT_TRUE(gate.try_enter_beside());
}

// The poller is inside when another thread looks, then gone, and back in vain: the other one comes
// back.
TEST(PollerGate, WhatThePollerAskedForWhileAnotherWasTurnedAwayIsDone) {
  std::function<void()> step;
  Gate gate(Steps{.at_finding = &step});
  be_favoured(gate);
  ASSERT_TRUE(gate.try_enter());
  step = [&] {
    gate.leave(kNothingLate);
    EXPECT_FALSE(gate.try_enter_or_ask());
  };
  ASSERT_TRUE(gate.try_enter_beside());
  int late = 0;
  gate.leave_beside([&] { ++late; });
  EXPECT_EQ(late, 1);
  EXPECT_TRUE(gate.try_enter());
}

// A poller that comes and goes, one that tries to get in, and one that waits: nothing that they
// guard is torn, no change is lost, and nothing that the poller asked for is forgotten. Each turn
// of the poller's leaves a request and asks that it be done.
TEST(PollerGate, LosesNothingWhileItIsFavouredAndNot) {
  Gate gate;
  Guarded guarded;
  std::atomic<std::uint64_t> posted{0};
  std::uint64_t done = 0;  // guarded
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> by_others{0};
  std::atomic<std::uint64_t> favours{0};
  const auto late = [&] {
    guarded.change();
    done = posted.load(std::memory_order_acquire);
  };
  const auto enough = [&] { return favours.load() > 20 && by_others.load() > 1'000; };
  std::uint64_t entered = 0;
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!stop.load()) {
      favours.fetch_add(gate.favoured() ? 1 : 0);
      if (gate.try_enter_beside()) {
        late();
        by_others.fetch_add(1);
        gate.leave_beside(late);
      }
      std::this_thread::yield();
    }
  });
  others.emplace_back([&] {
    while (!stop.load()) {
      favours.fetch_add(gate.favoured() ? 1 : 0);
      gate.enter_beside();
      late();
      by_others.fetch_add(1);
      gate.leave_beside(late);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  std::uint64_t turns = 0;
  const auto turn = [&] {
    for (int i = 0; i < 10'000; ++i, ++turns) {
      posted.store(posted.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      if (!gate.try_enter_or_ask()) continue;
      ++entered;
      late();
      gate.leave(late);
    }
  };
  EXPECT_TRUE(test_support::turn_until(enough, turn))
      << favours.load() << " favours, " << by_others.load() << " by others";
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(guarded.torn, 0u);
  EXPECT_EQ(done, posted.load());  // whoever left last did what was asked for
  EXPECT_GE(guarded.words[0], entered + by_others.load());
  EXPECT_GT(entered, turns / 100);
}

// The moment at which the favour ends, many times: a poller whose store is not seen in time is in
// beside the other one, and counts are lost. (Without the barrier some are.)
TEST(PollerGate, EndsItsFavourForAllToSee) {
  Gate gate;
  Guarded guarded;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> turns{0};
  std::uint64_t by_poller = 0;
  std::thread poller([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      // Relaxed, one writer: whether it runs just now.
      turns.store(turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (!gate.try_enter()) continue;
      guarded.change();
      ++by_poller;
      gate.leave(kNothingLate);
    }
  });
  std::uint64_t by_other = 0;
  std::uint64_t ended = 0;
  const auto turn = [&] {
    const std::uint64_t before = turns.load(std::memory_order_relaxed);
    const auto runs_favoured = [&] {
      return gate.favoured() && turns.load(std::memory_order_relaxed) != before;
    };
    for (int i = 0; i < 1'000 && !runs_favoured(); ++i) cpu_relax();
    ended += runs_favoured() ? 1 : 0;
    if (!gate.try_enter_beside()) return;
    guarded.change();
    ++by_other;
    gate.leave_beside(kNothingLate);
  };
  // A second is enough for all of them where both have a CPU, and for some where they share one.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (ended < 50'000 && std::chrono::steady_clock::now() < enough) turn();
  stop = true;
  poller.join();
  EXPECT_GT(ended, 0u);
  EXPECT_EQ(guarded.torn, 0u);
  EXPECT_EQ(guarded.words[0], by_poller + by_other);
}

}  // namespace
}  // namespace tickpath::rdma::detail
