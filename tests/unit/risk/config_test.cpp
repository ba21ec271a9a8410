#include "risk/config.hpp"

#include <cstdlib>
#include <cstring>

#include <gmock/gmock.h>

namespace tickpath::risk {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RiskConfig load(const std::string& text) {
  return config::load_text(risk_schema(), text, "r.toml");
}

TEST(RiskConfig, OfTheDemoHasLimits) {
  const char* source = std::getenv("TICKPATH_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "TICKPATH_SOURCE is not set: where the tree is";
  const RiskConfig config =
      config::load_file(risk_schema(), std::string(source) + "/config/demo/risk.toml");
  EXPECT_GT(config.monitor.total.loss_max, 0);
  EXPECT_GT(config.monitor.order_limits.collar_basis_points, 0u);
}

TEST(RiskConfig, MoneyBecomesTenThousandthsRoundedToTheNearest) {
  const RiskConfig config = load("[limits]\nloss_max = 1000.1234\n[total]\nloss_max = 0.00005\n");
  EXPECT_EQ(strategy_limits(config, 1).loss_max, 10'001'234);
  EXPECT_EQ(config.monitor.total.loss_max, 1);
}

TEST(RiskConfig, AStrategysOwnLimitsAreLaidOverTheCommonOnes) {
  const RiskConfig config = load(
      "[limits]\nloss_max = 100.0\nopen_orders_max = 10\nposition_shares_max = 500\n"
      "[[strategy]]\nid = 7\nloss_max = 5.0\nposition_shares_max = 0\n");
  EXPECT_EQ(strategy_limits(config, 7).loss_max, 50'000);
  EXPECT_EQ(strategy_limits(config, 7).open_orders_max, 10) << "as in [limits]";
  EXPECT_EQ(strategy_limits(config, 7).position_shares_max, 0) << "no such limit for this one";
  EXPECT_EQ(strategy_limits(config, 8).loss_max, 1'000'000);
}

TEST(RiskConfig, RefusesAStrategyThatIsThereTwice) {
  EXPECT_THAT([] { load("[[strategy]]\nid = 7\n[[strategy]]\nid = 7\n"); },
              ThrowsMessage<config::ConfigError>(HasSubstr("strategy 7 is there twice")));
}

TEST(RiskConfig, RefusesToBeConnectedToNobodyOrTwiceToTheSame) {
  const auto told = [](const char* text, const char* what) {
    EXPECT_THAT([&] { load(text); }, ThrowsMessage<config::ConfigError>(HasSubstr(what))) << text;
  };
  told("feed.endpoint = ''\n", "feed.endpoint: it is empty: say where mdh listens");
  told("gateway.endpoint = ''\n", "gateway.endpoint: it is empty: say where oeg listens");
  told("feed.endpoint = 'a'\nfeed.endpoint_b = 'a'\n", "feed.endpoint_b: it is endpoint");
  told("gateway.endpoint = 'a'\ngateway.standby_endpoint = 'a'\n",
       "gateway.standby_endpoint: it is gateway.endpoint");
}

TEST(RiskConfig, RefusesMoneyThatWouldNotFit) {
  EXPECT_THAT([] { load("[limits]\nloss_max = 1e18\n"); },
              ThrowsMessage<config::ConfigError>(HasSubstr("loss_max")));
}

constexpr const char* kTwoVenues =
    "[[venue]]\nname = 'a'\nfeed.endpoint = 'f1'\ngateway.endpoint = 'g1'\n"
    "[[venue]]\nname = 'b'\nfeed.endpoint = 'f2'\ngateway.endpoint = 'g2'\nnumber = 7\n";

TEST(RiskConfig, WarnsOfLimitsThatAreAllOff) {
  using ::testing::ElementsAre;
  EXPECT_THAT(advice(load("")), ElementsAre(HasSubstr("[order_limits]"), HasSubstr("[total]")));
  EXPECT_THAT(
      advice(load("order_limits.order_shares_max = 1\n[[strategy]]\nid = 1\nloss_max = 1.0\n")),
      ElementsAre());
}

TEST(RiskConfig, WithoutVenuesFeedAndGatewayAreTheOne) {
  const RiskConfig config = load("feed.endpoint = 'f'\ngateway.endpoint = 'g'\n");
  const auto venues = venues_of(config);
  ASSERT_EQ(venues.size(), 1u);
  EXPECT_EQ(venues[0].endpoints.feed, "f");
  EXPECT_EQ(venues[0].endpoints.gateway, "g");
  EXPECT_EQ(monitor_options(config).venues, 1u);
}

TEST(RiskConfig, VenuesHaveTheirPlaceAsNumberWhereNoneIsGiven) {
  const RiskConfig config = load(std::string(kTwoVenues) + "[reconcile]\npending_max = '2s'\n");
  const auto venues = venues_of(config);
  ASSERT_EQ(venues.size(), 2u);
  EXPECT_EQ(venues[0].number, 1);
  EXPECT_EQ(venues[1].number, 7);
  EXPECT_EQ(venues[1].endpoints.gateway, "g2");
  EXPECT_EQ(monitor_options(config).venues, 2u);
  EXPECT_EQ(monitor_options(config).pending_max_ns, 2'000'000'000);
}

TEST(RiskConfig, RefusesVenuesThatDoNotFitTogether) {
  // before: keys in front of the venues.
  const auto told = [](const std::string& before, const char* from, const char* to) {
    std::string text = before + kTwoVenues;
    if (const std::size_t at = text.find(from); *from != 0) text.replace(at, std::strlen(from), to);
    try {
      load(text);
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(told("", "", ""), "nothing");
  EXPECT_THAT(told("", "name = 'b'", "name = 'a'"), HasSubstr("a name of its own"));
  EXPECT_THAT(told("", "number = 7", "number = 1"), HasSubstr("a number of its own"));
  EXPECT_THAT(told("", "'g2'", "'g1'"), HasSubstr("g1 at r.toml:5:1 is that of r.toml:1:1"));
  EXPECT_THAT(told("", "'f2'", "'g1'"), HasSubstr("listens at a place of its own"));
  EXPECT_THAT(told("", "name = 'b'", "name = ''"), HasSubstr("is empty at r.toml:5:1"));
  EXPECT_THAT(told("", "'f2'", "''"), HasSubstr("venue.feed.endpoint: is empty at r.toml:5:1"));
  EXPECT_THAT(told("", "'g1'", "''"), HasSubstr("venue.gateway.endpoint: is empty at r.toml:1:1"));
  EXPECT_THAT(told("feed.endpoint = 'f'\n", "", ""),
              HasSubstr("is of a configuration without [[venue]]"));
  EXPECT_THAT(told("venue_number = 3\n", "", ""), HasSubstr("this risk is of every [[venue]]"));
  const std::string pairs = "witness.enabled = true\n";
  EXPECT_EQ(told(pairs, "", ""), "nothing");
  EXPECT_EQ(told(pairs, "'g1'", "'g1'\ngateway.standby_endpoint = 'h1'"), "nothing");
  EXPECT_THAT(told(pairs, "number = 7",
                   "gateway.standby_endpoint = 'h2'\n[[venue]]\nname = 'c'\n"
                   "feed.endpoint = 'f3'\ngateway.endpoint = 'g3'\n"
                   "gateway.standby_endpoint = 'h3'"),
              HasSubstr("a witness keeps the word of one pair of oegs, and 2 venues have a pair"));
}

}  // namespace
}  // namespace tickpath::risk
