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

TEST(OegConfig, TheTwoOfAPairShareAnIdWithNoOtherSessionOrShard) {
  OegConfig first;
  OegConfig second;
  first.pair.place = 1;
  second.pair.place = 2;
  second.venue.port = 1;  // each may reach the venue by a way of its own
  EXPECT_EQ(first.pair_id(), second.pair_id());
  const auto id_with = [](auto&& change) {
    OegConfig other;
    change(other);
    return other.pair_id();
  };
  EXPECT_NE(first.pair_id(), id_with([](OegConfig& other) { other.session.sender += "2"; }));
  EXPECT_NE(first.pair_id(), id_with([](OegConfig& other) { other.session.target += "2"; }));
  EXPECT_NE(first.pair_id(), id_with([](OegConfig& other) { other.shard = "2/2"; }));
  EXPECT_NE(first.pair_id(), id_with([](OegConfig& other) { other.common.venue = 2; }));
  EXPECT_NE(first.pair_id(),
            id_with([](OegConfig& other) { other.session.version = fix::Version::k44; }));
}

}  // namespace
}  // namespace tickpath::oeg
