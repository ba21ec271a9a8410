#include "risk/config.hpp"

#include <cstdlib>

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

TEST(RiskConfig, RefusesMoneyThatWouldNotFit) {
  EXPECT_THAT([] { load("[limits]\nloss_max = 1e18\n"); },
              ThrowsMessage<config::ConfigError>(HasSubstr("loss_max")));
}

}  // namespace
}  // namespace tickpath::risk
