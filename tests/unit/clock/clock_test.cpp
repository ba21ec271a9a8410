#include "common/clock/clock.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "common/clock/host.hpp"

namespace tickpath::clock {
namespace {

TEST(TickConverter, ConvertsBothWaysWithinATick) {
  const TickConverter converter(2'596'000'000);
  EXPECT_NEAR(static_cast<double>(converter.to_ns({2'596'000'000})), 1e9, 1);
  for (const std::uint64_t ns : {1ull, 999ull, 1'000'000ull, 86'400'000'000'000ull}) {
    const auto back = converter.to_ns(converter.from_ns(ns));
    EXPECT_LE(ns - back, 1 + ns / 1'000'000'000) << ns;
  }
}

TEST(Clock, PairsTscAndRealtimeCloseTogether) {
  const Pair pair = read_pair();
  const TickConverter converter;
  EXPECT_GT(pair.realtime_ns, 0);
  EXPECT_LE(pair.tsc.value, tsc_now().value);
  EXPECT_LT(converter.to_ns({pair.width_ticks}), 1'000'000u);
}

TEST(Clock, TscRateAgreesWithTheRealtimeClock) {
  // Pairs are read together, so that losing the CPU in between does not matter.
  const Pair first = read_pair();
  while (realtime_ns() - first.realtime_ns < 50'000'000) cpu_relax();
  const Pair second = read_pair();
  const auto measured = static_cast<double>(TickConverter().to_ns(second.tsc - first.tsc));
  const auto elapsed = static_cast<double>(second.realtime_ns - first.realtime_ns);
  EXPECT_NEAR(measured / elapsed, 1.0, 0.01);
}

// Two threads of one counter: what the one stores is never of a time after the other had loaded it.
// Without the order that now() promises, one in some thousand readings is.
TEST(Clock, IsReadAfterWhatWasLoadedBeforeIt) {
  const Source source = this_host();
  std::atomic<std::uint64_t> shown{source.now().value};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      shown.store(tsc_now().value, std::memory_order_relaxed);
      cpu_relax();
    }
  });
  std::uint64_t early = 0;
  std::uint64_t seen = 0;
  std::uint64_t before = 0;
  for (int i = 0; i < 3'000'000; ++i) {
    // Relaxed, and nothing depends on it: the counter might be read first.
    const std::uint64_t there = shown.load(std::memory_order_relaxed);
    const std::uint64_t here = source.now().value;
    early += here < there ? 1 : 0;
    seen += there != before ? 1 : 0;
    before = there;
  }
  stop = true;
  other.join();
  EXPECT_EQ(early, 0u);
  EXPECT_GT(seen, 1u);  // the other thread had a CPU in between
}

}  // namespace
}  // namespace tickpath::clock
