// The prices that the monitor books and marks by.
#include <cstring>

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

// A position that was carried over the day in which mdh gave the id of its symbol to another.
TEST_F(MonitorPrices, APositionIsNotValuedByThePricesOfAnotherSymbolThatHasItsIdNow) {
  const auto list = [&](const char* symbol) {
    wire::DirectoryEntry entry{};
    entry.instrument_id = 3;
    std::strncpy(entry.symbol, symbol, sizeof(entry.symbol));
    monitor.on_directory(entry);
  };
  wire::PositionRow theirs{};
  theirs.instrument_id = 3;
  theirs.strategy_id = 1;
  theirs.position_shares = 100;
  theirs.cash = -1'000'000;
  theirs.events = theirs.fills = 1;
  // Whichever comes first, the directory with its prices or oeg's table.
  list("NEW");
  executed(9'000'000, 0);
  EXPECT_TRUE(monitor.on_remote_row(theirs, wire::symbol_word("OLD")));
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 0);
  EXPECT_EQ(monitor.counters().other_symbols.get(), 1u);
  executed(8'000'000, 0);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 0);
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 1'000'000) << "at cost";
  // mdh has its file back.
  list("OLD");
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 800'000'000);
  list("NEW");
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 1'000'000);
  EXPECT_EQ(monitor.counters().other_symbols.get(), 2u);
}

}  // namespace
}  // namespace tickpath::risk
