// Every rule of sim/DESIGN.md by an example.
#include <gtest/gtest.h>

#include "report_log.hpp"
#include "sim/matching/matcher.hpp"

namespace tickpath::sim {
namespace {

constexpr Locate kStock = 7;

class MatcherRules : public testing::Test {
 protected:
  static MatcherOptions options(HaltRule rule = HaltRule::kReject) {
    return {.book = {.orders_max = 1024, .levels_max = 1024},
            .live_orders_max = 64,
            .order_ids_max = 256,
            .halt_rule = rule,
            .incarnation = 3};
  }

  void bid(std::uint64_t ref, std::uint32_t shares, std::uint32_t price) {
    matcher_.on_add(kStock, ref, Side::kBuy, shares, price);
  }
  void ask(std::uint64_t ref, std::uint32_t shares, std::uint32_t price) {
    matcher_.on_add(kStock, ref, Side::kSell, shares, price);
  }
  NewOrder order(std::uint64_t id, Side side, std::uint32_t shares, std::int64_t price,
                 Party party = kAlice) {
    return {.order_id = id,
            .price = {price},
            .locate = kStock,
            .shares = shares,
            .party = party,
            .side = side};
  }
  void buy(std::uint64_t id, std::uint32_t shares, std::int64_t price, Party party = kAlice) {
    matcher_.enter(order(id, Side::kBuy, shares, price, party));
  }
  void sell(std::uint64_t id, std::uint32_t shares, std::int64_t price, Party party = kAlice) {
    matcher_.enter(order(id, Side::kSell, shares, price, party));
  }
  void buy_at_market(std::uint64_t id, std::uint32_t shares) {
    NewOrder market = order(id, Side::kBuy, shares, 0);
    market.type = OrderType::kMarket;
    matcher_.enter(market);
  }
  NewOrder immediate(std::uint64_t id, std::uint32_t shares, std::int64_t price) {
    NewOrder ioc = order(id, Side::kBuy, shares, price);
    ioc.time_in_force = TimeInForce::kImmediateOrCancel;
    return ioc;
  }
  void replace(std::uint64_t id, std::uint64_t target, std::uint32_t shares, std::int64_t price) {
    matcher_.replace({.order_id = id,
                      .target_order_id = target,
                      .price = {price},
                      .locate = kStock,
                      .shares = shares,
                      .party = kAlice});
  }
  void cancel(std::uint64_t id, std::uint64_t target, Party party = kAlice) {
    matcher_.cancel({.order_id = id, .target_order_id = target, .locate = kStock, .party = party});
  }
  std::uint32_t filled(std::uint64_t id) const {
    std::uint32_t sum = 0;
    for (const LoggedReport& r : log_.brief)
      if (r.kind == ReportKind::kFill && r.order_id == id) sum += r.last_shares;
    return sum;
  }
  const LoggedReport& last() const { return log_.brief.back(); }

  ReportLog log_;
  Matcher matcher_{options(), log_};
};

TEST_F(MatcherRules, TakesDisplayedSharesBestPriceFirstThenInOrderOfTimeAtTheRestingPrice) {
  ask(1, 100, 105);
  ask(2, 100, 104);
  ask(3, 100, 104);
  buy(11, 250, 105);
  ASSERT_EQ(log_.brief.size(), 4u);
  EXPECT_EQ(log_.brief[0].kind, ReportKind::kAccepted);
  EXPECT_EQ(log_.brief[1].last_price, 104u);
  EXPECT_EQ(log_.brief[1].last_shares, 100u);
  EXPECT_EQ(log_.brief[2].last_price, 104u);
  EXPECT_EQ(log_.brief[3].last_price, 105u);
  EXPECT_EQ(log_.brief[3].last_shares, 50u);
  EXPECT_EQ(log_.brief[3].leaves_shares, 0u);
  EXPECT_EQ(log_.all.back().filled_value, 200 * 104 + 50 * 105);
  EXPECT_EQ(log_.all.back().state, OrderState::kFilled);
  EXPECT_EQ(matcher_.live_orders(), 0u);
}

TEST_F(MatcherRules, NeverTradesTheSameRecordedSharesTwice) {
  ask(1, 100, 104);
  buy(11, 70, 104);
  buy(12, 70, 104);
  EXPECT_EQ(filled(11), 70u);
  EXPECT_EQ(filled(12), 30u);
  buy(13, 10, 104);
  EXPECT_EQ(filled(13), 0u);
  EXPECT_EQ(matcher_.counters().taken.get(), 100u);
}

TEST_F(MatcherRules, RestsWhatIsLeftOfADayOrderAndExpiresWhatIsLeftOfOthers) {
  ask(1, 10, 104);
  buy(11, 15, 104);
  EXPECT_EQ(matcher_.live_orders(), 1u);
  matcher_.enter(immediate(12, 15, 104));
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(last().reason, Reason::kRemainder);
  buy_at_market(13, 15);
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(last().cumulative_shares, 0u);
  EXPECT_EQ(matcher_.live_orders(), 1u);
}

TEST_F(MatcherRules, MarketOrderTakesEveryPriceThatThereIs) {
  ask(1, 10, 104);
  ask(2, 10, 199'999);
  buy_at_market(11, 15);
  EXPECT_EQ(filled(11), 15u);
  EXPECT_EQ(last().last_price, 199'999u);
}

TEST_F(MatcherRules, JoinsTheQueueBehindRecordedOrdersAndAheadOfLaterOnes) {
  bid(1, 100, 100);
  buy(11, 50, 100);
  bid(2, 100, 100);
  matcher_.on_execute(1, 60);  // ahead of ours: the recording keeps it
  EXPECT_EQ(filled(11), 0u);
  matcher_.on_execute(2, 20);  // behind ours: we would have had these
  EXPECT_EQ(filled(11), 20u);
  EXPECT_EQ(last().source, FillSource::kExecution);
  matcher_.on_execute(2, 70);  // ours takes what it lacks, no more
  EXPECT_EQ(filled(11), 50u);
  EXPECT_EQ(matcher_.counters().displaced.get(), 50u);
}

TEST_F(MatcherRules, AnExecutionAtAWorsePriceFillsUsAtOurOwn) {
  bid(1, 100, 99);
  buy(11, 30, 100);
  matcher_.on_execute(1, 20);
  EXPECT_EQ(filled(11), 20u);
  EXPECT_EQ(last().last_price, 100u);
}

TEST_F(MatcherRules, SpendsAnAggressorsSharesOnceOverAllOurOrders) {
  bid(1, 100, 98);
  buy(11, 30, 99, kAlice);
  buy(12, 30, 100, kBob);
  matcher_.on_execute(1, 40);
  EXPECT_EQ(filled(12), 30u);
  EXPECT_EQ(filled(11), 10u);
}

TEST_F(MatcherRules, AnExecutionAtAnotherPriceFillsUsOnlyWhereTheAggressorWouldHaveTakenOurs) {
  bid(1, 100, 98);
  buy(11, 30, 99);
  matcher_.on_execute_at(1, 10, 100, true);  // it sold at 100: 99 may have been too low for it
  EXPECT_EQ(filled(11), 0u);
  matcher_.on_execute_at(1, 10, 99, true);
  EXPECT_EQ(filled(11), 10u);
}

TEST_F(MatcherRules, CrossesFillNoneOfOurs) {
  bid(1, 100, 98);
  buy(11, 30, 99);
  matcher_.on_execute_at(1, 100, 97, false);
  EXPECT_EQ(filled(11), 0u);
}

TEST_F(MatcherRules, ARecordedOrderThatArrivesAtOurPriceTradesWithUs) {
  buy(11, 30, 100);
  ask(1, 100, 99);
  EXPECT_EQ(filled(11), 30u);
  EXPECT_EQ(last().last_price, 100u);
  EXPECT_EQ(last().source, FillSource::kCrossingAdd);
  buy(12, 100, 99);  // 70 of it are left for others
  EXPECT_EQ(filled(12), 70u);
}

TEST_F(MatcherRules, ARecordedReplacementThatArrivesAtOurPriceTradesWithUs) {
  ask(1, 100, 105);
  buy(11, 30, 100);
  matcher_.on_replace(1, 2, 20, 100);
  EXPECT_EQ(filled(11), 20u);
}

TEST_F(MatcherRules, AHiddenTradeFillsUsOnlyWhenItsPriceIsWorseThanOurs) {
  buy(11, 30, 100);
  sell(12, 30, 110, kBob);
  matcher_.on_hidden_trade(kStock, 10, 100);
  matcher_.on_hidden_trade(kStock, 10, 110);
  matcher_.on_hidden_trade(kStock, 10, 105);
  EXPECT_EQ(filled(11) + filled(12), 0u);
  matcher_.on_hidden_trade(kStock, 10, 99);
  EXPECT_EQ(filled(11), 10u);
  EXPECT_EQ(last().last_price, 100u);
  matcher_.on_hidden_trade(kStock, 10, 111);
  EXPECT_EQ(filled(12), 10u);
}

TEST_F(MatcherRules, CountsTheFutureThatBendsWhenTheRecordingExecutesWhatWeTook) {
  ask(1, 100, 104);
  buy(11, 70, 104);
  matcher_.on_execute(1, 50);  // 30 were left
  EXPECT_EQ(matcher_.counters().conflict_executed.get(), 20u);
  buy(12, 50, 104);
  EXPECT_EQ(filled(12), 0u);  // the other 50 are all ours already
  EXPECT_EQ(matcher_.taken_in_book(), 50u);
  matcher_.on_execute(1, 50);
  EXPECT_EQ(matcher_.counters().conflict_executed.get(), 70u);
  EXPECT_EQ(matcher_.counters().taken_released.get(), 70u);
}

TEST_F(MatcherRules, CancellationsOfARecordedOrderTakeWhatIsNotOursFirst) {
  ask(1, 100, 104);
  buy(11, 70, 104);
  matcher_.on_reduce(1, 20);
  EXPECT_EQ(matcher_.counters().conflict_withdrawn.get(), 0u);
  buy(12, 50, 104);
  EXPECT_EQ(filled(12), 10u);
  matcher_.on_delete(1);
  EXPECT_EQ(matcher_.counters().conflict_withdrawn.get(), 80u);
}

TEST_F(MatcherRules, WhatWeTookStaysTakenWhenTheRecordingReplacesTheOrder) {
  ask(1, 100, 104);
  buy(11, 70, 104);
  matcher_.on_replace(1, 2, 90, 104);
  buy(12, 50, 104);
  EXPECT_EQ(filled(12), 20u);
}

TEST_F(MatcherRules, OurOrdersTradeWithEachOtherInTheSameQueue) {
  sell(11, 30, 104, kAlice);
  ask(1, 30, 104);
  buy(12, 50, 104, kBob);
  EXPECT_EQ(filled(11), 30u);
  EXPECT_EQ(filled(12), 50u);
  EXPECT_EQ(matcher_.counters().traded_live.get(), 30u);
  EXPECT_EQ(matcher_.counters().bought_from_recorded.get(), 20u);
}

TEST_F(MatcherRules, AnOrderThatMeetsOneOfTheSameStrategyExpires) {
  ask(1, 10, 103);
  sell(11, 30, 104);
  buy(12, 50, 105);
  EXPECT_EQ(filled(12), 10u);  // what stood ahead of its own
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(last().reason, Reason::kSelfMatch);
  EXPECT_EQ(matcher_.live_orders(), 1u);
}

TEST_F(MatcherRules, AReplacementKeepsItsPlaceOnlyWithFewerSharesAtTheSamePrice) {
  buy(11, 50, 100);
  bid(1, 100, 100);
  replace(12, 11, 40, 100);
  EXPECT_EQ(last().kind, ReportKind::kReplaced);
  matcher_.on_execute(1, 10);
  EXPECT_EQ(filled(12), 10u);
  replace(13, 12, 60, 100);
  matcher_.on_execute(1, 10);
  EXPECT_EQ(filled(13), 0u);
  EXPECT_EQ(matcher_.find_live(13)->leaves(), 50u);
}

TEST_F(MatcherRules, AReplacementThatReachesTheOtherSideTradesAtOnce) {
  ask(1, 100, 104);
  buy(11, 50, 100);
  replace(12, 11, 50, 104);
  EXPECT_EQ(filled(12), 50u);
}

TEST_F(MatcherRules, AReplacementToWhatIsFilledEndsTheOrderAndBelowItIsRefused) {
  buy(11, 50, 100);
  bid(1, 100, 99);
  matcher_.on_execute(1, 20);
  replace(12, 11, 19, 100);
  EXPECT_EQ(last().reason, Reason::kBelowFilled);
  EXPECT_EQ(last().leaves_shares, 30u);
  replace(13, 11, 20, 100);
  EXPECT_EQ(last().kind, ReportKind::kReplaced);
  EXPECT_EQ(log_.all.back().state, OrderState::kFilled);
  EXPECT_EQ(matcher_.live_orders(), 0u);
}

TEST_F(MatcherRules, CancelsWhatIsLeftAndRefusesToCancelWhatIsDoneOrUnknown) {
  buy(11, 50, 100);
  cancel(12, 11);
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
  EXPECT_EQ(last().target_order_id, 11u);
  cancel(13, 11);
  EXPECT_EQ(last().reason, Reason::kTooLate);
  EXPECT_EQ(log_.all.back().state, OrderState::kCanceled);
  EXPECT_NE(log_.all.back().exchange_order_id, 0u);
  cancel(14, 99);
  EXPECT_EQ(last().reason, Reason::kUnknownOrder);
  EXPECT_EQ(log_.all.back().exchange_order_id, 0u);
}

TEST_F(MatcherRules, RefusesToChangeAnotherSessionsOrder) {
  buy(11, 50, 100);
  cancel(12, 11, {1, kAlice.strategy});
  EXPECT_EQ(last().reason, Reason::kUnknownOrder);
  EXPECT_EQ(matcher_.live_orders(), 1u);
}

TEST_F(MatcherRules, RefusesBadOrdersEachWithItsReason) {
  const auto reason_of = [&](NewOrder bad) {
    matcher_.enter(bad);
    EXPECT_EQ(last().kind, ReportKind::kRejected);
    return last().reason;
  };
  buy(1, 1, 1);
  EXPECT_EQ(reason_of(order(1, Side::kBuy, 1, 1)), Reason::kDuplicateId);
  EXPECT_EQ(reason_of(order(2, Side::kBuy, 0, 1)), Reason::kQuantity);
  EXPECT_EQ(reason_of(order(3, Side::kBuy, kOrderSharesMax + 1, 1)), Reason::kQuantity);
  EXPECT_EQ(reason_of(order(4, Side::kBuy, 1, 0)), Reason::kPrice);
  EXPECT_EQ(reason_of(order(5, Side::kBuy, 1, kOrderPriceMax + 1)), Reason::kPrice);
  EXPECT_EQ(reason_of(order(6, Side{9}, 1, 1)), Reason::kUnsupported);
  NewOrder odd = order(7, Side::kBuy, 1, 1);
  odd.type = OrderType{9};
  EXPECT_EQ(reason_of(odd), Reason::kUnsupported);
  odd = order(8, Side::kBuy, 1, 1);
  odd.locate = wire::kNoInstrument;
  EXPECT_EQ(reason_of(odd), Reason::kUnknownSymbol);
  EXPECT_EQ(reason_of(order(8, Side::kBuy, 1, 1)), Reason::kDuplicateId);
  EXPECT_EQ(matcher_.counters().rejected.get(), 9u);
  EXPECT_EQ(matcher_.live_orders(), 1u);
}

TEST_F(MatcherRules, RefusesOrdersWhenItsTablesAreFullAndStillCancels) {
  for (std::uint64_t id = 1; id <= 64; ++id) buy(id, 1, 10);
  buy(65, 1, 10);
  EXPECT_EQ(last().reason, Reason::kCapacity);
  cancel(66, 64);
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
  for (std::uint64_t id = 67; id < 400; ++id) {
    cancel(id, 9999);
    EXPECT_EQ(last().reason, Reason::kUnknownOrder);
  }
  buy(500, 1, 10);  // ids are exhausted now, though orders would fit
  EXPECT_EQ(last().reason, Reason::kCapacity);
  cancel(501, 1);
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
}

TEST_F(MatcherRules, RefusesOrdersWhileHaltedAndStillCancels) {
  buy(11, 50, 100);
  matcher_.on_trading_state(kStock, wire::TradingState::kHalted);
  buy(12, 50, 100);
  EXPECT_EQ(last().reason, Reason::kNotTrading);
  replace(13, 11, 60, 100);
  EXPECT_EQ(last().reason, Reason::kNotTrading);
  bid(1, 10, 99);
  matcher_.on_execute(1, 10);
  EXPECT_EQ(filled(11), 0u);
  cancel(14, 11);
  EXPECT_EQ(last().kind, ReportKind::kCanceled);
}

TEST_F(MatcherRules, RestingThroughAHaltMatchesInOldOrderWhenTradingResumes) {
  ReportLog log;
  Matcher matcher(options(HaltRule::kRest), log);
  matcher.on_trading_state(kStock, wire::TradingState::kPaused);
  matcher.enter(order(11, Side::kBuy, 30, 100, kAlice));
  matcher.enter(order(12, Side::kBuy, 30, 101, kBob));
  matcher.on_add(kStock, 1, Side::kSell, 40, 100);
  matcher.enter(immediate(13, 30, 101));
  EXPECT_EQ(log.brief.back().kind, ReportKind::kExpired);
  matcher.on_trading_state(kStock, wire::TradingState::kTrading);
  ASSERT_EQ(log.brief.size(), 6u);
  EXPECT_EQ(log.brief[4].order_id, 11u);
  EXPECT_EQ(log.brief[4].last_shares, 30u);
  EXPECT_EQ(log.brief[5].order_id, 12u);
  EXPECT_EQ(log.brief[5].last_shares, 10u);
  EXPECT_EQ(matcher.live_orders(), 1u);
}

TEST_F(MatcherRules, DayOrdersExpireAtTheEndOfTheSessionAndNewOnesAreRefused) {
  buy(11, 50, 100);
  matcher_.close();
  EXPECT_EQ(last().kind, ReportKind::kExpired);
  EXPECT_EQ(last().reason, Reason::kSessionEnd);
  buy(12, 50, 100);
  EXPECT_EQ(last().reason, Reason::kClosed);
  const std::size_t reports = log_.brief.size();
  matcher_.close();
  EXPECT_EQ(log_.brief.size(), reports);
}

TEST_F(MatcherRules, ExecutionIdsNeverRepeatAndCarryTheIncarnation) {
  ask(1, 10, 104);
  buy(11, 20, 104);
  buy(11, 20, 104);
  cancel(12, 99);
  std::uint64_t before = 0;
  for (const Report& r : log_.all) {
    EXPECT_GT(r.execution_id, before);
    EXPECT_EQ(r.execution_id >> 48, 3u);
    before = r.execution_id;
  }
}

TEST_F(MatcherRules, CountsRecordedEventsThatMakeNoSenseAndGoesOn) {
  matcher_.on_execute(99, 10);
  matcher_.on_reduce(99, 10);
  matcher_.on_delete(99);
  matcher_.on_replace(99, 100, 10, 10);
  EXPECT_EQ(matcher_.counters().unknown_references.get(), 4u);
  bid(1, 0, 100);
  bid(2, 10, 0);
  bid(3, 10, 100);
  bid(3, 10, 100);
  matcher_.on_execute(3, 11);
  matcher_.on_hidden_trade(kStock, 10, 0);
  EXPECT_EQ(matcher_.counters().bad_messages.get(), 5u);
  EXPECT_EQ(matcher_.book().orders_resting(), 0u);
}

}  // namespace
}  // namespace tickpath::sim
