// `tickpath prices` beside a running pipeline: what it shows, and what it says where there is
// nothing.
#include <csignal>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;

struct Prices : ::testing::Test {
  void SetUp() override {
    if (over_network()) GTEST_SKIP() << "the command is tried on shm; the client is on verbs, too";
  }
  Finished prices(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{program("tickpath"), "prices", "--run-dir", folder_.run_dir()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
  }
  nlohmann::json prices_json(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const Finished finished = prices(arguments);
    EXPECT_THAT(finished, Ends(0));
    return nlohmann::json::parse(finished.output);
  }
  PipelineFolder folder_;
};

void expect_bars(const nlohmann::json& bars) {
  ASSERT_FALSE(bars.empty());
  std::uint64_t before = 0;
  for (const nlohmann::json& bar : bars) {
    const auto start = bar.at("start").at("ns").get<std::uint64_t>();
    EXPECT_GT(start, before);
    EXPECT_EQ(start % 1'000'000'000, 0u);
    before = start;
    const auto value = [&](const char* name) { return bar.at(name).get<double>(); };
    for (const char* inner : {"open", "close", "vwap"}) {
      EXPECT_LE(value("low"), value(inner));
      EXPECT_GE(value("high"), value(inner));
    }
    EXPECT_GE(value("volume"), value("trades"));
  }
}

TEST_F(Prices, AreReadFromARunningPipeline) {
  Process up(folder_.up(folder_.generate(120'000, 30)), folder_.path());
  ASSERT_TRUE(folder_.wait_counter_above("mdh", "store", "trades", 300)) << up.output();
  EXPECT_THAT(prices({"ZAAA", "ZAAB"}), Ends(0, "exchange's clock", "feed good", "ZAAA\n", "ZAAB\n",
                                             "last ", "quote ", "vwap"));
  EXPECT_THAT(prices({"ZAAA", "NOSUCH"}), Ends(1, "ZAAA\n", "NOSUCH: no such symbol in the store"));
  const nlohmann::json newest = prices_json({"ZAAA"}).at(0);
  EXPECT_GT(newest.at("trade").at("price").get<double>(), 0);
  EXPECT_LT(newest.at("quote").at("bid").at("price").get<double>(),
            newest.at("quote").at("ask").at("price").get<double>());
  EXPECT_EQ(prices_json({"ZAAA", "--trades", "5"}).at(0).at("trades").size(), 5u);
  EXPECT_EQ(prices_json({"ZAAA", "--quotes", "7"}).at(0).at("quotes").size(), 7u);
  expect_bars(prices_json({"ZAAA", "--bars", "1s"}).at(0).at("bars"));
  const std::size_t recent =
      prices_json({"ZAAA", "--bars", "1s", "--last", "2s"}).at(0).at("bars").size();
  EXPECT_LE(recent, 3u);
  EXPECT_THAT(prices({"ZAAA", "--last", "2s"}), Ends(1, "--last says how far back"));
  EXPECT_THAT(prices({"ZAAA", "--bars", "1s", "--last", "2x"}), Ends(1, "a number with a unit"));
  EXPECT_THAT(prices({"ZAAA", "--mdh", "oeg"}), Ends(1, "has no right to service prices"));
  up.signal(SIGINT);
  EXPECT_THAT(up.wait(kPatience), Ends(0));
}

TEST_F(Prices, AnMdhWithoutAStoreSaysSo) {
  EXPECT_THAT(prices({"ZAAA"}), Ends(1, "mdh.fabric"));  // nobody is there
  Process mdh({program("mdh"), folder_.config_dir() + "/mdh.toml", "--run-dir", folder_.run_dir(),
               "--set", "store.enabled=false"},
              folder_.path());
  ASSERT_TRUE(folder_.wait_listening("mdh")) << mdh.output();
  EXPECT_THAT(prices({"ZAAA"}), Ends(1, "no prices are kept here", "store.enabled = true"));
  mdh.signal(SIGTERM);
  EXPECT_THAT(mdh.wait(kPatience), Ends(0));
}

}  // namespace
}  // namespace tickpath::test_support
