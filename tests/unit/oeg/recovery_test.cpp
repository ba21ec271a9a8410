#include "oeg/recovery.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/folder.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

using fix::ExecType;
using trading::RejectReason;

class RecoveryTest : public ::testing::Test {
 protected:
  // Segments so small that a day has many.
  JournalOptions options() const { return {.path = path_, .records = 128, .sizes = {64, 16, 16}}; }
  // Writes what the gateway of `f` has journaled into the file, as its process would have.
  void write(const GatewayFixture& f) {
    Journal journal(options());
    for (JournalRecord record : f.journal.records) {
      journal.maintain(0);
      ASSERT_TRUE(journal.append(record));
    }
  }
  // What a process leaves behind that had order 1 accepted and died.
  void leave_an_order_open(GatewayFixture& f) {
    f.rest(1);
    write(f);
  }
  RecoveryResult recover_into(GatewayFixture& f, std::uint32_t next_sender,
                              std::uint32_t next_target) {
    Journal journal(options());
    f.slot->connected = false;  // nobody is, when a program starts
    return recover(*f.gateway, journal, next_sender, next_target);
  }
  static void expect_same(GatewayFixture& a, GatewayFixture& b) {
    Ledger& left = a.gateway->ledger();
    Ledger& right = b.gateway->ledger();
    ASSERT_EQ(left.position_count(), right.position_count());
    EXPECT_EQ(left.open_orders(), right.open_orders());
    for (std::uint32_t row = 0; row < left.position_count(); ++row) {
      const Position& x = left.position(row);
      const Position& y = right.position(row);
      EXPECT_EQ(x.row.position_shares, y.row.position_shares);
      EXPECT_EQ(x.row.cash, y.row.cash);
      EXPECT_EQ(x.row.open_buy_shares, y.row.open_buy_shares);
      EXPECT_EQ(x.row.open_sell_shares, y.row.open_sell_shares);
      EXPECT_EQ(x.row.fills, y.row.fills);
      EXPECT_EQ(x.reserved_buy, y.reserved_buy);
    }
    left.for_each(kStrategy, [&](Order& order) {
      Order* other = right.find(order.id);
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(other->leaves, order.leaves);
      EXPECT_EQ(other->cumulative, order.cumulative);
      EXPECT_EQ(other->price, order.price);
      EXPECT_EQ(other->state, order.state);
      EXPECT_EQ(other->pending_id, order.pending_id);
    });
  }

  test_support::Folder folder_;
  std::string directory_ = folder_.path();
  std::string path_ = folder_ / "oeg.journal";
};

TEST_F(RecoveryTest, RebuildsOrdersAndPositionsOfARandomDay) {
  GatewayFixture f;
  std::mt19937 random(7);
  std::vector<std::uint64_t> live;
  std::uint32_t counter = 0;
  for (int step = 0; step < 600; ++step) {
    const auto pick = static_cast<std::uint32_t>(random() % 8);
    if (pick < 2 || live.empty()) {
      ++counter;
      if (f.request(f.limit_order(counter, 1'000'000, 300, pick == 0 ? Side::kBuy : Side::kSell)) !=
          RejectReason::kNone)
        continue;
      f.accept(f.id(counter), 300);
      live.push_back(f.id(counter));
      continue;
    }
    const std::size_t at = random() % live.size();
    const std::uint64_t id = live[at];
    Order& order = *f.gateway->ledger().find(id);
    if (pick == 2) {
      const bool last = order.leaves <= 100;
      const std::uint32_t traded = last ? order.leaves : 100;
      f.report(last ? ExecType::kFill : ExecType::kPartialFill, id, order.leaves - traded,
               order.cumulative + traded, traded,
               (order.side == Side::kBuy ? 990'000 : 1'010'000) +
                   static_cast<std::uint32_t>(random() % 100));
      if (last) live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (pick == 3 && order.pending_id == 0) {
      wire::OrderRequest replace = f.replace(++counter, id, 999'000, order.cumulative + 150);
      replace.side = order.side;
      ASSERT_EQ(f.request(replace), RejectReason::kNone);
      f.report(ExecType::kReplaced, f.id(counter), 150, order.cumulative, 0, 0, id);
      live[at] = f.id(counter);
    } else if (pick == 4 && order.pending_id == 0) {
      ASSERT_EQ(f.request(f.cancel(++counter, id)), RejectReason::kNone);
      f.report(ExecType::kCanceled, f.id(counter), 0, order.cumulative, 0, 0, id);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (pick == 5 && order.pending_id == 0) {
      ASSERT_EQ(f.request(f.cancel(++counter, id)), RejectReason::kNone);
      f.reject_change(f.id(counter), id);
    } else if (pick == 6 && order.leaves > 50) {
      f.report(ExecType::kRestated, id, order.leaves - 50, order.cumulative);
    } else if (pick == 7) {
      f.report(ExecType::kTriggered, id, order.leaves, order.cumulative);
    }
  }
  ASSERT_GT(f.gateway->counters().reports.restated.get(), 0u);
  ASSERT_GT(f.gateway->counters().reports.triggered.get(), 0u);
  ASSERT_GT(f.gateway->ledger().open_orders(), 0u);
  write(f);
  GatewayFixture g;
  const RecoveryResult result = recover_into(g, f.venue.seq, f.report_seq + 1);
  EXPECT_EQ(result.impossible, 0u);
  EXPECT_EQ(result.unsent, 0u);
  EXPECT_FALSE(result.report_was_processed);
  expect_same(f, g);
  g.gateway->on_strategy_connected(0);
  // Its ids are used up.
  EXPECT_EQ(g.request(g.limit_order(counter)), RejectReason::kDuplicateOrderId);
}

// By the journal alone, and by a checkpoint: later orders fill the segment that has it.
TEST_F(RecoveryTest, KnowsASecondCancelThatHasNoAnswerAndWhatAReplacementRepeats) {
  for (const std::uint32_t later_orders : {0u, 60u}) {
    SCOPED_TRACE(later_orders);
    const test_support::Folder folder;
    path_ = folder / "oeg.journal";
    GatewayFixture f;
    f.options.answer_max_ns = 0;
    f.start();
    wire::OrderRequest order = f.limit_order(1);
    order.instructions = wire::kPostOnly;
    order.display_shares = 10;
    f.request(order);
    f.accept(f.id(1));
    ASSERT_EQ(f.request(f.replace(2, f.id(1), 1'000'000, 150)), RejectReason::kNone);
    ASSERT_EQ(f.request(f.cancel(3, f.id(1))), RejectReason::kNone);
    for (std::uint32_t i = 0; i < later_orders; ++i) {
      f.rest(10 + 2 * i);
      f.request(f.cancel(11 + 2 * i, f.id(10 + 2 * i)));
      f.report(ExecType::kCanceled, f.id(11 + 2 * i), 0, 0, 0, 0, f.id(10 + 2 * i));
    }
    write(f);
    GatewayFixture g;
    EXPECT_EQ(recover_into(g, f.venue.seq, f.report_seq + 1).impossible, 0u);
    expect_same(f, g);
    ASSERT_NE(g.gateway->ledger().find(g.id(3)), nullptr);
    const Order& known = *g.gateway->ledger().find(g.id(3));
    EXPECT_EQ(known.id, g.id(1));
    EXPECT_EQ(known.display_shares, 10u) << "for its next replacement";
    EXPECT_EQ(known.instructions, wire::kPostOnly);
    g.report(ExecType::kCanceled, g.id(3), 0, 0, 0, 0, g.id(1));
    EXPECT_TRUE(g.gateway->nothing_unanswered());
    EXPECT_EQ(g.gateway->ledger().orders(), 0u);
  }
}

TEST_F(RecoveryTest, KnowsTheExecutionsOfTheLastRunAndWhatBecameOfThem) {
  GatewayFixture f;
  f.rest(1);
  f.report(ExecType::kPartialFill, f.id(1), 60, 40, 40, 990'000);  // execution 2
  f.report(ExecType::kFill, f.id(1), 0, 100, 60, 980'000);         // execution 3
  const auto again = [&](GatewayFixture& where, std::uint64_t exec_id, bool bust) {
    fix::ExecutionReport report{
        .exec_id = bust ? exec_id + 100 : exec_id,
        .exec_ref_id = bust ? exec_id : 0,
        .cl_ord_id = where.id(1),
        .last_price = {990'000},
        .last_shares = 40,
        .exec_type = ExecType::kFill,
        .trade_change = bust ? fix::TradeChange::kCanceled : fix::TradeChange::kNone,
        .symbol = fix::Symbol::from("AAPL")};
    fix::MessageInfo info = where.info();
    info.poss_resend = true;
    where.gateway->reports().on_execution_report(report, info);
  };
  again(f, 2, true);
  EXPECT_EQ(f.position().position_shares, 60);
  write(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq, 99);
  expect_same(f, g);
  again(g, 3, false);  // booked
  again(g, 2, true);   // taken back
  EXPECT_EQ(g.gateway->counters().reports.repeated.get(), 2u);
  EXPECT_EQ(g.position().position_shares, 60);
  again(g, 3, true);
  EXPECT_EQ(g.position().position_shares, 0);
  EXPECT_EQ(g.position().cash, 0);
}

// A standby's: they stand ready, and the journal follows with its own.
TEST_F(RecoveryTest, BeginsWithTheExecutionsThatAStandbyHasReady) {
  GatewayFixture f;
  f.rest(1);
  f.report(ExecType::kPartialFill, f.id(1), 60, 40, 40, 990'000);  // execution 2
  write(f);
  JournalOptions given = options();
  given.sizes.executions_max = f.options.executions_max;
  given.to_lead = true;
  Journal journal(given);
  f.report(ExecType::kFill, f.id(1), 0, 100, 60, 980'000);  // execution 3
  JournalRecord record = f.journal.records.back();
  ASSERT_TRUE(journal.append(record));
  journal.catch_up();
  GatewayFixture g;
  g.slot->connected = false;
  recover(*g.gateway, journal, f.venue.seq, 99);
  expect_same(f, g);
  for (const std::uint64_t id : {2u, 3u})
    EXPECT_NE(g.gateway->executions().find(id, g.id(1)), nullptr) << id;
  std::size_t known = 0;
  journal.state().executions.for_each([&](const Execution&) { ++known; });
  EXPECT_EQ(known, 2u);
}

TEST_F(RecoveryTest, TakesBackAfterARestartWhatAFillOfSixDecimalsTook) {
  GatewayFixture f;
  f.rest(1);
  fix::ExecutionReport fill{.exec_id = 900,
                            .cl_ord_id = f.id(1),
                            .last_price = {12'345},
                            .last_shares = 3,
                            .leaves_qty = 97,
                            .cum_qty = 3,
                            .exec_type = ExecType::kPartialFill,
                            .last_price_hundredths = 67,
                            .symbol = fix::Symbol::from("AAPL")};
  f.gateway->reports().on_execution_report(fill, f.info());
  EXPECT_EQ(f.position().cash, -37'037);
  write(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq, 99);
  expect_same(f, g);
  fix::ExecutionReport bust = fill;
  bust.exec_id = 901;
  bust.exec_ref_id = 900;
  bust.trade_change = fix::TradeChange::kCanceled;
  bust.cum_qty = 0;
  bust.leaves_qty = 100;
  g.gateway->reports().on_execution_report(bust, g.info());
  EXPECT_EQ(g.position().cash, 0);
}

TEST_F(RecoveryTest, ForgetsTheOneOrderThatWasNeverSent) {
  GatewayFixture f;
  f.rest(1);
  f.request(f.limit_order(2));
  write(f);
  GatewayFixture g;
  // The FIX store's next number is the one that the last order was to use.
  const RecoveryResult result = recover_into(g, f.venue.seq - 1, f.report_seq + 1);
  EXPECT_EQ(result.unsent, 1u);
  EXPECT_EQ(result.open_orders, 1u);
  EXPECT_EQ(g.gateway->ledger().find(g.id(2)), nullptr);
  EXPECT_EQ(g.position().open_buy_shares, 100u);
}

TEST_F(RecoveryTest, MakesNothingOfWhatWasRefused) {
  GatewayFixture f(Limits{.order_shares_max = 1'000});
  f.rest(1);
  const std::size_t records = f.journal.records.size();
  f.request(f.limit_order(2, 1'000'000, 1'001));
  ASSERT_EQ(f.journal.records.size(), records + 1) << "it is listed";
  EXPECT_EQ(f.journal.records.back().event.event, wire::EventKind::kRefused);
  EXPECT_EQ(f.journal.records.back().event.reason, RejectReason::kOrderSize);
  EXPECT_EQ(f.journal.records.back().order_shares, 1'001u);
  write(f);
  GatewayFixture g;
  const RecoveryResult result = recover_into(g, f.venue.seq, f.report_seq);
  EXPECT_EQ(result.impossible, 0u);
  EXPECT_EQ(result.open_orders, 1u);
  EXPECT_TRUE(result.report_was_processed) << "the record before it still decides";
}

TEST_F(RecoveryTest, NoticesAReportThatWasBookedButNotTakenOffTheSession) {
  GatewayFixture f;
  leave_an_order_open(f);
  GatewayFixture g;
  EXPECT_TRUE(recover_into(g, f.venue.seq, f.report_seq).report_was_processed);
}

// The venue would say it again, and a person would look at it twice.
TEST_F(RecoveryTest, NoticesAnExceptionThatWasNotTakenOffTheSession) {
  GatewayFixture died;
  died.rest(1);
  died.report(ExecType::kFill, 999, 0, 100, 100, 1'000'000);  // of no order
  write(died);
  GatewayFixture f;
  EXPECT_TRUE(recover_into(f, 2, died.report_seq).report_was_processed);
}

// A doubt is journaled before the fill that it is about.
TEST_F(RecoveryTest, AFillWithADoubtThatWasNotBookedYetIsAwaitedAgain) {
  GatewayFixture died;
  died.rest(1);
  died.report(ExecType::kPartialFill, died.id(1), 50, 50, 40, 1'000'000);  // CumQty 50 of 40
  ASSERT_EQ(died.journal.records.back().event.event, wire::EventKind::kReported);
  died.journal.records.pop_back();
  write(died);
  GatewayFixture f;
  EXPECT_FALSE(recover_into(f, 2, died.report_seq).report_was_processed);
}

TEST_F(RecoveryTest, CancelsRecoveredOrdersThatNobodyClaims) {
  GatewayFixture f;
  leave_an_order_open(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq, f.report_seq + 1);
  g.gateway->turn();
  EXPECT_TRUE(g.venue.cancels.empty());  // its strategy may come back
  g.gateway->give_up_awaited();
  g.gateway->turn();
  ASSERT_EQ(g.venue.cancels.size(), 1u);
  EXPECT_EQ(wire::OrderId::strategy(g.venue.cancels[0].cl_ord_id), kOwnStrategyId);
  EXPECT_EQ(g.venue.cancels[0].symbol.view(), "AAPL");
}

// The new day has no records of its own yet.
TEST_F(RecoveryTest, CancelsOrdersThatANewDayCarriesAndNobodyClaims) {
  GatewayFixture f;
  wire::OrderRequest lasting = f.limit_order(1, 990'000, 300);
  lasting.time_in_force = trading::TimeInForce::kGoodTillCancel;
  f.request(lasting);
  f.accept(f.id(1), 300);
  write(f);
  GatewayFixture g;
  g.slot->connected = false;
  JournalOptions next = options();
  next.start = JournalStart::kFresh;
  next.carry_positions = true;
  Journal journal(next);
  EXPECT_EQ(recover(*g.gateway, journal, 1, 1).open_orders, 1u);
  g.gateway->give_up_awaited();
  g.gateway->turn();
  ASSERT_EQ(g.venue.cancels.size(), 1u);
  EXPECT_EQ(g.venue.cancels[0].orig_cl_ord_id, f.id(1));
}

TEST_F(RecoveryTest, CancelsRecoveredOrdersOfAKilledStrategyWithoutWaitingForIt) {
  GatewayFixture f;
  leave_an_order_open(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq, f.report_seq + 1);
  wire::ControlBlock block{};
  block.set_kill(kStrategy, true, true);
  g.gateway->set_control_block(block);
  g.turn_to_the_end();
  ASSERT_EQ(g.venue.cancels.size(), 1u);
  EXPECT_EQ(g.venue.cancels[0].orig_cl_ord_id, f.id(1));
}

TEST_F(RecoveryTest, KeepsReportsForAStrategyThatComesBack) {
  GatewayFixture f;
  f.rest(1, 300);
  write(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq, f.report_seq + 1);
  g.report(ExecType::kPartialFill, g.id(1), 200, 100, 100, 1'000'000);
  EXPECT_TRUE(g.strategies.reports.empty());
  g.gateway->on_strategy_connected(0);
  g.gateway->turn();
  ASSERT_EQ(g.strategies.reports.size(), 1u);
  EXPECT_EQ(g.last().last_shares, 100u);
  g.gateway->give_up_awaited();
  g.gateway->turn();
  EXPECT_TRUE(g.venue.cancels.empty());
  // An order that the former oeg never got is unknown, whatever its id.
  EXPECT_EQ(g.request(g.cancel(9, g.id(5))), RejectReason::kUnknownOrder);
  EXPECT_EQ(g.request(g.cancel(10, g.id(1))), RejectReason::kNone);
}

// "Unknown order" is two changes of state, and oeg may die between their records.
TEST_F(RecoveryTest, EndsAnOrderThatTheVenueDoesNotKnowWhereverItDied) {
  for (const std::size_t lost : {0u, 1u}) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    GatewayFixture f;
    f.rest(1);
    f.request(f.cancel(2, f.id(1)));
    f.reject_change(f.id(2), f.id(1), fix::CxlRejReason::kUnknownOrder);
    f.journal.records.resize(f.journal.records.size() - lost);
    write(f);
    GatewayFixture g;
    // The session had not counted the message yet.
    const RecoveryResult result = recover_into(g, f.venue.seq, f.report_seq);
    EXPECT_EQ(result.report_was_processed, lost == 0);
    if (lost != 0) {  // the venue sends it again
      g.report_seq = f.report_seq - 1;
      g.reject_change(f.id(2), f.id(1), fix::CxlRejReason::kUnknownOrder);
    }
    EXPECT_EQ(g.gateway->ledger().open_orders(), 0u);
    EXPECT_EQ(g.position().open_buy_shares, 0u);
    EXPECT_EQ(g.gateway->counters().reports.lost_by_venue.get(), lost);
    g.gateway->on_strategy_connected(0);
    g.gateway->turn();
    ASSERT_EQ(g.strategies.reports.size(), 2 * lost);
    if (lost == 0) continue;
    EXPECT_EQ(g.strategies.reports[0].kind, wire::ReportKind::kCancelRejected);
    EXPECT_EQ(g.last().kind, wire::ReportKind::kExpired);
    EXPECT_EQ(g.last().order_id, f.id(1));
  }
}

// The venue corrects an execution: it is taken back, and booked as it was. oeg may die between the
// two records, whether the order is open or done; the venue then sends the message again.
TEST_F(RecoveryTest, BooksACorrectionAsAWholeWhereverItDied) {
  for (const bool done : {false, true}) {
    for (const std::size_t lost : {0u, 1u, 2u}) {
      SCOPED_TRACE(testing::Message() << "done " << done << ", records lost " << lost);
      std::filesystem::remove_all(directory_);
      std::filesystem::create_directory(directory_);
      GatewayFixture f;
      f.rest(1);
      if (done)
        f.report(ExecType::kFill, f.id(1), 0, 100, 100, 990'000);
      else
        f.report(ExecType::kPartialFill, f.id(1), 60, 40, 40, 990'000);
      const std::uint32_t shares = done ? 100 : 40;
      const auto correct = [&](GatewayFixture& where) {
        const fix::ExecutionReport report{.exec_id = 900,
                                          .exec_ref_id = 2,
                                          .cl_ord_id = where.id(1),
                                          .last_price = {980'000},
                                          .last_shares = shares,
                                          .leaves_qty = 100 - shares,
                                          .cum_qty = shares,
                                          .exec_type = ExecType::kFill,
                                          .side = Side::kBuy,
                                          .trade_change = fix::TradeChange::kCorrected,
                                          .symbol = fix::Symbol::from("AAPL")};
        fix::MessageInfo info = where.info();
        info.poss_dup = &where != &f;
        where.gateway->reports().on_execution_report(report, info);
      };
      correct(f);
      const std::int64_t cash = f.position().cash;
      EXPECT_EQ(cash, -std::int64_t{shares} * 980'000);
      f.journal.records.resize(f.journal.records.size() - lost);
      write(f);
      GatewayFixture g;
      const RecoveryResult result = recover_into(g, f.venue.seq, f.report_seq);
      EXPECT_EQ(result.report_was_processed, lost == 0);
      if (lost != 0) {
        g.report_seq = f.report_seq - 1;
        correct(g);
      }
      expect_same(f, g);
      EXPECT_EQ(g.position().position_shares, shares);
      EXPECT_EQ(g.position().cash, cash);
      EXPECT_EQ(g.gateway->counters().exceptions.get(), 0u);
      // Twice is once too often.
      correct(g);
      EXPECT_EQ(g.position().cash, cash);
    }
  }
}

// Ids are mdh's, and another day's may be others: a strategy's order is meant by today's.
TEST_F(RecoveryTest, TradesNoInstrumentThatTheDirectoryHasNotNamedAgain) {
  GatewayFixture f;
  leave_an_order_open(f);
  GatewayFixture g;
  g.gateway = g.make();  // a new process: it knows no symbol yet
  g.slot = g.gateway->slots().assign(kStrategy);
  g.gateway->checks().set_risk_alive(true);
  recover_into(g, f.venue.seq, f.report_seq + 1);
  g.gateway->on_strategy_connected(0);
  EXPECT_EQ(g.request(g.limit_order(2)), RejectReason::kUnknownInstrument);
  EXPECT_EQ(g.request(g.cancel(3, g.id(1))), RejectReason::kNone);  // a cancel always passes
  ASSERT_EQ(g.venue.cancels.size(), 1u);
  EXPECT_EQ(g.venue.cancels[0].symbol.view(), "AAPL");
  ASSERT_TRUE(g.gateway->instruments().set_symbol(kInstrument, "AAPL"));
  EXPECT_EQ(g.request(g.limit_order(4)), RejectReason::kNone);
  EXPECT_FALSE(g.gateway->instruments().set_symbol(kInstrument, "MSFT"));
  EXPECT_EQ(g.request(g.limit_order(5)), RejectReason::kUnknownInstrument);
}

TEST_F(RecoveryTest, CountsOnFromTheLastRun) {
  GatewayFixture f;
  f.rest(1);
  f.request(f.cancel(2, f.id(1)));
  f.request(f.limit_order(3));
  write(f);
  GatewayFixture g;
  recover_into(g, f.venue.seq - 1, f.report_seq + 1);  // the last order never left
  const GatewayCounters& counters = g.gateway->counters();
  EXPECT_EQ(counters.orders.received.get(), 2u);
  EXPECT_EQ(counters.orders.sent.get(), 1u);
  EXPECT_EQ(counters.orders.refused.get(), 1u);
  EXPECT_EQ(counters.orders.accepted.get(), 1u);
  EXPECT_EQ(counters.changes.sent.get(), 1u);
  EXPECT_FALSE(g.gateway->nothing_unanswered());
  g.report(ExecType::kCanceled, g.id(2), 0, 0, 0, 0, g.id(1));
  EXPECT_TRUE(g.gateway->nothing_unanswered());
}

}  // namespace
}  // namespace tickpath::oeg
