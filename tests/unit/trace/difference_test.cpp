// Runs compared: equal ones are not called different, and a delay is found where it is.
#include "common/trace/difference.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/block_bootstrap.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSyntheticHops = 5;

// A run whose latencies hang together. The load wanders (an autoregressive series), and bursts of
// some twenty orders queue at every second hop.
class SyntheticRun {
 public:
  explicit SyntheticRun(std::uint64_t seed) : random_(seed) {}
  // Each order's time at hop `delayed` is longer by `delay_ns`; -1: at none.
  LatencySeries make(std::size_t orders, int delayed = -1, double delay_ns = 0) {
    LatencySeries series;
    series.rows.push_back({"tick-to-order", Hop::kMdhRx, Hop::kOegSent, {}});
    for (int hop = 0; hop < kSyntheticHops; ++hop)
      series.rows.push_back({"hop " + std::to_string(hop), Hop::kMdhRx, Hop::kOegSent, {}});
    for (std::size_t i = 0; i < orders; ++i) {
      step();
      double whole = 0;
      for (int hop = 0; hop < kSyntheticHops; ++hop) {
        double ns = 500 * (hop + 1) * std::exp(0.3 * load_ + 0.3 * normal_(random_));
        if (burst_ && hop % 2 == 1) ns += 5'000 * std::exp(0.5 * normal_(random_));
        if (hop == delayed) ns += delay_ns;
        series.rows[static_cast<std::size_t>(hop) + 1].ns.push_back(std::llround(ns));
        whole += ns;
      }
      series.rows[0].ns.push_back(std::llround(whole));
    }
    return series;
  }

 private:
  void step() {
    load_ = 0.9 * load_ + std::sqrt(1 - 0.9 * 0.9) * normal_(random_);
    burst_ = chance_(random_) < (burst_ ? 1 - 1.0 / 20 : 0.005);
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> chance_;
  double load_ = 0;
  bool burst_ = false;
};

DifferenceOptions quick() {
  DifferenceOptions options;
  options.draws = 399;
  return options;
}

TEST(CompareRuns, AtMostFiveOfAHundredEqualPairsAreCalledDifferent) {
  const int pairs = test_support::seeds(100, 3);
  int different = 0;
  for (int seed = 0; seed < pairs; ++seed) {
    const auto number = static_cast<std::uint64_t>(2 * seed);
    const Difference found =
        compare(SyntheticRun(number).make(1'000), SyntheticRun(number + 1).make(1'000), quick());
    EXPECT_FALSE(found.too_few());
    different += found.any(Change::kSlower) || found.any(Change::kQuicker);
  }
  EXPECT_LE(different, pairs / 20);
}

TEST(CompareRuns, ADelayIsFoundAtTheHopThatHasIt) {
  const int seeds = test_support::seeds(20, 1);
  int named = 0, quicker = 0;
  for (int hop = 0; hop < kSyntheticHops; ++hop)
    for (int seed = 0; seed < seeds; ++seed) {
      const auto number = static_cast<std::uint64_t>(1'000 + 2 * (hop * seeds + seed));
      const LatencySeries before = SyntheticRun(number).make(1'000);
      const LatencySeries now = SyntheticRun(number + 1).make(1'000, hop, 1'000 * (hop + 1));
      const Difference found = compare(before, now, quick());
      const auto hops = found.slower_hops();
      if (hops.empty() || hops.front()->name != "hop " + std::to_string(hop)) continue;
      ++named;
      const PercentileDifference& median = hops.front()->percentiles.front();
      EXPECT_LT(median.low, 1'000 * (hop + 1));
      EXPECT_GT(median.high, 1'000 * (hop + 1));
      quicker += compare(now, before, quick()).any(Change::kQuicker);
    }
  EXPECT_GE(named, kSyntheticHops * seeds * 95 / 100);
  EXPECT_EQ(quicker, named) << "the other way round";
}

// Runs of one program differ, and no run can tell by how much: the load of each is its own.
TEST(CompareRuns, SeveralRunsASideKnowHowFarEqualRunsDiffer) {
  const int pairs = test_support::seeds(40, 2);
  int one_each = 0, several = 0, named = 0;
  for (int seed = 0; seed < pairs; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::normal_distribution<double> normal;
    const auto side = [&](int runs, double delay_ns) {
      std::vector<LatencySeries> series;
      for (int i = 0; i < runs; ++i) {
        const double own_ns = 2'000 + 300 * normal(random);  // at hop 2, the same for all orders
        series.push_back(SyntheticRun(random()).make(600, 2, own_ns + delay_ns));
      }
      return series;
    };
    const auto before = side(5, 0), now = side(3, 0), slower = side(3, 4'000);
    const auto differ = [](const Difference& found) {
      return found.any(Change::kSlower) || found.any(Change::kQuicker);
    };
    one_each += differ(compare(before[0], now[0], quick()));
    several += differ(compare(before, now, quick()));
    const Difference found = compare(before, slower, quick());
    EXPECT_TRUE(found.knows_runs);
    const auto hops = found.slower_hops();
    named += !hops.empty() && hops.front()->name == "hop 2";
  }
  EXPECT_LE(several, pairs / 20);
  EXPECT_GE(named, pairs * 95 / 100);
  if (!test_support::kSanitized) EXPECT_GT(one_each, several) << "of one run nobody knows";
}

// W. S. Gosset's table: two sides, 5 % and 1 %.
TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(student_t(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(student_t(0.05, 2), 4.303, 0.001);
  EXPECT_NEAR(student_t(0.01, 3), 5.841, 0.001);
  EXPECT_NEAR(student_t(0.01, 10), 3.169, 0.001);
  EXPECT_NEAR(student_t(0.05, 30), 2.042, 0.001);
  EXPECT_NEAR(student_t(0.001, 7), 5.408, 0.001);
  EXPECT_NEAR(student_t(0.05, 1'000'000), 1.96, 0.01);
}

TEST(CompareRuns, TheSameRunsGiveTheSameAnswer) {
  const LatencySeries before = SyntheticRun(1).make(400), now = SyntheticRun(2).make(500);
  const Difference once = compare(before, now, quick()), again = compare(before, now, quick());
  for (std::size_t row = 0; row < once.rows.size(); ++row)
    for (std::size_t i = 0; i < once.rows[row].percentiles.size(); ++i) {
      EXPECT_EQ(once.rows[row].percentiles[i].low, again.rows[row].percentiles[i].low);
      EXPECT_EQ(once.rows[row].percentiles[i].high, again.rows[row].percentiles[i].high);
    }
}

TEST(CompareRuns, OfFewOrdersNothingIsSaid) {
  EXPECT_TRUE(
      compare(SyntheticRun(1).make(15), SyntheticRun(2).make(1'000, 0, 1e6), quick()).too_few());
  // A p99 of 400 orders has four above it.
  const Difference found =
      compare(SyntheticRun(1).make(400), SyntheticRun(2).make(400, 0, 1e6), quick());
  EXPECT_EQ(found.rows[1].percentiles[0].change, Change::kSlower);
  EXPECT_EQ(found.rows[1].percentiles[2].change, Change::kTooFew);
}

TEST(CompareRuns, ToleranceIsAShareOfTheTimeBefore) {
  const LatencySeries before = SyntheticRun(1).make(1'000);
  const LatencySeries now = SyntheticRun(1).make(1'000, 0, 5'000);
  DifferenceOptions options = quick();
  EXPECT_TRUE(compare(before, now, options).any(Change::kSlower));
  options.tolerance = 30;
  EXPECT_FALSE(compare(before, now, options).any(Change::kSlower));
}

TEST(CompareRuns, OfManyOrdersEverySecondIsTaken) {
  DifferenceOptions options = quick();
  options.orders_max = 1'000;
  const Difference found = compare(SyntheticRun(1).make(1'999), SyntheticRun(2).make(900), options);
  EXPECT_EQ(found.before[0].every, 2u);
  EXPECT_EQ(found.before[0].orders, 1'000u);
  EXPECT_EQ(found.now[0].every, 1u);
  EXPECT_EQ(found.rows[0].count_before, 1'000u);
  EXPECT_FALSE(found.knows_runs);
}

TEST(CompareRuns, RowsThatOnlyOneRunHasAreNamed) {
  LatencySeries before = SyntheticRun(1).make(100), now = SyntheticRun(2).make(100);
  before.rows[2].name = "other";
  EXPECT_THAT(compare(before, now, quick()).only_some, ElementsAre("other", "hop 1"));
  EXPECT_THAT(test_support::error_of([&] { compare(before, LatencySeries{}, quick()); }),
              HasSubstr("nothing to compare"));
}

// An autoregressive series hangs together for longer than noise does; 1 is for independent values.
TEST(BlockLength, GrowsWithTheDependenceOfNeighbours) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  double before = 0;
  for (const double part : {0.0, 0.5, 0.9}) {
    double sum = 0, last = 0;
    for (int seed = 0; seed < 10; ++seed) {
      std::vector<double> series;
      for (int i = 0; i < 2'000; ++i) series.push_back(last = part * last + normal(random));
      sum += static_cast<double>(block_length(series));
    }
    // What the paper's formula gives for such a series and its true covariances:
    // (2 G^2 / D)^(1/3) n^(1/3) with G / g(0) = 2 part / (1 - part^2).
    const double ratio = 2 * part / (1 - part * part);
    const double exact = std::cbrt(2 * ratio * ratio / (4.0 / 3) * 2'000);
    EXPECT_NEAR(sum / 10, std::max(exact, 1.0), 0.5 * exact + 4) << part;
    EXPECT_GT(sum, before);
    before = sum;
  }
  EXPECT_EQ(block_length(std::vector<double>(100, 5)), 1u) << "all are equal";
  EXPECT_EQ(block_length({}), 1u);
}

TEST(DrawBlocks, DrawsAsManyElementsInRunsOfTheLength) {
  std::mt19937_64 random(3);
  std::vector<std::uint16_t> weights(100);
  for (const std::size_t length : {1u, 7u, 99u, 100u}) {
    draw_blocks(random, length, weights);
    EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), 0u), 100u) << length;
  }
  EXPECT_THAT(weights, testing::Each(1)) << "one block round the circle is all of it";
}

TEST(SortedSeries, AWeightedPercentileIsThatOfTheElementsRepeated) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> series(1 + random() % 60);
    std::vector<std::uint16_t> weights(series.size());
    std::vector<std::int64_t> repeated;
    for (std::size_t i = 0; i < series.size(); ++i) {
      series[i] = random() % 5 == 0 ? kNoLatency : static_cast<std::int64_t>(random() % 20) - 5;
      weights[i] = static_cast<std::uint16_t>(random() % 4);
      if (series[i] != kNoLatency) repeated.insert(repeated.end(), weights[i], series[i]);
    }
    std::ranges::sort(repeated);
    if (repeated.empty()) continue;
    const std::array percents{1.0, 50.0, 90.0, 99.0, 100.0};
    std::array<std::int64_t, percents.size()> found{};
    SortedSeries(series, kNoLatency).percentiles(weights, percents, found);
    for (std::size_t i = 0; i < percents.size(); ++i)
      EXPECT_EQ(found[i], percentile(repeated, percents[i])) << round << " p" << percents[i];
  }
}

// Orders stand by the time of their ticks, and one that lacks a stamp keeps its place.
TEST(LatencySeriesOfTraces, HasARowForEachTwoHopsThatWereStamped) {
  test_support::Folder folder;
  const double per_us = static_cast<double>(clock::tsc_hz()) / 1e6;
  {
    TraceWriter writer({folder / "a.trace", 4096, "test", "shm", "yield", "cpu 0"});
    const auto at = [&](double us) {
      return TscTicks{1'000'000'000 + static_cast<std::uint64_t>(us * per_us)};
    };
    for (const std::uint64_t order : {2u, 1u, 3u}) {
      const double start = 1'000.0 * static_cast<double>(order);
      writer.stamp_at(Hop::kMdhRx, order, at(start));
      writer.stamp_at(Hop::kStrategySeen, order, at(start + 2));
      if (order != 2) writer.stamp_at(Hop::kOegSeen, order, at(start + 5));
      writer.stamp_at(Hop::kOegSent, order, at(start + 10 * static_cast<double>(order)));
      writer.link_order(order, order);
    }
    writer.stamp_at(Hop::kOegSent, 4, at(0));  // caused by no tick
  }
  std::vector<TraceFile> files;
  files.emplace_back(folder / "a.trace");
  const LatencySeries series = latency_series(files);
  ASSERT_EQ(series.rows.size(), 4u);
  EXPECT_EQ(series.rows[0].name, "tick-to-order");
  EXPECT_EQ(series.rows[0].from, Hop::kMdhRx) << "the kernel stamped nothing";
  EXPECT_EQ(series.rows[2].name, "strategy.seen -> oeg.seen");
  ASSERT_EQ(series.orders(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(series.rows[0].ns[i]), 10'000.0 * static_cast<double>(i + 1),
                2);
  EXPECT_EQ(series.rows[2].ns[1], kNoLatency);
  EXPECT_NEAR(series.ticks_per_s, 1'500, 1) << "three in two milliseconds";
}

}  // namespace
}  // namespace tickpath::trace
