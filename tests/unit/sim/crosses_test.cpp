// Crosses: how their price is found, and who trades in them.

#include "command_stream.hpp"
#include "feed_reader.hpp"
#include "report_log.hpp"
#include "sim/market/market.hpp"
#include "sim/matching/call_auction.hpp"

namespace tickpath::sim {
namespace {

// ---------------------------------------------------------------------- the price

class CallAuctionPrice : public testing::Test {
 protected:
  void buy(std::uint32_t price, std::uint64_t shares) { auction_.add(Side::kBuy, price, shares); }
  void sell(std::uint32_t price, std::uint64_t shares) { auction_.add(Side::kSell, price, shares); }
  CallAuction auction_{16};
};

TEST_F(CallAuctionPrice, IsTheOneThatTradesMost) {
  buy(105, 100);
  buy(103, 300);
  sell(100, 50);
  sell(102, 250);
  sell(104, 500);
  const AuctionOutcome outcome = auction_.outcome(0);  // 102 and 103 trade 300
  EXPECT_EQ(outcome.paired_shares, 300u);
  EXPECT_EQ(outcome.price, 102u);
  EXPECT_EQ(outcome.imbalance_shares, 100u);
  EXPECT_EQ(outcome.imbalance_side, Side::kBuy);
}

TEST_F(CallAuctionPrice, LeavesTheSmallestImbalanceOfThoseThatTradeAsMuch) {
  buy(105, 100);
  buy(102, 70);
  sell(100, 100);
  sell(104, 40);
  // 100 and 102 leave 70 buyers, 104 and 105 40 sellers; all trade 100.
  const AuctionOutcome outcome = auction_.outcome(100);
  EXPECT_EQ(outcome.price, 104u);
  EXPECT_EQ(outcome.imbalance_shares, 40u);
  EXPECT_EQ(outcome.imbalance_side, Side::kSell);
}

TEST_F(CallAuctionPrice, IsTheNearestToTheReferenceOfThoseAsGoodWhichMayBeTheReferenceItself) {
  for (const auto& [reference, price] : {std::pair{104u, 104u}, {120u, 110u}, {0u, 100u}}) {
    auction_.clear();
    buy(110, 100);
    sell(100, 100);
    EXPECT_EQ(auction_.outcome(reference).price, price) << reference;
  }
}

TEST_F(CallAuctionPrice, OfMarketOrdersAloneIsTheReferenceAndWithoutOneThereIsNone) {
  buy(0, 100);
  sell(0, 60);
  EXPECT_EQ(auction_.outcome(0).price, 0u);
  const AuctionOutcome outcome = auction_.outcome(50);
  EXPECT_EQ(outcome.price, 50u);
  EXPECT_EQ(outcome.paired_shares, 60u);
  EXPECT_EQ(outcome.imbalance_shares, 40u);
}

TEST_F(CallAuctionPrice, DoesNotExistWhereNobodyMeets) {
  buy(100, 10);
  sell(101, 10);
  EXPECT_EQ(auction_.outcome(100).price, 0u);
  EXPECT_EQ(auction_.outcome(100).paired_shares, 0u);
}

// ---------------------------------------------------------------------- who trades

class Crosses : public testing::Test {
 protected:
  void start(CrossRule rule, HaltRule halt = HaltRule::kRest) {
    MatcherOptions options{.book = {.orders_max = 1024, .levels_max = 1024},
                           .live_orders_max = 64,
                           .order_ids_max = 256,
                           .halt_rule = halt,
                           .crosses = rule};
    matcher_ = std::make_unique<Matcher>(options, log_);
    market_ = std::make_unique<Market>(*matcher_);
    market_->publish_to(feed_, 1'000'000'000);
    market_->apply(directory(1, "ZAAA"));
  }
  NewOrder order(std::uint64_t id, Side side, std::uint32_t shares, std::int64_t price,
                 TimeInForce time) {
    NewOrder made{.order_id = id,
                  .price = {price},
                  .locate = 1,
                  .shares = shares,
                  .party = {0, static_cast<std::uint8_t>(id)},
                  .side = side,
                  .time_in_force = time};
    if (price == 0) made.type = OrderType::kMarket;
    return made;
  }
  void on_open(std::uint64_t id, Side side, std::uint32_t shares, std::int64_t price) {
    matcher_->enter(order(id, side, shares, price, TimeInForce::kAtTheOpening));
  }
  void on_close(std::uint64_t id, Side side, std::uint32_t shares, std::int64_t price) {
    matcher_->enter(order(id, side, shares, price, TimeInForce::kAtTheClose));
  }
  void day(std::uint64_t id, Side side, std::uint32_t shares, std::int64_t price) {
    matcher_->enter(order(id, side, shares, price, TimeInForce::kDay));
  }
  // "shares@price" of each fill of an order, then how it ended.
  std::string fate(std::uint64_t id) const {
    std::string text;
    for (const LoggedReport& r : log_.brief) {
      if (r.order_id != id) continue;
      if (r.kind == ReportKind::kFill)
        text += std::to_string(r.last_shares) + "@" + std::to_string(r.last_price) + " ";
      if (r.kind == ReportKind::kExpired) text += "expired";
      if (r.kind == ReportKind::kRejected) text += "rejected";
    }
    return text;
  }
  static Bytes imbalance(char direction, std::uint64_t shares, char type) {
    itch::NetOrderImbalanceIndicator m{.header = {1, 0, kOpenNs},
                                       .imbalance_shares = shares,
                                       .imbalance_direction = direction,
                                       .stock = "ZAAA",
                                       .cross_type = type};
    return encoded(m);
  }
  static Bytes cross(std::uint64_t shares, std::uint32_t price, char type) {
    itch::CrossTrade m{.header = {1, 0, kOpenNs},
                       .shares = shares,
                       .stock = "ZAAA",
                       .cross_price = price,
                       .cross_type = type};
    return encoded(m);
  }
  FeedReader feed_;
  ReportLog log_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<Market> market_;
};

TEST_F(Crosses, AMarketOfLiveOrdersAloneOpensAtOnePriceAndOnOpenOrdersEndThere) {
  start(CrossRule::kOwn);
  on_open(1, Side::kBuy, 100, 0);
  on_open(2, Side::kBuy, 100, 104);
  on_open(3, Side::kSell, 150, 101);
  on_open(4, Side::kSell, 80, 105);
  day(5, Side::kSell, 20, 103);
  market_->apply(system_event('Q'));
  // 170 at 103 and 104, 30 buyers left over; the lower of the two.
  using enum Liquidity;
  const auto traded = [&](Liquidity liquidity) {
    return matcher_->counters().traded_shares[static_cast<std::size_t>(liquidity)].get();
  };
  EXPECT_EQ(traded(kCross), 2 * 170u) << "both sides, none of which has added or removed liquidity";
  EXPECT_EQ(traded(kAdded) + traded(kRemoved), 0u);
  EXPECT_EQ(fate(1), "100@103 ");
  EXPECT_EQ(fate(2), "70@103 expired");
  EXPECT_EQ(fate(3), "150@103 ");
  EXPECT_EQ(fate(4), "expired");
  EXPECT_EQ(fate(5), "20@103 ");
  EXPECT_EQ(matcher_->counters().traded_live.get(), 170u);
  EXPECT_EQ(matcher_->live_orders(), 0u);
  on_open(6, Side::kBuy, 10, 104);
  EXPECT_EQ(log_.brief.back().reason, Reason::kCrossOver);
  on_close(7, Side::kBuy, 10, 104);
  on_close(8, Side::kSell, 10, 0);
  market_->apply(system_event('M'));
  EXPECT_EQ(fate(7), "10@103 ");  // the last trade is the reference
}

TEST_F(Crosses, ThePrintOnTheFeedIsOfTheDisplayedOrdersNotPrintableAndOfTheWholeCross) {
  start(CrossRule::kOwn);
  day(1, Side::kSell, 40, 103);
  on_open(2, Side::kBuy, 100, 104);
  on_open(3, Side::kSell, 60, 100);
  market_->apply(system_event('Q'));
  ASSERT_EQ(feed_.types(), "RASCQ");
  const auto displayed = feed_.as<itch::OrderExecutedWithPrice>(3);
  EXPECT_EQ(displayed.executed_shares, 40u);
  EXPECT_EQ(displayed.execution_price, 103u);
  EXPECT_EQ(displayed.printable, 'N');
  const auto whole = feed_.as<itch::CrossTrade>(4);
  EXPECT_EQ(whole.shares, 100u);
  EXPECT_EQ(whole.cross_price, 103u);
  EXPECT_EQ(whole.cross_type, 'O');
  EXPECT_EQ(whole.stock.view(), "ZAAA");
  EXPECT_NE(whole.match_number, displayed.match_number);
}

TEST_F(Crosses, RecordedOrdersTakePartForWhatOursNeedOfThemOnly) {
  start(CrossRule::kOwn);
  market_->apply(add(1, "ZAAA", 10, Side::kSell, 50, 102));
  market_->apply(add(1, "ZAAA", 11, Side::kSell, 50, 103));
  market_->apply(add(1, "ZAAA", 12, Side::kBuy, 500, 100));
  on_open(1, Side::kBuy, 80, 0);
  on_open(2, Side::kSell, 20, 101);
  market_->apply(system_event('Q'));
  EXPECT_EQ(fate(1), "80@103 ");
  EXPECT_EQ(fate(2), "20@103 ");
  EXPECT_EQ(matcher_->counters().taken.get(), 60u);
  EXPECT_EQ(matcher_->taken_in_book(), 60u);
  EXPECT_EQ(matcher_->recorded_account(1).position_shares, -60);
  EXPECT_EQ(feed_.book.best(1, Side::kSell), (book::Quote{103, 40}));
}

TEST_F(Crosses, AfterAHaltTradingResumesWithACross) {
  start(CrossRule::kOwn);
  market_->apply(trading_action(1, "ZAAA", 'H'));
  day(1, Side::kBuy, 100, 105);
  day(2, Side::kSell, 60, 100);
  EXPECT_EQ(fate(1), "");
  market_->apply(trading_action(1, "ZAAA", 'T'));
  EXPECT_EQ(fate(1), "60@100 ");  // both prices are as good, and nothing has traded before
  EXPECT_EQ(matcher_->live_orders(), 1u);
}

TEST_F(Crosses, OnCrossOrdersCanBeChangedAndCancelledAndGoWithTheirDay) {
  start(CrossRule::kOwn);
  on_open(1, Side::kBuy, 100, 104);
  ReplaceOrder more{.order_id = 2,
                    .target_order_id = 1,
                    .price = {106},
                    .locate = 1,
                    .shares = 150,
                    .party = {0, 1}};
  matcher_->replace(more);
  on_close(3, Side::kSell, 10, 0);
  CancelOrder cancel{
      .order_id = 4, .target_order_id = 3, .locate = 1, .party = {0, 3}, .side = Side::kSell};
  matcher_->cancel(cancel);
  EXPECT_EQ(log_.brief.back().kind, ReportKind::kCanceled);
  matcher_->close();
  EXPECT_EQ(fate(2), "expired");
  EXPECT_EQ(feed_.types(), "R") << "they are not displayed";
}

TEST_F(Crosses, ARecordedCrossFillsOursWithEachOtherAndUpToTheImbalance) {
  start(CrossRule::kRecorded);
  on_open(1, Side::kSell, 100, 0);
  on_open(2, Side::kSell, 100, 99);
  on_open(3, Side::kSell, 100, 101);  // above the price
  on_open(4, Side::kBuy, 30, 100);
  market_->apply(imbalance('B', 120, 'O'));
  market_->apply(cross(5'000, 100, 'O'));
  EXPECT_EQ(fate(1), "100@100 ");
  EXPECT_EQ(fate(2), "50@100 expired");
  EXPECT_EQ(fate(3), "expired");
  EXPECT_EQ(fate(4), "30@100 ");
  EXPECT_EQ(matcher_->recorded_account(1).position_shares, 120);
  ASSERT_EQ(feed_.types(), "RIQ");
  EXPECT_EQ(feed_.as<itch::CrossTrade>(2).shares, 5'150u);
}

TEST_F(Crosses, ARecordedImbalanceOnOurOwnSideGivesNothing) {
  start(CrossRule::kRecorded);
  on_close(1, Side::kSell, 100, 0);
  market_->apply(imbalance('S', 120, 'C'));
  market_->apply(cross(5'000, 100, 'C'));
  EXPECT_EQ(fate(1), "expired");
  EXPECT_EQ(feed_.as<itch::CrossTrade>(2).shares, 5'000u);
}

TEST_F(Crosses, ImbalanceMessagesTellOfTheAuctionAtTheirIntervalUntilItIsOver) {
  start(CrossRule::kOwn);
  market_->apply(add(1, "ZAAA", 10, Side::kBuy, 50, 100, kOpenNs));
  market_->apply(add(1, "ZAAA", 11, Side::kSell, 50, 110, kOpenNs));
  on_open(1, Side::kBuy, 200, 108);
  on_open(2, Side::kSell, 120, 104);
  const std::uint64_t second = 1'000'000'000;
  market_->apply(system_event('S', kOpenNs + second));
  market_->apply(system_event('S', kOpenNs + second + 1));
  market_->apply(system_event('S', kOpenNs + 2 * second));
  ASSERT_EQ(feed_.types(), "RAASISSI");
  const auto told = feed_.as<itch::NetOrderImbalanceIndicator>(4);
  EXPECT_EQ(told.paired_shares, 120u);
  EXPECT_EQ(told.imbalance_shares, 80u);
  EXPECT_EQ(told.imbalance_direction, 'B');
  EXPECT_EQ(told.near_price, 105u);  // the middle of the market
  EXPECT_EQ(told.far_price, 105u);
  EXPECT_EQ(told.current_reference_price, 105u);
  EXPECT_EQ(told.cross_type, 'O');
  EXPECT_EQ(told.price_variation_indicator, 'L');
  EXPECT_EQ(told.stock.view(), "ZAAA");
  market_->apply(system_event('Q', kOpenNs + 3 * second));
  market_->apply(system_event('S', kOpenNs + 5 * second));
  EXPECT_EQ(feed_.types(8), "SQS");
}

TEST_F(Crosses, AStateByHandIsPublishedAndHolds) {
  start(CrossRule::kRecorded, HaltRule::kReject);
  market_->set_trading_state("ZAAA", 'P');
  day(1, Side::kBuy, 10, 100);
  EXPECT_EQ(fate(1), "rejected");
  market_->set_trading_state("ZAAA", 'T');
  day(2, Side::kBuy, 10, 100);
  EXPECT_EQ(fate(2), "");
  market_->set_trading_state("ZZZZ", 'H');
  EXPECT_EQ(market_->counters().unknown_by_hand.get(), 1u);
  EXPECT_EQ(feed_.types(), "RHHA");
  EXPECT_EQ(feed_.as<itch::StockTradingAction>(1).trading_state, 'P');
}

}  // namespace
}  // namespace tickpath::sim
