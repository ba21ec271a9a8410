// risk's links to a pair of oegs over the real fabric; both are played by hand in this process.
#include "risk/gateways.hpp"

#include <array>
#include <memory>

#include <gmock/gmock.h>

#include "common/link/control_block.hpp"
#include "common/link/publisher.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/refusals.hpp"
#include "tests/support/connect.hpp"
#include "tests/unit/link/fabric.hpp"

namespace tickpath::risk {
namespace {

using ::testing::HasSubstr;

// One of the pair as risk sees it.
class OneOfThePair {
 public:
  using Publisher = link::Publisher<wire::OrderEvent>;

  OneOfThePair() { block.initialise({}); }
  void accept(rdma::ConnectionRequest& request) {
    const std::array<rdma::Grant, 3> extras{block.grant(), positions.grant(), heartbeat.grant()};
    accept_now(*publisher, request, {}, extras);
  }
  void lead(std::uint64_t epoch) {
    publisher->publish(wire::OrderEvent{.order_id = epoch, .event = wire::EventKind::kLeads});
  }
  // A fill of strategy 1 in instrument 3, a share at 100; the table has it, too.
  void fill() {
    publisher->publish(wire::OrderEvent{.order_id = ++fills,
                                        .instrument_id = 3,
                                        .shares = 1,
                                        .price = 1'000'000,
                                        .event = wire::EventKind::kReported,
                                        .report_kind = wire::ReportKind::kFill,
                                        .side = Side::kBuy,
                                        .strategy_id = 1,
                                        .row_event = static_cast<std::uint32_t>(fills)});
    store();
  }
  void store() {
    const auto shares = static_cast<std::int64_t>(fills);
    const auto count = static_cast<std::uint32_t>(fills);
    positions.store(0, {{3, 1, {}, shares, -1'000'000 * shares, 0, 0, count, count}, 0});
  }
  void turn() {
    heartbeat.beat();
    if (publisher) publisher->turn();
    (void)block.read(limits);
  }
  // As after a start, with that in its block.
  void restart(const wire::ControlBlock& held) {
    publisher = make(*fabric.device);
    block.initialise(held);
    (void)block.read(limits);
    limits = held;
  }
  static std::unique_ptr<Publisher> make(rdma::Device& device) {
    return std::make_unique<Publisher>(device, nullptr, link::PublisherOptions{.depth_max = 1024});
  }

  link::test::Fabric fabric;
  link::ControlBlock<wire::ControlBlock> block{*fabric.device, "block"};
  link::TableOwner<wire::NamedPosition> positions{*fabric.device, 16, "positions"};
  link::Heartbeat heartbeat{*fabric.device, "heartbeat"};
  std::unique_ptr<Publisher> publisher = make(*fabric.device);
  wire::ControlBlock limits{};
  std::uint64_t fills = 0;
};

class GatewaysToAPair : public ::testing::Test {
 protected:
  static MonitorOptions monitor_options() {
    MonitorOptions options{.instruments_max = 16, .rows_max = 16, .orders_max = 16};
    options.order_limits.order_shares_max = 777;
    return options;
  }
  GatewayLinkOptions options() const {
    GatewayLinkOptions options{.endpoint = a.fabric.endpoint,
                               .name = "risk",
                               .ring_slots = 64,
                               .reconcile_interval_ns = 1'000'000};
    options.heartbeat.dead_after_ns = 3'600'000'000'000;  // only a lost connection tells
    return options;
  }
  void connect(OneOfThePair& oeg) {
    now_ns += 110'000'000;  // the pause between two attempts
    const auto connected = [this] { return gateways.maintain(now_ns); };
    oeg.fabric.meet([&] { ASSERT_TRUE(link::test::eventually(connected)); },
                    [&](rdma::ConnectionRequest& request) { oeg.accept(request); });
    // A step on the way of the other link's attempt may have ended first.
    ASSERT_TRUE(soon([&] { return link_to(oeg).connected().get() != 0; }));
  }
  // This oeg has another risk, and refuses ours.
  void refuse(OneOfThePair& oeg, bool leads) {
    now_ns += 110'000'000;
    const auto refused = [&] {
      gateways.maintain(now_ns);
      return link_to(oeg).held();
    };
    oeg.fabric.meet([&] { ASSERT_TRUE(link::test::eventually(refused)); },
                    [&](rdma::ConnectionRequest& request) {
                      request.reject(std::string(wire::kRiskHeld) +
                                     std::string(leads ? wire::kOfTheLeader : ""));
                    });
  }
  void lose(OneOfThePair& oeg) {
    oeg.publisher.reset();
    ASSERT_TRUE(soon([&] { return link_to(oeg).connected().get() == 0; }));
  }
  const GatewayLink& link_to(const OneOfThePair& oeg) const {
    return &oeg == &a ? gateways.first() : *gateways.standby();
  }
  // Both connected, A leads in epoch 1, and each has its block.
  void begin() {
    connect(a);
    connect(b);
    a.lead(1);
    ASSERT_TRUE(soon([&] { return a.limits.generation != 0 && b.limits.generation != 0; }));
  }
  template <class Done>
  ::testing::AssertionResult soon(Done&& done) {
    const bool so = link::test::eventually([&] {
      a.turn();
      b.turn();
      now_ns += 1'000'000;
      monitor.advance(now_ns);
      gateways.turn(now_ns);
      return done();
    });
    return so ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not in time";
  }
  void settle() {
    int turns = 0;
    ASSERT_TRUE(soon([&] { return ++turns > 1'000; }));
  }
  std::int64_t position() const {
    return monitor.ledger().rows().empty() ? 0 : monitor.ledger().rows()[0].position;
  }

  std::uint64_t now_ns = 1'000'000'000;
  OneOfThePair a;
  OneOfThePair b;
  std::unique_ptr<rdma::Device> device = rdma::open_device("shm", "");
  Monitor monitor{monitor_options()};
  Gateways gateways{*device, nullptr, options(), monitor, b.fabric.endpoint};
};

TEST_F(GatewaysToAPair, CountNothingBeforeOneSaysThatItLeads) {
  connect(a);
  connect(b);
  a.fill();
  b.fill();
  settle();
  EXPECT_TRUE(monitor.ledger().rows().empty());
  EXPECT_EQ(gateways.first().superseded().get() + gateways.standby()->superseded().get(), 2u);
  EXPECT_EQ(a.limits.generation, 0u) << "nobody watches it yet";
  EXPECT_EQ(b.limits.generation, 0u);
  EXPECT_THAT(gateways.not_ready_reason(), HasSubstr("to lead"));
  a.lead(1);
  ASSERT_TRUE(soon([&] { return position() == 1; }));
  ASSERT_TRUE(soon([&] { return gateways.not_ready_reason().empty(); }));
}

TEST_F(GatewaysToAPair, WriteTheBlockToBothAndAgainAsASignOfLife) {
  begin();
  for (const OneOfThePair* const oeg : {&a, &b}) {
    EXPECT_EQ(oeg->limits.order_shares_max, 777u);
    const std::uint64_t first = oeg->limits.generation;
    ASSERT_TRUE(soon([&] { return oeg->limits.generation >= first + 2; }));
  }
}

TEST_F(GatewaysToAPair, AKillIsConfirmedOnceTheLeaderAndAConnectedStandbyHaveIt) {
  begin();
  monitor.kill(5, {LimitKind::kOperator, 0, 0}, "alice");
  const std::uint64_t version = monitor.block().kill_version;
  EXPECT_LT(gateways.kill_version(), version);
  ASSERT_TRUE(soon([&] { return gateways.kill_version() == version; }));
  a.turn();
  b.turn();
  EXPECT_TRUE(a.limits.killed(5));
  EXPECT_TRUE(b.limits.killed(5));
  // One that is not there holds nothing up, and has the kill with its first block.
  lose(b);
  monitor.kill(6, {LimitKind::kOperator, 0, 0}, "alice");
  ASSERT_TRUE(soon([&] { return gateways.kill_version() == version + 1; }));
  b.restart({});
  connect(b);
  EXPECT_LT(gateways.kill_version(), version + 1);
  ASSERT_TRUE(soon([&] { return gateways.kill_version() == version + 1; }));
  b.turn();
  EXPECT_TRUE(b.limits.killed(5) && b.limits.killed(6));
  // Nobody leads: nobody is known to act on it.
  lose(a);
  EXPECT_EQ(gateways.kill_version(), 0u);
}

TEST_F(GatewaysToAPair, AKillThatEitherHoldsIsInTheFirstBlockOfBoth) {
  wire::ControlBlock held{};
  held.kill_version = 12;
  held.set_kill(7, true, true);
  b.restart(held);
  begin();
  EXPECT_TRUE(monitor.kills().killed(7));
  EXPECT_TRUE(a.limits.kill_bit(7));
  EXPECT_TRUE(b.limits.kill_bit(7));
  EXPECT_GT(a.limits.kill_version, 12u);
  EXPECT_EQ(a.limits.kill_version, b.limits.kill_version);
}

TEST_F(GatewaysToAPair, OfTwoKillSwitchesTheNewerOneWins) {
  wire::ControlBlock older{};
  older.kill_version = 5;
  older.set_kill(7, true, true);
  wire::ControlBlock newer{};
  newer.kill_version = 9;
  newer.set_kill(8, true, true);
  a.restart(older);
  b.restart(newer);
  begin();
  for (const OneOfThePair* const oeg : {&a, &b}) {
    EXPECT_FALSE(oeg->limits.kill_bit(7)) << "somebody has lifted it, and A was away";
    EXPECT_TRUE(oeg->limits.kill_bit(8));
    EXPECT_GT(oeg->limits.kill_version, 9u);
  }
}

TEST_F(GatewaysToAPair, AKillThatWasLiftedWhileAnOegWasAwayDoesNotComeBackWithIt) {
  begin();
  monitor.kill(7, {LimitKind::kOperator, 0, 0}, "alice");
  ASSERT_TRUE(soon([&] { return b.limits.kill_bit(7); }));
  const wire::ControlBlock kept = b.limits;
  lose(b);
  monitor.unkill(7);
  const std::uint64_t version = monitor.block().kill_version;
  ASSERT_TRUE(soon([&] { return gateways.kill_version() == version; }));
  b.restart(kept);
  connect(b);
  ASSERT_TRUE(soon([&] { return !b.limits.kill_bit(7); }));
  EXPECT_FALSE(monitor.kills().killed(7));
  EXPECT_FALSE(a.limits.kill_bit(7));
}

// What A had done is in B's table; A's events count no more, whenever they come.
TEST_F(GatewaysToAPair, GoOverToAHigherEpochAndAreRightAgainWithinAPass) {
  begin();
  for (int i = 0; i < 5; ++i) a.fill();
  ASSERT_TRUE(soon([&] { return position() == 5; }));
  monitor.kill(2, {LimitKind::kOperator, 0, 0}, "alice");
  b.fills = 7;  // two came from the venue meanwhile
  b.store();
  a.lead(1);  // said once more
  b.lead(2);
  ASSERT_TRUE(soon([&] { return position() == 7; }));
  EXPECT_EQ(monitor.ledger().rows()[0].cash, -7'000'000);
  a.fill();
  a.fill();
  ASSERT_TRUE(soon([&] { return gateways.first().superseded().get() == 2; }));
  b.fill();
  ASSERT_TRUE(soon([&] { return position() == 8; }));
  settle();
  EXPECT_EQ(position(), 8);
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
  EXPECT_TRUE(monitor.kills().killed(2));
  EXPECT_TRUE(b.limits.killed(2));
  EXPECT_EQ(gateways.first().leads().get(), 0u);
  EXPECT_EQ(gateways.standby()->epoch().get(), 2u);
  EXPECT_EQ(gateways.not_ready_reason(), "");
}

TEST_F(GatewaysToAPair, AStandbyHasItsBlockAllTheTimeThatItTakesOver) {
  begin();
  lose(a);
  monitor.kill(4, {LimitKind::kOperator, 0, 0});
  ASSERT_TRUE(soon([&] { return b.limits.killed(4); })) << "nobody leads, and it hears of it";
  const std::uint64_t before = b.limits.generation;
  b.lead(2);
  ASSERT_TRUE(soon([&] { return b.limits.generation > before + 1; }));
}

TEST_F(GatewaysToAPair, NeverFollowAnOegThatComesBackWithALowerEpoch) {
  begin();
  b.lead(2);
  b.fill();
  ASSERT_TRUE(soon([&] { return position() == 1; }));
  lose(a);
  a.restart({});
  a.fills = 100;
  a.store();
  connect(a);
  a.lead(1);
  a.fill();
  ASSERT_TRUE(soon([&] { return gateways.first().superseded().get() >= 2; }));
  settle();
  EXPECT_EQ(position(), 1);
  EXPECT_EQ(gateways.standby()->leads().get(), 1u);
}

TEST_F(GatewaysToAPair, TheLossOfAStandbyChangesNothing) {
  begin();
  a.fill();
  ASSERT_TRUE(soon([&] { return position() == 1; }));
  const std::uint64_t passes = gateways.first().passes().get();
  lose(b);
  EXPECT_EQ(gateways.not_ready_reason(), "");
  EXPECT_EQ(gateways.first().losses().count.get(), 0u);
  a.fill();
  ASSERT_TRUE(soon([&] { return position() == 2; }));
  ASSERT_TRUE(soon([&] { return gateways.first().passes().get() > passes; }));
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
}

// Two risks with an oeg each would be one too many: who has not the one that leads gives way.
TEST_F(GatewaysToAPair, LetAnOegGoWhereTheOneThatLeadsHasAnotherRisk) {
  connect(b);
  EXPECT_FALSE(gateways.stands_by());
  refuse(a, true);
  EXPECT_TRUE(gateways.stands_by());
  EXPECT_EQ(gateways.not_ready_reason(), "") << "that is what it is for";
  ASSERT_TRUE(soon([&] { return gateways.standby()->connected().get() == 0; }));
  // This risk asks the oeg that leads again, and leaves the other one to the risk that is active.
  now_ns += 110'000'000;
  gateways.maintain(now_ns);
  EXPECT_EQ(b.fabric.listener->next(), nullptr);
}

TEST_F(GatewaysToAPair, KeepTheOegThatLeadsWhoeverHasTheOther) {
  connect(a);
  a.lead(1);
  ASSERT_TRUE(soon([&] { return a.limits.generation != 0; }));
  refuse(b, false);
  settle();
  EXPECT_FALSE(gateways.stands_by());
  EXPECT_TRUE(gateways.active());
}

// Nobody leads: each of two risks keeps what it has until somebody does.
TEST_F(GatewaysToAPair, KeepAnOegWhileNoneLeads) {
  connect(b);
  refuse(a, false);
  settle();
  EXPECT_FALSE(gateways.stands_by());
  EXPECT_EQ(gateways.standby()->connected().get(), 1u);
}

TEST_F(GatewaysToAPair, WhoWasReplacedForgetsWhatItKnewAndTakesItFromOegWhenItIsActiveAgain) {
  begin();
  for (int i = 0; i < 5; ++i) a.fill();
  ASSERT_TRUE(soon([&] { return position() == 5; }));
  monitor.kill(7, {LimitKind::kOperator, 0, 0}, "alice");
  ASSERT_TRUE(soon([&] { return gateways.kill_version() == monitor.block().kill_version; }));
  wire::ControlBlock held = a.limits;
  lose(a);
  lose(b);
  refuse(a, true);
  EXPECT_TRUE(gateways.stands_by());
  ASSERT_TRUE(soon([&] { return monitor.ledger().rows().empty(); }));
  // The other risk lifted that, and killed another; it was trade as well.
  held.set_kill(7, false, false);
  held.set_kill(8, true, true);
  ++held.kill_version;
  a.restart(held);
  a.fills = 9;
  a.store();
  connect(a);
  a.lead(1);
  ASSERT_TRUE(soon([&] { return position() == 9 && a.limits.generation > held.generation; }));
  gateways.maintain(now_ns);
  EXPECT_FALSE(gateways.stands_by());
  EXPECT_FALSE(a.limits.kill_bit(7));
  EXPECT_TRUE(a.limits.kill_bit(8));
}

// A link without another ignores the word: everything counts, as ever.
class GatewaysToOne : public GatewaysToAPair {};

TEST_F(GatewaysToOne, IgnoreWhoLeads) {
  Gateways single{*device, nullptr, options(), monitor};
  const auto connected = [&] { return single.maintain(now_ns); };
  a.fabric.meet([&] { ASSERT_TRUE(link::test::eventually(connected)); },
                [&](rdma::ConnectionRequest& request) { a.accept(request); });
  a.fill();
  a.lead(3);
  a.fill();
  ASSERT_TRUE(soon([&] {
    single.turn(now_ns);
    return position() == 2 && a.limits.generation != 0;
  }));
  EXPECT_EQ(single.first().leads().get(), 0u);
  EXPECT_EQ(single.not_ready_reason(), "");
}

}  // namespace
}  // namespace tickpath::risk
