// What `tickpath trace --diff, --baseline, --save` refuse, keep and print.
#include "tools/cli/trace_diff.hpp"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"
#include "tools/cli/traced_run.hpp"

namespace tickpath::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using trace::Hop;

TracedRun run_of(const std::string& name, std::uint64_t seed, std::int64_t delay_ns = 0) {
  TracedRun run{
      name, {"shm", "park", "20 messages with digest 1f", "lab", "100 a second"}, "cpu 1", {}};
  std::mt19937_64 random(seed);
  run.latencies.ticks_per_s = 100;
  run.latencies.rows = {{"tick-to-order", Hop::kMdhRx, Hop::kOegSent, {}},
                        {"mdh.rx -> oeg.seen", Hop::kMdhRx, Hop::kOegSeen, {}},
                        {"oeg.seen -> oeg.sent", Hop::kOegSeen, Hop::kOegSent, {}}};
  for (int i = 0; i < 600; ++i) {
    const auto first = static_cast<std::int64_t>(2'000 + random() % 500);
    const auto second = static_cast<std::int64_t>(1'000 + random() % 500) + delay_ns;
    run.latencies.rows[0].ns.push_back(first + second);
    run.latencies.rows[1].ns.push_back(first);
    run.latencies.rows[2].ns.push_back(i == 5 ? trace::kNoLatency : second);
  }
  return run;
}

std::string report(const TracedRun& before, const TracedRun& now,
                   DiffFormat format = DiffFormat::kText) {
  trace::DifferenceOptions options;
  options.draws = 299;
  return diff_report(trace::compare(before.latencies, now.latencies, options), {&before, 1},
                     {&now, 1}, options, format);
}

std::string refusal(const TracedRun& before, const TracedRun& now,
                    const std::vector<std::string>& allowed = {}) {
  return test_support::error_of([&] { require_comparable(before, {&now, 1}, allowed); });
}

TEST(TraceDiff, NamesTheHopThatIsSlowerFirst) {
  const std::string text = report(run_of("a", 1), run_of("b", 2, 5'000));
  EXPECT_THAT(text, HasSubstr("\nslower\n"));
  EXPECT_THAT(text, HasSubstr("  oeg.seen -> oeg.sent by 4987 ns at p50 (+49"));
  EXPECT_THAT(text, Not(HasSubstr("  mdh.rx -> oeg.seen by"))) << text;
  EXPECT_THAT(text, HasSubstr("p99"));
  EXPECT_THAT(report(run_of("a", 1), run_of("b", 2)), HasSubstr("not slower: no difference"));
  EXPECT_THAT(report(run_of("a", 1, 5'000), run_of("b", 2)), HasSubstr("some figures are quicker"));
}

TEST(TraceDiff, JsonAndCsvHaveTheSameFigures) {
  const TracedRun before = run_of("a", 1), now = run_of("b", 2, 5'000);
  const json root = json::parse(report(before, now, DiffFormat::kJson));
  EXPECT_EQ(root.at("verdict"), "slower");
  EXPECT_EQ(root.at("slower_hops"), json::array({"oeg.seen -> oeg.sent"}));
  const json& median = root.at("rows")[2].at("percentiles")[0];
  EXPECT_LE(median.at("low_ns").get<double>(), 5'000);
  EXPECT_GE(median.at("high_ns").get<double>(), 5'000);
  EXPECT_EQ(root.at("rows")[2].at("count_now"), 599);
  const std::string csv = report(before, now, DiffFormat::kCsv);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 3 * 3);
  EXPECT_THAT(
      csv, HasSubstr("\"oeg.seen -> oeg.sent\",oeg.seen,oeg.sent,599,599,50," +
                     median.at("before_ns").dump() + "," + median.at("now_ns").dump() + "," +
                     median.at("low_ns").dump() + "," + median.at("high_ns").dump() + ",slower\n"));
}

TEST(TraceDiff, RunsUnderOtherConditionsAreNotCompared) {
  const TracedRun before = run_of("a", 1);
  EXPECT_EQ(refusal(before, run_of("b", 2)), "no error");
  for (std::size_t i = 0; i < kConditions.size(); ++i) {
    TracedRun now = run_of("b", 2);
    now.conditions[i] = "other";
    now.latencies.ticks_per_s = i == static_cast<std::size_t>(Condition::kRate) ? 130 : 100;
    EXPECT_THAT(refusal(before, now),
                AllOf(HasSubstr(std::string(kConditions[i].what) + ": " + before.conditions[i] +
                                "; now: other"),
                      HasSubstr(std::string("--allow ") + kConditions[i].key)));
    EXPECT_EQ(refusal(before, now, {kConditions[i].key}), "no error");
    now.conditions[i].clear();
    EXPECT_THAT(refusal(before, now), HasSubstr("now: not known"));
    if (i != static_cast<std::size_t>(Condition::kRate))
      EXPECT_THAT(refusal(now, now), HasSubstr("not known; now: not known"));
  }
}

TEST(TraceDiff, WhatIsSavedIsReadAsItWas) {
  test_support::Folder folder;
  const std::string path = folder / "deep/one.json";
  const TracedRun run = run_of("a", 1);
  EXPECT_EQ(save_baseline(run, path, {}), 1u);
  EXPECT_EQ(save_baseline(run_of("b", 2), path, {}), 2u);
  const std::vector<TracedRun> read = load_baseline(path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, "a");
  EXPECT_EQ(read[0].conditions, run.conditions);
  EXPECT_EQ(read[0].cores, run.cores);
  EXPECT_EQ(read[0].latencies.ticks_per_s, run.latencies.ticks_per_s);
  ASSERT_EQ(read[0].latencies.rows.size(), run.latencies.rows.size());
  for (std::size_t i = 0; i < run.latencies.rows.size(); ++i)
    EXPECT_EQ(read[0].latencies.rows[i].ns, run.latencies.rows[i].ns);
  TracedRun other = run_of("c", 3);
  other.conditions[0] = "verbs";
  EXPECT_THAT(test_support::error_of([&] { save_baseline(other, path, {}); }),
              HasSubstr("--allow provider"));
  EXPECT_EQ(load_baseline(path).size(), 2u);
  EXPECT_EQ(save_baseline(other, path, {"provider"}), 3u);
}

TEST(TraceDiff, ABaselineHasANameOrIsAPath) {
  EXPECT_EQ(baseline_path("night-1"), "baselines/night-1.json");
  EXPECT_EQ(baseline_path("/x/a.json"), "/x/a.json");
  for (const char* name : {"", ".hidden", "a b"})
    EXPECT_THAT(test_support::error_of([&] { (void)baseline_path(name); }), HasSubstr("no name"));
}

// Any byte of a file may be damaged, and it may end anywhere: an error or a baseline, never a
// crash.
TEST(TraceDiff, ADamagedBaselineIsAnError) {
  TracedRun run = run_of("a", 1);
  for (trace::LatencyRow& row : run.latencies.rows) row.ns.resize(3);
  const std::string text = baseline_text({&run, 1});
  const auto error_of = [](const std::string& damaged) {
    return test_support::error_of([&] { (void)parsed_baseline(damaged); });
  };
  EXPECT_EQ(error_of(text), "no error");
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_NE(error_of(text.substr(0, size)), "no error") << size;
  std::mt19937_64 random(1);
  for (int round = 0; round < 3'000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)error_of(damaged);
  }
  json root = json::parse(text);
  root["runs"][0]["rows"][1]["ns"].push_back(5);
  EXPECT_THAT(error_of(root.dump()), HasSubstr("another number of orders"));
  root["runs"][0]["rows"][1]["from"] = "nowhere";
  EXPECT_THAT(error_of(root.dump()), HasSubstr("no hop is called \"nowhere\""));
  root["runs"] = json::array();
  EXPECT_THAT(error_of(root.dump()), HasSubstr("no run"));
  root["version"] = 9;
  EXPECT_THAT(error_of(root.dump()), HasSubstr("version 9"));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a baseline"));
}

class TracedRuns : public testing::Test {
 protected:
  // A run directory: a trace, and what sim said of its recording.
  std::vector<trace::TraceFile> traces() {
    {
      trace::TraceWriter writer({folder_ / "sim.trace", 256, "sim", "shm", "park", "cpu 0"});
      const double per_us = static_cast<double>(clock::tsc_hz()) / 1e6;
      writer.stamp_at(Hop::kMdhRx, 1, {1'000'000'000});
      writer.stamp_at(Hop::kOegSent, 1, {1'000'000'000 + static_cast<std::uint64_t>(10 * per_us)});
      writer.link_order(1, 1);
    }
    std::vector<trace::TraceFile> files;
    files.emplace_back(folder_ / "sim.trace");
    return files;
  }
  void ledger(const std::string& digest) {
    std::ofstream(folder_ / "sim.ledger.json")
        << json{{"recording", "any"}, {"recording_messages", 2'000}, {"recording_digest", digest}};
  }
  std::string recording(const TracedRun& run) {
    return run.conditions[static_cast<std::size_t>(Condition::kRecording)];
  }

  test_support::Folder folder_;
};

TEST_F(TracedRuns, KnowWhatTheyWereMeasuredUnder) {
  const auto files = traces();
  ledger("83c25a9d");
  const TracedRun run = traced_run({folder_.path()}, files);
  EXPECT_EQ(run.conditions[0], "shm");
  EXPECT_EQ(run.conditions[1], "park");
  EXPECT_EQ(recording(run), "2,000 messages with digest 83c25a9d");
  EXPECT_THAT(run.conditions[3], AllOf(HasSubstr(clock::host_name()), HasSubstr(clock::cpu_model()),
                                       HasSubstr("processors")));
  EXPECT_EQ(run.latencies.orders(), 1u);
}

TEST_F(TracedRuns, ALedgerOfAFormerLifeIsNotThisRuns) {
  ledger("83c25a9d");
  std::filesystem::last_write_time(
      folder_ / "sim.ledger.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(recording(traced_run({folder_.path()}, traces())), "");
}

TEST_F(TracedRuns, WithoutALedgerTheRecordingIsNotKnown) {
  EXPECT_EQ(recording(traced_run({folder_.path()}, traces())), "");
  std::ofstream(folder_ / "sim.ledger.json") << "{";
  EXPECT_THAT(test_support::error_of([&] { traced_run({folder_.path()}, traces()); }),
              HasSubstr("not a ledger"));
}

}  // namespace
}  // namespace tickpath::cli
