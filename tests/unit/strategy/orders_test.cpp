// The life of orders in the engine, and what the plugin, the tables and oeg see of it.
#include <gmock/gmock.h>

#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::ElementsAre;
using testing::Scripted;
using trading::RejectReason;
using wire::OrderId;
using wire::ReportKind;

class Orders : public testing::EngineTest {
 protected:
  Orders() : strategy(add(1)) {
    list(3, "AAPL");
    engine.on_market_state(wire::FeedState::kGood);
    engine.advance(1'000'000);
  }
  std::uint64_t buy(std::uint32_t shares = 100, std::uint32_t price = 100'000) {
    const auto sent = strategy.limit(3, Scripted::kBuy, shares, price);
    EXPECT_EQ(sent.status, TICKPATH_OK);
    return sent.id;
  }
  // An order that oeg has accepted.
  std::uint64_t rest() {
    const std::uint64_t id = buy();
    accept(id);
    return id;
  }
  // And a cancel that is on its way.
  std::uint64_t rest_and_cancel() {
    const std::uint64_t id = rest();
    EXPECT_EQ(strategy.cancel(id).status, TICKPATH_OK);
    return id;
  }
  const StrategyCounters& counters() const { return engine.instances()[0]->counters; }
  Scripted& strategy;
};

TEST_F(Orders, GoOutWithAnIdOfStrategyIncarnationAndCounter) {
  EXPECT_EQ(buy(), OrderId::make(1, 7, 1));
  EXPECT_EQ(buy(), OrderId::make(1, 7, 2));
  const wire::OrderRequest& request = port.last();
  EXPECT_EQ(request.kind, wire::RequestKind::kNew);
  EXPECT_EQ(request.price.value, 100'000);
  EXPECT_EQ(request.shares, 100u);
  EXPECT_EQ(request.strategy_id, 1);
  EXPECT_EQ(request.trace_id, 0u) << "no tick caused it";
}

TEST_F(Orders, CarryTheTraceIdOfTheTickThatCausedThem) {
  strategy.on_change = [](Scripted& self, const Scripted::BookChange& change) {
    (void)self.limit(change.instrument, Scripted::kSell, 50, change.best_bid,
                     Scripted::kImmediateOrCancel);
  };
  const wire::BookUpdate tick = update(3, 100'000, 100'100);
  engine.on_update(tick);
  ASSERT_EQ(port.count, 1u);
  EXPECT_EQ(port.last().trace_id, tick.trace_id);
  EXPECT_EQ(port.last().side, Side::kSell);
  EXPECT_EQ(port.last().time_in_force, trading::TimeInForce::kImmediateOrCancel);
}

TEST_F(Orders, ThatWaitForAPriceAreReplacedWithTheirStopPrice) {
  using S = Scripted;
  const auto stop = strategy.stop_order(3, S::kBuy, 100, 101'000);
  const auto stop_limit = strategy.stop_order(3, S::kSell, 100, 99'000, 98'000);
  const auto limit = strategy.limit(3, S::kBuy, 100, 99'900);
  for (const auto& sent : {stop, stop_limit, limit}) accept(sent.id);
  EXPECT_EQ(strategy.replace_stop(stop.id, 102'000, 50).status, TICKPATH_OK);
  EXPECT_EQ(port.last().kind, wire::RequestKind::kReplace);
  EXPECT_EQ(port.last().type, trading::OrderType::kStop);
  EXPECT_EQ(port.last().stop_price, 102'000u);
  EXPECT_EQ(port.last().price.value, 0);
  EXPECT_EQ(port.last().shares, 50u);
  const std::size_t sent = port.count;
  EXPECT_EQ(strategy.replace_stop(stop_limit.id, 98'500, 50).status, TICKPATH_INVALID)
      << "no limit";
  EXPECT_EQ(strategy.replace(stop_limit.id, 97'000, 50).status, TICKPATH_INVALID)
      << "no stop price";
  EXPECT_EQ(strategy.replace_stop(limit.id, 98'500, 50, 98'000).status, TICKPATH_INVALID);
  EXPECT_EQ(port.count, sent);
  EXPECT_EQ(strategy.replace_stop(stop_limit.id, 98'500, 50, 97'500).status, TICKPATH_OK);
  EXPECT_EQ(port.last().stop_price, 98'500u);
  EXPECT_EQ(port.last().price.value, 97'500);
}

TEST_F(Orders, OfEveryTypeGoOutWithTheirTerms) {
  using S = Scripted;
  EXPECT_EQ(strategy.post_only(3, S::kBuy, 100, 99'900).status, TICKPATH_OK);
  EXPECT_EQ(port.last().instructions, wire::kPostOnly);
  EXPECT_EQ(strategy.stop_order(3, S::kBuy, 100, 101'000).status, TICKPATH_OK);
  EXPECT_EQ(port.last().type, trading::OrderType::kStop);
  EXPECT_EQ(port.last().stop_price, 101'000u);
  EXPECT_EQ(strategy.stop_order(3, S::kSell, 100, 99'000, 98'000).status, TICKPATH_OK);
  EXPECT_EQ(port.last().type, trading::OrderType::kStopLimit);
  EXPECT_EQ(port.last().price.value, 98'000);
  EXPECT_EQ(strategy.pegged(3, S::kBuy, 100).status, TICKPATH_OK);
  EXPECT_EQ(port.last().type, trading::OrderType::kPegged);
  EXPECT_EQ(strategy.reserve(3, S::kBuy, 100, 10, 99'900).status, TICKPATH_OK);
  EXPECT_EQ(port.last().display_shares, 10u);
  EXPECT_EQ(strategy.at_least(3, S::kBuy, 100, 50, 99'900).status, TICKPATH_OK);
  EXPECT_EQ(port.last().minimum_shares, 50u);
  EXPECT_EQ(strategy.limit(3, S::kBuy, 100, 99'900, S::kAtTheClose).status, TICKPATH_OK);
  EXPECT_EQ(port.last().time_in_force, trading::TimeInForce::kAtTheClose);
  const std::size_t sent = port.count;
  EXPECT_EQ(strategy.at_least(3, S::kBuy, 100, 101, 99'900).status, TICKPATH_INVALID);
  EXPECT_EQ(strategy.reserve(3, S::kBuy, 100, 10, 0).status, TICKPATH_INVALID);
  EXPECT_EQ(strategy.limit(3, S::kBuy, 100, 99'900, S::TimeInForce{5}).status, TICKPATH_INVALID);
  EXPECT_EQ(port.count, sent);
}

TEST_F(Orders, ReplaceRepricesPegsAndLeavesStopOrdersToReplaceStop) {
  const auto peg = strategy.pegged(3, Scripted::kBuy, 100, 99'000);
  accept(peg.id);
  EXPECT_EQ(strategy.replace(peg.id, 0, 100).status, TICKPATH_OK) << "without a limit from now on";
  const auto stop = strategy.stop_order(3, Scripted::kBuy, 100, 101'000, 102'000);
  accept(stop.id);
  EXPECT_EQ(strategy.replace(stop.id, 103'000, 100).status, TICKPATH_INVALID);
}

TEST_F(Orders, AStrategyKnowsAnInstrumentByTheNameThatItsSymbolStandsFor) {
  const std::string name = "UD:1V: VT 2309001";
  list(5, "#1Z");
  EXPECT_EQ(strategy.find_symbol(name), Scripted::kNoInstrument);
  EXPECT_EQ(strategy.symbol_of(5), "#1Z");
  engine.set_names(std::make_unique<control::LongNames>(
      control::LongNames::Pairs{{"#1Z", name}, {"#20", "ANOTHER LONG NAME"}}));
  EXPECT_EQ(strategy.find_symbol(name), 5u);
  EXPECT_EQ(strategy.find_symbol("#1Z"), 5u);
  EXPECT_EQ(strategy.symbol_of(5), name);
  EXPECT_EQ(strategy.symbol_of(3), "AAPL");
}

// Named before it is listed, listed before it is named: the subscription is settled by the second.
TEST_F(Orders, ASubscriptionByALongNameWaitsForNameAndListing) {
  class Waiting : public Scripted {
    void start() override {
      EXPECT_EQ(subscribe("NAMED WELL BEFORE"), kNoInstrument);
      EXPECT_EQ(subscribe("NAMED AFTERWARDS"), kNoInstrument);
    }
  };
  static const tickpath_plugin plugin = plugin_boundary::describe<Waiting>("waiting", "1");
  add(9, plugin);
  Scripted& waiting = *Scripted::last_made;
  control::LongNames::Pairs pairs{{"#1", "NAMED WELL BEFORE"}};
  engine.set_names(std::make_unique<control::LongNames>(pairs));
  engine.on_turn();
  EXPECT_TRUE(waiting.instruments.empty());
  list(5, "#1");
  list(6, "#2");
  EXPECT_THAT(waiting.instruments, ElementsAre(std::pair(std::string("NAMED WELL BEFORE"), 5u)));
  pairs.emplace_back("#2", "NAMED AFTERWARDS");
  engine.set_names(std::make_unique<control::LongNames>(pairs));
  engine.on_turn();
  ASSERT_EQ(waiting.instruments.size(), 2u);
  EXPECT_EQ(waiting.instruments[1], std::pair(std::string("NAMED AFTERWARDS"), 6u));
}

TEST_F(Orders, AStrategyHasNamesAndPricesAsText) {
  EXPECT_EQ(strategy.find_symbol("AAPL"), 3u);
  EXPECT_EQ(strategy.find_symbol("MSFT"), Scripted::kNoInstrument);
  EXPECT_EQ(strategy.symbol_of(3), "AAPL");
  EXPECT_EQ(strategy.symbol_of(4), "");
  const auto sent = strategy.limit(9, Scripted::kBuy, 100, 99'900);
  EXPECT_STREQ(strategy.text_of(sent), "no such instrument");
  Scripted::Report report{};
  report.kind = TICKPATH_REPORT_REJECTED;
  report.reason = TICKPATH_REASON_PRICE_COLLAR;
  EXPECT_STREQ(strategy.text_of(report), "rejected");
  EXPECT_STREQ(strategy.reason_of(report), "price_collar");
  report.reason = 255;
  EXPECT_STREQ(strategy.reason_of(report), "?");
  EXPECT_EQ(Scripted::to_price(10.05), 100'500u);
  EXPECT_EQ(Scripted::to_price(-1), 0u);
  EXPECT_EQ(Scripted::to_units(100'500), 10.05);
  EXPECT_EQ(Scripted::round_down(100'550), 100'500u);
  EXPECT_EQ(Scripted::round_up(100'550), 100'600u);
  EXPECT_EQ(Scripted::round_up(9'999), 9'999u);
  EXPECT_EQ(Scripted::price_text(100'500), "10.0500");
}

TEST_F(Orders, AreFilledInPartsAndThenGone) {
  const std::uint64_t id = buy(100, 100'000);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 100u);
  accept(id);
  fill(id, 30, 99'900, 70, 30);
  tickpath_open_order order{};
  ASSERT_TRUE(strategy.open_order(id, order));
  EXPECT_EQ(order.leaves_shares, 70u);
  EXPECT_EQ(order.state, TICKPATH_STATE_PARTLY_FILLED);
  fill(id, 70, 100'000, 0, 100);
  EXPECT_FALSE(strategy.open_order(id, order));
  const tickpath_position position = strategy.position(3);
  EXPECT_EQ(position.shares, 100);
  EXPECT_EQ(position.cash, -(30 * 99'900 + 70 * 100'000));
  EXPECT_EQ(position.open_buy_shares, 0u);
  EXPECT_EQ(position.open_orders, 0u);
  EXPECT_EQ(position.fills, 2u);
  EXPECT_EQ(counters().accepted.get(), 1u);
  EXPECT_EQ(counters().fills.get(), 2u);
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, AFillOfSixDecimalsIsToldWholeAndItsCashRoundedOnce) {
  const std::uint64_t id = buy(100, 20'000);
  wire::OrderReport made = report(wire::ReportKind::kFill, id);
  made.last_shares = made.cumulative_shares = 3;
  made.leaves_shares = 97;
  made.last_price = 12'345;
  made.last_price_hundredths = 67;
  engine.on_report(made.strategy_id, made);
  EXPECT_EQ(strategy.position(3).cash, -37'037);  // 3.703701
  EXPECT_EQ(strategy.reports.back().last_price, 12'345u);
  EXPECT_EQ(strategy.reports.back().last_price_hundredths, 67);
  made.kind = wire::ReportKind::kFillCanceled;
  made.target_order_id = id;
  made.cumulative_shares = 0;
  made.leaves_shares = 100;
  engine.on_report(made.strategy_id, made);
  EXPECT_EQ(strategy.position(3).cash, 0);
}

TEST_F(Orders, ASaleMakesThePositionShortAndTheCashPositive) {
  const auto sent = strategy.limit(3, Scripted::kSell, 100, 100'000);
  fill(sent.id, 100, 100'200, 0, 100, Side::kSell);
  EXPECT_EQ(strategy.position(3).shares, -100);
  EXPECT_EQ(strategy.position(3).cash, 100 * 100'200);
  EXPECT_EQ(counters().accepted.get(), 1u) << "a fill without an acknowledgement accepts";
}

TEST_F(Orders, ARejectClosesTheOrderAndReleasesWhatItHeld) {
  const std::uint64_t id = buy();
  tell(ReportKind::kRejected, id, 0, RejectReason::kPriceCollar);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 0u);
  EXPECT_EQ(counters().rejected.get(), 1u);
  EXPECT_EQ(counters().accepted.get(), 0u);
  ASSERT_EQ(strategy.reports.size(), 1u);
  EXPECT_EQ(strategy.reports[0].reason, static_cast<int>(RejectReason::kPriceCollar));
  EXPECT_EQ(strategy.reports[0].state, TICKPATH_STATE_REJECTED);
}

TEST_F(Orders, ACancelNamesTheLiveOrderAndOneAtATimeIsAllowed) {
  const std::uint64_t id = rest();
  const auto cancel = strategy.cancel(id);
  ASSERT_TRUE(cancel);
  EXPECT_EQ(port.last().kind, wire::RequestKind::kCancel);
  EXPECT_EQ(port.last().target_order_id, id);
  EXPECT_EQ(strategy.cancel(id).status, TICKPATH_PENDING_REQUEST);
  tell(ReportKind::kCanceled, cancel.id, id);
  EXPECT_EQ(strategy.open_orders(3, nullptr, 0), 0u);
  EXPECT_EQ(strategy.cancel(id).status, TICKPATH_UNKNOWN_ORDER);
  EXPECT_EQ(counters().changes_accepted.get(), 1u);
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, AReplacementTakesOverTheIdPriceAndSize) {
  const std::uint64_t id = buy(100, 100'000);
  accept(id);
  fill(id, 40, 100'000, 60, 40);
  EXPECT_EQ(strategy.replace(id, 100'100, 40).status, TICKPATH_INVALID) << "40 are filled already";
  const auto replace = strategy.replace(id, 100'100, 150);
  ASSERT_TRUE(replace);
  wire::OrderReport replaced = report(ReportKind::kReplaced, replace.id, id);
  replaced.limit_price = 100'100;
  replaced.leaves_shares = 110;
  replaced.cumulative_shares = 40;
  engine.on_report(1, replaced);
  tickpath_open_order order{};
  EXPECT_FALSE(strategy.open_order(id, order));
  ASSERT_TRUE(strategy.open_order(replace.id, order));
  EXPECT_EQ(order.price, 100'100u);
  EXPECT_EQ(order.shares, 150u);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 110u);
  fill(replace.id, 110, 100'100, 0, 150);
  EXPECT_EQ(strategy.position(3).shares, 150);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 0u);
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, ARestatedOrderHasLostSharesAndKeepsItsId) {
  const std::uint64_t id = rest();
  wire::OrderReport restated = report(ReportKind::kRestated, id, id);
  restated.leaves_shares = 30;
  engine.on_report(1, restated);
  tickpath_open_order order{};
  ASSERT_TRUE(strategy.open_order(id, order));
  EXPECT_EQ(order.shares, 30u);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 30u);
  fill(id, 30, 100'000, 0, 30);
  EXPECT_EQ(strategy.position(3).shares, 30);
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, AStopOrderThatIsTriggeredIsToldAndStaysAsItIs) {
  const std::uint64_t id = rest();
  wire::OrderReport triggered = report(ReportKind::kTriggered, id, id);
  triggered.leaves_shares = 100;
  engine.on_report(1, triggered);
  EXPECT_EQ(strategy.reports.back().kind, TICKPATH_REPORT_TRIGGERED);
  EXPECT_EQ(strategy.reports.back().state, TICKPATH_STATE_WORKING);
  EXPECT_EQ(counters().triggered.get(), 1u);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 0u);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 100u);
}

TEST_F(Orders, ARefusedReplacementLeavesTheOrderAsItWas) {
  const std::uint64_t id = rest();
  const auto replace = strategy.replace(id, 100'100, 100);
  tell(ReportKind::kReplaceRejected, replace.id, id, RejectReason::kKillSwitch);
  tickpath_open_order order{};
  ASSERT_TRUE(strategy.open_order(id, order));
  EXPECT_EQ(order.price, 100'000u);
  EXPECT_EQ(order.request_pending, 0);
  EXPECT_TRUE(strategy.cancel(id)) << "free for the next request";
}

TEST_F(Orders, ACancelThatCrossesTheFillIsAnsweredLateAndSettled) {
  const std::uint64_t id = rest();
  const auto cancel = strategy.cancel(id);
  fill(id, 100, 100'000, 0, 100);
  EXPECT_FALSE(engine.drained()) << "the cancel's answer is still on its way";
  tell(ReportKind::kCancelRejected, cancel.id, id, RejectReason::kTooLate);
  EXPECT_EQ(engine.counters().reports_late.get(), 1u);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 0u);
  EXPECT_EQ(strategy.reports.size(), 3u) << "accepted, filled, too late";
  EXPECT_EQ(strategy.reports.back().state, static_cast<std::uint8_t>(trading::OrderState::kFilled));
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, AnUnaskedCancelFromTheVenueClosesTheOrder) {
  const std::uint64_t id = rest();
  tell(ReportKind::kCanceled, id);
  EXPECT_EQ(strategy.open_orders(3, nullptr, 0), 0u);
  EXPECT_TRUE(engine.drained());
}

TEST_F(Orders, AReportThatCannotFollowTheStateIsCountedAndChangesNothing) {
  const std::uint64_t id = rest();
  accept(id);
  EXPECT_EQ(engine.counters().reports_impossible.get(), 1u);
  EXPECT_EQ(strategy.open_orders(3, nullptr, 0), 1u);
}

TEST_F(Orders, AFillOfAnOrderThatIsNotOpenStillMovesThePosition) {
  fill(OrderId::make(1, 6, 99), 10, 100'000, 0, 10);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 1u);
  EXPECT_EQ(strategy.position(3).shares, 10) << "the venue's word counts";
}

TEST_F(Orders, OpenOrdersAreListedOldestFirst) {
  const std::uint64_t first = buy();
  const std::uint64_t second = buy();
  const std::uint64_t third = buy();
  accept(second);
  tell(ReportKind::kCanceled, second);
  tickpath_open_order orders[4];
  ASSERT_EQ(strategy.open_orders(TICKPATH_NO_INSTRUMENT, orders, 4), 2u);
  EXPECT_EQ(orders[0].order_id, first);
  EXPECT_EQ(orders[1].order_id, third);
  EXPECT_EQ(strategy.open_orders(4, orders, 4), 0u);
}

TEST_F(Orders, AreRefusedWithAReasonThatSaysWhatIsWrong) {
  EXPECT_EQ(strategy.limit(5, Scripted::kBuy, 100, 100'000).status, TICKPATH_UNKNOWN_INSTRUMENT);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 0, 100'000).status, TICKPATH_INVALID);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 0).status, TICKPATH_INVALID);
  EXPECT_EQ(strategy.replace(123, 100'000, 100).status, TICKPATH_UNKNOWN_ORDER);
  port.credits = 0;
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_NO_CREDIT);
  EXPECT_EQ(counters().no_credit.get(), 1u);
  EXPECT_EQ(counters().orders.get(), 0u);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 0u);
}

TEST_F(Orders, AFullOrderTableRefusesTheNextOrder) {
  for (int i = 0; i < 16; ++i) buy();
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_CAPACITY);
  tell(ReportKind::kRejected, OrderId::make(1, 7, 5), 0, RejectReason::kVenue);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_OK);
}

TEST_F(Orders, AStaleFeedCancelsTheQuotesAsFarAsCreditsGoAndThenTheRest) {
  for (int i = 0; i < 3; ++i) accept(buy());
  (void)strategy.limit(3, Scripted::kBuy, 100, 100'000, Scripted::kImmediateOrCancel);
  port.credits = 2;
  engine.on_market_state(wire::FeedState::kStale);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 2u);
  port.credits = 10;
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 3u) << "the immediate-or-cancel order ends by itself";
}

TEST_F(Orders, AStaleBookCancelsTheQuotesInItsInstrumentAndNoOthers) {
  list(4, "MSFT");
  const std::uint64_t quote = rest();
  (void)strategy.limit(3, Scripted::kBuy, 100, 100'000, Scripted::kImmediateOrCancel);
  accept(strategy.limit(4, Scripted::kBuy, 100, 100'000).id);
  wire::BookUpdate told = update(3, 100'000, 100'100, wire::UpdateKind::kFeedState);
  engine.on_update(told);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 0u) << "good";
  told.set_states(wire::FeedState::kStale, wire::TradingState::kTrading);
  engine.on_update(told);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 1u);
  EXPECT_EQ(port.last().target_order_id, quote);
  ASSERT_EQ(strategy.feeds.size(), 3u) << "good, good, stale";
}

// The update that said so was overwritten before it was read.
TEST_F(Orders, AnImageThatTurnsStaleCancelsTheQuotesInItsInstrument) {
  const std::uint64_t quote = rest();
  wire::BookImage image{};
  image.instrument_id = 3;
  image.trace_id = 77;
  image.states = 0x41;  // good, trading
  engine.on_image(image);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 0u);
  image.states = 0x42;  // stale
  engine.on_image(image);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 1u);
  EXPECT_EQ(port.last().target_order_id, quote);
}

TEST_F(Orders, StopLetsThePluginTradeOnceMoreThenCancelsAndRefuses) {
  const std::uint64_t id = rest();
  strategy.on_stop = [](Scripted& self) {
    EXPECT_TRUE(self.limit(3, Scripted::kSell, 10, 99'000, Scripted::kImmediateOrCancel));
  };
  engine.begin_stop();
  engine.on_turn();
  EXPECT_EQ(port.count, 3u) << "the order, the one in stop, the engine's cancel";
  EXPECT_EQ(port.last().kind, wire::RequestKind::kCancel);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 1, 100'000).status, TICKPATH_STOPPING);
  EXPECT_FALSE(engine.drained());
  tell(ReportKind::kCanceled, port.last().order_id, id);
  tell(ReportKind::kExpired, OrderId::make(1, 7, 2));
  EXPECT_TRUE(engine.drained());
  EXPECT_EQ(strategy.reports.size(), 3u) << "reports keep coming after stop";
}

TEST_F(Orders, AfterAnOutageOfOegEveryOrderIsSettledBeforeTradingGoesOn) {
  const std::uint64_t known = rest();
  const std::uint64_t forgotten = buy();
  engine.on_gateway(1, false);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_GATEWAY_DOWN);
  EXPECT_EQ(strategy.cancel(known).status, TICKPATH_GATEWAY_DOWN);
  EXPECT_EQ(counters().answers_lost.get(), 1u);
  engine.on_gateway(1, true);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 2u);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_GATEWAY_DOWN);
  tell(ReportKind::kCanceled, OrderId::make(1, 7, 3), known);
  tell(ReportKind::kCancelRejected, OrderId::make(1, 7, 4), forgotten, RejectReason::kUnknownOrder);
  EXPECT_EQ(counters().lost.get(), 1u);
  EXPECT_EQ(strategy.reports.back().kind, TICKPATH_REPORT_LOST);
  EXPECT_THAT(strategy.gateway, ElementsAre(true, false, true));
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_OK);
  EXPECT_EQ(strategy.position(3).open_buy_shares, 100u);
}

TEST_F(Orders, AnswersThatComeAfterASilenceOfOegCountOnceAndTradingGoesOn) {
  const std::uint64_t id = rest_and_cancel();
  const std::uint64_t cancel = port.last().order_id;
  engine.on_gateway_silent(1);
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_GATEWAY_DOWN);
  EXPECT_EQ(counters().answers_lost.get(), 0u);
  tell(ReportKind::kCancelRejected, cancel, id, RejectReason::kSessionDown);
  EXPECT_EQ(counters().unanswered.get(), 0u);
  engine.on_gateway(1, true);
  EXPECT_THAT(strategy.gateway, ElementsAre(true, false, true));
  EXPECT_EQ(counters().cancels.get(), 1u) << "its orders are as they were: nothing to settle";
  EXPECT_EQ(strategy.limit(3, Scripted::kBuy, 100, 100'000).status, TICKPATH_OK);
}

TEST_F(Orders, WhatASilentOegOwesIsLostOnceTheConnectionIs) {
  rest_and_cancel();
  engine.on_gateway_silent(1);
  engine.on_gateway(1, false);
  EXPECT_EQ(counters().answers_lost.get(), 1u);
  EXPECT_THAT(strategy.gateway, ElementsAre(true, false)) << "told once";
  engine.on_gateway(1, true);
  engine.on_turn();
  EXPECT_EQ(counters().cancels.get(), 2u) << "a cancel settles what became of it";
}

// The cancels by which it settles its orders are lost themselves.
TEST_F(Orders, AnOutageWhileItStillSettlesTheOneBeforeLosesEachAnswerOnce) {
  const std::uint64_t known = buy(), forgotten = buy();
  engine.on_gateway(1, false);
  EXPECT_EQ(counters().changes_lost.get(), 0u);
  engine.on_gateway(1, true);
  engine.on_turn();
  ASSERT_EQ(counters().cancels.get(), 2u);
  engine.on_gateway(1, false);
  EXPECT_EQ(counters().changes_lost.get(), 2u);
  engine.on_gateway(1, true);
  engine.on_turn();
  ASSERT_EQ(counters().cancels.get(), 4u);
  tell(ReportKind::kCanceled, OrderId::make(1, 7, 5), known);
  tell(ReportKind::kCancelRejected, OrderId::make(1, 7, 6), forgotten, RejectReason::kUnknownOrder);
  EXPECT_EQ(counters().unanswered.get(), 0u);
  EXPECT_EQ(counters().orders_lost.get(), 1u);
  EXPECT_EQ(counters().cancels.get(), counters().changes_accepted.get() +
                                          counters().request_rejects.get() +
                                          counters().changes_lost.get());
}

// The first answer to an order comes when it was given up, and its cancel is on the way.
TEST_F(Orders, AFirstAnswerThatWasGivenUpIsNotTakenForTheCancels) {
  const std::uint64_t id = buy();
  engine.on_gateway(1, false);
  engine.on_gateway(1, true);
  engine.on_turn();
  ASSERT_EQ(counters().cancels.get(), 1u);
  tell(ReportKind::kAccepted, id);
  EXPECT_EQ(counters().unanswered.get(), 1u) << "the cancel's";
  engine.on_gateway(1, false);
  EXPECT_EQ(counters().changes_lost.get(), 1u);
}

// oeg had taken the cancel before it died: its next life passes the venue's answer on.
TEST_F(Orders, AnAnswerThatWasGivenUpAsLostIsNotCountedOnceMore) {
  const std::uint64_t id = rest_and_cancel();
  const std::uint64_t cancel = port.last().order_id;
  engine.on_gateway(1, false);
  EXPECT_EQ(counters().changes_lost.get(), 1u);
  engine.on_gateway(1, true);
  engine.on_turn();
  ASSERT_EQ(counters().cancels.get(), 2u);
  tell(ReportKind::kCancelRejected, cancel, id, RejectReason::kTooLate);
  EXPECT_EQ(counters().request_rejects.get(), 0u);
  EXPECT_EQ(counters().unanswered.get(), 1u) << "the second cancel's";
  tell(ReportKind::kCanceled, port.last().order_id, id);
  EXPECT_EQ(counters().changes_accepted.get(), 1u);
  EXPECT_EQ(counters().unanswered.get(), 0u);
}

TEST_F(Orders, AnAnswerToAFormerLifeIsNotCountedInThisOne) {
  rest_and_cancel();
  tell(ReportKind::kCancelRejected, OrderId::make(1, 6, 9), OrderId::make(1, 6, 2),
       RejectReason::kTooLate);
  tell(ReportKind::kRejected, OrderId::make(1, 6, 10), 0);
  EXPECT_EQ(counters().request_rejects.get(), 0u);
  EXPECT_EQ(counters().rejected.get(), 0u);
  EXPECT_EQ(counters().unanswered.get(), 1u);
}

// Carried over the day in which mdh gave the id of its symbol to another; the directory and oeg
// come in any order.
TEST_F(Orders, APositionOfAnotherSymbolThatHadTheIdBeforeIsNotTakenForOneInIt) {
  const auto told = [this](const char* symbol) {
    wire::PositionReport held{};
    held.instrument_id = 4;
    held.position_shares = 300;
    held.fills = 1;
    held.symbol = wire::symbol_word(symbol);
    engine.on_position(1, held);
  };
  told("OLD");
  EXPECT_EQ(strategy.position(4).shares, 300);
  list(4, "NEW");
  EXPECT_EQ(strategy.position(4).shares, 0);
  EXPECT_EQ(strategy.limit(4, Scripted::kBuy, 100, 99'900).status, TICKPATH_UNKNOWN_INSTRUMENT);
  EXPECT_EQ(engine.position_symbol(4), "OLD") << "the summary says what is held";
  EXPECT_THAT(next_log(), ::testing::HasSubstr("oeg holds OLD under the id"));
  EXPECT_EQ(engine.counters().other_symbols.get(), 1u);
  told("NEW");
  EXPECT_EQ(strategy.position(4).shares, 300);
  EXPECT_EQ(strategy.limit(4, Scripted::kBuy, 100, 99'900).status, TICKPATH_OK);
  told("OLD");
  EXPECT_EQ(strategy.position(4).shares, 0);
}

TEST_F(Orders, AreKeptApartBetweenStrategies) {
  Scripted& other = add(2);
  buy();
  const auto sent = other.limit(3, Scripted::kSell, 10, 100'000);
  EXPECT_EQ(OrderId::strategy(sent.id), 2);
  EXPECT_EQ(other.cancel(OrderId::make(1, 7, 1)).status, TICKPATH_UNKNOWN_ORDER);
  EXPECT_EQ(other.position(3).open_buy_shares, 0u);
  EXPECT_EQ(strategy.position(3).open_sell_shares, 0u);
}

}  // namespace
}  // namespace tickpath::strategy
