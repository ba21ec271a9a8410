// oeg dies in the middle of a run and is started again: journal and FIX store bring it back.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "tests/support/finished.hpp"
#include "tests/support/overload.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

// oeg is killed after `fills`, and goes on until the end of the recording.
json kill_and_restart(const PipelineFolder& folder, const std::string& recording,
                      std::vector<std::string> settings, std::uint64_t fills) {
  settings.insert(settings.end(), {"--on-failure", "continue"});
  Process up(folder.up(recording, settings), folder.path());
  EXPECT_TRUE(up.wait_for_output("replay:", std::chrono::seconds(120))) << up.output();
  EXPECT_TRUE(folder.wait_counter_above("oeg", "reports", "fills", fills)) << up.output();
  const pid_t victim = folder.program_id("oeg");
  EXPECT_GT(victim, 0);
  EXPECT_EQ(::kill(victim, SIGKILL), 0);
  while (folder.program_id("oeg") > 0) ::usleep(10'000);  // up reaps it: the name is free then
  Process again({program("oeg"), folder.config_dir() + "/oeg.toml", "--run-dir", folder.run_dir()},
                folder.path());
  const Finished finished = up.wait(std::chrono::seconds(90));
  EXPECT_FALSE(finished.timed_out);
  EXPECT_NE(finished.exit_code, 0) << "a death must fail the run\n" << finished.output;
  again.signal(SIGTERM);
  EXPECT_THAT(again.wait(test_support::kPatience), Ends(0));
  return json::parse(folder.summary("oeg"));
}

// Counted over both lives: what oeg sent is what the exchange got, each once.
void expect_whole(const PipelineFolder& folder, const json& oeg) {
  const json sim = json::parse(folder.summary("sim"));
  EXPECT_EQ(oeg.at("open_orders"), 0);
  EXPECT_GT(oeg.at("orders").at("sent"), 0);
  EXPECT_EQ(oeg.at("orders").at("sent"), sim.at("orders").at("received"));
  EXPECT_EQ(oeg.at("orders").at("accepted"), sim.at("orders").at("accepted"));
  EXPECT_EQ(oeg.at("reports").at("fills"), sim.at("reports").at("fills"));
  EXPECT_EQ(oeg.at("orders").at("unanswered"), 0);
  EXPECT_EQ(folder.positions("oeg"), folder.positions("sim"));
  EXPECT_EQ(folder.positions("oeg"), folder.positions("risk"));
}

TEST(OegRestart, LosesNothingAndSendsNothingTwice) {
  const PipelineFolder folder;
  expect_whole(folder, kill_and_restart(folder, folder.generate(150'000, 15), {}, 20));
}

// Thousands of orders a second, a segment of the journal several times a second.
TEST(OegRestart, LosesNothingWhenItDiesWhileItsJournalRotates) {
  const PipelineFolder folder;
  std::vector<std::string> settings = flood(folder, 10'000, 10);
  settings.insert(settings.end(), {"--set", "oeg:journal.records=16384"});
  expect_whole(folder, kill_and_restart(folder, folder.generate(100'000, 15), settings, 1'000));
  EXPECT_TRUE(std::filesystem::exists(folder.run_dir() + "/oeg.journal.checkpoint"));
}

}  // namespace
}  // namespace tickpath::test_support
