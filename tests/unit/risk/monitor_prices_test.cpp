// The prices that the monitor books and marks by.
#include <gtest/gtest.h>

#include "risk/monitor.hpp"

namespace tickpath::risk {
namespace {

class MonitorPrices : public ::testing::Test {
 protected:
  static MonitorOptions options() {
    MonitorOptions made;
    made.instruments_max = 16;
    made.strategies_max = 4;
    made.rows_max = 16;
    made.orders_max = 8;
    return made;
  }
  // Strategy 1 buys in instrument 3.
  void fill(std::uint32_t shares, ExecutedPrice price) {
    wire::OrderEvent event{};
    event.event = wire::EventKind::kReported;
    event.report_kind = wire::ReportKind::kFill;
    event.order_id = 11;
    event.instrument_id = 3;
    event.strategy_id = 1;
    event.side = Side::kBuy;
    event.shares = event.cumulative_shares = shares;
    event.price = price.price;
    event.price_hundredths = price.hundredths;
    event.row_event = ++events_;
    monitor.on_event(event);
  }
  void executed(std::uint32_t price, std::uint8_t unprinted) {
    wire::BookUpdate update{};
    update.instrument_id = 3;
    update.kind = wire::UpdateKind::kExecute;
    update.price = price;
    update.unprinted = unprinted;
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    monitor.on_update(update);
  }
  const Row& row() const { return monitor.ledger().rows()[0]; }

  Monitor monitor{options()};
  std::uint32_t events_ = 0;
};

TEST_F(MonitorPrices, AFillOfSixDecimalsIsBookedToTheLastDigitAsOegDoes) {
  fill(3, {12'345, 67});  // 3.703701
  wire::PositionRow theirs{};
  theirs.instrument_id = 3;
  theirs.strategy_id = 1;
  theirs.position_shares = 3;
  theirs.cash = -37'037;
  theirs.events = theirs.fills = 1;
  EXPECT_TRUE(monitor.on_remote_row(theirs));
  EXPECT_EQ(row().cash, theirs.cash);
  EXPECT_EQ(monitor.counters().mismatches.get(), 0u);
  EXPECT_EQ(monitor.counters().adopted.get(), 0u);
}

TEST_F(MonitorPrices, AnExecutionThatIsNotPrintableIsNoLastTrade) {
  fill(100, {1'000'000});
  executed(1'010'000, 0);  // the book is empty: the last trade is the mark
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 1'000'000);
  executed(2'000'000, 1);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 1'000'000);
}

}  // namespace
}  // namespace tickpath::risk
