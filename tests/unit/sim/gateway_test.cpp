// Orders over a FIX session into the matching core and back, without a network.
#include <functional>

#include <gtest/gtest.h>

#include "common/fix/codec.hpp"
#include "common/wire/order_id.hpp"
#include "order_entry.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::sim {
namespace {

using namespace std::chrono_literals;

// What an oeg would see; texts are copied, for they live in the receive buffer.
struct OegSide final : fix::Handler {
  std::vector<fix::ExecutionReport> reports;
  std::vector<fix::OrderCancelReject> rejects;
  std::vector<std::string> texts;
  std::vector<fix::MessageReject> refused;
  void on_execution_report(const fix::ExecutionReport& r,
                           const fix::MessageInfo&) noexcept override {
    reports.push_back(r);
    texts.emplace_back(r.text);
    reports.back().text = {};
  }
  void on_cancel_reject(const fix::OrderCancelReject& r,
                        const fix::MessageInfo&) noexcept override {
    rejects.push_back(r);
    rejects.back().text = {};
  }
  void on_message_reject(const fix::MessageReject& r, const fix::MessageInfo&) noexcept override {
    refused.push_back(r);
    refused.back().text = {};
  }
};

std::uint64_t id(std::uint32_t counter, std::uint8_t strategy = 5) {
  return wire::OrderId::make(strategy, 1, counter);
}

class GatewayTest : public ::testing::Test, protected OrderEntry {
 protected:
  GatewayTest() { open(); }

  // With options as they are now.
  void open() {
    GatewayOptions options = gateway_options();
    for (const char* target : {"OEG", "OEG2"}) {
      fix::SessionOptions session{.role = fix::SessionRole::kAcceptor,
                                  .sender = "SIM",
                                  .target = target,
                                  .store_path = folder_ / (std::string(target) + ".acceptor"),
                                  .store_messages = 1024,
                                  .send_buffer_bytes = send_buffer_bytes_};
      options.sessions.push_back({session, cancel_on_disconnect_, party_, lenient_replace_,
                                  correct_every_, misreport_every_});
    }
    options.reports_pending_max = reports_pending_max_;
    options.rate = rate_;
    options.fees = FeeSchedule(fees_);
    open_exchange(options);
  }
  void connect(std::uint32_t session = 0, const char* name = "OEG") {
    if (!oeg_) {
      fix::SessionOptions options{.sender = name,
                                  .target = "SIM",
                                  .store_path = folder_ / (std::string(name) + ".initiator"),
                                  .store_messages = 1024};
      oeg_ = std::make_unique<fix::Session>(options);
    }
    const auto [theirs, ours] = test_support::socket_pair();
    gateway_->attach(session, theirs);
    ASSERT_TRUE(oeg_->attach(ours));
    until([&] { return oeg_->logged_on() && gateway_->logged_on(session); });
  }
  void until(const std::function<bool()>& done) {
    ASSERT_TRUE(test_support::turn_until(done, [&] {
      gateway_->poll();
      gateway_->flush();
      if (oeg_) oeg_->poll(seen_);
    }));
  }
  void until_reports(std::size_t count) {
    until([&] { return seen_.reports.size() >= count; });
  }
  void buy(std::uint64_t order_id, std::uint32_t shares, std::int64_t price,
           const char* symbol = "ZAAA") {
    fix::NewOrderSingle order{.cl_ord_id = order_id,
                              .price = {price},
                              .order_qty = shares,
                              .symbol = fix::Symbol::from(symbol)};
    ASSERT_TRUE(fix::accepted(oeg_->send(order)));
  }

  RateLimit rate_;
  FeeConfig fees_;
  bool cancel_on_disconnect_ = false;
  bool lenient_replace_ = false;
  std::uint32_t correct_every_ = 0;
  std::uint32_t misreport_every_ = 0;
  PartyRule party_ = PartyRule::kClOrdId;
  std::uint32_t reports_pending_max_ = 1024;
  std::size_t send_buffer_bytes_ = 1 << 20;
  std::unique_ptr<fix::Session> oeg_;
  OegSide seen_;
};

TEST_F(GatewayTest, AcknowledgesAndFillsWithFixs42OrderStates) {
  connect();
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'000));
  market_->apply(add(7, "ZAAA", 2, Side::kSell, 100, 10'100));
  buy(id(1), 100, 10'100);
  until_reports(3);
  EXPECT_EQ(seen_.reports[0].exec_type, fix::ExecType::kNew);
  EXPECT_EQ(seen_.reports[0].ord_status, fix::OrdStatus::kNew);
  EXPECT_EQ(seen_.reports[0].leaves_qty, 100u);
  EXPECT_EQ(seen_.reports[0].symbol.view(), "ZAAA");
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kPartialFill);
  EXPECT_EQ(seen_.reports[1].ord_status, fix::OrdStatus::kPartiallyFilled);
  EXPECT_EQ(seen_.reports[1].last_shares, 60u);
  EXPECT_EQ(seen_.reports[1].last_price.value, 10'000);
  EXPECT_EQ(seen_.reports[2].exec_type, fix::ExecType::kFill);
  EXPECT_EQ(seen_.reports[2].ord_status, fix::OrdStatus::kFilled);
  EXPECT_EQ(seen_.reports[2].cum_qty, 100u);
  EXPECT_EQ(seen_.reports[2].average_price.value, (60 * 10'000 + 40 * 10'100) / 100);
  EXPECT_EQ(seen_.reports[0].order_id, seen_.reports[2].order_id);
  EXPECT_NE(seen_.reports[1].exec_id, seen_.reports[2].exec_id);
}

TEST_F(GatewayTest, CorrectsFillsToWhatTheyWereAndCancelsOnesThatNeverWereWhereThatIsConfigured) {
  correct_every_ = 2;
  misreport_every_ = 3;
  open();
  connect();
  for (std::uint64_t number = 1; number <= 3; ++number) {
    market_->apply(add(7, "ZAAA", number, Side::kSell, 100, 10'000));
    buy(id(static_cast<std::uint32_t>(number)), 100, 10'000);
  }
  until_reports(8);
  const fix::ExecutionReport& fill = seen_.reports[3];
  const fix::ExecutionReport& corrected = seen_.reports[4];
  EXPECT_EQ(corrected.trade_change, fix::TradeChange::kCorrected);
  EXPECT_EQ(corrected.exec_ref_id, fill.exec_id);
  EXPECT_NE(corrected.exec_id, fill.exec_id);
  EXPECT_EQ(corrected.cl_ord_id, fill.cl_ord_id);
  EXPECT_EQ(corrected.last_shares, 100u);
  EXPECT_EQ(corrected.last_price.value, 10'000);
  EXPECT_EQ(corrected.leaves_qty, 0u);
  const fix::ExecutionReport& canceled = seen_.reports[7];
  EXPECT_EQ(canceled.trade_change, fix::TradeChange::kCanceled);
  for (const fix::ExecutionReport& report : seen_.reports)
    EXPECT_NE(canceled.exec_ref_id, report.exec_id) << "nobody has heard of it";
}

TEST_F(GatewayTest, AFillThatTheReplayCausesIsReportedToo) {
  connect();
  buy(id(1), 100, 10'000);
  until_reports(1);
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 30, 9'900));
  until_reports(2);
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kPartialFill);
  EXPECT_EQ(seen_.reports[1].last_price.value, 10'000);
}

TEST_F(GatewayTest, CancelsReplacesAndRejectsWithTheIdsThatFixAsksFor) {
  connect();
  buy(id(1), 100, 10'000);
  fix::OrderCancelReplaceRequest replace{.cl_ord_id = id(2),
                                         .orig_cl_ord_id = id(1),
                                         .price = {10'000},
                                         .order_qty = 80,
                                         .symbol = fix::Symbol::from("ZAAA")};
  oeg_->send(replace);
  fix::OrderCancelRequest cancel{
      .cl_ord_id = id(3), .orig_cl_ord_id = id(2), .symbol = fix::Symbol::from("ZAAA")};
  oeg_->send(cancel);
  cancel.cl_ord_id = id(4);
  oeg_->send(cancel);
  replace.cl_ord_id = id(5);
  replace.orig_cl_ord_id = id(99);
  oeg_->send(replace);
  until([&] { return seen_.rejects.size() == 2; });
  ASSERT_EQ(seen_.reports.size(), 3u);
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kReplaced);
  EXPECT_EQ(seen_.reports[1].cl_ord_id, id(2));
  EXPECT_EQ(seen_.reports[1].orig_cl_ord_id, id(1));
  EXPECT_EQ(seen_.reports[1].order_qty, 80u);
  EXPECT_EQ(seen_.reports[2].exec_type, fix::ExecType::kCanceled);
  EXPECT_EQ(seen_.reports[2].cl_ord_id, id(3));
  EXPECT_EQ(seen_.reports[2].orig_cl_ord_id, id(2));
  EXPECT_EQ(seen_.reports[2].leaves_qty, 0u);
  EXPECT_EQ(seen_.rejects[0].reason, fix::CxlRejReason::kTooLateToCancel);
  EXPECT_EQ(seen_.rejects[0].ord_status, fix::OrdStatus::kCanceled);
  EXPECT_EQ(seen_.rejects[0].order_id, seen_.reports[2].order_id);
  EXPECT_FALSE(seen_.rejects[0].of_replace);
  EXPECT_EQ(seen_.rejects[1].reason, fix::CxlRejReason::kUnknownOrder);
  EXPECT_TRUE(seen_.rejects[1].of_replace);
}

TEST_F(GatewayTest, RejectsUnknownSymbolsAndDuplicateIdsAndGoesOn) {
  connect();
  buy(id(1), 100, 10'000, "NOSUCH");
  buy(id(2), 100, 10'000);
  buy(id(2), 100, 10'000);
  buy(id(3), 100, 10'000);
  until_reports(4);
  EXPECT_EQ(seen_.reports[0].exec_type, fix::ExecType::kRejected);
  EXPECT_EQ(seen_.reports[0].reject_reason, fix::OrdRejReason::kUnknownSymbol);
  EXPECT_EQ(seen_.reports[0].symbol.view(), "NOSUCH");
  EXPECT_EQ(seen_.texts[0], "unknown symbol");
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kNew);
  EXPECT_EQ(seen_.reports[2].reject_reason, fix::OrdRejReason::kDuplicateOrder);
  EXPECT_EQ(seen_.reports[3].exec_type, fix::ExecType::kNew);
  EXPECT_EQ(matcher_->live_orders(), 2u);
}

TEST_F(GatewayTest, MalformedMessagesAreRefusedAsSuchAndTheSessionGoesOn) {
  connect();
  buy(id(1), 0, 10'000);  // FIX can say it, the exchange cannot take it
  fix::NewOrderSingle order{.cl_ord_id = id(2), .price = {10'000}, .order_qty = 10};
  order.side = static_cast<Side>(7);  // not a side of FIX
  order.symbol = fix::Symbol::from("ZAAA");
  oeg_->send(order);
  buy(id(3), 10, 10'000);
  until([&] { return !seen_.reports.empty() && seen_.reports.back().cl_ord_id == id(3); });
  EXPECT_EQ(matcher_->counters().rejected.get(), 2u);
  EXPECT_EQ(seen_.reports.back().exec_type, fix::ExecType::kNew);
  EXPECT_EQ(matcher_->live_orders(), 1u);
}

TEST_F(GatewayTest, OrderTypesTravelToTheCoreAndTheirRefusalsNameTheTag) {
  connect();
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'100));
  market_->apply(add(7, "ZAAA", 2, Side::kBuy, 60, 9'900));
  fix::NewOrderSingle order{.order_qty = 500, .symbol = fix::Symbol::from("ZAAA")};
  const auto send = [&](std::uint32_t number) {
    order.cl_ord_id = id(number);
    ASSERT_TRUE(fix::accepted(oeg_->send(order)));
  };
  order.type = trading::OrderType::kPegged;
  order.max_floor = 100;
  send(1);
  order.type = trading::OrderType::kStop;
  order.stop_price = {10'000};
  order.max_floor = 0;
  order.time_in_force = trading::TimeInForce::kGoodTillCancel;
  send(2);
  order.type = trading::OrderType::kLimit;
  order.price = {10'100};
  order.post_only = true;
  send(3);
  order.post_only = false;
  order.time_in_force = trading::TimeInForce::kFillOrKill;
  send(4);
  order.time_in_force = trading::TimeInForce::kDay;
  order.max_floor = 7;
  send(5);
  until_reports(6);
  const LiveOrder* peg = matcher_->find_live(id(1));
  ASSERT_NE(peg, nullptr);
  EXPECT_EQ(peg->price, 9'900u);
  EXPECT_EQ(peg->shown(), 100u);
  const LiveOrder* stop = matcher_->find_live(id(2));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->stop_price, 10'000u);
  EXPECT_EQ(stop->time_in_force, TimeInForce::kGoodTillCancel);
  EXPECT_EQ(seen_.reports[2].exec_type, fix::ExecType::kRejected);
  EXPECT_EQ(seen_.texts[2], describe(Reason::kPostOnly));
  EXPECT_EQ(seen_.reports[4].exec_type, fix::ExecType::kExpired);
  EXPECT_EQ(seen_.texts[4], describe(Reason::kMinimum));
  EXPECT_EQ(seen_.reports[5].exec_type, fix::ExecType::kRejected);
  EXPECT_EQ(seen_.texts[5], "MaxFloor (111) is below the least display quantity");
}

TEST_F(GatewayTest, AReplacementKeepsWhatItDoesNotRepeatWhereThatIsConfigured) {
  lenient_replace_ = true;
  open();
  connect();
  oeg_->send(fix::NewOrderSingle{.cl_ord_id = id(1),
                                 .price = {10'000},
                                 .order_qty = 500,
                                 .max_floor = 100,
                                 .post_only = true,
                                 .symbol = fix::Symbol::from("ZAAA")});
  oeg_->send(fix::OrderCancelReplaceRequest{.cl_ord_id = id(2),
                                            .orig_cl_ord_id = id(1),
                                            .price = {9'900},
                                            .order_qty = 500,
                                            .symbol = fix::Symbol::from("ZAAA")});
  until_reports(2);
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kReplaced);
  const LiveOrder* const order = matcher_->find_live(id(2));
  ASSERT_NE(order, nullptr);
  EXPECT_TRUE(order->post_only);
  EXPECT_EQ(order->display, 100u);
}

TEST_F(GatewayTest, ReportsOfASessionThatIsDownArriveAfterItsNextLogon) {
  connect();
  buy(id(1), 100, 10'000);
  until_reports(1);
  oeg_->disconnect();
  until([&] { return !gateway_->connected(0); });
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 100, 10'000));
  gateway_->flush();
  EXPECT_EQ(gateway_->counters().stored.get(), 1u);
  connect();
  until_reports(2);
  EXPECT_EQ(seen_.reports[1].exec_type, fix::ExecType::kFill);
}

TEST_F(GatewayTest, AStoreSurvivesARestartOfTheExchange) {
  connect();
  buy(id(1), 100, 10'000);
  until_reports(1);
  open();
  until([&] { return !oeg_->connected(); });
  connect();
  EXPECT_EQ(gateway_->session_counters(0).rejected.get(), 0u);
  buy(id(2), 100, 10'000);
  until_reports(2);
  EXPECT_EQ(seen_.reports[1].cl_ord_id, id(2));
}

TEST_F(GatewayTest, WhatAnExchangeHasReadIsAnsweredAlsoIfItDiesRightAfter) {
  connect();
  buy(id(1), 100, 10'000);
  buy(id(2), 100, 10'000);
  while (matcher_->live_orders() < 2) gateway_->poll();
  open();  // before it could flush
  until([&] { return !oeg_->connected(); });
  connect();
  until_reports(2);
  EXPECT_EQ(seen_.reports[0].cl_ord_id, id(1));
  EXPECT_EQ(seen_.reports[1].cl_ord_id, id(2));
}

TEST_F(GatewayTest, EverySessionHasItsOwnOrdersAndLedger) {
  connect(1, "OEG2");
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'000));
  buy(id(1), 60, 10'000);
  until_reports(2);
  ASSERT_EQ(gateway_->ledger().rows().size(), 1u);
  const LedgerRow& row = gateway_->ledger().rows()[0];
  EXPECT_EQ(row.party, (Party{1, 5}));
  EXPECT_EQ(row.position_shares, 60);
  EXPECT_EQ(row.cash, -600'000);
  EXPECT_EQ(row.fills, 1u);
  EXPECT_EQ(row.accepted, 1u);
  EXPECT_TRUE(check_conservation(*matcher_, gateway_->ledger()).empty());
}

TEST_F(GatewayTest, RefusesOrdersForWhichTheLedgerHasNoRow) {
  connect();
  for (std::uint8_t strategy = 1; strategy <= 5; ++strategy) buy(id(1, strategy), 1, 10'000);
  until_reports(5);
  EXPECT_EQ(seen_.reports[3].exec_type, fix::ExecType::kNew);
  EXPECT_EQ(seen_.reports[4].exec_type, fix::ExecType::kRejected);
  EXPECT_EQ(matcher_->live_orders(), 4u);
}

TEST_F(GatewayTest, AnOegsSessionTakesOtherIdsByTheirTextAndForTheSession) {
  connect();
  fix::NewOrderSingle order{.price = {10'000},
                            .order_qty = 100,
                            .symbol = fix::Symbol::from("ZAAA"),
                            .cl_ord_id_text = "ORDER-1"};
  oeg_->send(order);
  buy(id(1, 5), 100, 10'000);
  until_reports(2);
  std::uint64_t hashed = 0;
  ASSERT_TRUE(fix::parse_id("ORDER-1", hashed));
  EXPECT_EQ(seen_.reports[0].cl_ord_id, hashed);
  EXPECT_EQ(seen_.reports[1].cl_ord_id, id(1, 5));
  ASSERT_EQ(gateway_->ledger().rows().size(), 2u);
  EXPECT_EQ(gateway_->ledger().rows()[0].party, (Party{0, 0}));
  EXPECT_EQ(gateway_->ledger().rows()[1].party, (Party{0, 5}));
}

TEST_F(GatewayTest, NumbersOfOthersThatLookLikeAnOegsNameNoStrategy) {
  party_ = PartyRule::kSession;
  open();
  connect();
  for (std::uint8_t strategy = 1; strategy <= 10; ++strategy) buy(id(1, strategy), 1, 10'000);
  until_reports(10);
  for (const fix::ExecutionReport& report : seen_.reports)
    EXPECT_EQ(report.exec_type, fix::ExecType::kNew);
  EXPECT_EQ(seen_.reports[9].cl_ord_id, id(1, 10));
  ASSERT_EQ(gateway_->ledger().rows().size(), 1u);
  EXPECT_EQ(gateway_->ledger().rows()[0].party, (Party{0, 0}));
}

// The peer stops reading while thousands of its orders fill: kernel, session and outbox fill up, it
// is cut off, and finds every report in order when it comes back.
TEST_F(GatewayTest, APeerThatDoesNotReadIsCutOffAndLosesNothingThatItsStoreHolds) {
  connect();
  buy(id(1), kOrderSharesMax, 10'000);
  until_reports(1);
  std::uint64_t reference = 0;
  while (gateway_->counters().disconnected.get() == 0 && reference < 100'000) {
    market_->apply(add(7, "ZAAA", ++reference, Side::kSell, 1, 10'000));
    matcher_->on_delete(reference);
    gateway_->flush();
  }
  EXPECT_EQ(gateway_->counters().disconnected.get(), 1u);
  gateway_->flush();
  EXPECT_EQ(gateway_->reports_pending(0), 0u);
  until([&] { return !oeg_->connected(); });
  const std::size_t before = seen_.reports.size();
  connect();
  until([&] { return seen_.reports.back().cum_qty == reference; });
  EXPECT_GT(seen_.reports.size(), before);
}

// A peer that does not read, with room for few reports, whose order is hit again and again within
// one match: slice by slice.
class CutOffInAMatch : public GatewayTest {
 protected:
  CutOffInAMatch() {
    cancel_on_disconnect_ = true;
    reports_pending_max_ = 8;
    send_buffer_bytes_ = 65'536;
    open();
  }
  void send(std::uint64_t order_id, Side side, std::uint32_t shares, std::uint32_t display = 0,
            std::int64_t price = 10'000) {
    fix::NewOrderSingle order{.cl_ord_id = order_id,
                              .price = {price},
                              .order_qty = shares,
                              .max_floor = display,
                              .side = side,
                              .symbol = fix::Symbol::from("ZAAA")};
    ASSERT_TRUE(fix::accepted(oeg_->send(order)));
  }
  void exchange_until(const std::function<bool()>& done) {
    ASSERT_TRUE(test_support::turn_until(done, [&] {
      gateway_->poll();
      gateway_->flush();
    }));
  }
  std::uint64_t bought(std::uint8_t session, std::uint8_t strategy) const {
    for (const LedgerRow& row : gateway_->ledger().rows())
      if (row.party == Party{session, strategy}) return row.bought_shares;
    return 0;
  }
};

TEST_F(CutOffInAMatch, ItsOrdersAreCancelledWhenTheMatchOfItsOwnRequestIsOver) {
  connect();
  send(id(1, 5), Side::kSell, 900'000, 100);
  send(id(2, 5), Side::kSell, 500, 0, 10'100);
  until_reports(2);
  send(id(3, 6), Side::kBuy, 600'000);  // and reads nothing from here on
  exchange_until([&] { return matcher_->live_orders() == 0; });
  EXPECT_EQ(gateway_->counters().disconnected.get(), 1u);
  EXPECT_EQ(bought(0, 6), 600'000u) << "the match went to its end";
  EXPECT_EQ(gateway_->counters().canceled_on_disconnect.get(), 2u);
  EXPECT_EQ(gateway_->reports_pending(0), 0u);
  EXPECT_EQ(check_conservation(*matcher_, gateway_->ledger()), std::vector<std::string>{});
}

TEST_F(CutOffInAMatch, ItsOrdersAreCancelledWhenTheRecordedEventIsOver) {
  connect();
  send(id(1, 5), Side::kBuy, 900'000, 100);
  send(id(2, 5), Side::kBuy, 500, 0, 9'900);
  until_reports(2);
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 600'000, 10'000));
  EXPECT_EQ(bought(0, 5), 600'000u);
  EXPECT_EQ(matcher_->live_orders(), 2u);
  gateway_->flush();
  EXPECT_EQ(matcher_->live_orders(), 0u);
  EXPECT_EQ(gateway_->counters().disconnected.get(), 1u);
  EXPECT_EQ(gateway_->counters().canceled_on_disconnect.get(), 2u);
}

TEST_F(CutOffInAMatch, AMassCancelThatOverflowsItsOutboxCountsEachOrderOnce) {
  connect();
  for (std::uint32_t number = 1; number <= 2'000; ++number) {
    send(id(number, 5), Side::kBuy, 100);
    until_reports(number);
  }
  oeg_->disconnect();
  exchange_until([&] { return matcher_->live_orders() == 0; });
  EXPECT_EQ(gateway_->counters().canceled_on_disconnect.get(), 2'000u);
  EXPECT_EQ(gateway_->counters().disconnected.get(), 0u) << "it was gone before";
  EXPECT_EQ(gateway_->reports_pending(0), 0u);
}

// Another connection's orders are none of those that the cut of the one before ends.
TEST_F(CutOffInAMatch, OrdersOfItsNextConnectionStay) {
  connect();
  send(id(1, 5), Side::kBuy, 900'000, 100);
  until_reports(1);
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 600'000, 10'000));
  gateway_->flush();
  until([&] { return !oeg_->connected(); });
  connect();
  send(id(2, 5), Side::kBuy, 100);
  until([&] { return matcher_->find_live(id(2, 5)) != nullptr; });
  for (int turn = 0; turn < 10; ++turn) {
    gateway_->poll();
    gateway_->flush();
  }
  EXPECT_EQ(matcher_->live_orders(), 1u);
}

TEST_F(GatewayTest, BrokenBooksAreFound) {
  connect();
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'000));
  buy(id(1), 60, 10'000);
  until_reports(2);
  Ledger other(4);
  EXPECT_FALSE(check_conservation(*matcher_, other).empty());
}

// Party 5 takes 60 of the recording, rests with 40, and sells 30 of them to party 6, who takes.
TEST_F(GatewayTest, FeesGoFromThePartiesToTheVenueAndAddUp) {
  fees_ = {.maker = -0.002, .taker = 0.003, .cross = 0.001};
  open();
  connect();
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'000));
  buy(id(1), 100, 10'000);
  until_reports(2);
  fix::NewOrderSingle sell{.cl_ord_id = id(2, 6),
                           .price = {10'000},
                           .order_qty = 30,
                           .side = Side::kSell,
                           .symbol = fix::Symbol::from("ZAAA")};
  ASSERT_TRUE(fix::accepted(oeg_->send(sell)));
  until_reports(5);
  market_->apply(add(7, "ZAAA", 2, Side::kSell, 10, 10'000));
  until_reports(6);
  EXPECT_FALSE(seen_.reports[0].has_commission) << "accepted: nothing is charged";
  for (const std::size_t fill : {1u, 5u}) EXPECT_TRUE(seen_.reports[fill].has_commission);
  EXPECT_EQ(oeg_->counters().nonconforming.get(), 0u);
  const auto rows = gateway_->ledger().rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].fees, 60 * 3'000 - 40 * 2'000);
  EXPECT_EQ(rows[1].fees, 30 * 3'000);
  EXPECT_EQ(rows[0].cash, -1'000'000) << "fees are no part of it";
  const FeeSchedule& fees = gateway_->ledger().fees();
  EXPECT_EQ(venue_fees(*matcher_, fees), rows[0].fees + rows[1].fees);
  EXPECT_TRUE(check_conservation(*matcher_, gateway_->ledger()).empty());
  // A venue that charges something else than what its parties have paid.
  EXPECT_NE(venue_fees(*matcher_, FeeSchedule({.maker = -0.001, .taker = 0.003})),
            rows[0].fees + rows[1].fees);
}

// The ledger is told of a fill on the wrong side: fees alone can show it.
TEST_F(GatewayTest, FeesThatDoNotAddUpAreFound) {
  const FeeSchedule fees({.maker = -0.002, .taker = 0.003});
  connect();
  market_->apply(add(7, "ZAAA", 1, Side::kSell, 60, 10'000));
  buy(id(1), 60, 10'000);
  until_reports(2);
  Report fill{.locate = 7, .last_shares = 60, .last_price = 10'000, .party = {0, 5}};
  fill.kind = ReportKind::kFill;
  const auto problems = [&](Liquidity liquidity) {
    Ledger ledger(4, fees);
    EXPECT_TRUE(ledger.reserve(fill.party, fill.locate));
    fill.liquidity = liquidity;
    ledger.apply(fill);
    return check_conservation(*matcher_, ledger);
  };
  EXPECT_TRUE(problems(Liquidity::kRemoved).empty());
  const auto found = problems(Liquidity::kAdded);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("fees paid by all parties"), std::string::npos) << found[0];
}

TEST_F(GatewayTest, RefusesWhatIsBeyondTheRateLimit) {
  rate_ = {2, 60'000'000'000, RateRule::kReject};
  open();
  connect();
  buy(id(1), 100, 10'0000);
  buy(id(2), 100, 10'0000);
  buy(id(3), 100, 10'0000);
  ASSERT_TRUE(fix::accepted(oeg_->send(fix::OrderCancelRequest{
      .cl_ord_id = id(4), .orig_cl_ord_id = id(1), .symbol = fix::Symbol::from("ZAAA")})));
  until([&] { return seen_.reports.size() >= 3 && seen_.rejects.size() >= 1; });
  EXPECT_EQ(seen_.reports[0].ord_status, fix::OrdStatus::kNew);
  EXPECT_EQ(seen_.reports[1].ord_status, fix::OrdStatus::kNew);
  EXPECT_EQ(seen_.reports[2].ord_status, fix::OrdStatus::kRejected);
  EXPECT_EQ(seen_.texts[2], "more order messages than orders.rate_limit allows");
  EXPECT_EQ(seen_.rejects[0].orig_cl_ord_id, id(1));
  EXPECT_EQ(seen_.rejects[0].ord_status, fix::OrdStatus::kNew);
  EXPECT_EQ(matcher_->live_orders(), 2u);
}

}  // namespace
}  // namespace tickpath::sim
