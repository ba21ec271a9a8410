// The rules of sim/DESIGN.md for what is more than a limit or market order, each by an example.
#include <gtest/gtest.h>

#include "command_stream.hpp"
#include "report_log.hpp"

namespace tickpath::sim {
namespace {

class OrderTypes : public testing::Test {
 protected:
  void run(const Stream& stream, SelfMatchRule rule = SelfMatchRule::kCancelNewest,
           HaltRule halted = HaltRule::kReject) {
    const MatcherOptions options{.book = {.orders_max = 1024, .levels_max = 1024},
                                 .live_orders_max = 64,
                                 .order_ids_max = 256,
                                 .halt_rule = halted,
                                 .self_match = rule,
                                 .band_basis_points = band_basis_points_,
                                 .ticks = ticks_};
    matcher_ = std::make_unique<Matcher>(options, log_);
    go_on(stream);
  }
  void go_on(const Stream& stream) {
    for (const StreamCommand& command : stream) apply(*matcher_, command);
  }
  static NewOrder buy(std::uint64_t id, std::uint32_t shares, std::int64_t price,
                      Party party = kAlice) {
    return {.order_id = id, .price = {price}, .locate = 1, .shares = shares, .party = party};
  }
  static NewOrder sell(std::uint64_t id, std::uint32_t shares, std::int64_t price,
                       Party party = kAlice) {
    NewOrder order = buy(id, shares, price, party);
    order.side = Side::kSell;
    return order;
  }
  static NewOrder with(NewOrder order, TimeInForce time) {
    order.time_in_force = time;
    return order;
  }
  static NewOrder stop(NewOrder order, std::int64_t stop_price) {
    order.type = order.price.value == 0 ? OrderType::kStop : OrderType::kStopLimit;
    order.stop_price = {stop_price};
    return order;
  }
  static NewOrder pegged(NewOrder order) {
    order.type = OrderType::kPegged;
    return order;
  }
  static NewOrder showing(NewOrder order, std::uint32_t shares) {
    order.display_shares = shares;
    return order;
  }
  static NewOrder post_only(NewOrder order) {
    order.post_only = true;
    return order;
  }
  static ReplaceOrder replacement(std::uint64_t id, std::uint64_t target, std::uint32_t shares,
                                  std::int64_t price) {
    return {.order_id = id,
            .target_order_id = target,
            .price = {price},
            .locate = 1,
            .shares = shares,
            .party = kAlice};
  }
  static CancelOrder cancel(std::uint64_t id, std::uint64_t target) {
    return {.order_id = id, .target_order_id = target, .locate = 1, .party = kAlice};
  }
  // "shares@price" of each fill of an order.
  std::string fills(std::uint64_t id) const {
    std::string text;
    for (const LoggedReport& r : log_.brief)
      if (r.kind == ReportKind::kFill && r.order_id == id)
        text += (text.empty() ? "" : " ") + std::to_string(r.last_shares) + "@" +
                std::to_string(r.last_price);
    return text;
  }
  // How an order ended or was refused; kNone: it was not.
  Reason reason(std::uint64_t id) const {
    for (const LoggedReport& r : log_.brief)
      if (r.order_id == id && r.kind != ReportKind::kReplaced && r.reason != Reason::kNone)
        return r.reason;
    return Reason::kNone;
  }
  std::uint32_t price_of(std::uint64_t id) const {
    const LiveOrder* order = matcher_->find_live(id);
    return order == nullptr ? 0 : order->price;
  }
  bool works(std::uint64_t id) const { return matcher_->find_live(id) != nullptr; }

  std::uint32_t band_basis_points_ = 0;
  TickRule ticks_ = TickRule::kRegNms;
  ReportLog log_;
  std::unique_ptr<Matcher> matcher_;
};

// ---------------------------------------------------------------------- prices

TEST_F(OrderTypes, PricesFromOneDollarUpAreInWholeCentsAndBelowItInHundredthsOfThem) {
  run({buy(11, 10, 9'999), buy(12, 10, 10'000), buy(13, 10, 10'001), buy(14, 10, 10'100),
       buy(15, 10, 1'234'567)});
  for (const std::uint64_t id : {11u, 12u, 14u}) EXPECT_TRUE(works(id)) << id;
  for (const std::uint64_t id : {13u, 15u}) EXPECT_EQ(reason(id), Reason::kPriceTick) << id;
}

TEST_F(OrderTypes, StopPricesAndCapsOfPegsAreOnTheTickToo) {
  run({stop(buy(11, 10, 0), 10'050), stop(buy(12, 10, 10'200), 10'050),
       stop(buy(13, 10, 10'250), 10'100), stop(buy(14, 10, 10'200), 10'100),
       pegged(buy(15, 10, 10'001)), pegged(buy(16, 10, 0))});
  EXPECT_EQ(reason(11), Reason::kStopTick);
  EXPECT_EQ(reason(12), Reason::kStopTick);
  EXPECT_EQ(reason(13), Reason::kPriceTick);
  EXPECT_EQ(reason(15), Reason::kPriceTick);
  EXPECT_TRUE(works(14));
  EXPECT_TRUE(works(16));
}

TEST_F(OrderTypes, AReplacementOffTheTickIsRefusedAndTheOrderLivesOn) {
  run({buy(11, 10, 10'000)});
  go_on({replacement(12, 11, 10, 10'001)});
  EXPECT_EQ(reason(12), Reason::kPriceTick);
  EXPECT_EQ(price_of(11), 10'000u);
}

TEST_F(OrderTypes, AVenueWithoutTheTickRuleTakesEveryPrice) {
  ticks_ = TickRule::kAny;
  run({buy(11, 10, 1'234'567), stop(buy(12, 10, 0), 1'234'568)});
  EXPECT_TRUE(works(11));
  EXPECT_TRUE(works(12));
}

// ---------------------------------------------------------------------- on arrival

TEST_F(OrderTypes, PostOnlyIsRefusedWhenItWouldTradeAndRestsOtherwise) {
  run({Add{1, 1, Side::kSell, 100, 105}, post_only(buy(11, 10, 105)), post_only(buy(12, 10, 104))});
  EXPECT_EQ(reason(11), Reason::kPostOnly);
  EXPECT_EQ(log_.brief.front().kind, ReportKind::kRejected);
  EXPECT_TRUE(works(12));
  go_on({replacement(13, 12, 10, 105)});
  EXPECT_EQ(reason(13), Reason::kPostOnly);
  EXPECT_EQ(price_of(12), 104u);
}

TEST_F(OrderTypes, PostOnlyThatRestedThroughAHaltExpiresWhenItWouldTradeThen) {
  run({State{1, wire::TradingState::kHalted}, Add{1, 1, Side::kSell, 100, 105},
       post_only(buy(11, 10, 105)), State{1, wire::TradingState::kTrading}},
      SelfMatchRule::kCancelNewest, HaltRule::kRest);
  EXPECT_EQ(reason(11), Reason::kPostOnly);
  EXPECT_EQ(fills(11), "");
}

TEST_F(OrderTypes, FillOrKillTradesAllOfItOrNothing) {
  run({Add{1, 1, Side::kSell, 30, 104}, Add{1, 2, Side::kSell, 30, 105},
       with(buy(11, 61, 105), TimeInForce::kFillOrKill),
       with(buy(12, 60, 105), TimeInForce::kFillOrKill)});
  EXPECT_EQ(fills(11), "");
  EXPECT_EQ(reason(11), Reason::kMinimum);
  EXPECT_EQ(fills(12), "30@104 30@105");
}

TEST_F(OrderTypes, FillOrKillCountsReserveSharesButNotWhatStandsBehindItsOwnOrder) {
  run({showing(sell(11, 500, 104, kBob), 100), sell(12, 10, 104, kAlice),
       with(buy(13, 200, 104, kAlice), TimeInForce::kFillOrKill),
       with(buy(14, 500, 104, {0, 3}), TimeInForce::kFillOrKill)});
  EXPECT_EQ(reason(13), Reason::kMinimum);
  EXPECT_EQ(fills(14), "100@104 10@104 100@104 100@104 100@104 90@104");
}

TEST_F(OrderTypes, MinimumQuantityTradesThatMuchAtOnceOrNothing) {
  NewOrder few = with(buy(11, 100, 105), TimeInForce::kImmediateOrCancel);
  few.minimum_shares = 31;
  NewOrder enough = few;
  enough.order_id = 12;
  enough.minimum_shares = 30;
  run({Add{1, 1, Side::kSell, 30, 105}, few, enough});
  EXPECT_EQ(reason(11), Reason::kMinimum);
  EXPECT_EQ(fills(11), "");
  EXPECT_EQ(fills(12), "30@105");
  EXPECT_EQ(reason(12), Reason::kRemainder);
}

TEST_F(OrderTypes, ContradictoryInstructionsAreRefused) {
  NewOrder minimum_of_a_day_order = buy(11, 100, 105);
  minimum_of_a_day_order.minimum_shares = 10;
  run({minimum_of_a_day_order, with(post_only(buy(12, 100, 105)), TimeInForce::kImmediateOrCancel),
       with(stop(buy(13, 100, 105), 104), TimeInForce::kFillOrKill),
       showing(stop(buy(14, 200, 0), 104), 100),
       with(pegged(buy(15, 100, 105)), TimeInForce::kImmediateOrCancel),
       showing(buy(16, 200, 105), 99), stop(buy(17, 100, 105), 0)});
  for (std::uint64_t id = 11; id <= 15; ++id) EXPECT_EQ(reason(id), Reason::kCombination) << id;
  EXPECT_EQ(reason(16), Reason::kDisplay);
  EXPECT_EQ(reason(17), Reason::kStopPrice);
}

TEST_F(OrderTypes, PriceBandsRefuseLimitsBeyondThemAndStopMarketOrdersThere) {
  NewOrder market = buy(13, 30, 0);
  market.type = OrderType::kMarket;
  band_basis_points_ = 500;
  run({buy(10, 10, 900), cancel(9, 10), HiddenTrade{1, 1, 100}, buy(11, 10, 106), buy(12, 10, 105),
       sell(14, 10, 94, kBob), Add{1, 1, Side::kSell, 10, 106}, Add{1, 2, Side::kSell, 10, 104}});
  EXPECT_EQ(reason(10), Reason::kNone);  // no trade yet, no bands
  EXPECT_EQ(reason(11), Reason::kPriceBand);
  EXPECT_EQ(reason(14), Reason::kPriceBand);
  EXPECT_EQ(fills(12), "10@105");  // and bands move with the last trade: 99.75 to 110.25
  go_on({Add{1, 3, Side::kSell, 10, 108}, Add{1, 4, Side::kSell, 10, 111}, market});
  EXPECT_EQ(fills(13), "10@106 10@108");
  EXPECT_EQ(reason(13), Reason::kRemainder);
}

// ---------------------------------------------------------------------- display quantity

TEST_F(OrderTypes, EachNewSliceStandsBehindWhatWasThereAtItsPrice) {
  run({showing(buy(11, 250, 100), 100), Add{1, 1, Side::kBuy, 50, 100}, buy(12, 40, 100, kBob),
       Execute{1, 50}});
  EXPECT_EQ(fills(11), "50@100");  // ahead of the order that was hit, from the first slice
  go_on({Add{1, 2, Side::kBuy, 500, 100}, Execute{2, 300}});
  // 50 of the first slice, 12's 40; the second slice arrived after order 2.
  EXPECT_EQ(fills(11), "50@100 50@100");
  EXPECT_EQ(fills(12), "40@100");
  go_on({sell(21, 1'000, 100, {0, 3})});
  EXPECT_EQ(fills(21), "200@100 100@100 50@100");  // order 2's rest, then slice after slice
  EXPECT_FALSE(works(11));
}

TEST_F(OrderTypes, FewerSharesAreTakenFromTheReserveFirst) {
  run({showing(buy(11, 300, 100), 100), buy(12, 10, 100, kBob), replacement(13, 11, 150, 100),
       sell(21, 110, 100, {0, 3})});
  EXPECT_EQ(fills(13), "100@100");
  EXPECT_EQ(fills(12), "10@100");
  EXPECT_EQ(matcher_->find_live(13)->shown(), 50u);
}

// Nor does it lose its place. Only shares beyond the slice wait for the next one's turn.
TEST_F(OrderTypes, AReserveOrderGainsNoPlaceByAHalt) {
  using Trading = wire::TradingState;
  for (const bool halted : {false, true}) {
    Stream stream{showing(buy(11, 300, 100), 100), Add{1, 1, Side::kBuy, 60, 100}, Execute{1, 60},
                  Add{1, 2, Side::kBuy, 300, 100}};
    if (halted) {
      stream.push_back(State{1, Trading::kHalted});
      stream.push_back(State{1, Trading::kTrading});
    }
    stream.push_back(Execute{2, 100});
    log_.brief.clear();
    run(stream);
    EXPECT_EQ(fills(11), "60@100 40@100") << halted;
    EXPECT_EQ(matcher_->find_live(11)->shown(), 100u) << "the next slice, behind order 2";
    go_on({Execute{2, 100}});
    EXPECT_EQ(fills(11), "60@100 40@100") << halted;
  }
}

TEST_F(OrderTypes, WhatAReserveOrderTradesAtTheEndOfAHaltIsOfItsSliceFirst) {
  using Trading = wire::TradingState;
  run({showing(buy(11, 300, 100), 100), State{1, Trading::kHalted}, Add{1, 1, Side::kSell, 30, 100},
       Add{1, 2, Side::kBuy, 300, 100}, State{1, Trading::kTrading}},
      SelfMatchRule::kCancelNewest, HaltRule::kRest);
  EXPECT_EQ(fills(11), "30@100");
  EXPECT_EQ(matcher_->find_live(11)->shown(), 70u);
  go_on({Execute{2, 100}});
  EXPECT_EQ(fills(11), "30@100 70@100") << "it stands before order 2";
}

// ---------------------------------------------------------------------- stop orders

TEST_F(OrderTypes, AStopOrderWaitsForATradeAtItsPriceAndIsAMarketOrderThen) {
  run({Add{1, 1, Side::kSell, 10, 105}, Add{1, 2, Side::kSell, 50, 107},
       stop(buy(11, 20, 0), 105)});
  EXPECT_TRUE(works(11));
  EXPECT_EQ(fills(11), "");
  go_on({Execute{1, 10}});
  EXPECT_EQ(fills(11), "20@107");
  EXPECT_EQ(matcher_->counters().triggered.get(), 1u);
  const Report& triggered = log_.all[log_.all.size() - 2];
  EXPECT_EQ(triggered.kind, ReportKind::kTriggered) << "ahead of what it trades";
  EXPECT_EQ(triggered.order_id, 11u);
  EXPECT_EQ(triggered.leaves_shares, 20u);
}

TEST_F(OrderTypes, AStopLimitOrderRestsWhenTriggeredBeyondItsLimit) {
  run({Add{1, 1, Side::kSell, 10, 105}, Add{1, 2, Side::kSell, 50, 107},
       stop(buy(11, 20, 106), 105), Execute{1, 10}});
  EXPECT_EQ(fills(11), "");
  EXPECT_EQ(price_of(11), 106u);
  go_on({Add{1, 3, Side::kSell, 5, 106}});
  EXPECT_EQ(fills(11), "5@106");
}

TEST_F(OrderTypes, AStopPriceThatTheLastTradeHasReachedAlreadyTriggersAtOnce) {
  run({HiddenTrade{1, 10, 99}, Add{1, 1, Side::kBuy, 10, 98}, stop(sell(11, 10, 0), 99)});
  EXPECT_EQ(fills(11), "10@98");
}

TEST_F(OrderTypes, WhatTradedBeforeAStopOrderCameDoesNotTriggerItButEveryTradeSinceDoes) {
  run({HiddenTrade{1, 10, 90}, HiddenTrade{1, 10, 100}, stop(sell(11, 10, 0), 95)});
  EXPECT_EQ(reason(11), Reason::kNone);
  // One order that takes 94, then 101: the trade at 94 counts though it is not the last.
  go_on({buy(21, 5, 94, kBob), Add{1, 1, Side::kSell, 5, 94}});
  EXPECT_EQ(reason(11), Reason::kRemainder);  // triggered, and nobody there
}

TEST_F(OrderTypes, OneStopOrdersTradesTriggerTheNext) {
  run({Add{1, 1, Side::kBuy, 10, 99}, Add{1, 2, Side::kBuy, 10, 97}, stop(sell(12, 10, 0), 99),
       stop(sell(11, 10, 0), 100), HiddenTrade{1, 1, 100}});
  EXPECT_EQ(fills(11), "10@99");
  EXPECT_EQ(fills(12), "10@97");
}

TEST_F(OrderTypes, AWaitingStopOrderIsReplacedByItsOwnTypeAndCancelled) {
  ReplaceOrder sooner = replacement(12, 11, 20, 0);
  sooner.stop_price = {103};
  sooner.type = OrderType::kMarket;
  run({HiddenTrade{1, 1, 100}, stop(buy(11, 20, 0), 105), sooner});
  EXPECT_EQ(reason(12), Reason::kUnsupported);
  sooner.order_id = 13;
  sooner.type = OrderType::kStop;
  go_on({sooner, HiddenTrade{1, 1, 103}});
  EXPECT_EQ(reason(13), Reason::kRemainder);
}

// ---------------------------------------------------------------------- pegged orders

TEST_F(OrderTypes, APeggedOrderFollowsTheBestPriceOfItsSideUpToItsLimit) {
  run({Add{1, 1, Side::kBuy, 10, 100}, pegged(buy(11, 20, 103))});
  EXPECT_EQ(price_of(11), 100u);
  go_on({Add{1, 2, Side::kBuy, 10, 102}});
  EXPECT_EQ(price_of(11), 102u);
  go_on({Add{1, 3, Side::kBuy, 10, 104}});
  EXPECT_EQ(price_of(11), 103u);
  go_on({Delete{3}, Delete{2}});
  EXPECT_EQ(price_of(11), 100u);
  go_on({Delete{1}});  // nothing to peg to: it waits
  EXPECT_EQ(price_of(11), 0u);
  go_on({sell(21, 15, 90, kBob)});  // 10 of it go to the recorded order that comes
  EXPECT_EQ(fills(11), "");
  go_on({Add{1, 4, Side::kBuy, 10, 95}});
  EXPECT_EQ(fills(11), "5@90");  // it arrived anew, and 21 was there
  EXPECT_EQ(price_of(11), 95u);
}

TEST_F(OrderTypes, APeggedOrderThatMovesStandsBehindTheOrderThatMovedIt) {
  run({Add{1, 1, Side::kBuy, 10, 100}, pegged(buy(11, 20, 0)), Add{1, 2, Side::kBuy, 10, 101},
       Execute{2, 10}});
  EXPECT_EQ(fills(11), "");
  go_on({Execute{1, 4}});  // back at 100, behind order 1, which was there all the time
  EXPECT_EQ(fills(11), "");
  EXPECT_EQ(matcher_->counters().repriced.get(), 2u);
}

// ---------------------------------------------------------------------- days

TEST_F(OrderTypes, GoodTillCancelOutlivesTheDayAndWorksOnTheNext) {
  run({with(buy(11, 10, 100), TimeInForce::kGoodTillCancel), buy(12, 10, 100), Close{}});
  EXPECT_TRUE(works(11));
  EXPECT_EQ(reason(12), Reason::kSessionEnd);
  go_on({Add{1, 1, Side::kSell, 4, 100}});
  EXPECT_EQ(fills(11), "");  // the day is over
  go_on({BeginDay{}, Add{1, 1, Side::kSell, 4, 100}});
  EXPECT_EQ(fills(11), "4@100");
  go_on({Close{}, cancel(13, 11)});
  EXPECT_FALSE(works(11));
}

TEST_F(OrderTypes, ANewDayForgetsTheRecordedBookAndTheLastTrade) {
  run({Add{1, 1, Side::kSell, 10, 105}, buy(11, 4, 105), Close{}, BeginDay{}});
  EXPECT_EQ(matcher_->book().orders_resting(), 0u);
  EXPECT_EQ(matcher_->last_price(1), 0u);
  EXPECT_EQ(matcher_->counters().taken.get(), matcher_->counters().taken_released.get());
  go_on({buy(12, 4, 105)});
  EXPECT_EQ(fills(12), "");
  EXPECT_TRUE(works(12));
}

// ---------------------------------------------------------------------- self-match prevention

TEST_F(OrderTypes, CancelOldestLetsTheArrivingOrderGoOn) {
  run({sell(11, 10, 100), sell(12, 10, 101, kBob), buy(13, 15, 101)}, SelfMatchRule::kCancelOldest);
  EXPECT_EQ(reason(11), Reason::kSelfMatch);
  EXPECT_EQ(fills(13), "10@101");
  EXPECT_TRUE(works(13));
}

TEST_F(OrderTypes, CancelBothEndsBoth) {
  run({sell(11, 10, 100), sell(12, 10, 101, kBob), buy(13, 15, 101)}, SelfMatchRule::kCancelBoth);
  EXPECT_EQ(reason(11), Reason::kSelfMatch);
  EXPECT_EQ(reason(13), Reason::kSelfMatch);
  EXPECT_TRUE(works(12));
}

TEST_F(OrderTypes, DecrementTakesTheSmallerOnesSharesFromBothUntraded) {
  run({sell(11, 10, 100), sell(12, 10, 101, kBob), buy(13, 15, 101)}, SelfMatchRule::kDecrement);
  EXPECT_EQ(reason(11), Reason::kSelfMatch);
  EXPECT_EQ(fills(13), "5@101");
  EXPECT_EQ(log_.all[4].kind, ReportKind::kReplaced);  // 13 is told of its new total
  EXPECT_EQ(log_.all[4].shares, 5u);
  EXPECT_EQ(log_.all[4].reason, Reason::kSelfMatch);
  EXPECT_FALSE(works(13));
  EXPECT_EQ(matcher_->counters().traded_live.get(), 5u);
}

// ---------------------------------------------------------------------- mass cancel

TEST_F(OrderTypes, MassCancelEndsASessionsOrdersWhereverTheyWait) {
  run({Add{1, 1, Side::kBuy, 10, 100}, buy(11, 10, 99), stop(buy(12, 10, 0), 120),
       pegged(sell(13, 10, 0)), buy(14, 10, 99, {1, 1}), MassCancel{.session = 0}});
  EXPECT_FALSE(works(11) || works(12) || works(13));
  EXPECT_TRUE(works(14));
  EXPECT_EQ(matcher_->counters().canceled.get(), 3u);
}

TEST_F(OrderTypes, MassCancelCanBeOfOneStrategyInstrumentOrSide) {
  NewOrder elsewhere = buy(15, 10, 99);
  elsewhere.locate = 2;
  run({buy(11, 10, 99), buy(12, 10, 99, kBob), sell(13, 10, 120), elsewhere,
       MassCancel{.session = 0, .strategy = 1, .locate = 1, .sells = false}});
  EXPECT_FALSE(works(11));
  EXPECT_TRUE(works(12) && works(13) && works(15));
}

}  // namespace
}  // namespace tickpath::sim
