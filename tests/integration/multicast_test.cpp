// The five programs with market data by multicast (publish.mode), as `tickpath up` runs them.
#include <csignal>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

constexpr auto kPatient = std::chrono::seconds(150);

class MulticastPipeline : public ::testing::Test {
 protected:
  std::vector<std::string> up(std::uint64_t messages, double seconds,
                              std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--set", "mdh:publish.mode=multicast"});
    return folder.up(folder.generate(messages, seconds), more);
  }
  void expect_all_conserved(const Finished& finished) const {
    EXPECT_EQ(finished.exit_code, 0) << finished.output << folder.logs();
    EXPECT_NE(finished.output.find("everything is accounted for"), std::string::npos)
        << finished.output;
    folder.check_logs();
  }
  std::uint64_t of_feed(const std::string& name) const {
    return folder.counter("strategy", "feed", name);
  }
  // Waits until strategy takes updates by multicast, more than it has taken so far.
  bool strategy_takes_more() const {
    return folder.wait_counter_above("strategy", "feed", "by_multicast", 0) &&
           folder.wait_counter_above("strategy", "feed", "seen", of_feed("seen"));
  }

  const PipelineFolder folder;
};

TEST_F(MulticastPipeline, TradesAndConservesEverything) {
  Process pipeline(up(30'000, 3), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("strategy   ready", kPatience)) << pipeline.output();
  EXPECT_TRUE(strategy_takes_more());
  for (const char* program : {"risk", "oeg"})
    EXPECT_EQ(
        folder.counter(program, program == std::string("oeg") ? "market" : "feed", "by_multicast"),
        1u)
        << program;
  EXPECT_EQ(folder.counter("mdh", "publish", "slots_posted"), 0u) << "nobody is written to";
  expect_all_conserved(pipeline.wait(kPatient));
  EXPECT_EQ(json::parse(folder.summary("mdh")).at("feed_messages"), 30'000);
  EXPECT_EQ(folder.positions("sim"), folder.positions("strategy"));
  EXPECT_FALSE(folder.positions("strategy").empty());
}

TEST_F(MulticastPipeline, ConservesEverythingAtFivePercentLoss) {
  Process pipeline(up(30'000, 5), folder.path(),
                   {{"TICKPATH_MULTICAST_LOSS", "per_mille=50,seed=1"}});
  ASSERT_TRUE(pipeline.wait_for_output("strategy   ready", kPatience)) << pipeline.output();
  EXPECT_TRUE(folder.wait_counter_above("strategy", "feed_multicast", "recovered", 100));
  EXPECT_TRUE(folder.wait_counter_above("strategy", "feed_multicast", "verified", 100));
  EXPECT_EQ(of_feed("forged"), 0u);
  expect_all_conserved(pipeline.wait(kPatient));
  EXPECT_EQ(folder.positions("sim"), folder.positions("strategy"));
}

TEST_F(MulticastPipeline, SurvivesAMdhAndAStrategyThatAreKilled) {
  Process pipeline(up(100'000, 40, {"--on-failure", "restart"}), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("strategy   ready", kPatience)) << pipeline.output();
  ASSERT_TRUE(strategy_takes_more());
  for (const char* victim : {"mdh", "strategy"}) {
    const pid_t before = folder.program_id(victim);
    ASSERT_GT(before, 0);
    ::kill(before, SIGKILL);
    EXPECT_TRUE(wait_until(
        [&] {
          const pid_t now = folder.program_id(victim);
          return now > 0 && now != before;
        },
        std::chrono::minutes(1)))
        << victim;
    EXPECT_TRUE(strategy_takes_more()) << "after " << victim;
  }
  pipeline.signal(SIGTERM);
  expect_all_conserved(pipeline.wait(kPatient));
}

// Stopped for a second, a strategy counts as dead to oeg, and to nobody else.
TEST_F(MulticastPipeline, AStoppedStrategyHarmsNobody) {
  Process pipeline(up(40'000, 8), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("strategy   ready", kPatience)) << pipeline.output();
  ASSERT_TRUE(strategy_takes_more());
  const pid_t strategy = folder.program_id("strategy");
  ASSERT_GT(strategy, 0);
  ::kill(strategy, SIGSTOP);
  const std::uint64_t seen = folder.counter("risk", "feed", "seen");
  EXPECT_TRUE(folder.wait_counter_above("risk", "feed", "seen", seen + 2'000));
  ::kill(strategy, SIGCONT);
  EXPECT_TRUE(strategy_takes_more());
  expect_all_conserved(pipeline.wait(kPatient));
}

TEST(MulticastConfiguration, IsRefusedWhereItCannotWork) {
  const PipelineFolder folder;
  const auto refused = [&](const std::vector<std::string>& settings, const std::string& with) {
    std::vector<std::string> more{"--check"};
    for (const std::string& setting : settings) more.insert(more.end(), {"--set", setting});
    const Finished finished = folder.run_program("mdh", more);
    EXPECT_NE(finished.exit_code, 0) << with;
    EXPECT_NE(finished.output.find(with), std::string::npos) << finished.output;
  };
  refused({"publish.mode=broadcast"}, "allowed is one of: \"write\" \"multicast\"");
  refused({"publish.mode=multicast", "publish.history=1000"}, "a power of two");
  refused({"publish.mode=multicast", "fabric.provider=shm", "publish.group=239.255.8.1"},
          "on shm it is a path");
  refused({"publish.mode=multicast", "fabric.provider=verbs", "publish.group=run/mdh.group"},
          "is not a multicast address");
}

}  // namespace
}  // namespace tickpath::test_support
