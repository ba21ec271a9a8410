#include "common/clock/offset.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "common/clock/host.hpp"

namespace tickpath::clock {
namespace {

// Two clocks and a network, simulated: the truth is known exactly.
struct World {
  double local_hz = 2.5e9;
  double peer_hz = 3.1e9;
  double drift_ppm = 0;        // of the peer's clock beyond its nominal rate
  double peer_start = 7.7e15;  // ticks that the peer is ahead in counting
  double local_start = 1.2e12;
  double forward_ns = 2'000;  // least delays of the two ways
  double backward_ns = 2'000;
  double jitter_ns = 20'000;  // mean of what comes on top, exponential
  std::mt19937_64 random{42};

  TscTicks local(double s) const {
    return {static_cast<std::uint64_t>(local_start + s * local_hz)};
  }
  double true_peer(double s) const { return s * peer_hz * (1 + drift_ppm * 1e-6); }
  TscTicks peer(double s) const {
    return {static_cast<std::uint64_t>(peer_start) + static_cast<std::uint64_t>(true_peer(s))};
  }
  double delay_s(double least_ns) {
    std::exponential_distribution<double> more(1 / jitter_ns);
    return (least_ns + more(random)) * 1e-9;
  }
  // A ping at `s` and its answer; returns when it was over.
  double exchange(OffsetEstimator& estimator, double s) {
    const double seen = s + delay_s(forward_ns);
    const double back = seen + delay_s(backward_ns);
    estimator.at_most(local(s), peer(seen));
    estimator.at_least(local(back), peer(seen));
    return back;
  }
  // Peer ticks that the estimate is off, in ns.
  double error_ns(const OffsetEstimator& estimator, double s) const {
    const TscTicks estimated = estimator.at(local(s)).peer;
    const auto since =
        static_cast<std::int64_t>(estimated.value - static_cast<std::uint64_t>(peer_start));
    return (static_cast<double>(since) - true_peer(s)) / peer_hz * 1e9;
  }
};

// Runs an exchange every 10 ms and holds the truth against the stated error, each time.
void run(World& world, OffsetEstimator& estimator, double seconds, double stated_max_ns,
         double settle_s = 1) {
  estimator.restart(world.local_hz, world.peer_hz);
  for (double s = 0; s < seconds; s += 0.01) {
    const double over = world.exchange(estimator, s);
    ASSERT_TRUE(estimator.ready());
    const auto stated = static_cast<double>(estimator.at(world.local(over)).error_ns);
    ASSERT_LE(std::abs(world.error_ns(estimator, over)), stated) << "at " << s << " s";
    if (s > settle_s) {
      ASSERT_LE(stated, stated_max_ns) << "at " << s << " s";
    }
  }
  EXPECT_EQ(estimator.contradictions(), 0u);
}

TEST(OffsetEstimator, FindsAKnownOffsetWithinTheStatedError) {
  World world;
  OffsetEstimator estimator;
  // 2 us each way at least: the shortest of hundreds of round trips is not much longer.
  run(world, estimator, 20, 9'000);
}

TEST(OffsetEstimator, FollowsAClockThatDrifts) {
  for (const double ppm : {-90.0, -1.0, 17.5, 90.0}) {
    World world{.drift_ppm = ppm};
    OffsetEstimator estimator;
    run(world, estimator, 30, 8'000, 6);
    EXPECT_NEAR(estimator.drift_ppm(), ppm, 2) << ppm;
  }
}

TEST(OffsetEstimator, StatesAnErrorThatCoversUnequalWays) {
  World world;
  world.forward_ns =
      50'000;  // one way takes 25 times the other: an offset by halves is 24 us wrong
  world.backward_ns = 2'000;
  OffsetEstimator estimator;
  run(world, estimator, 10, 36'000);
  // The error is real, not just stated: the middle of the interval is off by half the difference.
  EXPECT_GT(std::abs(world.error_ns(estimator, 9.5)), 15'000);
}

TEST(OffsetEstimator, WidensWhileNothingIsHeard) {
  World world{.drift_ppm = 30};
  OffsetEstimator estimator;
  run(world, estimator, 12, 8'000, 6);
  const auto now = estimator.at(world.local(12)).error_ns;
  const auto later = estimator.at(world.local(72)).error_ns;
  EXPECT_GT(later, now + 10'000);  // 60 s at 0.2 ppm of wander alone
  EXPECT_LE(std::abs(world.error_ns(estimator, 72)), static_cast<double>(later));
}

TEST(OffsetEstimator, CannotSayAnythingBeforeBothBounds) {
  World world;
  OffsetEstimator estimator;
  estimator.restart(world.local_hz, world.peer_hz);
  EXPECT_FALSE(estimator.ready());
  estimator.at_least(world.local(1), world.peer(0.5));
  EXPECT_FALSE(estimator.ready());
  estimator.at_most(world.local(1), world.peer(1.5));
  EXPECT_TRUE(estimator.ready());
  EXPECT_NEAR(static_cast<double>(estimator.at(world.local(1)).error_ns), 5e8, 2);
}

TEST(OffsetEstimator, StartsAnewWhenTheClockStepped) {
  World world;
  OffsetEstimator estimator;
  run(world, estimator, 3, 8'000);
  world.peer_start += 0.25 * world.peer_hz;  // a quarter of a second
  double over = world.exchange(estimator, 4);
  EXPECT_EQ(estimator.contradictions(), 1u);
  for (double s = 4.01; s < 6; s += 0.01) over = world.exchange(estimator, s);
  ASSERT_TRUE(estimator.ready());
  EXPECT_LE(std::abs(world.error_ns(estimator, over)),
            static_cast<double>(estimator.at(world.local(over)).error_ns));
  EXPECT_EQ(estimator.contradictions(), 1u);
}

TEST(HostId, IsTheSameForOneBootAndDiffersForAnother) {
  EXPECT_EQ(host_id(), host_id());
  EXPECT_NE(host_id(), 0u);
  EXPECT_EQ(host_id_of("a"), 0xaf63dc4c8601ec8cu);  // FNV-1a's published test value
  EXPECT_NE(host_id_of("f1d2"), host_id_of("f1d3"));
  EXPECT_EQ(this_host().host, host_id());
}

}  // namespace
}  // namespace tickpath::clock
