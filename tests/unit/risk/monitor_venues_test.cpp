// One monitor over two venues: limits hold for the sum, and symbols are matched by name.
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/unit/risk/monitor_fixture.hpp"

namespace tickpath::risk::fed {
namespace {

constexpr std::uint64_t kPendingMaxMs = 5'000;

class RiskOverVenues : public ::testing::Test {
 protected:
  RiskOverVenues() { start(); }

  void start() {
    MonitorOptions options{.instruments_max = 16,
                           .strategies_max = 4,
                           .rows_max = 32,
                           .orders_max = 8,
                           .venues = 2,
                           .pending_max_ns = kPendingMaxMs * kMs};
    options.total = total;
    monitor = std::make_unique<Monitor>(options);
    numbers.clear();
    now_ms = 1'000;
    pass(0);
  }
  void all_whole() {
    monitor->on_whole(0);
    monitor->on_whole(1);
  }
  void pass(std::uint64_t ms) {
    now_ms += ms;
    monitor->advance(now_ms * kMs);
  }
  void limit(const StrategyLimits& limits) { monitor->set_limits(1, limits); }
  void list(std::uint32_t venue, std::uint32_t id, std::string_view symbol) {
    wire::DirectoryEntry entry{.instrument_id = id};
    symbol.copy(entry.symbol, sizeof(entry.symbol));
    monitor->on_directory(entry, venue);
  }
  // The next event of a row, as the venue's oeg numbers it.
  void take(std::uint32_t venue, wire::OrderEvent event) {
    event.row_event = ++numbers[{venue, event.strategy_id, event.instrument_id}];
    monitor->on_event(event, venue);
  }
  // shares below 0: sold. Of an order that nobody knows: the venue's word moves the position.
  void fill(std::uint32_t venue, std::uint32_t id, int shares, std::uint32_t price = 1'000'000,
            std::uint8_t strategy = 1) {
    take(venue, {.order_id = ++orders,
                 .instrument_id = id,
                 .shares = static_cast<std::uint32_t>(shares < 0 ? -shares : shares),
                 .price = price,
                 .event = EventKind::kReported,
                 .report_kind = ReportKind::kFill,
                 .side = shares < 0 ? Side::kSell : Side::kBuy,
                 .strategy_id = strategy});
  }
  void request(std::uint32_t venue, std::uint64_t order) {
    take(venue, {.order_id = order,
                 .instrument_id = 3,
                 .shares = 10,
                 .event = EventKind::kRequested,
                 .request_kind = RequestKind::kNew,
                 .strategy_id = 1});
  }
  void quote(std::uint32_t venue, std::uint32_t id, std::uint32_t price) {
    wire::BookUpdate update{
        .instrument_id = id, .best_bid = price, .best_ask = price, .kind = wire::UpdateKind::kAdd};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    monitor->on_update(update, venue);
  }
  // oeg's row, as a READ brings it.
  void held(std::uint32_t venue, std::uint32_t id, std::int64_t shares, std::string_view symbol,
            std::int64_t cash = 0) {
    const wire::PositionRow row{id, 1, {}, shares, cash, 0, 0, 7, 7};
    EXPECT_TRUE(monitor->on_remote_row(row, wire::symbol_word(symbol), venue));
  }
  LimitKind breach(std::uint32_t id = 1) const {
    return static_cast<LimitKind>(monitor->view(id).breach_kind.get());
  }
  std::int64_t value(std::uint32_t id = 1) const {
    return static_cast<std::int64_t>(monitor->view(id).breach_value.get());
  }

  TotalLimits total;
  std::unique_ptr<Monitor> monitor;
  std::map<std::tuple<std::uint32_t, int, std::uint32_t>, std::uint32_t> numbers;
  std::uint64_t orders = 100;
  std::uint64_t now_ms = 0;
};

// ------------------------------------------------------------------------------------- positions

TEST_F(RiskOverVenues, LongHereAndShortThereIsFlat) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");  // another id
  limit({.position_value_max = 100'000'000, .position_shares_max = 100});
  for (int i = 0; i < 5; ++i) {
    fill(0, 3, 90);
    fill(1, 5, -90);
  }
  EXPECT_EQ(breach(), LimitKind::kNone);
  fill(1, 5, 101);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_EQ(value(), 101);
}

TEST_F(RiskOverVenues, TheSumBreaksALimitThatNoVenueBreaks) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");
  limit({.position_shares_max = 100});
  fill(0, 3, 60);
  EXPECT_EQ(breach(), LimitKind::kNone);
  fill(1, 5, 60);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_EQ(value(), 120);
}

TEST_F(RiskOverVenues, OtherSymbolsUnderTheSameIdAreNotNetted) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 3, "MSFT");
  limit({.position_shares_max = 100});
  fill(0, 3, 90);
  fill(1, 3, 90);
  EXPECT_EQ(breach(), LimitKind::kNone);
  fill(1, 3, -191);
  EXPECT_EQ(breach(), LimitKind::kPositionShares) << "90 of AAPL make up for none of MSFT";
  EXPECT_EQ(value(), 101);
}

TEST_F(RiskOverVenues, EachStrategyHasItsOwnSum) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");
  limit({.position_shares_max = 100});
  monitor->set_limits(2, {.position_shares_max = 100});
  fill(0, 3, 90, 1'000'000, 1);
  fill(1, 5, 90, 1'000'000, 2);
  EXPECT_EQ(breach(1), LimitKind::kNone);
  fill(0, 3, 20, 1'000'000, 2);
  EXPECT_EQ(breach(1), LimitKind::kNone);
  EXPECT_EQ(breach(2), LimitKind::kPositionShares);
}

TEST_F(RiskOverVenues, EachVenuesSharesAreValuedAtItsOwnMark) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");
  quote(0, 3, 1'000'000);
  quote(1, 5, 1'000'000);
  fill(0, 3, 100);
  fill(1, 5, -100);
  limit({.position_value_max = 20'000'000});  // 2,000 units
  quote(1, 5, 1'190'000);                     // -1,900 in all
  EXPECT_EQ(breach(), LimitKind::kNone);
  quote(1, 5, 1'210'000);
  EXPECT_EQ(breach(), LimitKind::kPositionValue);
  EXPECT_EQ(value(), 21'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(monitor->view(1).net_notional.get()), -21'000'000);
  EXPECT_EQ(static_cast<std::int64_t>(monitor->view(1).gross_notional.get()), 221'000'000);
}

// A row without a name may be of any symbol: it adds to each, and takes off none.
TEST_F(RiskOverVenues, WhatHasNoNameYetCountsAgainstEverySymbol) {
  all_whole();
  list(0, 3, "AAPL");
  limit({.position_shares_max = 100});
  fill(1, 5, -60);
  fill(0, 3, 100);
  EXPECT_EQ(breach(), LimitKind::kNone) << "60 sold take nothing off";
  list(1, 5, "AAPL");
  fill(0, 3, 60);
  EXPECT_EQ(breach(), LimitKind::kNone) << "once it is known to be the same they do";
  start();
  all_whole();
  list(0, 3, "AAPL");
  limit({.position_shares_max = 100});
  fill(1, 5, 60);
  fill(0, 3, 60);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_EQ(value(), 120);
}

TEST_F(RiskOverVenues, ANameThatBringsRowsTogetherIsJudgedAtOnce) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "MSFT");
  limit({.position_shares_max = 100});
  fill(0, 3, 60);
  fill(1, 5, 60);
  EXPECT_EQ(breach(), LimitKind::kNone);
  // What oeg says that it holds goes before what a directory calls the id.
  monitor->on_remote_row({5, 1, {}, 60, -60'000'000, 0, 0, 1, 1}, wire::symbol_word("AAPL"), 1);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_EQ(value(), 120);
}

// "#1" is what a recording calls an instrument with a long name: the other venue's is another.
TEST_F(RiskOverVenues, NamesThatHoldAtOneVenueAloneAreNotMatched) {
  all_whole();
  list(0, 3, "#1");
  list(1, 3, "#1");
  limit({.position_shares_max = 100});
  fill(0, 3, 90);
  fill(1, 3, 90);
  EXPECT_EQ(breach(), LimitKind::kNone);
  fill(0, 3, 11);
  EXPECT_EQ(value(), 101);
}

// ---------------------------------------------------------------------------------- other sums

TEST_F(RiskOverVenues, ALossIsThatOfAllVenues) {
  all_whole();
  limit({.loss_max = 10'000'000});
  fill(0, 3, 100);
  fill(1, 3, 100);
  quote(0, 3, 880'000);  // 1,200 units lost
  EXPECT_EQ(breach(), LimitKind::kLoss);
  start();
  all_whole();
  limit({.loss_max = 10'000'000});
  fill(0, 3, 100);
  fill(1, 3, 100);
  quote(1, 3, 1'050'000);
  quote(0, 3, 880'000);
  EXPECT_EQ(breach(), LimitKind::kNone) << "500 gained at the other";
  quote(1, 3, 990'000);
  EXPECT_EQ(breach(), LimitKind::kLoss);
  EXPECT_EQ(value(), 13'000'000);
}

TEST_F(RiskOverVenues, TheTotalIsOfAllStrategiesAtAllVenues) {
  total = {.loss_max = 10'000'000};
  start();
  all_whole();
  fill(0, 3, 100, 1'000'000, 1);
  fill(1, 3, 100, 1'000'000, 2);
  quote(0, 3, 940'000);
  EXPECT_EQ(breach(Monitor::kAll), LimitKind::kNone);
  quote(1, 3, 950'000);
  EXPECT_EQ(breach(Monitor::kAll), LimitKind::kTotalLoss);
  EXPECT_EQ(value(Monitor::kAll), 11'000'000);
  EXPECT_EQ(monitor->block().kill_all, 1u);
}

TEST_F(RiskOverVenues, GrossNotionalOpenOrdersAndRatesAddUp) {
  all_whole();
  limit({.gross_notional_max = 150'000'000});
  fill(0, 3, 100);
  fill(1, 3, -60);
  EXPECT_EQ(breach(), LimitKind::kGrossNotional) << "nothing makes up for anything";
  EXPECT_EQ(value(), 160'000'000);
  start();
  all_whole();
  limit({.open_orders_max = 3});
  for (const std::uint64_t order : {1u, 2u}) {
    request(0, order);
    request(1, order);  // another order, though the number is the same
  }
  EXPECT_EQ(breach(), LimitKind::kOpenOrders);
  EXPECT_EQ(monitor->open_orders(), 4u);
  start();
  all_whole();
  limit({.requests_per_second_max = 4});
  for (std::uint64_t order = 1; order <= 5; ++order) request(order % 2, order);
  EXPECT_EQ(breach(), LimitKind::kRequestRate);
}

// -------------------------------------------------------------------- what is not known for sure

TEST_F(RiskOverVenues, AnOverrunOfOneLeavesWhatIsKnownOfTheOther) {
  all_whole();
  request(0, 1);
  request(1, 1);
  fill(0, 3, 10);
  fill(1, 3, 10);
  monitor->on_overrun(1);
  EXPECT_EQ(monitor->open_orders(0), 1u);
  EXPECT_EQ(monitor->open_orders(1), 0u);
  for (const Row& row : monitor->ledger().rows()) {
    EXPECT_EQ(row.whole, row.venue == 0);
    EXPECT_EQ(row.position, 10);
  }
  EXPECT_EQ(monitor->state(0), VenueState::kWhole);
  EXPECT_EQ(monitor->state(1), VenueState::kPending);
}

TEST_F(RiskOverVenues, OneThatIsAwayIsReliedOnForAWhileAndThenCountsAgainstLimitsAlone) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");
  limit({.position_shares_max = 100});
  fill(0, 3, 150);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  monitor->unkill(1);
  fill(1, 5, -150);
  monitor->on_away(1);
  pass(kPendingMaxMs - 1);
  fill(0, 3, 1);
  EXPECT_EQ(breach(), LimitKind::kNone) << "the 150 sold there still count";
  pass(2);
  EXPECT_EQ(monitor->state(1), VenueState::kDoubtful);
  EXPECT_EQ(breach(), LimitKind::kPositionShares) << "without any event";
  EXPECT_EQ(value(), 151);
  monitor->unkill(1);
  monitor->on_whole(1);
  fill(0, 3, 1);
  EXPECT_EQ(breach(), LimitKind::kNone);
}

TEST_F(RiskOverVenues, OneThatIsDoubtfulAddsItsSharesAndItsLossButNotItsProfit) {
  all_whole();
  list(0, 3, "AAPL");
  list(1, 5, "AAPL");
  fill(0, 3, 60);
  fill(1, 5, 60);
  monitor->on_away(1);
  pass(kPendingMaxMs);
  limit({.position_shares_max = 100});
  quote(0, 3, 1'000'001);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_EQ(value(), 120);
  monitor->unkill(1);
  limit({.loss_max = 5'000'000});
  quote(1, 5, 1'200'000);  // 1,200 gained, as its last word is
  quote(0, 3, 900'000);    // 600 lost
  EXPECT_EQ(breach(), LimitKind::kLoss);
  EXPECT_EQ(value(), 6'000'000);
  monitor->unkill(1);
  quote(0, 3, 999'000);
  quote(1, 5, 900'000);
  EXPECT_EQ(value(), 6'060'000) << "its loss counts";
}

TEST_F(RiskOverVenues, AtTheStartLimitsThatAnotherVenueCouldRelieveWaitForIt) {
  limit({.position_shares_max = 100});
  held(0, 3, 150, "AAPL");
  monitor->on_whole(0);
  EXPECT_EQ(breach(), LimitKind::kNone);
  EXPECT_EQ(monitor->state(1), VenueState::kUnknown);
  held(1, 5, -150, "AAPL");
  monitor->on_whole(1);
  fill(0, 3, 1);
  EXPECT_EQ(breach(), LimitKind::kNone);
  // Its rows do not relieve: judged as soon as that is known.
  start();
  limit({.position_shares_max = 100});
  held(0, 3, 150, "AAPL");
  monitor->on_whole(0);
  held(1, 5, 150, "MSFT");
  EXPECT_EQ(breach(), LimitKind::kNone);
  monitor->on_whole(1);
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
}

TEST_F(RiskOverVenues, LimitsWaitNoLongerThanTheyMay) {
  limit({.loss_max = 10'000'000, .gross_notional_max = 200'000'000});
  held(0, 3, 100, "AAPL", -100'000'000);
  monitor->on_whole(0);
  quote(0, 3, 800'000);  // 2,000 lost
  pass(kPendingMaxMs - 1);
  EXPECT_EQ(breach(), LimitKind::kNone);
  pass(1);
  EXPECT_EQ(monitor->state(1), VenueState::kDoubtful);
  EXPECT_EQ(breach(), LimitKind::kLoss);
  // What only grows does not wait.
  start();
  limit({.gross_notional_max = 200'000'000});
  fill(0, 3, 201);
  EXPECT_EQ(breach(), LimitKind::kGrossNotional);
}

// ------------------------------------------------------------------------------- the kill switch

wire::ControlBlock found_with(std::uint64_t version, std::initializer_list<std::uint32_t> killed) {
  wire::ControlBlock found{};
  found.kill_version = version;
  for (const std::uint32_t id : killed) found.set_kill(id, true, true);
  return found;
}

TEST_F(RiskOverVenues, AKillThatOneVenuesOegHoldsIsNotLiftedByANewerSwitchOfAnother) {
  monitor->adopt_kills(found_with(5, {7}), 0);
  monitor->adopt_kills(found_with(90, {8}), 1);
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_TRUE(monitor->block().kill_bit(8));
  EXPECT_GT(monitor->block().kill_version, 90u);
  // In the other order, too.
  start();
  monitor->adopt_kills(found_with(90, {8}), 1);
  monitor->adopt_kills(found_with(5, {7}), 0);
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_TRUE(monitor->block().kill_bit(8));
}

TEST_F(RiskOverVenues, AnUnkillIsRememberedForEachVenueThatHasNotHadIt) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed(0);
  monitor->block_confirmed(1);
  const wire::ControlBlock at_second = monitor->block();
  monitor->unkill(7);  // while the second one is away
  monitor->block_confirmed(0);
  monitor->adopt_kills(at_second, 1);
  EXPECT_FALSE(monitor->block().kill_bit(7)) << "it has not heard of it";
  monitor->block_confirmed(1);
  monitor->adopt_kills(at_second, 1);
  EXPECT_TRUE(monitor->block().kill_bit(7)) << "it has: this kill is another's";
}

TEST_F(RiskOverVenues, AKillThatOneVenueHasNotHadOutlivesItsNewerSwitch) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed(0);
  monitor->adopt_kills(found_with(monitor->block().kill_version + 5, {}), 1);
  EXPECT_TRUE(monitor->block().kill_bit(7));
}

}  // namespace
}  // namespace tickpath::risk::fed
