// The prices that the monitor books and marks by.
#include <cstring>

#include <gtest/gtest.h>

#include "risk/monitor.hpp"

namespace tickpath::risk {
namespace {

class MonitorPrices : public ::testing::Test {
 protected:
  static MonitorOptions options() {
    return {.instruments_max = 16, .strategies_max = 4, .rows_max = 16, .orders_max = 8};
  }
  // Strategy 1 buys in instrument 3.
  void fill(std::uint32_t shares, ExecutedPrice price) {
    wire::OrderEvent event{.order_id = 11,
                           .instrument_id = 3,
                           .shares = shares,
                           .price = price.price,
                           .cumulative_shares = shares,
                           .event = wire::EventKind::kReported,
                           .report_kind = wire::ReportKind::kFill,
                           .side = Side::kBuy,
                           .strategy_id = 1,
                           .price_hundredths = price.hundredths,
                           .row_event = ++events_};
    monitor.on_event(event);
  }
  void executed(std::uint32_t price, std::uint8_t unprinted) {
    wire::BookUpdate update{
        .instrument_id = 3, .price = price, .kind = wire::UpdateKind::kExecute, .marks = unprinted};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    monitor.on_update(update);
  }
  const Row& row() const { return monitor.ledger().rows()[0]; }

  Monitor monitor{options()};
  std::uint32_t events_ = 0;
};

TEST_F(MonitorPrices, AFillOfSixDecimalsIsBookedToTheLastDigitAsOegDoes) {
  fill(3, {12'345, 67});  // 3.703701
  wire::PositionRow theirs{.instrument_id = 3,
                           .strategy_id = 1,
                           .position_shares = 3,
                           .cash = -37'037,
                           .events = 1,
                           .fills = 1};
  EXPECT_TRUE(monitor.on_remote_row(theirs));
  EXPECT_EQ(row().cash, theirs.cash);
  EXPECT_EQ(monitor.counters().reconcile.mismatches.get(), 0u);
  EXPECT_EQ(monitor.counters().reconcile.adopted.get(), 0u);
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
    wire::DirectoryEntry entry{.instrument_id = 3};
    std::strncpy(entry.symbol, symbol, sizeof(entry.symbol));
    monitor.on_directory(entry);
  };
  wire::PositionRow theirs{.instrument_id = 3,
                           .strategy_id = 1,
                           .position_shares = 100,
                           .cash = -1'000'000,
                           .events = 1,
                           .fills = 1};
  // Whichever comes first, the directory with its prices or oeg's table.
  list("NEW");
  executed(9'000'000, 0);
  EXPECT_TRUE(monitor.on_remote_row(theirs, wire::symbol_word("OLD")));
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 0);
  EXPECT_EQ(monitor.counters().feed.other_symbols.get(), 1u);
  executed(8'000'000, 0);
  EXPECT_EQ(static_cast<std::int64_t>(row().pnl), 0);
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 1'000'000) << "at cost";
  // mdh has its file back.
  list("OLD");
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 800'000'000);
  list("NEW");
  EXPECT_EQ(static_cast<std::int64_t>(row().notional), 1'000'000);
  EXPECT_EQ(monitor.counters().feed.other_symbols.get(), 2u);
}

}  // namespace
}  // namespace tickpath::risk
