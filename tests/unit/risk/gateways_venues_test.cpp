// One risk's links to the oegs of two venues over the real fabric; both are played in this process.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "common/wire/refusals.hpp"
#include "risk/gateways.hpp"
#include "tests/unit/risk/played_oeg.hpp"

namespace tickpath::risk {
namespace {

using fed::PlayedOeg;

class GatewaysToVenues : public ::testing::Test {
 protected:
  static MonitorOptions monitor_options() {
    return {.instruments_max = 16, .rows_max = 16, .orders_max = 16, .venues = 2};
  }
  GatewayLinkOptions options(std::uint32_t venue) const {
    GatewayLinkOptions options{.endpoint = oegs[venue].fabric.endpoint,
                               .name = "risk",
                               .ring_slots = 64,
                               .reconcile_interval_ns = 1'000'000,
                               .venue = venue,
                               .several_venues = true};
    options.heartbeat.dead_after_ns = 3'600'000'000'000;  // only a lost connection tells
    return options;
  }
  Gateways& link(std::size_t venue) { return venue == 0 ? first : second; }
  void connect(std::size_t venue) {
    now_ns += 110'000'000;  // the pause between two attempts
    const auto connected = [&] { return link(venue).maintain(now_ns); };
    PlayedOeg& oeg = oegs[venue];
    oeg.fabric.meet([&] { ASSERT_TRUE(link::test::eventually(connected)); },
                    [&](rdma::ConnectionRequest& request) { oeg.accept(request); });
  }
  void lose(std::size_t venue) {
    oegs[venue].publisher.reset();
    ASSERT_TRUE(soon([&] { return !link(venue).active(); }));
    settle();
  }
  // As after a start, with that in its block.
  void restart(std::size_t venue, const wire::ControlBlock& held) {
    PlayedOeg& oeg = oegs[venue];
    oeg.publisher = PlayedOeg::make(*oeg.fabric.device);
    oeg.block.initialise(held);
    (void)oeg.block.read(oeg.limits);
    oeg.limits = held;
  }
  void begin() {
    connect(0);
    connect(1);
    ASSERT_TRUE(soon([&] { return has_block(0) && has_block(1); }));
  }
  bool has_block(std::size_t venue) const { return oegs[venue].limits.generation != 0; }
  std::uint64_t oeg_version() const {
    return std::min(first.kill_version(), second.kill_version());
  }
  template <class Done>
  ::testing::AssertionResult soon(Done&& done) {
    const bool so = link::test::eventually([&] {
      for (PlayedOeg& oeg : oegs)
        if (oeg.publisher) oeg.turn();
      now_ns += 1'000'000;
      monitor.advance(now_ns);
      first.turn(now_ns);
      second.turn(now_ns);
      return done();
    });
    return so ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not in time";
  }
  void settle() {
    int turns = 0;
    ASSERT_TRUE(soon([&] { return ++turns > 500; }));
  }
  static wire::ControlBlock holding(std::uint64_t version, std::uint32_t killed) {
    wire::ControlBlock block{};
    block.kill_version = version;
    block.set_kill(killed, true, true);
    return block;
  }

  std::uint64_t now_ns = 1'000'000'000;
  std::array<PlayedOeg, 2> oegs;
  std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  Monitor monitor{monitor_options()};
  Gateways first{*device, nullptr, options(0), monitor};
  Gateways second{*device, nullptr, options(1), monitor};
};

TEST_F(GatewaysToVenues, AKillIsInTheMemoryOfBothAndNoVersionSaysSoBefore) {
  begin();
  monitor.kill(7, {LimitKind::kOperator, 0, 0});
  const std::uint64_t version = monitor.block().kill_version;
  EXPECT_LT(oeg_version(), version);
  ASSERT_TRUE(soon([&] { return oeg_version() == version; }));
  for (PlayedOeg& oeg : oegs) {
    oeg.turn();
    EXPECT_TRUE(oeg.limits.kill_bit(7));
  }
  monitor.unkill(7);
  ASSERT_TRUE(soon([&] { return oeg_version() > version; }));
  for (PlayedOeg& oeg : oegs) {
    oeg.turn();
    EXPECT_FALSE(oeg.limits.kill_bit(7));
  }
}

TEST_F(GatewaysToVenues, OneThatIsAwayStopsNothingAtTheOther) {
  connect(0);
  ASSERT_TRUE(soon([&] { return has_block(0); }));
  EXPECT_EQ(first.not_ready_reason(), "");
  EXPECT_THAT(second.not_ready_reason(), ::testing::HasSubstr("waiting for oeg at"));
  monitor.kill(7, {LimitKind::kOperator, 0, 0});
  ASSERT_TRUE(soon([&] { return oegs[0].limits.kill_bit(7); }));
  EXPECT_EQ(oeg_version(), 0u) << "the other one has it not";
  const std::uint64_t generation = oegs[0].limits.generation;
  ASSERT_TRUE(soon([&] { return oegs[0].limits.generation > generation + 2; })) << "signs of life";
}

TEST_F(GatewaysToVenues, OneThatWasAwayWhileAStrategyWasKilledHasItInItsFirstBlock) {
  begin();
  lose(1);
  monitor.kill(7, {LimitKind::kOperator, 0, 0});
  ASSERT_TRUE(soon([&] { return oegs[0].limits.kill_bit(7); }));
  EXPECT_EQ(oeg_version(), 0u);
  restart(1, {});
  connect(1);
  ASSERT_TRUE(soon([&] {
    if (!has_block(1)) return false;
    EXPECT_TRUE(oegs[1].limits.kill_bit(7)) << "a block without it came first";
    return true;
  }));
  ASSERT_TRUE(soon([&] { return oeg_version() == monitor.block().kill_version; }));
}

TEST_F(GatewaysToVenues, AnUnkillWhileOneIsAwayIsNotUndoneByWhatItStillHolds) {
  begin();
  monitor.kill(7, {LimitKind::kOperator, 0, 0});
  ASSERT_TRUE(soon([&] { return oegs[0].limits.kill_bit(7) && oegs[1].limits.kill_bit(7); }));
  const wire::ControlBlock old = oegs[1].limits;
  settle();
  lose(1);
  monitor.unkill(7);
  ASSERT_TRUE(soon([&] { return !oegs[0].limits.kill_bit(7); }));
  settle();
  restart(1, old);
  connect(1);
  ASSERT_TRUE(soon([&] { return oegs[1].limits.generation != old.generation; }));
  EXPECT_FALSE(oegs[1].limits.kill_bit(7));
  EXPECT_FALSE(oegs[0].limits.kill_bit(7));
}

TEST_F(GatewaysToVenues, AKillThatOneHoldsIsTakenOverForBoth) {
  oegs[1].block.initialise(holding(12, 7));
  begin();
  ASSERT_TRUE(soon([&] { return oegs[0].limits.kill_bit(7) && oegs[1].limits.kill_bit(7); }));
  EXPECT_GT(oegs[0].limits.kill_version, 12u);
  // From one that comes back later, too.
  lose(0);
  restart(0, holding(3, 9));
  connect(0);
  ASSERT_TRUE(soon([&] { return oegs[1].limits.kill_bit(9) && oegs[0].limits.kill_bit(9); }));
  EXPECT_TRUE(oegs[0].limits.kill_bit(7));
}

TEST_F(GatewaysToVenues, AnOverrunOfOneIsHealedFromItsTableAndTheOtherStaysWhole) {
  begin();
  oegs[0].fill(1, 40, 1'000'000);
  oegs[0].positions.store(0, {{3, 1, {}, 40, -40'000'000, 0, 0, 1, 1}, 0});
  ASSERT_TRUE(soon([&] { return monitor.counters().reconcile.compared.get() > 0; }));
  for (std::uint64_t i = 1; i <= 200; ++i) oegs[1].fill(i, 1, 1'000'000);  // a ring of 64
  oegs[1].positions.store(0, {{3, 1, {}, 200, -200'000'000, 0, 0, 200, 200}, 0});
  ASSERT_TRUE(soon([&] { return second.first().events().overrun.get() > 0; }));
  ASSERT_TRUE(soon([&] { return monitor.state(1) == VenueState::kWhole; }));
  EXPECT_EQ(first.first().events().overrun.get(), 0u);
  EXPECT_EQ(monitor.state(0), VenueState::kWhole);
  ASSERT_EQ(monitor.ledger().rows().size(), 2u);
  for (const Row& row : monitor.ledger().rows()) EXPECT_EQ(row.position, row.venue == 0 ? 40 : 200);
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
}

TEST_F(GatewaysToVenues, AConnectionThatIsLostIsPendingUntilAPassOverTheTable) {
  begin();
  ASSERT_TRUE(soon([&] { return monitor.state(1) == VenueState::kWhole; }));
  lose(1);
  EXPECT_EQ(monitor.state(1), VenueState::kPending);
  EXPECT_EQ(monitor.state(0), VenueState::kWhole);
  restart(1, {});
  connect(1);
  ASSERT_TRUE(soon([&] { return monitor.state(1) == VenueState::kWhole; }));
}

// There is no risk beside one of several venues: it forgets nothing of the others.
TEST_F(GatewaysToVenues, AnOegThatHasAnotherRiskIsWaitedForAndNothingIsForgotten) {
  begin();
  oegs[0].fill(1, 40, 1'000'000);
  ASSERT_TRUE(soon([&] { return !monitor.ledger().rows().empty(); }));
  lose(1);
  restart(1, {});
  now_ns += 110'000'000;
  const auto refused = [&] {
    second.maintain(now_ns);
    return second.first().held();
  };
  oegs[1].fabric.meet(
      [&] { ASSERT_TRUE(link::test::eventually(refused)); },
      [&](rdma::ConnectionRequest& request) { request.reject(std::string(wire::kRiskHeld)); });
  settle();
  EXPECT_FALSE(second.stands_by());
  EXPECT_EQ(monitor.ledger().rows().size(), 1u);
  EXPECT_NE(second.not_ready_reason(), "");
  connect(1);
  ASSERT_TRUE(soon([&] { return second.kill_version() == monitor.block().kill_version; }));
}

}  // namespace
}  // namespace tickpath::risk
