// risk's connection to oeg over the real fabric; oeg is played by hand in this process.
#include "risk/gateway_link.hpp"

#include <memory>

#include <gmock/gmock.h>

#include "tests/unit/risk/played_oeg.hpp"

namespace tickpath::risk {
namespace {

using fed::PlayedOeg;
using link::test::eventually;

class GatewayLinkOf : public ::testing::Test {
 protected:
  GatewayLinkOf() { connect(); }

  static MonitorOptions monitor_options() {
    MonitorOptions options{.instruments_max = 16, .rows_max = 16, .orders_max = 16};
    options.order_limits.order_shares_max = 777;
    return options;
  }
  GatewayLinkOptions link_options() const {
    GatewayLinkOptions options{.endpoint = oeg.fabric.endpoint,
                               .name = "risk",
                               .ring_slots = 64,
                               .reconcile_interval_ns = 1'000'000};
    options.heartbeat.dead_after_ns = 3'600'000'000'000;  // only a lost connection tells
    return options;
  }
  // A clock of the test's own, a millisecond a turn: how busy the machine is does not matter.
  std::uint64_t now() const { return now_ns; }
  void connect() {
    const auto connected = [this] { return gateway.maintain(now()); };
    oeg.fabric.meet(
        [&] { ASSERT_TRUE(link::test::eventually(connected)) << gateway.not_ready_reason(); },
        [this](rdma::ConnectionRequest& request) { oeg.accept(request); });
  }
  // Another oeg, that holds this block.
  void restart_oeg(const wire::ControlBlock& block) {
    oeg.publisher.reset();
    ASSERT_TRUE(soon([&] { return gateway.alive().get() == 0; }));
    EXPECT_THAT(gateway.not_ready_reason(), ::testing::HasSubstr("waiting for oeg"));
    // The heartbeat may tell a little before the ring does.
    int turns = 0;
    ASSERT_TRUE(soon([&] { return ++turns > 1'000; }));
    oeg.publisher = PlayedOeg::make(*oeg.fabric.device);
    oeg.block.initialise(block);
    (void)oeg.block.read(oeg.limits);
    now_ns += 110'000'000;  // the pause between two attempts
    connect();
  }
  template <class Done>
  ::testing::AssertionResult soon(Done&& done) {
    const bool so = eventually([&] {
      if (oeg.publisher) oeg.turn();
      now_ns += 1'000'000;
      monitor.advance(now());
      gateway.turn(now());
      return done();
    });
    return so ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not in time";
  }

  std::uint64_t now_ns = 1'000'000'000;
  PlayedOeg oeg;
  std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  Monitor monitor{monitor_options()};
  GatewayLink gateway{*device, nullptr, link_options(), monitor};
};

TEST_F(GatewayLinkOf, LimitsReachOegAtOnceAndAgainAsASignOfLife) {
  ASSERT_TRUE(soon([&] { return oeg.limits.order_shares_max == 777; }));
  EXPECT_EQ(gateway.not_ready_reason(), "");
  const std::uint64_t first = oeg.limits.generation;
  const std::uint64_t start = now();
  ASSERT_TRUE(soon([&] { return oeg.limits.generation >= first + 3; }));
  const std::uint64_t took_ms = (now() - start) / 1'000'000;
  EXPECT_LE(took_ms, 3 * wire::kRiskRefreshMs);
}

TEST_F(GatewayLinkOf, AKillReachesOegWithoutWaitingForTheNextRefresh) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  EXPECT_FALSE(oeg.limits.killed(1));
  monitor.kill(1, {LimitKind::kOperator, 0, 0});
  ASSERT_TRUE(soon([&] { return oeg.limits.killed(1); }));
  monitor.unkill(1);
  ASSERT_TRUE(soon([&] { return !oeg.limits.killed(1); }));
}

TEST_F(GatewayLinkOf, EventsMakePositionsAndTheTableOfOegConfirmsThem) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  oeg.fill(1, 100, 1'000'000);
  oeg.positions.store(0, {{3, 1, {}, 100, -100'000'000, 0, 0, 1, 1}, 0});
  ASSERT_TRUE(soon([&] { return monitor.counters().reconcile.compared.get() >= 2; }));
  EXPECT_EQ(monitor.ledger().rows()[0].position, 100);
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
}

TEST_F(GatewayLinkOf, AfterAnOverrunPositionsComeFromTheTable) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  for (std::uint64_t i = 1; i <= 200; ++i) oeg.fill(i, 1, 1'000'000);  // a ring of 64
  oeg.positions.store(0, {{3, 1, {}, 200, -200'000'000, 0, 0, 200, 200}, 0});
  ASSERT_TRUE(soon([&] {
    return !monitor.ledger().rows().empty() && monitor.ledger().rows()[0].position == 200;
  }));
  EXPECT_GT(gateway.events().overrun.get(), 0u);
  EXPECT_EQ(monitor.ledger().rows()[0].cash, -200'000'000);
  EXPECT_EQ(monitor.ledger().rows()[0].fills, 200u);
}

// A control block is what lets oeg trade: it must not come from a monitor that knows half.
TEST_F(GatewayLinkOf, NothingIsWrittenToOegBeforeItsPositionsAreKnown) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  oeg.publisher.reset();
  ASSERT_TRUE(soon([&] { return gateway.alive().get() == 0; }));
  int turns = 0;
  ASSERT_TRUE(soon([&] { return ++turns > 1'000; }));
  constexpr std::uint32_t kRows = 10;
  for (std::uint32_t row = 0; row < kRows; ++row)
    oeg.positions.store(row, {{row, 1, {}, 100, -100'000'000, 0, 0, 1, 1}, 0});
  oeg.publisher = PlayedOeg::make(*oeg.fabric.device);
  oeg.block.initialise({});
  oeg.limits = {};
  now_ns += 110'000'000;
  connect();
  std::size_t known = 0;
  ASSERT_TRUE(soon([&] {
    if (oeg.limits.generation == 0) known = monitor.ledger().rows().size();
    return oeg.limits.generation != 0;
  }));
  EXPECT_EQ(known, kRows);
  for (const Row& row : monitor.ledger().rows()) EXPECT_EQ(row.position, 100);
  EXPECT_EQ(monitor.counters().reconcile.adopted.get(), kRows);
}

// Everything is refused until the block is there: the refusals must not keep it away.
TEST_F(GatewayLinkOf, TheBlockIsWrittenWhileOrdersAreRefusedAllTheTime) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  oeg.positions.store(0, {{3, 1, {}, 100, -100'000'000, 0, 0, 7, 1}, 0});
  restart_oeg({});
  std::uint64_t id = 0;
  ASSERT_TRUE(soon([&] {
    for (int i = 0; i < 5; ++i) oeg.refuse(++id);
    return oeg.limits.generation != 0;
  }));
  EXPECT_EQ(monitor.ledger().rows()[0].position, 100);
}

// Trading goes on where risk is not required: then rows never rest, and a kill must get through.
TEST_F(GatewayLinkOf, TheBlockIsWrittenWhileARowChangesAllTheTime) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  restart_oeg({});
  std::int64_t shares = 0;
  const auto trade = [&] {
    oeg.fill(static_cast<std::uint64_t>(++shares), 1, 1'000'000);
    const auto count = static_cast<std::uint32_t>(shares);
    oeg.positions.store(0, {{3, 1, {}, shares, -1'000'000 * shares, 0, 0, count, count}, 0});
  };
  ASSERT_TRUE(soon([&] {
    trade();
    return oeg.limits.generation != 0;
  }));
  ASSERT_TRUE(soon([&] { return monitor.ledger().rows()[0].position == shares; }));
  EXPECT_EQ(monitor.ledger().rows()[0].cash, -1'000'000 * shares);
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
}

TEST_F(GatewayLinkOf, ARestartedOegGetsTheKillSwitchAsItStands) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  monitor.kill(Monitor::kAll, {LimitKind::kOperator, 0, 0});
  restart_oeg({});
  ASSERT_TRUE(soon([&] { return oeg.limits.kill_all == 1; }));
}

// A risk that has lost its own record must not lift by its first block what a person has killed.
TEST_F(GatewayLinkOf, AKillThatOnlyOegHoldsIsInTheFirstBlockAndStays) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  wire::ControlBlock held{};
  held.kill_version = 12;
  held.set_kill(7, true, true);
  restart_oeg(held);
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  EXPECT_TRUE(oeg.limits.kill_bit(7));
  EXPECT_GT(oeg.limits.kill_version, 12u);
  EXPECT_TRUE(monitor.kills().killed(7));
  monitor.unkill(7);
  ASSERT_TRUE(soon([&] { return !oeg.limits.kill_bit(7); }));
}

TEST_F(GatewayLinkOf, SaysWhichStateOfTheKillSwitchOegHas) {
  ASSERT_TRUE(soon([&] { return oeg.limits.generation != 0; }));
  monitor.kill(5, {LimitKind::kOperator, 0, 0}, "alice");
  const std::uint64_t version = monitor.block().kill_version;
  ASSERT_TRUE(soon([&] { return gateway.kill_version().get() == version; }));
  oeg.turn();
  EXPECT_EQ(oeg.limits.kill_version, version);
  EXPECT_STREQ(oeg.limits.kill.operator_name, "alice");
  restart_oeg({});
  ASSERT_TRUE(soon([&] { return gateway.kill_version().get() == 0; }));
  ASSERT_TRUE(soon([&] { return gateway.kill_version().get() == version; }));
}

}  // namespace
}  // namespace tickpath::risk
