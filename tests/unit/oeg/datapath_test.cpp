// oeg's datapath over the shm fabric and a real FIX session, driven turn by turn, between a
// strategy and an exchange that this test plays. Its turns run under a DatapathScope: linked with
// the allocation guard (unit_oeg_alloc), the first allocation ends the test.
#include "tests/support/fix_bytes.hpp"
#include "tests/support/parking.hpp"
#include "tests/unit/oeg/datapath_fixture.hpp"

namespace tickpath::oeg {
namespace {

using namespace played;

TEST_F(OegDatapathTest, TheVenuesOwnReasonReachesTheStrategyAheadOfItsReportAndTheControlThread) {
  connect_both();
  ASSERT_EQ(client_->send(order(Exchange::kRefusedPrice)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 1; });
  EXPECT_EQ(strategy_.last.kind, wire::ReportKind::kRejected);
  EXPECT_EQ(strategy_.last.reason, trading::RejectReason::kVenue);
  EXPECT_EQ(strategy_.text, std::string(Exchange::kRefusal) + "|");
  VenueText text;
  ASSERT_TRUE(oeg_->strategies().pop_text(text));
  EXPECT_EQ(text.view(), Exchange::kRefusal);
  EXPECT_EQ(text.cl_ord_id, strategy_.last.order_id);
  ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 2; });
  EXPECT_FALSE(oeg_->strategies().pop_text(text)) << "nothing was refused";
}

TEST_F(OegDatapathTest, TradesForAStrategyAndStopsInOrder) {
  connect_both();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(client_->send(order(i % 2 == 0 ? 500'000 : 400'000)), link::SendStatus::kOk);
    until([&] { return strategy_.reports >= i + 1; });
  }
  until([&] { return strategy_.fills == 100; });
  EXPECT_EQ(strategy_.reports, 300);
  EXPECT_EQ(exchange_->orders, 200);
  EXPECT_EQ(oeg_->gateway().ledger().open_orders(), 100u);

  wire::OrderRequest cancel = order(0);
  cancel.kind = wire::RequestKind::kCancel;
  cancel.target_order_id = wire::OrderId::make(kRemoteStrategy, 1, 2);
  ASSERT_EQ(client_->send(cancel), link::SendStatus::kOk);
  until([&] { return strategy_.canceled == 1; });
  EXPECT_EQ(strategy_.last.target_order_id, cancel.target_order_id);

  // Everything that is open is cancelled, every report delivered, the session logged out.
  oeg_->stop().request(10'000'000'000);
  until([&] { return oeg_->stop().is_done(); });
  EXPECT_EQ(strategy_.canceled, 100);
  EXPECT_TRUE(oeg_->gateway().settled());
  EXPECT_FALSE(oeg_->session().connected());
  EXPECT_EQ(oeg_->gateway().ledger().position(0).row.position_shares, 1000);
}

// A correction is two records. What the first one says waits for the second one, in a queue.
TEST_F(OegDatapathTest, NothingOfAMessageTakesEffectBeforeAllOfItIsRecorded) {
  connect_both();
  connect_risk();
  ASSERT_EQ(client_->send(order(500'000)), link::SendStatus::kOk);
  until([&] { return strategy_.fills == 1 && risk_->events() == 3; });
  const auto& reports = oeg_->gateway().counters().reports;
  EXPECT_EQ(reports.queued.get(), 0u);
  fix::ExecutionReport correction{.order_id = strategy_.last.order_id,
                                  .exec_id = 900,
                                  .exec_ref_id = 2,  // the exchange's second report
                                  .cl_ord_id = strategy_.last.order_id,
                                  .last_price = {490'000},
                                  .last_shares = 10,
                                  .cum_qty = 10,
                                  .exec_type = fix::ExecType::kFill,
                                  .side = Side::kBuy,
                                  .trade_change = fix::TradeChange::kCorrected,
                                  .symbol = fix::Symbol::from("AAPL")};
  const int before = strategy_.reports;
  ASSERT_EQ(session_->send(correction), fix::SendStatus::kSent);
  until([&] { return strategy_.reports == before + 2 && risk_->events() == 5; });
  EXPECT_EQ(strategy_.last.kind, wire::ReportKind::kFillCorrected);
  EXPECT_EQ(reports.queued.get(), 2u) << "the second one may not overtake the first";
  EXPECT_EQ(oeg_->drop_copy().events_dropped().get(), 0u);
}

TEST_F(OegDatapathTest, CancelsWhatAStrategyThatEndedLeftOpen) {
  connect_both();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 50; });
  client_->close();
  until([&] { return exchange_->cancels == 50 && oeg_->gateway().settled(); });
  EXPECT_EQ(oeg_->gateway().ledger().open_orders(), 0u);
}

TEST_F(OegDatapathTest, RecoversOrdersPositionsAndMissedReportsAfterARestart) {
  connect_both();
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(client_->send(order(i < 5 ? 500'000 : 400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 15; });
  client_.reset();
  oeg_.reset();  // no stop, no logout
  ASSERT_TRUE(test_support::turn_until([&] { return !session_->connected(); },
                                       [&] { session_->poll(*exchange_); }));
  // Filled while nobody was there to hear of it.
  fix::ExecutionReport fill;
  fill.order_id = fill.cl_ord_id = wire::OrderId::make(kRemoteStrategy, 1, 10);
  fill.exec_id = 999;
  fill.exec_type = fix::ExecType::kFill;
  fill.cum_qty = fill.last_shares = 10;
  fill.last_price = {400'000};
  fill.symbol = fix::Symbol::from("AAPL");
  ASSERT_EQ(session_->send(fill), fix::SendStatus::kStored);

  open_gateway();
  EXPECT_EQ(oeg_->recovery().open_orders, 5u);
  EXPECT_EQ(oeg_->recovery().impossible, 0u);
  connect_venue();
  until([&] { return oeg_->gateway().ledger().open_orders() == 4; });
  EXPECT_EQ(oeg_->gateway().ledger().position(0).row.position_shares, 60);
  // The strategy comes back and hears of it.
  strategy_ = {};
  connect_strategy();
  until([&] { return strategy_.fills == 1; });
  EXPECT_EQ(strategy_.last.execution_id, 999u);
}

TEST_F(OegDatapathTest, TellsARestartedStrategyWhatItHoldsOnceItsOldOrdersAreSettled) {
  connect_both();
  until([&] { return strategy_.ends == 1; });
  EXPECT_TRUE(strategy_.held.empty());
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(client_->send(order(i < 5 ? 500'000 : 400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 15; });
  const std::int64_t cash = oeg_->gateway().ledger().position(0).row.cash;
  client_.reset();  // without a word
  until([&] { return !oeg_->gateway().slots()[0].connected; });
  strategy_ = {};
  connect_strategy();
  until([&] { return strategy_.ends == 1; });
  EXPECT_EQ(exchange_->cancels, 5);
  ASSERT_EQ(strategy_.held.size(), 1u);
  EXPECT_EQ(strategy_.held[3].position_shares, 50);
  EXPECT_EQ(strategy_.held[3].cash, cash);
  EXPECT_EQ(strategy_.held[3].fills, 5u);
  EXPECT_EQ(oeg_->strategies().losses().count.get(), 1u);
}

class OegWithRisk : public OegDatapathTest {
 protected:
  OegWithRisk() {
    config_.risk_required = true;
    config_.risk_absent_after_ns = 3'600'000'000'000;  // only what the test does tells
    config_.heartbeat.dead_after_ns = 3'600'000'000'000;
    oeg_.reset();
    open_gateway();
  }
};

// The blocks of the risk before it are no sign that this one watches anything.
TEST_F(OegWithRisk, ARiskThatReturnsCountsAsAliveFromItsOwnFirstBlockOn) {
  connect_both();
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kRiskAbsent);
  connect_risk();
  turns(100);
  EXPECT_FALSE(oeg_->risk().alive()) << "connected, but has written nothing";
  ASSERT_TRUE(risk_->write({}));
  until([&] { return oeg_->risk().alive(); });
  EXPECT_EQ(answer_to_an_order().kind, wire::ReportKind::kAccepted);
  lose_risk();
  EXPECT_FALSE(oeg_->risk().alive());
  connect_risk();
  turns(100);
  EXPECT_FALSE(oeg_->risk().alive());
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kRiskAbsent);
  ASSERT_TRUE(risk_->write({}));
  until([&] { return oeg_->risk().alive(); });
  EXPECT_EQ(answer_to_an_order().kind, wire::ReportKind::kAccepted);
}

TEST_F(OegWithRisk, AKillStaysWhenRiskIsGoneAndIsThereForTheNextRiskToRead) {
  connect_both();
  connect_risk();
  wire::ControlBlock block{};
  block.set_kill(kRemoteStrategy, true, true);
  block.kill_version = 3;
  ASSERT_TRUE(risk_->write(block));
  until([&] { return oeg_->risk().alive(); });
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kKillSwitch);
  lose_risk();
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kKillSwitch);
  connect_risk();
  wire::ControlBlock found{};
  ASSERT_TRUE(risk_->found(found));
  EXPECT_TRUE(found.kill_bit(kRemoteStrategy));
  EXPECT_EQ(found.kill_version, 3u);
}

// The one before it may go on later, and on shm its mapping outlives its connection.
TEST_F(OegWithRisk, WhatARiskWritesThatWasReplacedIsReadByNobody) {
  connect_both();
  connect_risk();
  const rdma::MemoryRegion* const former = oeg_->risk().region();
  wire::ControlBlock block{};
  block.set_kill(kRemoteStrategy, true, true);
  block.kill_version = 3;
  ASSERT_TRUE(risk_->write(block));
  until([&] { return oeg_->risk().alive(); });
  const std::unique_ptr<PlayedRisk> zombie = std::move(risk_);
  // The former risk hangs: nothing of it is polled.
  EXPECT_FALSE(oeg_->risk().vacant());
  oeg_->risk().let_replace();
  turns(10);
  EXPECT_FALSE(oeg_->risk().vacant()) << "it shows life";
  oeg_->drop_copy().events().end(oeg_->drop_copy().events().subscriber(0).id);
  until([&] { return oeg_->risk().vacant(); });
  EXPECT_FALSE(oeg_->risk().alive());
  connect_risk();
  EXPECT_NE(oeg_->risk().region(), former);
  wire::ControlBlock found{};
  ASSERT_TRUE(risk_->found(found));
  EXPECT_TRUE(found.kill_bit(kRemoteStrategy)) << "the new region begins with what is in effect";
  EXPECT_EQ(found.kill_version, 3u);
  ASSERT_TRUE(risk_->write(block));
  until([&] { return oeg_->risk().alive(); });
  // The zombie goes on: it may post, or find its connection ended; it lifts nothing.
  wire::ControlBlock lifted{};
  lifted.kill_version = 9;
  (void)zombie->write(lifted);
  zombie->turn();
  turns(100);
  EXPECT_TRUE(oeg_->risk().kills().killed(kRemoteStrategy));
  EXPECT_EQ(oeg_->risk().in_effect().kill_version, 3u);
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kKillSwitch);
}

class OegWithAnImpatientEye : public OegWithRisk {
 protected:
  OegWithAnImpatientEye() {
    config_.risk_absent_after_ns = 1'000'000;
    oeg_.reset();
    open_gateway();
  }
};

TEST_F(OegWithAnImpatientEye, ARiskWithoutAWordGivesWayToAnotherThatAsksAndToNobodyElse) {
  connect_both();
  connect_risk();
  std::this_thread::sleep_for(2ms);
  turns(10);
  EXPECT_FALSE(oeg_->risk().vacant()) << "nobody asks";
  oeg_->risk().let_replace();
  until([&] { return oeg_->risk().vacant(); });
  EXPECT_EQ(oeg_->drop_copy().events().subscriber_count(), 0u);
}

// In a pair: the leader had the kill switch, and died before the risk that is here had sent it.
TEST_F(OegWithRisk, ALeaderHasTheNewestKillSwitchThatWasReplicatedAndItsRiskReadsIt) {
  connect_both();
  connect_risk();
  wire::ControlBlock block{};
  block.kill_version = 3;
  ASSERT_TRUE(risk_->write(block));
  until([&] { return oeg_->risk().alive(); });
  wire::ControlBlock replicated{};
  replicated.set_kill(kRemoteStrategy, true, true);
  replicated.kill_version = 4;
  oeg_->risk().take_replicated(replicated, false);
  EXPECT_FALSE(oeg_->risk().kills().killed(kRemoteStrategy)) << "risk brings it in a moment";
  oeg_->risk().take_replicated(replicated, true);
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kKillSwitch);
  until([&] { return oeg_->risk().vacant(); });
  connect_risk();
  wire::ControlBlock found{};
  ASSERT_TRUE(risk_->found(found));
  EXPECT_EQ(found.kill_version, 4u);
  // An older one changes nothing.
  replicated = {};
  replicated.kill_version = 2;
  oeg_->risk().take_replicated(replicated, true);
  EXPECT_TRUE(oeg_->risk().kills().killed(kRemoteStrategy));
  EXPECT_FALSE(oeg_->risk().vacant());
}

TEST_F(OegDatapathTest, KillsOfTheLastRunHoldBeforeRiskHasSaidAnything) {
  control::KeptKills kept{.version = 8};
  kept.kills.push_back(control::KillTable::undescribed(kRemoteStrategy, false));
  oeg_->risk().restore_kills(kept);
  connect_both();
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kKillSwitch);
  connect_risk();
  turns(100);
  wire::ControlBlock found{};
  ASSERT_TRUE(risk_->found(found));
  EXPECT_TRUE(found.kill_bit(kRemoteStrategy));
  wire::ControlBlock lifted{};
  lifted.kill_version = 9;
  ASSERT_TRUE(risk_->write(lifted));
  until([&] { return !oeg_->risk().kills().killed(kRemoteStrategy); });
  EXPECT_EQ(answer_to_an_order().kind, wire::ReportKind::kAccepted);
}

// A strategy asks for far more than it reads. What it may send is bounded by what it has not read,
// so that nothing is lost and it stays connected.
TEST_F(OegDatapathTest, SlowsAStrategyDownThatAsksForMoreThanItReads) {
  oeg_.reset();
  config_.gateway.report_queue = 64;
  config_.channel_depth = 16;
  config_.gateway.unread_max_ns = 600'000'000'000;
  config_.gateway.limits.position_shares_max = 0;
  config_.gateway.limits.position_value_max = 0;
  config_.gateway.limits.messages_per_second_max = 0;
  config_.journal.path = directory_ + "/slow.journal";
  config_.session.store = directory_ + "/slow.store";
  open_gateway();
  connect_both();
  const std::unique_ptr<Client> client = std::move(client_);  // turn() does not read for it
  constexpr int kOrders = 3000;
  int sent = 0;
  std::uint64_t refused = 0;
  wire::OrderRequest next = order(500'000);
  for (int round = 0; strategy_.fills < kOrders; ++round) {
    while (sent < kOrders && client->send(next) == link::SendStatus::kOk) {
      ++sent;
      next = order(500'000);
    }
    refused += sent < kOrders ? 1 : 0;
    turn();
    oeg_->journal().maintain(static_cast<std::uint64_t>(round));
    if (round % 4 == 0) client->poll(strategy_, 5);
    ASSERT_LT(round, 1'000'000) << sent << " sent, "
                                << oeg_->gateway().counters().orders.received.get() << " taken, "
                                << strategy_.reports << " reports read, "
                                << oeg_->gateway().slots()[0].queue_size << " wait, "
                                << oeg_->gateway().ledger().unanswered(kRemoteStrategy)
                                << " unanswered";
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(strategy_.reports, 2 * kOrders);
  const GatewayCounters& counters = oeg_->gateway().counters();
  EXPECT_EQ(counters.orders.refused.get(), 0u);
  EXPECT_EQ(counters.reports.dropped.get(), 0u);
  EXPECT_EQ(counters.strategies_dropped.get(), 0u);
  EXPECT_EQ(counters.reports.sent.get(), 2u * kOrders);
}

TEST_F(OegDatapathTest, LetsTheVenueWaitWhileTheJournalHasNoRoomAndBooksEveryFillAfterwards) {
  oeg_.reset();
  config_.journal.records = 64;
  config_.journal.path = directory_ + "/small.journal";
  open_gateway();
  connect_both();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 10; });
  for (std::uint32_t i = 0; i < 100; ++i) {  // one share each
    fix::ExecutionReport fill;
    fill.order_id = fill.cl_ord_id = wire::OrderId::make(kRemoteStrategy, 1, i / 10 + 1);
    fill.exec_id = 1000 + i;
    fill.exec_type = i % 10 == 9 ? fix::ExecType::kFill : fix::ExecType::kPartialFill;
    fill.ord_status = i % 10 == 9 ? fix::OrdStatus::kFilled : fix::OrdStatus::kPartiallyFilled;
    fill.order_qty = 10;
    fill.leaves_qty = 9 - i % 10;
    fill.cum_qty = 1 + i % 10;
    fill.last_shares = 1;
    fill.last_price = {400'000};
    fill.symbol = fix::Symbol::from("AAPL");
    ASSERT_EQ(session_->send(fill), fix::SendStatus::kSent);
  }
  // The control thread, which makes segments, does not get to run: a tick is not called.
  until([&] { return !oeg_->gateway().reports().ready(); });
  ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_LT(strategy_.fills, 100);
  EXPECT_EQ(refused_for(trading::RejectReason::kJournalFull), 0u);
  oeg_->journal().maintain(0);
  for (int tick = 1; strategy_.fills < 100 || exchange_->orders < 11; ++tick) {
    until([&] { return !oeg_->gateway().reports().ready() || exchange_->orders == 11; });
    oeg_->journal().maintain(static_cast<std::uint64_t>(tick));
    turn();
    ASSERT_LT(tick, 100'000);
  }
  EXPECT_EQ(oeg_->gateway().ledger().position(0).row.position_shares, 100);
  EXPECT_EQ(oeg_->gateway().counters().journal_lost.get(), 0u);
  EXPECT_EQ(refused_for(trading::RejectReason::kJournalFull), 0u);
  EXPECT_EQ(oeg_->gateway().ledger().open_orders(), 1u);
}

TEST_F(OegDatapathTest, SendsNoOrderWhileReportsOfTheVenueAreMissing) {
  const auto [ours, theirs] = test_support::socket_pair();
  ASSERT_TRUE(oeg_->venue().give_socket(ours));
  const auto say = [&, socket = theirs](int seq, const std::string& type,
                                        const std::string& body = {}) {
    const std::string message = test_support::fix_message(
        "FIX.4.2", "35=" + type + "|49=" + config_.session.target +
                       "|56=" + config_.session.sender + "|34=" + std::to_string(seq) +
                       "|52=20261122-10:11:12|" + body);
    ASSERT_EQ(::send(socket, message.data(), message.size(), 0), ssize_t(message.size()));
  };
  say(1, "A", "98=0|108=30|");
  until([&] { return oeg_->session().logged_on(); });
  connect_strategy();
  say(3, "0");
  until([&] { return oeg_->session().behind_gap(); });
  EXPECT_EQ(answer_to_an_order().reason, trading::RejectReason::kVenueGap);
  say(2, "4", "123=Y|36=3|");
  until([&] { return !oeg_->session().behind_gap(); });
  ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return oeg_->gateway().counters().orders.sent.get() == 1; });
  ::close(theirs);
}

class OegThatParks : public OegDatapathTest {
 protected:
  OegThatParks() {
    oeg_.reset();
    config_.common.wait = control::WaitMode::kPark;
    open_gateway();
    connect_both();
  }
  void others_turn() {
    session_->poll(*exchange_);
    client_->poll(strategy_);
  }
};

TEST_F(OegThatParks, SleepsBesideNoOrder) {
  const auto sent = [&] { return static_cast<int>(counter_); };
  test_support::expect_no_arrival_is_slept_through(
      *oeg_, [&] { EXPECT_EQ(client_->send(order(400'000)), link::SendStatus::kOk); },
      [&] { return exchange_->orders == sent() && strategy_.reports == sent(); },
      [&] { others_turn(); });
  EXPECT_EQ(exchange_->orders, 3);
}

TEST_F(OegThatParks, SleepsBesideNoReportOfTheVenue) {
  int answers = 0;
  test_support::expect_no_arrival_is_slept_through(
      *oeg_,
      [&] {
        ++answers;
        session_->poll(*exchange_);
      },
      [&] { return strategy_.reports == answers; },
      [&] {  // one order is always on its way to the venue, which does not look before it is told
             // to
        client_->poll(strategy_);
        if (strategy_.reports != static_cast<int>(counter_)) return;
        EXPECT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
        while (oeg_->turn()) {
        }
      });
  EXPECT_EQ(exchange_->orders, 3);
}

TEST_F(OegDatapathTest, RefusesOrdersWhileTheVenueIsAway) {
  connect_strategy();
  ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 1; });
  EXPECT_EQ(strategy_.last.kind, wire::ReportKind::kRejected);
  EXPECT_EQ(strategy_.last.reason, trading::RejectReason::kSessionDown);
  connect_venue();
  ASSERT_EQ(client_->send(order(400'000)), link::SendStatus::kOk);
  until([&] { return strategy_.reports == 2; });
  EXPECT_EQ(strategy_.last.kind, wire::ReportKind::kAccepted);
}

TEST_F(OegDatapathTest, TellsAStrategyThatItsSessionIsCutInTheTurnThatFindsIt) {
  using Reasons = std::vector<trading::RejectReason>;
  connect_both();
  until([&] { return !strategy_.refuses.empty(); });
  EXPECT_EQ(strategy_.refuses, Reasons{trading::RejectReason::kNone});
  ::shutdown(session_->fd(), SHUT_RDWR);
  while (oeg_->session().logged_on()) oeg_->turn();
  client_->poll(strategy_);
  EXPECT_EQ(strategy_.refuses,
            (Reasons{trading::RejectReason::kNone, trading::RejectReason::kSessionDown}));
  until([&] { return !session_->connected(); });
  connect_venue();
  until([&] { return strategy_.refuses.size() == 3; });
  EXPECT_EQ(strategy_.refuses.back(), trading::RejectReason::kNone);
  EXPECT_EQ(strategy_.reports, 0) << "it is about no order";
}

}  // namespace
}  // namespace tickpath::oeg
