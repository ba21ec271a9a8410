// What oeg's journal says of a run, as CSV.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oeg/journal.hpp"
#include "oeg/venue_texts.hpp"
#include "tests/support/process.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

using ::testing::HasSubstr;
using trading::OrderState;
using wire::ReportKind;

class TradesOfAJournal : public ::testing::Test {
 protected:
  oeg::JournalOptions options() const { return {.path = folder_ / "oeg.journal", .records = 64}; }
  static void append(oeg::Journal& journal, wire::OrderEvent event, std::uint32_t shares) {
    oeg::JournalRecord record{};
    event.strategy_id = 1;
    event.side = Side::kBuy;
    event.instrument_id = 3;
    record.event = event;
    record.realtime_ns = 1'700'000'000'123'456'789;
    record.execution_id = event.event == wire::EventKind::kReported ? 77 : 0;
    record.order_shares = shares;
    record.type = trading::OrderType::kPegged;
    record.time_in_force = trading::TimeInForce::kGoodTillCancel;
    std::memcpy(record.symbol, "AAPL", 4);
    record.set_exchange_time(exchange_time_ns);
    ASSERT_TRUE(journal.append(record));
  }
  static inline std::uint64_t exchange_time_ns = 0;  // of the next records
  static wire::OrderEvent requested(std::uint64_t id, wire::RequestKind kind, std::uint64_t target,
                                    std::uint32_t price) {
    return {.order_id = id,
            .target_order_id = target,
            .trace_id = 5,
            .price = price,
            .event = wire::EventKind::kRequested,
            .request_kind = kind};
  }
  static wire::OrderEvent reported(std::uint64_t id, ReportKind kind, std::uint64_t target,
                                   OrderState state) {
    return {.order_id = id,
            .target_order_id = target,
            .event = wire::EventKind::kReported,
            .report_kind = kind,
            .state = state};
  }
  static wire::OrderEvent fill(std::uint64_t id, std::uint32_t shares, std::uint32_t price,
                               std::uint32_t cumulative, OrderState state) {
    wire::OrderEvent event = reported(id, ReportKind::kFill, 0, state);
    event.shares = shares;
    event.price = price;
    event.price_hundredths = 50;
    event.cumulative_shares = cumulative;
    return event;
  }

  // As oeg's ledger books it: with the order and what is left of it.
  static wire::OrderEvent of_order(wire::OrderEvent event, std::uint32_t leaves) {
    event.target_order_id = event.order_id;
    event.leaves_shares = leaves;
    return event;
  }

  test_support::Folder folder_;
};

TEST_F(TradesOfAJournal, FollowAnOrderThroughItsReplacementAndItsFills) {
  oeg::Journal journal(options());
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  append(journal, reported(1, ReportKind::kAccepted, 0, OrderState::kWorking), 0);
  append(journal, requested(2, wire::RequestKind::kReplace, 1, 1'001'000), 200);
  append(journal, reported(2, ReportKind::kReplaced, 1, OrderState::kWorking), 0);
  append(journal, fill(2, 60, 1'000'900, 60, OrderState::kPartlyFilled), 0);

  const Trades trades = read_trades(options().path);  // while it is in use
  ASSERT_EQ(trades.orders.size(), 1u);
  EXPECT_THAT(orders_csv(trades),
              HasSubstr("\n2023-11-14T22:13:20.123456789Z,,1,1,AAPL,buy,pegged,gtc,100.1000,200,60,"
                        "partly_filled,,5,,\n"));
  EXPECT_THAT(fills_csv(trades), HasSubstr("Z,,1,1,AAPL,buy,60,100.090050,77,fill,5\n"));
  EXPECT_THAT(positions_csv(trades, {{1, "AAPL", 0, -15'000}}),
              HasSubstr("\n1,AAPL,60,0,60,0,1,-6005.4030,0.0000,-1.5000,-1.5000\n"));
}

// In a replay the wall's clock says nothing about the market.
TEST_F(TradesOfAJournal, HaveTheExchangesTimeWhereOegHadAFeed) {
  oeg::Journal journal(options());
  exchange_time_ns = 34'200'000'000'001;
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  exchange_time_ns = 34'261'500'000'000;
  append(journal, fill(1, 60, 1'000'900, 60, OrderState::kPartlyFilled), 0);
  exchange_time_ns = 0;
  const Trades trades = read_trades(options().path);
  EXPECT_THAT(orders_csv(trades), HasSubstr("sent_utc,exchange_time,strategy,"));
  EXPECT_THAT(orders_csv(trades), HasSubstr("Z,09:30:00.000000001,1,1,AAPL,buy,pegged,gtc,"
                                            "100.0000,100,60,partly_filled,"));
  EXPECT_THAT(fills_csv(trades),
              HasSubstr("Z,09:31:01.500000000,1,1,AAPL,buy,60,100.090050,77,fill,5\n"));
}

TEST_F(TradesOfAJournal, HoldWhatWasRefusedWithItsReason) {
  oeg::Journal journal(options());
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  wire::OrderEvent refused = requested(2, wire::RequestKind::kNew, 0, 9'000'000);
  refused.event = wire::EventKind::kRefused;
  refused.report_kind = ReportKind::kRejected;
  refused.state = OrderState::kRejected;
  refused.reason = trading::RejectReason::kPriceCollar;
  append(journal, refused, 100);
  const Trades trades = read_trades(options().path);
  EXPECT_THAT(orders_csv(trades),
              HasSubstr(",1,2,AAPL,buy,pegged,gtc,900.0000,100,0,rejected,price_collar,5,,\n"));
  const TextTable overview = overview_table(trades, {});
  ASSERT_EQ(overview.rows.size(), 1u);
  EXPECT_EQ(std::vector(overview.rows[0].begin(), overview.rows[0].begin() + 6),
            (std::vector<std::string>{"1", "AAPL", "2", "1", "0", "0"}))
      << "of two orders one was refused by oeg, none by the venue";
}

TEST_F(TradesOfAJournal, ShowWhatTheVenueSaidOfAnOrderOrOfARequestToChangeIt) {
  oeg::Journal journal(options());
  oeg::VenueTexts texts(oeg::venue_texts_file(options().path));
  const auto say = [&](std::uint64_t id, std::string_view words) {
    oeg::VenueText text;
    text.set(id, words);
    ASSERT_TRUE(texts.add(text));
  };
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  wire::OrderEvent rejected = reported(1, ReportKind::kRejected, 1, OrderState::kRejected);
  rejected.reason = trading::RejectReason::kVenue;
  append(journal, rejected, 0);
  say(1, "Price (44) is off the tick, \"cents\"");
  append(journal, requested(2, wire::RequestKind::kNew, 0, 1'000'000), 100);
  append(journal, reported(2, ReportKind::kAccepted, 0, OrderState::kWorking), 0);
  append(journal, requested(3, wire::RequestKind::kCancel, 2, 0), 0);
  append(journal, reported(3, ReportKind::kCancelRejected, 2, OrderState::kWorking), 0);
  say(3, "too late");
  EXPECT_THAT(refusals_table(read_trades(options().path)).rows,
              testing::ElementsAre(
                  testing::ElementsAre("venue", "Price (44) is off the tick, \"cents\"", "1")));
  const std::string csv = orders_csv(read_trades(options().path));
  EXPECT_THAT(csv, HasSubstr(",tick,triggered,venue_text\n"));
  EXPECT_THAT(csv, HasSubstr(",rejected,venue,5,,\"Price (44) is off the tick, \"\"cents\"\"\"\n"));
  EXPECT_THAT(csv, HasSubstr(",working,,5,,too late\n"));
  const Trades trades = read_trades(options().path);
  ASSERT_EQ(trades.changes.size(), 1u);
  EXPECT_EQ(trades.changes[0].id, 3u);
  EXPECT_EQ(trades.changes[0].order_id, 2u);
}

TEST_F(TradesOfAJournal, ShowThatAStopOrderWasTriggered) {
  oeg::Journal journal(options());
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  append(journal, reported(1, ReportKind::kAccepted, 0, OrderState::kWorking), 0);
  append(journal, reported(1, ReportKind::kTriggered, 1, OrderState::kWorking), 0);
  EXPECT_THAT(orders_csv(read_trades(options().path)), HasSubstr(",working,,5,yes,\n"));
}

// Whatever the checkpoint holds by now: that of the day's beginning is written over.
TEST_F(TradesOfAJournal, AddToWhatWasCarriedFromEarlierDays) {
  {
    oeg::Journal yesterday(options());
    append(yesterday, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
    append(yesterday, of_order(fill(1, 60, 1'000'000, 60, OrderState::kPartlyFilled), 40), 0);
    append(yesterday, reported(1, ReportKind::kCanceled, 1, OrderState::kCanceled), 0);
    yesterday.close_in_order();
  }
  oeg::JournalOptions today = options();
  today.start = oeg::JournalStart::kAuto;
  oeg::Journal journal(today);
  const std::string before = positions_csv(read_trades(options().path), {});
  EXPECT_THAT(before, HasSubstr("\n1,AAPL,60,60,0,0,0,-6000.0030,"));
  append(journal, requested(2, wire::RequestKind::kNew, 0, 1'000'000), 100);
  append(journal, of_order(fill(2, 100, 1'000'000, 100, OrderState::kFilled), 0), 0);
  std::uint64_t now = 0;
  for (std::uint64_t id = 3; id < 100; ++id) {  // several segments
    append(journal, requested(id, wire::RequestKind::kNew, 0, 1'000'000), 100);
    append(journal, reported(id, ReportKind::kCanceled, id, OrderState::kCanceled), 0);
    journal.maintain(now += 10'000'000'000);
  }
  EXPECT_THAT(positions_csv(read_trades(options().path), {}),
              HasSubstr("\n1,AAPL,160,60,100,0,1,-16000.0080,"));
}

TEST_F(TradesOfAJournal, AreShownByTheNamesThatSymbolsStandFor) {
  oeg::Journal journal(options());
  append(journal, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
  append(journal, fill(1, 100, 1'000'000, 100, OrderState::kFilled), 0);
  Trades trades = read_trades(options().path);
  show_names(trades, control::LongNames(control::LongNames::Pairs{{"AAPL", "LONG, WITH A COMMA"}}));
  EXPECT_THAT(orders_csv(trades), HasSubstr(",1,1,\"LONG, WITH A COMMA\",buy,"));
  EXPECT_THAT(fills_csv(trades), HasSubstr(",1,1,\"LONG, WITH A COMMA\",buy,"));
  EXPECT_THAT(positions_csv(trades, {}), HasSubstr("\n1,\"LONG, WITH A COMMA\",100,"));
}

TEST_F(TradesOfAJournal, AreThoseOfItsDayOverAllItsSegments) {
  {
    oeg::Journal yesterday(options());
    append(yesterday, requested(1, wire::RequestKind::kNew, 0, 1'000'000), 100);
    append(yesterday, reported(1, ReportKind::kCanceled, 1, OrderState::kCanceled), 0);
    yesterday.close_in_order();
  }
  oeg::JournalOptions fresh = options();
  fresh.start = oeg::JournalStart::kFresh;
  oeg::Journal journal(fresh);
  std::uint64_t now = 0;
  for (std::uint64_t id = 2; id < 100; ++id) {
    append(journal, requested(id, wire::RequestKind::kNew, 0, 1'000'000), 100);
    append(journal, reported(id, ReportKind::kCanceled, id, OrderState::kCanceled), 0);
    journal.maintain(now += 10'000'000'000);
  }
  const Trades trades = read_trades(options().path);
  ASSERT_EQ(trades.orders.size(), 98u);
  EXPECT_EQ(trades.orders.front().id, 2u);
  EXPECT_EQ(trades.orders.front().state, OrderState::kCanceled);
}

TEST_F(TradesOfAJournal, AreAnErrorWhereThereIsNone) {
  test_support::write_file(folder_ / "oeg.journal", "something else, and long enough to look at");
  EXPECT_ANY_THROW((void)read_trades(folder_ / "oeg.journal"));
  EXPECT_ANY_THROW((void)read_trades(folder_ / "nobody.journal"));
}

TEST(Results, AddUpByStrategyAndSayTheirUnit) {
  control::Summary oeg, risk;
  oeg.program = "oeg";
  oeg.strategies = {{1, 1, 0, 0, 10}, {2, 1, 0, 0, 5}};
  risk.program = "risk";
  risk.positions = {{1, "A", 100, -1'000'000, 3}, {1, "B", 0, 0, 2}};
  risk.profits = {{1, "A", 0, 15'000}, {1, "B", -5'000, 0}};
  const std::string text = results_text({oeg, risk});
  EXPECT_THAT(text, HasSubstr("currency units"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  1               10         5         -0.5000          1.5000          1.0000\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  all             15         5         -0.5000          1.5000          1.0000\n"));
  EXPECT_EQ(results_text({oeg}), "");
}

// In a pair, or with several venues, no program is called "oeg".
TEST(Trades, OfAnOegThatHasNoJournalNameThoseThatHaveOne) {
  const test_support::Folder folder;
  for (const char* name : {"oeg-2", "oeg-1"})
    test_support::write_file(folder / (std::string(name) + ".journal"), "");
  const test_support::Finished told = test_support::run(
      {test_support::program("tickpath"), "positions", "--run-dir", folder.path()});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_THAT(told.output, HasSubstr("'oeg' has no journal in '" + folder.path() +
                                     "'; name one of these with --oeg: oeg-1, oeg-2"));
}

}  // namespace
}  // namespace tickpath::cli
