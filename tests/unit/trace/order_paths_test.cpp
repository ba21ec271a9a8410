// The slowest orders of a run, and the way of one, hop by hop.
#include "common/trace/order_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/clock/clock.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kFirstTick = 1'000'000'000'000;

class OrderPaths : public testing::Test {
 protected:
  // Order `number` is caused by the tick of that number, `at_us` after the start. Each hop of its
  // tick takes 1 us, each of its own `hop_us`.
  void stamp(TraceWriter& writer, std::uint64_t number, double at_us, double hop_us) {
    double us = at_us;
    for (const HopInfo& each : kHops) {
      if (each.hop == Hop::kNone || each.optional || each.realtime_clock) continue;
      writer.stamp_at(each.hop, number,
                      {kFirstTick + static_cast<std::uint64_t>(us * ticks_per_us_)});
      us += is_tick_hop(each.hop) ? 1 : hop_us;
    }
    writer.link_order(number, number);
  }
  // Ticks without an order, that many a microsecond apart.
  void burst(TraceWriter& writer, std::uint64_t first, int count, double at_us) {
    for (int i = 0; i < count; ++i)
      writer.stamp_at(Hop::kMdhRx, first + static_cast<std::uint64_t>(i),
                      {kFirstTick + static_cast<std::uint64_t>((at_us + i) * ticks_per_us_)});
  }
  TraceOptions options() const { return {file_, 4096, "test", "shm", "yield", "cpu 0"}; }
  std::vector<TraceFile> files() const {
    std::vector<TraceFile> files;
    files.emplace_back(file_);
    return files;
  }

  test_support::Folder folder_;
  std::string file_ = folder_ / "a.trace";
  double ticks_per_us_ = static_cast<double>(clock::tsc_hz()) / 1e6;
};

std::vector<std::uint64_t> ids(const OrderLatencies& latencies) {
  std::vector<std::uint64_t> found;
  for (const OrderLatency& each : latencies.all()) found.push_back(each.order_id);
  return found;
}

TEST_F(OrderPaths, TheSlowestComesFirst) {
  {
    TraceWriter writer(options());
    stamp(writer, 1, 0, 2);
    stamp(writer, 2, 3'000, 50);
    stamp(writer, 3, 6'000, 7);
    writer.stamp_at(Hop::kOegSent, 4, {kFirstTick});  // caused by no tick
    stamp(writer, 5, 9'000, 7);
  }
  const auto traces = files();
  const OrderLatencies latencies(traces, Hop::kMdhRx, Hop::kOegSent);
  EXPECT_THAT(ids(latencies), ElementsAre(2, 3, 5, 1)) << "of equal ones the lower id";
  // From mdh.rx: three hops of the tick to strategy.decided, then five of the order.
  EXPECT_NEAR(static_cast<double>(latencies.all()[0].ns), 4'000 + 5 * 50'000, 5);
  EXPECT_EQ(latencies.all()[0].trace_id, 2u);
  EXPECT_NEAR(latencies.all()[0].since_start_s, 0.003, 1e-8);
  EXPECT_THAT(ids(OrderLatencies(traces, Hop::kOegSent, Hop::kSimOrderRx)),
              ElementsAre(2, 3, 5, 1));
}

TEST_F(OrderPaths, ThePartsOfAPathSumUpToItsWhole) {
  {
    TraceWriter writer(options());
    stamp(writer, 1, 0, 0.3337);
  }
  const auto traces = files();
  const OrderLatencies latencies(traces, Hop::kMdhRx, Hop::kOegSent);
  const std::vector<PathMark> path = latencies.path(1);
  EXPECT_EQ(path.front().hop, Hop::kSimSent);
  EXPECT_EQ(path.back().hop, Hop::kStrategyReportSeen);
  std::int64_t sum = 0, from_rx = 0;
  for (const PathMark& mark : path) {
    EXPECT_TRUE(mark.measured);
    sum += mark.took_ns;
    EXPECT_EQ(mark.at_ns, sum);
    if (mark.hop == Hop::kMdhRx) from_rx = mark.at_ns;
    if (mark.hop == Hop::kOegSent)
      EXPECT_NEAR(static_cast<double>(mark.at_ns - from_rx),
                  static_cast<double>(latencies.all()[0].ns), 1);
  }
}

TEST_F(OrderPaths, ABurstIsWhatReachedMdhInTheMillisecondBefore) {
  {
    TraceWriter writer(options());
    burst(writer, 100, 30, 0);      // too early
    burst(writer, 200, 40, 1'800);  // within
    burst(writer, 300, 50, 2'100);  // too late
    stamp(writer, 1, 2'000, 1);     // at mdh 1 us later
  }
  const auto traces = files();
  const OrderLatencies latencies(traces, Hop::kMdhRx, Hop::kOegSent);
  EXPECT_EQ(latencies.all()[0].burst, 41u) << "with its own tick";
}

TEST_F(OrderPaths, AnOrderWithoutAStampIsAnError) {
  {
    TraceWriter writer(options());
    stamp(writer, 1, 0, 1);
  }
  const auto traces = files();
  const OrderLatencies latencies(traces, Hop::kMdhRx, Hop::kOegSent);
  EXPECT_THAT(test_support::error_of([&] { (void)latencies.path(9); }),
              HasSubstr("no stamp of order 9"));
  EXPECT_THAT(test_support::error_of([&] { OrderLatencies(traces, Hop::kOegSent, Hop::kMdhRx); }),
              HasSubstr("from a hop to a later one"));
  EXPECT_THAT(test_support::error_of([&] { OrderLatencies({}, Hop::kMdhRx, Hop::kOegSent); }),
              HasSubstr("no trace files"));
}

}  // namespace
}  // namespace tickpath::trace
