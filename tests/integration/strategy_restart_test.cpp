// What a strategy program knows when the market's first event reaches it, in each of its lives.
#include <csignal>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

class StrategyRestart : public ::testing::Test {
 protected:
  void SetUp() override {
    if (over_network()) GTEST_SKIP() << "the same on verbs";
    folder_.trade_only_by("first_event");
    sim_ = folder_.begin(
        "sim", {"replay.file=" + folder_.generate(200'000, 100), "replay.start=immediate"});
    mdh_ = folder_.begin("mdh");
    ASSERT_TRUE(folder_.wait_listening("mdh"));
  }
  // What the plugin says in this life.
  std::string first_event_of_a_life() const {
    const std::string log = folder_.run_dir() + "/strategy.log";
    const std::string before = std::filesystem::exists(log) ? read_file(log) : "";
    const auto strategy = folder_.begin("strategy");
    std::string said;
    EXPECT_TRUE(wait_until([&] {
      if (!std::filesystem::exists(log)) return false;
      const std::string all = read_file(log);
      const std::size_t at = all.find("the first event ", before.size());
      if (at == std::string::npos || all.find('\n', at) == std::string::npos) return false;
      said = all.substr(at, all.find('\n', at) - at);
      return true;
    })) << strategy->output();
    strategy->signal(SIGKILL);
    strategy->wait(kPatience);
    return said;
  }

  PipelineFolder folder_;
  std::unique_ptr<Process> sim_, mdh_;
};

TEST_F(StrategyRestart, FindsThePositionsKnownInEachLife) {
  const auto oeg = folder_.begin("oeg", {"risk.required=false"});
  for (int life = 0; life < 2; ++life)
    EXPECT_EQ(first_event_of_a_life(), "the first event found the positions known");
}

TEST_F(StrategyRestart, DoesWithoutAnOegThatIsAway) {
  EXPECT_EQ(first_event_of_a_life(), "the first event came without them");
}

}  // namespace
}  // namespace tickpath::test_support
