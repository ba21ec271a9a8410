// `tickpath value` on a running mdh: what it changes, shows, and refuses.
#include <csignal>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

struct Values : ::testing::Test {
  void SetUp() override {
    if (over_network()) GTEST_SKIP() << "the command is tried on shm; the client is on verbs, too";
  }
  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{program("mdh"), folder_.config_dir() + "/mdh.toml",
                                     "--run-dir", folder_.run_dir()};
    command.insert(command.end(), more.begin(), more.end());
    mdh_ = std::make_unique<Process>(command, folder_.path());
    ASSERT_TRUE(folder_.wait_listening("mdh")) << mdh_->output();
  }
  void TearDown() override {
    if (mdh_ == nullptr) return;
    mdh_->signal(SIGTERM);
    EXPECT_THAT(mdh_->wait(kPatience), Ends(0));
  }
  Finished value(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{program("tickpath"), "value"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--run-dir", folder_.run_dir()});
    return run(command);
  }
  PipelineFolder folder_;
  std::unique_ptr<Process> mdh_;
};

TEST_F(Values, ArePutSwappedListedAndRemoved) {
  start();
  EXPECT_THAT(value({"get", "limit"}), Ends(1, "limit: there is no such key"));
  EXPECT_THAT(value({"put", "limit", "5000"}), Ends(0, "version 1 ", "5000\n"));
  EXPECT_THAT(value({"swap", "limit", "6000", "--version", "1"}), Ends(0, "version 2 ", "6000\n"));
  EXPECT_THAT(value({"swap", "limit", "7000", "--version", "1"}),
              Ends(1, "limit is at version 2; nothing was changed"));
  EXPECT_THAT(value({"swap", "other", "x", "--version", "1"}),
              Ends(1, "other is absent; nothing was changed"));
  EXPECT_THAT(value({"put", "a name", "\xff\x01"}), Ends(0, "0xff01\n"));
  const nlohmann::json row = nlohmann::json::parse(value({"get", "limit", "--json"}).output);
  EXPECT_EQ(row.at("value"), "6000");
  EXPECT_EQ(row.at("version"), 2);
  EXPECT_THAT(value({"list"}), Ends(0, "a name  ", "limit  "));
  EXPECT_THAT(value({"remove", "limit", "--version", "1"}), Ends(1, "at version 2"));
  EXPECT_THAT(value({"remove", "limit"}), Ends(0));
  EXPECT_THAT(value({"get", "limit"}), Ends(1, "no such key"));
}

TEST_F(Values, WhatCannotBeIsTold) {
  EXPECT_THAT(value({"get", "limit"}), Ends(1, "mdh.fabric"));  // nobody is there
  start({"--set", "values.keys=1", "--set", "values.writers=1"});
  EXPECT_THAT(value({"put", std::string(33, 'k'), "1"}), Ends(1, "a key has 1 to 32 bytes"));
  EXPECT_THAT(value({"put", "k", std::string(401, 'v')}), Ends(1, "401 bytes"));
  EXPECT_THAT(value({"put", "a", "1"}), Ends(0));
  EXPECT_THAT(value({"put", "b", "1"}), Ends(0));
  EXPECT_THAT(value({"put", "c", "1"}), Ends(1, "no place for one more key", "values.keys"));
}

// Two plugins of one program.
TEST_F(Values, AreSharedByPlugins) {
  const std::string path = folder_.config_dir() + "/strategy.toml";
  std::string text = read_file(path);
  text.resize(text.find("[[plugin]]"));
  const std::string file =
      std::filesystem::path(program("x")).parent_path().parent_path() / "tests/plugins/sharing.so";
  for (const char* id : {"1", "2"})
    text += std::string("[[plugin]]\nid = ") + id + "\nfile = \"" + file +
            "\"\n[plugin.parameters]\ntimes = 30\n";
  write_file(path, text);
  Process up(folder_.up(folder_.generate(60'000, 15)), folder_.path());
  ASSERT_TRUE(wait_until([&] {
    return value({"get", "sum"}).output.ends_with("  60\n");
  })) << up.output()
      << folder_.logs();
  EXPECT_THAT(value({"get", "sum"}), Ends(0, "version 60 "));
  EXPECT_EQ(folder_.counter("mdh", "values", "writers"), 1u) << "the strategy program's";
  up.signal(SIGINT);
  EXPECT_THAT(up.wait(kPatience), Ends(0));
}

TEST_F(Values, AnMdhThatKeepsNoneSaysSo) {
  start({"--set", "values.keys=0"});
  EXPECT_THAT(value({"list"}), Ends(1, "no shared values are kept here", "values.keys"));
}

}  // namespace
}  // namespace tickpath::test_support
