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

constexpr const char* kTwoVenues =
    "[[venue]]\nname = 'a'\nfeed.endpoint = 'f1'\ngateway.endpoint = 'g1'\nfees.maker = -2.5\n"
    "[[venue]]\nname = 'b'\nfeed.endpoint = 'f2'\ngateway.endpoint = 'g2'\nnumber = 7\n";
constexpr const char* kPlugin = "[[plugin]]\nid = 1\nfile = 'a.so'\n";

TEST(StrategyConfig, WithoutVenuesFeedAndGatewayAreTheOne) {
  const auto venues =
      stacks_of(load(std::string("feed.endpoint = 'f'\ngateway.endpoint = 'g'\n") + kPlugin));
  ASSERT_EQ(venues.size(), 1u);
  EXPECT_EQ(venues[0].endpoints.feed, "f");
  EXPECT_EQ(venues[0].endpoints.gateway, "g");
  EXPECT_EQ(venues[0].spec().number, 0);
}

TEST(StrategyConfig, VenuesAreNumberedByTheirPlaceUnlessTheySay) {
  const auto venues = stacks_of(load(std::string(kTwoVenues) + kPlugin));
  ASSERT_EQ(venues.size(), 2u);
  EXPECT_EQ(venues[0].spec().number, 1);
  EXPECT_EQ(venues[0].spec().maker_fee, -250) << "1/1,000,000";
  EXPECT_EQ(venues[1].spec().number, 7);
}

TEST(StrategyConfig, RefusesVenuesThatAreNotApart) {
  const auto told = [](const std::string& more, const std::string& from, const std::string& to) {
    std::string text = more + kTwoVenues + kPlugin;
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    try {
      (void)load(text);
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(told("", "name = 'b'", "name = 'a'"), HasSubstr("given to two venues"));
  EXPECT_THAT(told("", "number = 7", "number = 1"), HasSubstr("1 is given to two venues"));
  EXPECT_THAT(told("", "'g2'", "'g1'"), HasSubstr("g1 is in a and again in b"));
  EXPECT_THAT(told("", "'f2'", "''"), HasSubstr("venue.feed.endpoint: is empty at "));
  EXPECT_THAT(told("", "'g1'", "''"), HasSubstr("venue.gateway.endpoint: is empty at "));
  EXPECT_THAT(told("feed.endpoint = 'x'\n", "", ""),
              HasSubstr("is of a configuration without [[venue]]"));
  EXPECT_THAT(told("venue_number = 3\n", "", ""), HasSubstr("venue_number"));
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
