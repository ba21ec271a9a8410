#include "tools/scale/queueing.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/random.hpp"

namespace tickpath::scale {
namespace {

TEST(Station, ServesInTheOrderOfArrivalAndCountsWhatWaits) {
  Station station;
  EXPECT_EQ(station.take(100, 10).start, 100u);
  EXPECT_EQ(station.take(101, 10).start, 110u);
  EXPECT_EQ(station.take(102, 10).end, 130u);
  EXPECT_EQ(station.queue(102), 3u);
  EXPECT_EQ(station.queue(110), 2u);  // who ends at a moment has left at it
  EXPECT_EQ(station.queue(130), 0u);
  EXPECT_EQ(station.take(200, 10).start, 200u);  // idle meanwhile
  EXPECT_EQ(station.jobs(), 4u);
  EXPECT_EQ(station.busy(), 40u);
  EXPECT_EQ(station.queue_max(), 3u);
  EXPECT_EQ(station.wait_max(), 18u);
  EXPECT_DOUBLE_EQ(station.wait_mean(), (0 + 9 + 18 + 0) / 4.0);
}

// M/D/1: arrivals at random, one length of service. The mean wait is u / (2 (1 - u)) services
// (Pollaczek, Khinchine). The mean over 100 batches has a standard error that the batches tell.
TEST(Station, WaitsAsLongAsQueueingTheorySays) {
  constexpr Picoseconds kService = 1'000'000;
  for (const double utilisation : {0.3, 0.6, 0.8}) {
    Random random(7);
    Station station;
    constexpr int kBatches = 100;
    constexpr int kJobs = 5'000;
    double now = 0;
    double sum = 0;
    double squares = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      double waits = 0;
      for (int job = 0; job < kJobs; ++job) {
        now -= std::log1p(-random.unit()) * static_cast<double>(kService) / utilisation;
        const auto at = static_cast<Picoseconds>(now);
        waits += static_cast<double>(station.take(at, kService).start - at);
      }
      const double mean = waits / kJobs / static_cast<double>(kService);
      sum += mean;
      squares += mean * mean;
    }
    const double mean = sum / kBatches;
    const double error = std::sqrt((squares / kBatches - mean * mean) / kBatches);
    const double theory = utilisation / (2 * (1 - utilisation));
    EXPECT_NEAR(mean, theory, 4 * error) << "utilisation " << utilisation;
    EXPECT_LT(error, 0.02 * theory) << "the bound above says nothing";
  }
}

TEST(EventQueue, HandsOutTheEarliestFirstAndEqualOnesInTheOrderOfAdding) {
  EventQueue<int> queue;
  Random random(3);
  for (int i = 0; i < 1'000; ++i) queue.add(random.below(50), i);
  Picoseconds last_at = 0;
  int last = -1;
  for (int i = 0; i < 1'000; ++i) {
    const Picoseconds at = queue.next_at();
    const int event = queue.take();
    EXPECT_GE(at, last_at);
    if (at == last_at) {
      EXPECT_GT(event, last);
    }
    last_at = at;
    last = event;
  }
  EXPECT_TRUE(queue.empty());
}

TEST(DelayHistogram, QuantilesAreRightToOneStep) {
  DelayHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  for (Picoseconds value = 1; value <= 100'000; ++value) histogram.add(value);
  EXPECT_EQ(histogram.count(), 100'000u);
  for (const double part : {0.001, 0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = part * 100'000;
    EXPECT_GE(static_cast<double>(histogram.quantile(part)), exact);
    EXPECT_LE(static_cast<double>(histogram.quantile(part)), exact * (1 + 1.0 / 64) + 1);
  }
  EXPECT_EQ(histogram.quantile(1), 100'000u);
  EXPECT_EQ(histogram.max(), 100'000u);
}

TEST(DelayHistogram, HoldsTheSmallestAndTheLargestValues) {
  DelayHistogram histogram;
  histogram.add(0);
  EXPECT_EQ(histogram.quantile(1), 0u);
  histogram.add(~Picoseconds{0});
  EXPECT_EQ(histogram.quantile(1), ~Picoseconds{0});
  EXPECT_EQ(histogram.quantile(0.5), 0u);
}

}  // namespace
}  // namespace tickpath::scale
