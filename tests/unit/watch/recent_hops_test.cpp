#include "tools/watch/recent_hops.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "common/trace/analysis.hpp"
#include "common/trace/stamp.hpp"
#include "tests/support/folder.hpp"
#include "tools/watch/latency_histogram.hpp"

namespace tickpath::watch {
namespace {

using trace::Hop;

TEST(LatencyHistogram, PercentilesAreAtMostASixteenthAboveTheExactOnes) {
  std::mt19937_64 random(7);
  for (const double scale : {10.0, 1e3, 1e6, 1e9}) {
    LatencyHistogram histogram;
    std::vector<std::int64_t> exact;
    std::exponential_distribution<double> sizes(1 / scale);
    for (int i = 0; i < 5000; ++i) {
      exact.push_back(static_cast<std::int64_t>(sizes(random)));
      histogram.add(exact.back());
    }
    std::ranges::sort(exact);
    for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto wanted = static_cast<double>(trace::percentile(exact, percent));
      const auto got = static_cast<double>(histogram.percentile_ns(percent));
      EXPECT_GE(got, wanted) << percent << " % of " << scale;
      EXPECT_LE(got, wanted * 17 / 16 + 1) << percent << " % of " << scale;
    }
    for (unsigned power = 8; power <= 33; ++power)
      EXPECT_EQ(histogram.below_power(power),
                static_cast<std::uint64_t>(std::ranges::count_if(
                    exact, [&](std::int64_t each) { return each < std::int64_t{1} << power; })));
    EXPECT_EQ(histogram.max_ns(), static_cast<std::uint64_t>(exact.back()));
  }
}

TEST(LatencyHistogram, TakesWhateverIsMeasured) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.percentile_ns(50), 0u);
  histogram.add(-5);
  EXPECT_EQ(histogram.percentile_ns(50), 0u);
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.max_ns(),
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

class RecentHopsTest : public testing::Test {
 protected:
  trace::TraceOptions options(const std::string& name) const {
    return {folder_ / (name + ".trace"), 1u << 12, name, "shm", "yield", "cpu 0"};
  }
  static std::uint64_t ticks(double seconds) {
    return static_cast<std::uint64_t>(seconds * static_cast<double>(clock::tsc_hz()));
  }
  // mdh posts a tick at `at`, the strategy sees it `later_s` later.
  static void pass(trace::TraceWriter& mdh, trace::TraceWriter& strategy, std::uint64_t tick,
                   std::uint64_t at, double later_s) {
    mdh.stamp_at(Hop::kMdhPosted, tick, {at});
    strategy.stamp_at(Hop::kStrategySeen, tick, {at + ticks(later_s)});
  }
  static const LatencyHistogram& posted_to_seen(const RecentHops& hops, bool total) {
    static const LatencyHistogram kNone;
    const auto found = hops.latencies().find({Hop::kMdhPosted, Hop::kStrategySeen});
    if (found == hops.latencies().end()) return kNone;
    return total ? found->second.total : found->second.window;
  }

  test_support::Folder folder_;
  std::uint64_t start_ = 1'000'000'000'000'000;
};

TEST_F(RecentHopsTest, EachSampleCountsOnceInTheTotalAndLeavesTheWindow) {
  trace::TraceWriter mdh(options("mdh")), strategy(options("strategy"));
  RecentHops hops(folder_.path());
  std::uint64_t tick = 0;
  for (int second = 0; second < 30; ++second) {
    const std::uint64_t now = start_ + ticks(second);
    for (int i = 0; i < 10; ++i) pass(mdh, strategy, ++tick, now + ticks(0.05 * i), 20e-6);
    mdh.write_behind();
    strategy.write_behind();
    hops.look({now + ticks(1)});
  }
  hops.look({start_ + ticks(31)});
  EXPECT_EQ(posted_to_seen(hops, true).count(), 300u);
  EXPECT_GE(posted_to_seen(hops, false).count(), 80u);
  EXPECT_LE(posted_to_seen(hops, false).count(), 110u);
  EXPECT_NEAR(static_cast<double>(posted_to_seen(hops, false).percentile_ns(50)), 20'000, 1'300);
  EXPECT_EQ(hops.files(), 2u);
  EXPECT_EQ(hops.cut_short(), 0u);
  hops.look({start_ + ticks(60)});
  EXPECT_EQ(posted_to_seen(hops, false).count(), 0u) << "nothing for 10 s";
  EXPECT_EQ(posted_to_seen(hops, true).count(), 300u);
}

// The message began in the window before.
TEST_F(RecentHopsTest, ALatencyThatEndsSecondsLaterCountsWhereItEnds) {
  trace::TraceWriter mdh(options("mdh")), strategy(options("strategy"));
  RecentHops hops(folder_.path());
  mdh.stamp_at(Hop::kMdhPosted, 5, {start_});
  mdh.write_behind();
  hops.look({start_ + ticks(1)});
  EXPECT_EQ(posted_to_seen(hops, true).count(), 0u);
  strategy.stamp_at(Hop::kStrategySeen, 5, {start_ + ticks(2)});
  strategy.write_behind();
  hops.look({start_ + ticks(3)});
  ASSERT_EQ(posted_to_seen(hops, true).count(), 1u);
  EXPECT_NEAR(static_cast<double>(posted_to_seen(hops, true).max_ns()), 2e9, 1e6);
}

// A stamp that is missing must not make the hop behind it longer.
TEST_F(RecentHopsTest, AHopIsToTheNextStampAloneWhereNoneIsMissing) {
  trace::TraceWriter mdh(options("mdh"));
  RecentHops hops(folder_.path());
  mdh.stamp_at(Hop::kMdhRx, 5, {start_});
  mdh.stamp_at(Hop::kMdhPosted, 5, {start_ + ticks(0.001)});  // and no mdh.book
  mdh.write_behind();
  hops.look({start_ + ticks(1)});
  EXPECT_TRUE(hops.latencies().empty());
}

TEST_F(RecentHopsTest, AFileWithMoreThanIsReadAtATimeIsReported) {
  trace::TraceWriter mdh(options("mdh")), strategy(options("strategy"));
  RecentHopsOptions few;
  few.stamps_max = 100;
  RecentHops hops(folder_.path(), few);
  for (std::uint64_t tick = 1; tick <= 500; ++tick) pass(mdh, strategy, tick, start_ + tick, 1e-6);
  mdh.write_behind();
  strategy.write_behind();
  hops.look({start_ + ticks(1)});
  EXPECT_EQ(posted_to_seen(hops, true).count(), 100u) << "the newest";
  EXPECT_EQ(hops.cut_short(), 2u);
}

TEST_F(RecentHopsTest, WhatIsNoTraceFileOrOfAnotherHostIsLeftOut) {
  test_support::write_file(folder_ / "torn.trace", "tktrace1");
  trace::TraceOptions other = options("elsewhere");
  other.host_id = 12345;
  trace::TraceWriter elsewhere(other);
  elsewhere.stamp_at(Hop::kMdhRx, 5, {start_});
  elsewhere.write_behind();
  RecentHops hops(folder_.path());
  hops.look({start_ + ticks(1)});
  EXPECT_EQ(hops.files(), 0u);
  RecentHops nowhere(folder_ / "nothing");
  nowhere.look({start_});
  EXPECT_EQ(nowhere.files(), 0u);
}

// The ring of the file holds fewer than were written: the newest, in their order.
TEST_F(RecentHopsTest, TheNewestRecordsOfAFileAreThoseSinceATime) {
  trace::TraceWriter writer(options("mdh"));  // 4,096 records
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    writer.stamp_at(Hop::kMdhRx, i, {i});
    if (i % 1000 == 0) writer.write_behind();
  }
  const trace::TraceFile newest(folder_ / "mdh.trace", {9'501}, 1u << 20);
  ASSERT_EQ(newest.records().size(), 500u);
  EXPECT_EQ(newest.records().front().time, 9'501u);
  EXPECT_EQ(newest.records().back().time, 10'000u);
  EXPECT_FALSE(newest.cut_short());
  const trace::TraceFile whole(folder_ / "mdh.trace", {1}, 1u << 20);
  EXPECT_EQ(whole.records().size(), 4096u);
  EXPECT_TRUE(whole.cut_short());
  const trace::TraceFile few(folder_ / "mdh.trace", {9'501}, 10);
  EXPECT_EQ(few.records().size(), 10u);
  EXPECT_EQ(few.records().back().time, 10'000u);
  EXPECT_TRUE(few.cut_short());
  const trace::TraceFile none(folder_ / "mdh.trace", {20'000}, 1u << 20);
  EXPECT_TRUE(none.records().empty());
  EXPECT_FALSE(none.cut_short());
}

}  // namespace
}  // namespace tickpath::watch
