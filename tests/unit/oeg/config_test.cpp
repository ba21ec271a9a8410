#include "oeg/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

TEST(OegConfig, WarnsOfLimitsThatAreAllOff) {
  OegConfig config;
  EXPECT_THAT(advice(config), ::testing::IsEmpty());
  config.gateway.limits = {};
  EXPECT_THAT(advice(config), ::testing::ElementsAre(::testing::HasSubstr("[limits] is 0")));
  config.gateway.limits.collar_basis_points = 1;
  EXPECT_THAT(advice(config), ::testing::IsEmpty());
}

TEST(OegConfig, StopsASymbolAtAnExceptionUnlessItIsToldNotTo) {
  EXPECT_TRUE(OegConfig().gateway_options().stop_on_exception);
}

}  // namespace
}  // namespace tickpath::oeg
