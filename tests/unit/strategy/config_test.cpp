#include "strategy/config.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

namespace tickpath::strategy {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

StrategyConfig load(const std::string& text) {
  return config::load_text(strategy_schema(), text, "s.toml");
}

TEST(StrategyConfig, OfTheDemoRunsBothExamples) {
  const char* source = std::getenv("TICKPATH_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "TICKPATH_SOURCE is not set: where the tree is";
  const StrategyConfig config =
      config::load_file(strategy_schema(), std::string(source) + "/config/demo/strategy.toml");
  ASSERT_EQ(config.plugins.size(), 2u);
  EXPECT_EQ(config.plugins[0].file, "plugins/momentum.so");
  EXPECT_EQ(config.plugins[1].id, 2);
  EXPECT_FALSE(config.plugins[1].parameters.empty());
}

TEST(StrategyConfig, WantsAtLeastOnePlugin) {
  EXPECT_THAT([] { load(""); }, ThrowsMessage<config::ConfigError>(HasSubstr("no [[plugin]]")));
}

TEST(StrategyConfig, RefusesTwoPluginsWithOneStrategyId) {
  EXPECT_THAT(
      [] { load("[[plugin]]\nid = 1\nfile = 'a.so'\n[[plugin]]\nid = 1\nfile = 'b.so'\n"); },
      ThrowsMessage<config::ConfigError>(HasSubstr("strategy id 1 is given to two")));
}

TEST(StrategyConfig, ADisabledPluginMayShareAnId) {
  const StrategyConfig config = load(
      "[[plugin]]\nid = 1\nfile = 'a.so'\n[[plugin]]\nid = 1\nfile = 'b.so'\nenabled = false\n");
  EXPECT_EQ(config.plugins.size(), 2u);
}

TEST(StrategyConfig, NamesFileLineAndKeyOfAPluginWithoutAFile) {
  EXPECT_THAT(
      [] { load("[[plugin]]\nid = 1\n"); },
      ThrowsMessage<config::ConfigError>(::testing::AllOf(HasSubstr("s.toml"), HasSubstr("file"))));
}

}  // namespace
}  // namespace tickpath::strategy
