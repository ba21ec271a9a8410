#include "tools/scale/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/link/publisher.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::scale {
namespace {

using testing::HasSubstr;

static_assert(kSubscribersMax == link::kSubscribersMax, "docs/SCALE.md computes with it");

const Load& load_of(const Analysis& analysis, Link link) {
  for (const Load& load : analysis.loads)
    if (load.link == link) return load;
  throw std::runtime_error("the table has no " + std::string(name_of(link)));
}

// By hand: a million messages a second, four subscribers.
TEST(ScaleAnalysis, AddsUpWhatEachLinkCarries) {
  Scenario scenario;
  scenario.feed = {.rate = 1e6, .message_bytes = 38, .packet_messages = 8};
  scenario.mdh = {.packet_ns = 400,
                  .receive_ns = 10,
                  .book_ns = 40,
                  .publish_ns = 25,
                  .images = 0.5,
                  .image_ns = 60,
                  .image_write_ns = 50};
  scenario.strategy = {.hosts = 2,
                       .programs = 4,
                       .strategies = 8,
                       .update_ns = 40,
                       .callback_ns = 30,
                       .subscribed = 0.5};
  scenario.fabric = {.link_gbps = 100, .adapter_rate = 100e6};
  const Analysis analysis = analyse(scenario);
  // 400/8 + 10 + 40 + 4 x 25 + (60 + 4 x 50)/2 ns
  EXPECT_NEAR(load_of(analysis, Link::kMdhCore).utilisation, 330e-3, 1e-9);
  // 162 bytes, and half as often 106 + 418, to each of four.
  EXPECT_NEAR(load_of(analysis, Link::kMdhOut).gbps, 4 * (162 + 0.5 * 524) * 8e-3, 1e-9);
  EXPECT_NEAR(load_of(analysis, Link::kMdhOut).messages, 8e6, 1e-3);
  // 12.96 ns a slot by its bytes, 10 by its count; 41.92 ns an image.
  EXPECT_NEAR(load_of(analysis, Link::kMdhOut).utilisation, 4 * (12.96e-3 + 0.5 * 41.92e-3), 1e-9);
  EXPECT_NEAR(load_of(analysis, Link::kStrategyIn).utilisation,
              load_of(analysis, Link::kMdhOut).utilisation / 2, 1e-9);
  EXPECT_NEAR(load_of(analysis, Link::kStrategyCore).utilisation, (40 + 30) * 1e-3, 1e-9);
  EXPECT_NEAR(load_of(analysis, Link::kMdhIn).gbps, 1e6 / 8 * (86 + 8 * 38) * 8e-9, 1e-9);
  EXPECT_EQ(analysis.first, Link::kMdhCore);
  EXPECT_NEAR(analysis.rate_max, 1e6 / 0.33, 1);
  EXPECT_EQ(analysis.deliveries, 4u);
  EXPECT_TRUE(analysis.fits);
}

TEST(ScaleAnalysis, AnAdapterIsHeldByItsSlowerHalf) {
  FabricModel fabric{.link_gbps = 100, .adapter_rate = 50e6};
  EXPECT_NEAR(service_seconds(fabric, {162, 1}), 20e-9, 1e-15);    // by count
  EXPECT_NEAR(service_seconds(fabric, {1'000, 1}), 80e-9, 1e-15);  // by bytes
}

// The same lines, more shards than they are: who shares a line hears all of it.
TEST(ScaleAnalysis, ShardsOfOneLineEachHearItWhole) {
  Scenario scenario;
  scenario.feed = {.rate = 1e6, .packet_messages = 1};
  scenario.mdh = {.shards = 4, .receive_ns = 100, .book_ns = 400};
  EXPECT_NEAR(load_of(analyse(scenario), Link::kMdhCore).utilisation, 0.1 + 0.4 / 4, 1e-9);
  scenario.feed.lines = 4;
  EXPECT_NEAR(load_of(analyse(scenario), Link::kMdhCore).utilisation, (0.1 + 0.4) / 4, 1e-9);
  scenario.feed.busiest_line = 2;
  EXPECT_NEAR(load_of(analyse(scenario), Link::kMdhCore).utilisation, (0.1 + 0.4) / 2, 1e-9);
}

TEST(ScaleAnalysis, ARelayOrMulticastIsOneWriteAHost) {
  Scenario scenario;
  scenario.feed = {.rate = 1e6, .packet_messages = 1};
  scenario.strategy = {.hosts = 3, .programs = 12, .strategies = 12};
  scenario.fabric.relay_ns = 20;
  EXPECT_EQ(analyse(scenario).deliveries, 12u);
  scenario.fabric.fan_out = FanOut::kRelay;
  EXPECT_EQ(analyse(scenario).deliveries, 3u);
  EXPECT_NEAR(load_of(analyse(scenario), Link::kRelayCore).utilisation, 4 * 20e-3, 1e-9);
  scenario.fabric.fan_out = FanOut::kMulticast;
  EXPECT_EQ(analyse(scenario).deliveries, 3u);
  scenario.fabric.adapter_rate = 10e6;  // four requests of the receiving adapter, one of mdh's
  EXPECT_NEAR(load_of(analyse(scenario), Link::kStrategyIn).utilisation, 0.4, 1e-9);
  EXPECT_NEAR(load_of(analyse(scenario), Link::kMdhOut).utilisation, 0.3, 1e-9);
}

TEST(ScaleAnalysis, SaysWhenAnMdhHasNoRoomForSoManySubscribers) {
  Scenario scenario;
  scenario.strategy = {.programs = kSubscribersMax, .strategies = 100};
  EXPECT_TRUE(analyse(scenario).fits);
  ++scenario.strategy.programs;
  EXPECT_FALSE(analyse(scenario).fits);
}

Scenario to_plan() {
  Scenario scenario;
  scenario.feed = {.rate = 1e6, .packet_messages = 8, .lines = 16};
  scenario.mdh = {.packet_ns = 500, .book_ns = 40, .publish_ns = 50};
  scenario.strategy = {.strategies = 100, .orders = 0.0005};
  scenario.strategy.update_ns = 40;
  scenario.strategy.callback_ns = 30;
  scenario.strategy.subscribed = 0.1;
  scenario.oeg = {.hosts = 2, .programs = 4, .pair = true, .order_ns = 4'000, .risks = 4};
  return scenario;
}

TEST(ScalePlan, StaysWithinTheMachinesAndTheLimits) {
  const Scenario scenario = to_plan();
  double before = 0;
  for (const std::uint32_t hosts : {4u, 8u, 16u}) {
    const Plan best = plan(scenario, {.hosts = hosts, .cores = 8});
    ASSERT_TRUE(best.possible);
    const Scenario& s = best.scenario;
    EXPECT_LE(s.mdh.hosts + s.strategy.hosts + s.oeg.hosts, hosts);
    EXPECT_LE(s.mdh.shards, kShardsMax);
    EXPECT_LE(s.mdh.shards, 6 * s.mdh.hosts);
    EXPECT_LE(s.strategy.programs, 6 * s.strategy.hosts);
    EXPECT_LE(12u, 6 * s.oeg.hosts);  // four pairs and their risks
    EXPECT_LE(best.analysis.deliveries, kSubscribersMax);
    EXPECT_EQ(best.analysis.rate_max, analyse(s).rate_max);
    EXPECT_GE(best.analysis.rate_max, before);
    before = best.analysis.rate_max;
  }
  const Plan unlimited = plan(scenario, {.hosts = 16, .cores = 8, .limited = false});
  EXPECT_GT(unlimited.analysis.rate_max, before);
}

TEST(ScalePlan, SaysWhereThereIsNoRoom) {
  EXPECT_FALSE(plan(to_plan(), {.hosts = 3, .cores = 4}).possible);
  EXPECT_FALSE(plan(to_plan(), {.hosts = 16, .cores = 2}).possible);
}

std::string problem_of(const std::string& text) {
  return test_support::error_of<config::ConfigError>(
      [&] { config::load_text(scenario_schema(), "name = \"x\"\n" + text, "x.toml"); });
}

TEST(ScaleScenario, WhatCannotBeSaysWhereAndWhy) {
  EXPECT_EQ(problem_of("feed.rate = 1000"), "no error");
  EXPECT_THAT(problem_of(""), HasSubstr("feed.rate"));
  const std::string rate = "feed.rate = 1000\n";
  const std::pair<const char*, const char*> wrong[] = {
      {"feed.ratio = 1", "x.toml:3"},
      {"feed.busiest_line = 2", "more than all lines together"},
      {"feed.burst_share = 0.5", "feed.burst"},
      {"feed.burst_share = 0.5\nfeed.burst = \"1ms\"\nfeed.burst_factor = 3", "more than the mean"},
      {"feed.packet_messages = 256\nfeed.message_bytes = 50", "9,000 bytes"},
      {"mdh.hosts = 2", "fewer than hosts"},
      {"mdh.publish = \"2ms\"", "mdh.publish"},
      {"strategy.hosts = 2\nstrategy.strategies = 2", "fewer than hosts"},
      {"strategy.programs = 2", "fewer than programs"},
      {"strategy.shards = 2", "more than there are"},
      {"strategy.ring_slots = 100", "power of two"},
      {"strategy.orders = 0.1", "oeg.programs is 0"},
      {"oeg.programs = 1\noeg.risks = 1\noeg.pair = true", "two hosts"},
      {"oeg.programs = 1", "without risk"},
      {"fabric.fan_out = \"tree\"", "relay"},
  };
  for (const auto& [text, expected] : wrong)
    EXPECT_THAT(problem_of(rate + text), HasSubstr(expected)) << text;
}

}  // namespace
}  // namespace tickpath::scale
