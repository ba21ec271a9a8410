// heat_json(), bars_json(), percentiles_json(), worst_json(): what the charts of latency show.
#include "tools/report/latencies.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "tests/support/folder.hpp"

namespace tickpath::report {
namespace {

constexpr std::uint64_t kOrders = 400;

class Latencies : public testing::Test {
 protected:
  // Order `n` a millisecond after the one before; it takes n + 2 us, all but two of them within
  // oeg.
  Latencies() {
    {
      trace::TraceWriter writer({folder_ / "a.trace", 1u << 14, "test", "shm", "yield", "cpu 0"});
      writer.add_sync_point();
      for (std::uint64_t n = 1; n <= kOrders; ++n) stamp(writer, n);
      writer.write_behind();
    }
    files_.emplace_back(folder_ / "a.trace");
    analysis_ = trace::analyse(files_);
    latencies_.emplace(files_, trace::Hop::kMdhRx, trace::Hop::kOegSent);
  }
  void stamp(trace::TraceWriter& writer, std::uint64_t n) {
    const auto at = [&](double us) {
      const double ticks = (static_cast<double>(n) * 1'000 + us) * ticks_per_us_;
      return TscTicks{1'000'000'000 + static_cast<std::uint64_t>(ticks)};
    };
    writer.stamp_at(trace::Hop::kMdhRx, n, at(0));
    writer.stamp_at(trace::Hop::kStrategySeen, n, at(1));
    writer.stamp_at(trace::Hop::kOegSeen, n, at(2));
    writer.stamp_at(trace::Hop::kOegSent, n, at(2 + static_cast<double>(n)));
    writer.link_order(n, n);
  }

  double ticks_per_us_ = static_cast<double>(clock::tsc_hz()) / 1e6;
  test_support::Folder folder_;
  std::vector<trace::TraceFile> files_;
  trace::Analysis analysis_;
  std::optional<trace::OrderLatencies> latencies_;
};

TEST_F(Latencies, EveryOrderIsInACellOfTheHeatMap) {
  const MarketClock clock({}, latencies_->start_realtime_ns());
  EXPECT_NEAR(latencies_->last_arrival_s(), 0.399, 1e-6);
  const auto heat = heat_json(*latencies_, clock, {0, latencies_->last_arrival_s()});
  std::uint64_t orders = 0;
  for (std::size_t i = 0; i < heat["cells"].size(); i += 3) {
    EXPECT_LT(heat["cells"][i].get<std::size_t>(), kHeatColumns);
    EXPECT_LT(heat["cells"][i + 1].get<int>(), kRowsPerDecade * kDecades);
    orders += heat["cells"][i + 2].get<std::uint64_t>();
  }
  EXPECT_EQ(orders, kOrders);
  EXPECT_EQ(heat["orders"], kOrders);
  double messages = 0;
  for (const auto& rate : heat["rate"])
    messages += rate.get<double>() * latencies_->last_arrival_s() / kHeatColumns;
  EXPECT_NEAR(messages, kOrders, 2) << "the rate's area is what reached mdh";
  EXPECT_EQ(latencies_->arrived_by(0.1005), 101u);
}

TEST_F(Latencies, TheBarsOfPercentilesSumUpToTheirOrders) {
  const auto bars = bars_json(*latencies_, trace::Hop::kMdhRx, trace::Hop::kOegSent);
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_NEAR(bars[0]["ns"].get<double>(), 202'000, 5) << "the 200th of 400, by nearest rank";
  EXPECT_NEAR(bars[2]["ns"].get<double>(), 402'000, 5);
  for (const auto& bar : bars) {
    double sum = 0;
    for (const auto& part : bar["parts"]) sum += part["ns"].get<double>();
    EXPECT_NEAR(sum, bar["mean_ns"].get<double>(), 3);
  }
  EXPECT_EQ(bars[0]["parts"].back()["hop"], "oeg.sent");
  EXPECT_NEAR(bars[0]["parts"].back()["ns"].get<double>(), 200'000, 5);
}

TEST_F(Latencies, AreTheSameInEveryChart) {
  const auto percentiles = percentiles_json(analysis_.headline[1]);
  EXPECT_EQ(percentiles["count"], kOrders);
  EXPECT_EQ(percentiles["points"].back()[1], percentiles["max_ns"]);
  EXPECT_TRUE(percentiles_json(analysis_.headline[0]).is_null()) << "no kernel has stamped these";
  const MarketClock clock({}, latencies_->start_realtime_ns());
  const auto worst = worst_json(*latencies_, {}, clock);
  ASSERT_EQ(worst.size(), kWorstOrders);
  EXPECT_EQ(worst[0]["id"], std::to_string(kOrders));
  EXPECT_EQ(worst[0]["ns"], percentiles["max_ns"]);
  EXPECT_NEAR(worst[0]["at"].get<double>(), 0.399, 1e-4);
}

}  // namespace
}  // namespace tickpath::report
