// oeg dies in the middle of a run and is started again: journal and FIX store bring it back.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "tests/support/patience.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

TEST(OegRestart, LosesNothingAndSendsNothingTwice) {
  const PipelineFolder folder;
  Process up(folder.up(folder.generate(150'000, 15), {"--on-failure", "continue"}), folder.path());
  ASSERT_TRUE(up.wait_for_output("replay:", std::chrono::seconds(120))) << up.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg", "reports", "fills", 20)) << up.output();
  const pid_t victim = folder.program_id("oeg");
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  while (folder.program_id("oeg") > 0) ::usleep(10'000);  // up reaps it: the name is free then
  Process again({program("oeg"), folder.config_dir() + "/oeg.toml", "--run-dir", folder.run_dir()},
                folder.path());
  const Finished finished = up.wait(std::chrono::seconds(90));
  EXPECT_FALSE(finished.timed_out);
  EXPECT_NE(finished.exit_code, 0) << "a death must fail the run\n" << finished.output;
  again.signal(SIGTERM);
  const Finished ended = again.wait(test_support::kPatience);
  EXPECT_EQ(ended.exit_code, 0) << ended.output;

  const json oeg = json::parse(folder.summary("oeg"));
  const json sim = json::parse(folder.summary("sim"));
  const json risk = json::parse(folder.summary("risk"));
  EXPECT_EQ(oeg.at("open_orders"), 0);
  EXPECT_GT(oeg.at("orders").at("sent"), 0);
  // Counted over both lives: what oeg sent is what the exchange got, each once.
  EXPECT_EQ(oeg.at("orders").at("sent"), sim.at("orders").at("received")) << finished.output;
  EXPECT_EQ(oeg.at("orders").at("accepted"), sim.at("orders").at("accepted"));
  EXPECT_EQ(oeg.at("reports").at("fills"), sim.at("reports").at("fills"));
  EXPECT_EQ(oeg.at("orders").at("unanswered"), 0);
  EXPECT_EQ(folder.positions("oeg"), folder.positions("sim"));
  EXPECT_EQ(folder.positions("oeg"), folder.positions("risk"));
}

}  // namespace
}  // namespace tickpath::test_support
