#include "tools/watch/metrics.hpp"

#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/watch/statuses.hpp"

namespace tickpath::watch {
namespace {

using ::testing::HasSubstr;

Snapshot snapshot() {
  Snapshot snapshot;
  const Found found = two_looks();
  snapshot.running = true;
  snapshot.statuses = found.statuses;
  snapshot.view = view_of(found);
  auto& headline = snapshot.latencies[kTickToOrder].total;
  for (const std::int64_t ns : {100, 300, 5'000, 2'000'000'000}) headline.add(ns);
  snapshot.latencies[{trace::Hop::kMdhRx, trace::Hop::kMdhBook}].total.add(700);
  return snapshot;
}

TEST(Metrics, AreCountersAndGaugesOfEachProgram) {
  const std::string text = metrics_text(snapshot(), false);
  for (const char* const line :
       {"# TYPE tickpath_up gauge\n", "tickpath_up{program=\"mdh\",name=\"mdh\"} 1\n",
        "# TYPE tickpath_feed_messages_total counter\n",
        "tickpath_feed_messages_total{program=\"mdh\",name=\"mdh\"} 1500\n",
        "tickpath_uptime_seconds{program=\"oeg\",name=\"oeg\"} 6\n",
        "tickpath_strategy_profit{strategy=\"2\",risk=\"risk\"} -400.5\n",
        "tickpath_limit_used_ratio{whose=\"strategy 2\",limit=\"loss_max\"} 0.801\n",
        "tickpath_feed_good{name=\"mdh\"} 1\n", "tickpath_alarms{level=\"warning\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(text.find("tickpath_counter"), std::string::npos);
  EXPECT_THAT(metrics_text(snapshot(), true),
              HasSubstr("tickpath_counter{program=\"mdh\",name=\"mdh\",group=\"publish\",counter="
                        "\"published\"} 1502\n"));
}

TEST(Metrics, HistogramsAreCumulativeAndInSeconds) {
  const std::string text = metrics_text(snapshot(), false);
  for (const char* const line : {"# TYPE tickpath_tick_to_order_seconds histogram\n",
                                 "tickpath_tick_to_order_seconds_bucket{le=\"2.56e-07\"} 1\n",
                                 "tickpath_tick_to_order_seconds_bucket{le=\"5.12e-07\"} 2\n",
                                 "tickpath_tick_to_order_seconds_bucket{le=\"+Inf\"} 4\n",
                                 "tickpath_tick_to_order_seconds_sum 2.0000054\n",
                                 "tickpath_tick_to_order_seconds_count 4\n",
                                 "tickpath_hop_latency_seconds_bucket{from=\"mdh.rx\",to=\"mdh."
                                 "book\",le=\"1.024e-06\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line)) << text;
}

TEST(Metrics, AProgramThatDoesNotAnswerIsDownAndHasNoCounters) {
  Snapshot silent = snapshot();
  silent.statuses = {{{"program", "mdh"}, {"name", "mdh"}, {"state", "silent"}}};
  const std::string text = metrics_text(silent, true);
  EXPECT_THAT(text, HasSubstr("tickpath_up{program=\"mdh\",name=\"mdh\"} 0\n"));
  EXPECT_EQ(text.find("tickpath_feed_messages_total"), std::string::npos);
}

TEST(Metrics, TextsOfLabelsAreEscaped) {
  Exposition out;
  out.family("x", Exposition::Type::kGauge, "a\nb\\c\"d");
  out.sample({{"l", "a\"b\\c\nd"}}, 1.5);
  EXPECT_EQ(out.text(), "# HELP x a\\nb\\\\c\"d\n# TYPE x gauge\nx{l=\"a\\\"b\\\\c\\nd\"} 1.5\n");
}

TEST(Metrics, AFamilyIsWrittenOnceThoughItsSamplesComeApart) {
  Exposition out;
  out.family("a", Exposition::Type::kCounter, "A.");
  out.sample({{"n", "1"}}, 1);
  out.family("b", Exposition::Type::kCounter, "B.");
  out.sample({}, 2);
  out.family("a", Exposition::Type::kCounter, "A.");
  out.sample({{"n", "2"}}, 3);
  EXPECT_EQ(out.text(),
            "# HELP a A.\n# TYPE a counter\na{n=\"1\"} 1\na{n=\"2\"} 3\n# HELP b B.\n# TYPE b "
            "counter\nb 2\n");
}

// prometheus.io, "Metric and label naming": counters end in _total, and one name has one help text.
TEST(Metrics, NamesOfCountersFollowTheConventions) {
  std::map<std::string_view, std::string_view> helps;
  for (const CounterMetric& each : counter_metrics()) {
    EXPECT_TRUE(each.name.starts_with("tickpath_") && each.name.ends_with("_total")) << each.name;
    EXPECT_EQ(helps.emplace(each.name, each.help).first->second, each.help) << each.name;
  }
}

}  // namespace
}  // namespace tickpath::watch
