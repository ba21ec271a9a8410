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
    const std::string path = folder_.config_dir() + "/strategy.toml", text = read_file(path);
    const std::string plugin = std::filesystem::path(program("x")).parent_path().parent_path() /
                               "tests/plugins/first_event.so";
    write_file(path, text.substr(0, text.find("[[plugin]]")) + "[[plugin]]\nid = 1\nfile = \"" +
                         plugin + "\"\n");
    sim_ =
        begin("sim", {"replay.file=" + folder_.generate(200'000, 100), "replay.start=immediate"});
    mdh_ = begin("mdh");
    ASSERT_TRUE(folder_.wait_listening("mdh"));
  }
  std::unique_ptr<Process> begin(const std::string& name,
                                 const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> all{program(name), folder_.config_dir() + "/" + name + ".toml",
                                 "--run-dir", folder_.run_dir()};
    for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
    return std::make_unique<Process>(all, folder_.path());
  }
  // What the plugin says in this life.
  std::string first_event_of_a_life() const {
    const std::string log = folder_.run_dir() + "/strategy.log";
    const std::string before = std::filesystem::exists(log) ? read_file(log) : "";
    const auto strategy = begin("strategy");
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
  const auto oeg = begin("oeg", {"risk.required=false"});
  for (int life = 0; life < 2; ++life)
    EXPECT_EQ(first_event_of_a_life(), "the first event found the positions known");
}

TEST_F(StrategyRestart, DoesWithoutAnOegThatIsAway) {
  EXPECT_EQ(first_event_of_a_life(), "the first event came without them");
}

}  // namespace
}  // namespace tickpath::test_support
