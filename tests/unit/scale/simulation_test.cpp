#include "tools/scale/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/scale/analysis.hpp"

namespace tickpath::scale {
namespace {

// One shard, one subscriber, a message a packet, nothing that costs anything but a wire.
Scenario bare() {
  Scenario scenario;
  scenario.name = "bare";
  scenario.feed.rate = 1'000;
  scenario.feed.message_bytes = 114;  // 200 bytes a packet on the wire
  scenario.feed.packet_messages = 1;
  scenario.fabric.link_gbps = 1.296;  // 162 bytes in a microsecond
  scenario.fabric.hop_ns = 0;
  scenario.run.messages = 1'000;
  return scenario;
}

// With orders, pairs and images, and a little of everything in the way.
Scenario whole() {
  Scenario scenario;
  scenario.name = "whole";
  scenario.feed = {.rate = 2e6, .packet_messages = 4, .lines = 3, .busiest_line = 2};
  scenario.mdh = {.hosts = 2,
                  .shards = 6,
                  .packet_ns = 200,
                  .receive_ns = 10,
                  .book_ns = 50,
                  .publish_ns = 20,
                  .images = 0.25,
                  .image_ns = 40,
                  .image_write_ns = 60,
                  .store_ns = 5,
                  .home_writes = 0.1,
                  .home_ns = 100};
  scenario.strategy = {.hosts = 2,
                       .programs = 4,
                       .strategies = 8,
                       .shards = 3,
                       .update_ns = 40,
                       .callback_ns = 30,
                       .subscribed = 0.5,
                       .orders = 0.01,
                       .order_ns = 200,
                       .report_ns = 100};
  scenario.oeg = {.hosts = 2,
                  .programs = 3,
                  .pair = true,
                  .shards = 2,
                  .update_ns = 20,
                  .order_ns = 1'000,
                  .replicate_ns = 300,
                  .replicate_bytes = 448,
                  .reports = 1.5,
                  .report_ns = 800,
                  .venue_ns = 20'000,
                  .risks = 2,
                  .risk_update_ns = 20,
                  .event_ns = 100};
  scenario.fabric = {.link_gbps = 25, .adapter_rate = 50e6, .hop_ns = 700};
  scenario.run = {.messages = 60'000, .seed = 4};
  return scenario;
}

// Every message is somewhere.
void expect_conserved(const Scenario& scenario, const SimulationResult& result) {
  const Flow& flow = result.flow;
  const std::uint64_t each = scenario.feed.packet_messages;
  EXPECT_EQ(flow.messages, (scenario.run.messages + each - 1) / each * each);
  EXPECT_EQ(flow.arrived, flow.taken + flow.overrun);
  EXPECT_EQ(flow.sent, flow.orders);
  EXPECT_EQ(flow.reports, flow.reports_expected);
  EXPECT_EQ(flow.events, flow.events_expected);
  EXPECT_EQ(flow.events, flow.sent + flow.reports);
  EXPECT_EQ(result.order_to_wire.count(), flow.sent);
  EXPECT_EQ(result.feed_to_wire.count(), flow.sent);
}

TEST(ScaleSimulation, AMessageAloneTakesTheSumOfItsSteps) {
  Scenario scenario = bare();
  scenario.mdh.packet_ns = 500;
  scenario.mdh.receive_ns = 10;
  scenario.mdh.book_ns = 40;
  scenario.mdh.store_ns = 3;
  scenario.mdh.publish_ns = 20;
  scenario.fabric.hop_ns = 800;
  const SimulationResult result = simulate(scenario);
  // 200 bytes in 1.234568 us, 162 out and in 1 us each.
  const double ns = 1'234.568 + 500 + 10 + 40 + 3 + 20 + 1'000 + 800 + 1'000;
  EXPECT_NEAR(static_cast<double>(result.feed_to_strategy.quantile(0.5)) * 1e-3, ns, ns / 64);
  EXPECT_EQ(result.feed_to_strategy.count(), 1'000u);
  EXPECT_EQ(result.flow.posted, 1'000u);
  expect_conserved(scenario, result);
}

TEST(ScaleSimulation, ASaturatedLinkCarriesAsMuchAsItCanAndDelaysTheRest) {
  Scenario scenario = bare();
  scenario.feed.rate = 10e6;  // ten times what the link carries
  scenario.feed.message_bytes = 1;
  scenario.feed.packet_messages = 10;
  scenario.mdh.send_depth = 65'536;
  scenario.strategy.ring_slots = 1 << 16;
  scenario.run.messages = 20'000;
  const SimulationResult result = simulate(scenario);
  EXPECT_EQ(result.flow.skipped + result.flow.lost + result.flow.overrun, 0u);
  // The last of n leaves n services after the first could; it came n tenths of a service after it.
  const double last_us = 20'000 * 1.0 - result.seconds * 1e6;
  EXPECT_NEAR(static_cast<double>(result.feed_to_strategy.max()) * 1e-6, last_us, 0.01 * last_us);
  for (const SimulatedLink& link : result.links) {
    if (link.link == Link::kMdhOut) {
      EXPECT_NEAR(link.utilisation, 10, 0.3);
    }
  }
  // Behind it nobody waits: it hands on one at a time.
  for (const SimulatedLink& link : result.links) {
    if (link.link == Link::kStrategyIn) {
      EXPECT_LE(link.wait_max, 1u);
    }
  }
  expect_conserved(scenario, result);
}

TEST(ScaleSimulation, AConnectionSkipsWhatIsBeyondItsDepth) {
  Scenario scenario = bare();
  scenario.feed.rate = 10e6;
  scenario.feed.message_bytes = 1;
  scenario.feed.packet_messages = 10;
  scenario.mdh.send_depth = 100;
  scenario.run.messages = 20'000;
  const SimulationResult result = simulate(scenario);
  // A tenth finds room, and what the connection holds at the end.
  const double carried = static_cast<double>(result.flow.posted - result.flow.skipped);
  EXPECT_NEAR(carried, 2'000 + 100, 100);
  EXPECT_EQ(result.flow.arrived, result.flow.posted - result.flow.skipped);
  // A strategy that is not skipped waits for those before it, no longer.
  EXPECT_LE(result.feed_to_strategy.max(), picoseconds(110e-6));
  expect_conserved(scenario, result);
}

TEST(ScaleSimulation, OverrunningBeginsWhenTheReaderIsARingBehind) {
  Scenario scenario = bare();
  scenario.fabric.link_gbps = 1'000;
  scenario.feed.rate = 1e6;
  scenario.strategy.update_ns = 2'000;  // twice as long as updates are apart: half of them wait
  scenario.strategy.ring_slots = 1'024;
  scenario.run.messages = 1'900;
  const SimulationResult below = simulate(scenario);
  EXPECT_EQ(below.flow.overrun, 0u);
  EXPECT_NEAR(below.ring_used_max, 950.0 / 1'023, 0.06);
  scenario.run.messages = 4'000;
  const SimulationResult above = simulate(scenario);
  EXPECT_EQ(above.ring_used_max, 1.0);
  // Half of what comes once the ring is full.
  EXPECT_NEAR(static_cast<double>(above.flow.overrun), 4'000 - 2'000 - 1'023, 80);
  expect_conserved(scenario, above);
}

TEST(ScaleSimulation, ASocketBufferLosesWhatItHasNoRoomFor) {
  Scenario scenario = bare();
  scenario.fabric.link_gbps = 1'000;
  scenario.feed.rate = 1e6;
  scenario.mdh.packet_ns = 2'000;
  scenario.mdh.buffer_bytes = 20'000;  // a hundred packets of 200 bytes
  scenario.run.messages = 4'000;
  const SimulationResult result = simulate(scenario);
  EXPECT_NEAR(static_cast<double>(result.flow.lost), 4'000 - 2'000 - 100, 80);
  EXPECT_LE(result.feed_to_strategy.max(), picoseconds(204e-6));
  EXPECT_EQ(result.flow.posted, result.flow.messages - result.flow.lost);
  expect_conserved(scenario, result);
}

TEST(ScaleSimulation, AnOrderTakesTheSumOfItsSteps) {
  Scenario scenario = bare();
  scenario.fabric.hop_ns = 1'000;
  scenario.strategy.orders = 0.1;
  scenario.oeg = {.hosts = 2,
                  .programs = 1,
                  .pair = true,
                  .order_ns = 3'000,
                  .replicate_ns = 500,
                  .replicate_bytes = 64,
                  .venue_ns = 5'000,
                  .risks = 1};
  const SimulationResult result = simulate(scenario);
  EXPECT_NEAR(static_cast<double>(result.flow.orders), 100, 1);
  // 150 bytes out, there and in; the gateway; 162 bytes to the standby, and its confirmation back.
  const double ns = 925.926 + 1'000 + 925.926 + 3'500 + 1'000 + 1'000 + 1'000 + 1'000;
  EXPECT_NEAR(static_cast<double>(result.order_to_wire.quantile(0.5)) * 1e-3, ns, ns / 64);
  expect_conserved(scenario, result);
  scenario.oeg.pair = false;
  const SimulationResult alone = simulate(scenario);
  const double alone_ns = 925.926 + 1'000 + 925.926 + 3'000;
  EXPECT_NEAR(static_cast<double>(alone.order_to_wire.quantile(0.5)) * 1e-3, alone_ns,
              alone_ns / 64);
}

TEST(ScaleSimulation, NothingIsCreatedOrForgottenUnderOverload) {
  Scenario scenario = whole();
  scenario.feed.rate = 60e6;
  scenario.mdh.buffer_bytes = 40'000;
  scenario.mdh.send_depth = 16;
  scenario.strategy.ring_slots = 64;
  scenario.strategy.update_ns = 1'000;
  scenario.oeg.ring_slots = 64;
  for (const FanOut fan_out : {FanOut::kWrite, FanOut::kRelay, FanOut::kMulticast}) {
    scenario.fabric.fan_out = fan_out;
    scenario.fabric.relay_ns = 20;
    const SimulationResult result = simulate(scenario);
    EXPECT_GT(result.flow.lost, 0u);
    EXPECT_GT(result.flow.skipped, 0u);
    EXPECT_GT(result.flow.overrun, 0u);
    expect_conserved(scenario, result);
  }
}

TEST(ScaleSimulation, TheSameSeedGivesTheSameRun) {
  Scenario scenario = whole();
  scenario.run.messages = 5'000;
  const SimulationResult one = simulate(scenario);
  const SimulationResult same = simulate(scenario);
  EXPECT_EQ(one.feed_to_strategy.max(), same.feed_to_strategy.max());
  EXPECT_EQ(one.events, same.events);
  EXPECT_EQ(one.seconds, same.seconds);
  ++scenario.run.seed;
  EXPECT_NE(simulate(scenario).seconds, one.seconds);
}

// Two ways to the same figure that share no more than who hears whom.
TEST(ScaleSimulation, IsAsBusyAsTheTableSays) {
  for (const FanOut fan_out : {FanOut::kWrite, FanOut::kRelay, FanOut::kMulticast}) {
    Scenario scenario = whole();
    scenario.fabric.fan_out = fan_out;
    scenario.fabric.relay_ns = 20;
    scenario.mdh.send_depth = 65'536;
    const SimulationResult result = simulate(scenario);
    EXPECT_EQ(result.flow.lost + result.flow.skipped + result.flow.overrun, 0u);
    scenario.feed.rate = result.rate;  // what this run drew
    const Analysis analysis = analyse(scenario);
    ASSERT_EQ(result.links.size(), analysis.loads.size());
    for (std::size_t i = 0; i < result.links.size(); ++i) {
      EXPECT_EQ(result.links[i].link, analysis.loads[i].link);
      if (result.links[i].link != Link::kMdhIn) {  // a line is heard by one host or by both
        EXPECT_NEAR(result.links[i].mean, analysis.loads[i].mean, 0.01 * analysis.loads[i].mean)
            << name_of(result.links[i].link);
      }
      EXPECT_NEAR(result.links[i].utilisation, analysis.loads[i].utilisation,
                  0.03 * analysis.loads[i].utilisation)
          << name_of(result.links[i].link);
    }
  }
}

}  // namespace
}  // namespace tickpath::scale
