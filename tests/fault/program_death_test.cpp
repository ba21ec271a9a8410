// Programs that die in the middle of a run: who notices, and what the others do.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

// Starts a run of ten seconds, kills one program once orders fill, and waits for the end.
Finished run_with_a_death(const PipelineFolder& folder, const std::string& victim) {
  Process up(folder.up(folder.generate(100'000, 10), {"--on-failure", "continue"}), folder.path());
  EXPECT_TRUE(up.wait_for_output("strategy   ready", test_support::kPatience)) << up.output();
  EXPECT_TRUE(folder.wait_counter_above("oeg", "reports", "fills", 10)) << up.output();
  const pid_t id = folder.program_id(victim);
  EXPECT_GT(id, 0);
  if (id > 0) ::kill(id, SIGKILL);
  return up.wait(test_support::kPatience);
}

TEST(ProgramDeath, AKilledStrategyLeavesNoOpenOrderBehind) {
  const PipelineFolder folder;
  const Finished finished = run_with_a_death(folder, "strategy");
  EXPECT_FALSE(finished.timed_out) << finished.output << folder.logs();
  EXPECT_NE(finished.exit_code, 0) << "a death must fail the run\n" << finished.output;
  EXPECT_NE(finished.output.find("strategy"), std::string::npos);
  const json oeg = json::parse(folder.summary("oeg"));
  EXPECT_EQ(oeg.at("open_orders"), 0) << finished.output;
  // oeg, risk and sim still agree on every position.
  EXPECT_EQ(folder.positions("oeg"), folder.positions("risk"));
  EXPECT_EQ(folder.positions("oeg"), folder.positions("sim"));
  EXPECT_EQ(json::parse(folder.summary("mdh")).at("feed_messages"), 100'000);
}

TEST(ProgramDeath, AKilledRiskMonitorStopsNewOrdersAndTheRunEnds) {
  const PipelineFolder folder;
  const Finished finished = run_with_a_death(folder, "risk");
  EXPECT_FALSE(finished.timed_out) << finished.output << folder.logs();
  EXPECT_NE(finished.exit_code, 0) << finished.output;
  const json oeg = json::parse(folder.summary("oeg"));
  EXPECT_GT(oeg.at("orders").at("refused"), 0) << finished.output;
  EXPECT_EQ(oeg.at("open_orders"), 0);
}

TEST(ProgramDeath, AKilledMarketDataHandlerIsNoticedAndTheRunEnds) {
  const PipelineFolder folder;
  const Finished finished = run_with_a_death(folder, "mdh");
  EXPECT_FALSE(finished.timed_out) << finished.output << folder.logs();
  EXPECT_NE(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(json::parse(folder.summary("strategy")).at("open_orders"), 0) << finished.output;
}

}  // namespace
}  // namespace tickpath::test_support
