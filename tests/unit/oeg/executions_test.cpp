// What the gateway makes of a venue that repeats, takes back, corrects and errs.
#include "oeg/executions.hpp"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oeg/exceptions.hpp"
#include "oeg/journal_state.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

class ExecutionsTest : public ::testing::Test, protected GatewayFixture {
 protected:
  void SetUp() override {
    request(limit_order(1));
    accept(id(1));
  }
  // A fill of order 1: 40 at 99.00, as the first of two.
  fix::ExecutionReport fill(std::uint64_t exec_id = 900) const {
    return {.exec_id = exec_id,
            .cl_ord_id = id(1),
            .last_price = {990'000},
            .last_shares = 40,
            .leaves_qty = 60,
            .cum_qty = 40,
            .exec_type = fix::ExecType::kPartialFill,
            .symbol = fix::Symbol::from("AAPL")};
  }
  // A report that changes execution `of`, after which the order has so many shares to go and so
  // many filled.
  fix::ExecutionReport change(fix::TradeChange how, std::uint64_t exec_id, std::uint64_t of,
                              std::uint32_t leaves, std::uint32_t filled) const {
    fix::ExecutionReport report = fill(exec_id);
    report.trade_change = how;
    report.exec_ref_id = of;
    report.leaves_qty = leaves;
    report.cum_qty = filled;
    return report;
  }
  fix::ExecutionReport bust(std::uint64_t exec_id, std::uint64_t of, std::uint32_t leaves) const {
    return change(fix::TradeChange::kCanceled, exec_id, of, leaves, 0);
  }
  fix::ExecutionReport corrected(std::uint32_t shares) const {
    fix::ExecutionReport right =
        change(fix::TradeChange::kCorrected, 901, 900, 100 - shares, shares);
    right.last_shares = shares;
    right.last_price = {985'000};
    return right;
  }
  void take(const fix::ExecutionReport& report, bool poss_resend = false) {
    fix::MessageInfo came = info();
    came.poss_resend = poss_resend;
    came.text = "8=FIX.4.2\x01";
    gateway->reports().on_execution_report(report, came);
  }
  // Position and cash, in shares and 1/10,000, and what is still open.
  void expect_holds(std::int64_t shares, std::int64_t cash, std::uint32_t open) {
    EXPECT_EQ(position().position_shares, shares);
    EXPECT_EQ(position().cash, cash);
    EXPECT_EQ(position().open_buy_shares, open);
  }
  // The gateway books nothing of the report.
  void expect_refused(const fix::ExecutionReport& report, ExceptionKind kind) {
    SCOPED_TRACE(name(kind));
    take(report);
    expect_holds(0, 0, 100);
    expect_exception(kind);
  }
  void expect_exception(ExceptionKind kind) {
    ASSERT_EQ(events.exceptions.size(), 1u);
    EXPECT_EQ(events.exceptions[0].kind, kind) << name(events.exceptions[0].kind);
    EXPECT_EQ(events.exceptions[0].fix_seq, report_seq);
    EXPECT_EQ(gateway->counters().exceptions.get(), 1u);
    EXPECT_NE(events.events.back().event == wire::EventKind::kException, is_booked(kind));
  }
};

TEST_F(ExecutionsTest, AStatusAnswerBooksNothing) {
  fix::ExecutionReport report = fill();
  report.status = true;
  take(report);
  expect_holds(0, 0, 100);
  EXPECT_EQ(gateway->counters().reports.status.get(), 1u);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, TheCommissionOfAFillIsBesideItsCashAndToldToRisk) {
  fix::ExecutionReport report = fill();
  report.has_commission = true;
  report.commission_millionths = 118'200;
  take(report);
  expect_holds(40, -40 * 990'000, 60);
  EXPECT_EQ(position().fees, 118'200);
  EXPECT_EQ(gateway->counters().commissions.get(), 1u);
  EXPECT_TRUE(events.exceptions.empty());
  const wire::OrderEvent& told = events.events.back();
  EXPECT_EQ(told.event, wire::EventKind::kFee);
  EXPECT_EQ(wire::fee_of(told), 118'200);
  EXPECT_EQ(told.row_event, position().events);
  JournalState state({64, 16, 16, 64});
  for (const JournalRecord& record : journal.records) state.apply(record);
  EXPECT_EQ(state.ledger.position(0).row.fees, 118'200) << "after a restart, too";
  EXPECT_EQ(state.ledger.position(0).row.events, position().events);
}

TEST_F(ExecutionsTest, ACommissionThatCannotBeReadIsAnExceptionOfABookedFill) {
  fix::ExecutionReport report = fill();
  report.has_commission = true;
  report.commission_known = false;
  take(report);
  expect_holds(40, -40 * 990'000, 60);
  EXPECT_EQ(position().fees, 0);
  expect_exception(ExceptionKind::kCommission);
}

TEST_F(ExecutionsTest, BooksAnExecutionOnceHoweverOftenItIsResent) {
  take(fill());
  take(fill(), true);
  expect_holds(40, -40 * 990'000, 60);
  EXPECT_EQ(gateway->counters().reports.repeated.get(), 1u);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, ADuplicateExecIdThatIsNotMarkedSoIsAnException) {
  take(fill());
  take(fill());
  expect_holds(40, -40 * 990'000, 60);
  expect_exception(ExceptionKind::kDuplicateExecution);
}

TEST_F(ExecutionsTest, ARepetitionIsKnownAfterTheOrderIsDone) {
  fix::ExecutionReport whole = fill();
  whole.exec_type = fix::ExecType::kFill;
  whole.last_shares = whole.cum_qty = 100;
  whole.leaves_qty = 0;
  take(whole);
  take(whole, true);
  expect_holds(100, -100 * 990'000, 0);
  EXPECT_EQ(gateway->counters().reports.repeated.get(), 1u);
}

TEST_F(ExecutionsTest, TheSameExecIdOfAnotherOrderIsAnotherExecution) {
  request(limit_order(2));
  accept(id(2));
  take(fill());
  fix::ExecutionReport other = fill();
  other.cl_ord_id = id(2);
  take(other);
  expect_holds(80, -80 * 990'000, 120);
}

TEST_F(ExecutionsTest, ACanceledTradeIsTakenOffThePositionAndTold) {
  take(fill());
  fix::ExecutionReport canceled = bust(901, 900, 100);
  canceled.last_shares = 0;
  take(canceled);
  expect_holds(0, 0, 100);
  EXPECT_EQ(position().fills, 0u);
  EXPECT_EQ(last().kind, wire::ReportKind::kFillCanceled);
  EXPECT_EQ(last().execution_id, 900u);
  EXPECT_EQ(last().last_shares, 40u);
  EXPECT_EQ(last().last_price, 990'000u);
  EXPECT_EQ(events.events.back().report_kind, wire::ReportKind::kFillCanceled);
  take(canceled, true);
  expect_holds(0, 0, 100);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, ATradeIsCanceledAfterItsOrderIsDone) {
  take(fill());
  report(fix::ExecType::kCanceled, id(1), 0, 40);
  take(bust(901, 900, 0));
  expect_holds(0, 0, 0);
  EXPECT_EQ(last().kind, wire::ReportKind::kFillCanceled);
  EXPECT_EQ(last().strategy_id, kStrategy);
}

TEST_F(ExecutionsTest, ACorrectedTradeHasTheNewSharesAndPrice) {
  take(fill());
  take(corrected(30));
  expect_holds(30, -30 * 985'000, 70);
  const std::size_t told = strategies.reports.size();
  EXPECT_EQ(strategies.reports[told - 2].kind, wire::ReportKind::kFillCanceled);
  EXPECT_EQ(last().kind, wire::ReportKind::kFillCorrected);
  EXPECT_EQ(last().execution_id, 901u);
  // What stands now can be taken back as well.
  take(bust(902, 901, 100));
  expect_holds(0, 0, 100);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, ATradeIsCanceledUnderTheIdThatAReplacementGaveItsOrder) {
  take(fill());
  request(replace(2, id(1), 1'000'000, 120));
  report(fix::ExecType::kReplaced, id(2), 80, 40, 0, 0, id(1));
  fix::ExecutionReport canceled = bust(901, 900, 120);
  canceled.cl_ord_id = id(2);
  take(canceled);
  expect_holds(0, 0, 120);
}

TEST_F(ExecutionsTest, KeepsSixDecimalsOfAPriceAndRoundsTheCashOnce) {
  fix::ExecutionReport fine = fill();
  fine.last_price_hundredths = 67;  // 40 x 99.000067 = 3960.00268
  take(fine);
  constexpr std::int64_t kCash = -40 * 990'000 - 27;
  expect_holds(40, kCash, 60);
  EXPECT_EQ(last().last_price, 990'000u);
  EXPECT_EQ(last().last_price_hundredths, 67);
  EXPECT_EQ(events.events.back().price_hundredths, 67);
  EXPECT_EQ(journal.records.back().event.price_hundredths, 67);
  // 10 at 98.500005: half of 1/10,000, away from zero.
  fix::ExecutionReport right = corrected(10);
  right.last_price_hundredths = 5;
  take(right);
  expect_holds(10, -10 * 985'000 - 1, 90);
  EXPECT_EQ(strategies.reports[strategies.reports.size() - 2].last_price_hundredths, 67);
  EXPECT_EQ(last().last_price_hundredths, 5);
  report(fix::ExecType::kCanceled, id(1), 0, 10);
  take(bust(902, 901, 0));
  expect_holds(0, 0, 0);
  EXPECT_EQ(last().last_price_hundredths, 5);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, APriceBelowATenThousandthIsAPrice) {
  fix::ExecutionReport fine = fill();
  fine.last_price = {0};
  fine.last_price_hundredths = 10;  // 40 x 0.00001
  take(fine);
  expect_holds(40, -4, 60);
}

TEST_F(ExecutionsTest, APriceOfMoreDecimalsThanAreKeptIsAnException) {
  fix::ExecutionReport odd = fill();
  odd.last_price_exact = false;
  expect_refused(odd, ExceptionKind::kPriceDecimals);
}

TEST_F(ExecutionsTest, AChangeOfAnUnknownExecutionIsAnException) {
  expect_refused(bust(901, 777, 100), ExceptionKind::kUnknownExecution);
}

TEST_F(ExecutionsTest, RefusesAFillOfMoreThanWasOrdered) {
  fix::ExecutionReport impossible = fill();
  impossible.last_shares = impossible.cum_qty = 1'000'000;
  expect_refused(impossible, ExceptionKind::kShares);
}

TEST_F(ExecutionsTest, RefusesAFillOfAnotherSide) {
  fix::ExecutionReport impossible = fill();
  impossible.side = Side::kSell;
  expect_refused(impossible, ExceptionKind::kOtherSide);
}

TEST_F(ExecutionsTest, RefusesAFillOfAnotherSymbol) {
  fix::ExecutionReport impossible = fill();
  impossible.symbol = fix::Symbol::from("MSFT");
  expect_refused(impossible, ExceptionKind::kOtherSymbol);
}

TEST_F(ExecutionsTest, RefusesAFillAtNoPrice) {
  fix::ExecutionReport impossible = fill();
  impossible.last_price = {0};
  expect_refused(impossible, ExceptionKind::kNoPrice);
}

TEST_F(ExecutionsTest, AFillOfAnUnknownOrderIsAnException) {
  fix::ExecutionReport unknown = fill();
  unknown.cl_ord_id = 12'345;
  expect_refused(unknown, ExceptionKind::kUnknownOrder);
  EXPECT_EQ(events.exceptions[0].strategy, kUnknownStrategy);
}

// The order is not open any more, and its id says whose it was.
TEST_F(ExecutionsTest, AnExceptionAboutAnOrderThatIsDoneNamesItsStrategy) {
  take(fill());
  report(fix::ExecType::kCanceled, id(1), 0, 40);
  take(bust(901, 900, 100));  // and the order works on
  expect_holds(0, 0, 0);
  expect_exception(ExceptionKind::kReopened);
  EXPECT_EQ(events.exceptions[0].strategy, kStrategy);
  take(fill());
  ASSERT_EQ(events.exceptions.size(), 2u);
  EXPECT_EQ(events.exceptions[1].kind, ExceptionKind::kDuplicateExecution);
  EXPECT_EQ(events.exceptions[1].strategy, kStrategy);
}

// A crash before the control thread lists it does not lose it.
TEST_F(ExecutionsTest, AnExceptionIsJournaledInOrder) {
  fix::ExecutionReport odd = fill();
  odd.cum_qty = 70;
  odd.leaves_qty = 30;
  odd.last_price_hundredths = 5;
  const std::size_t before = journal.records.size();
  take(odd);
  ASSERT_EQ(journal.records.size(), before + 2);
  const JournalRecord& record = journal.records[before];
  EXPECT_EQ(record.event.event, wire::EventKind::kException);
  EXPECT_EQ(record.exception, static_cast<std::uint8_t>(ExceptionKind::kQuantities));
  EXPECT_EQ(record.event.instrument_id, kInstrument);
  EXPECT_EQ(events.exceptions[0].journal_sequence, record.sequence);
  EXPECT_EQ(events.exceptions[0].realtime_ns, record.realtime_ns);
  EXPECT_EQ(journal.records[before + 1].event.report_kind, wire::ReportKind::kFill);
  const ExceptionNote again = note_of(record);
  EXPECT_EQ(again.kind, ExceptionKind::kQuantities);
  EXPECT_EQ(again.strategy, kStrategy);
  EXPECT_EQ(again.fix_seq, report_seq);
  EXPECT_EQ(again.symbol.view(), "AAPL");
  EXPECT_NE(std::string_view(again.text, again.length).find("17=900|54=1|32=40|31=99.000005"),
            std::string_view::npos)
      << std::string_view(again.text, again.length);
}

TEST_F(ExecutionsTest, AFillAfterTheOrderWasCanceledIsAnException) {
  report(fix::ExecType::kCanceled, id(1), 0, 0);
  take(fill());
  expect_holds(0, 0, 0);
  expect_exception(ExceptionKind::kUnknownOrder);
}

TEST_F(ExecutionsTest, BooksAFillWhoseTotalDoesNotFollowAndSaysSo) {
  fix::ExecutionReport odd = fill();
  odd.cum_qty = 70;  // 30 shares were never reported
  odd.leaves_qty = 30;
  take(odd);
  expect_holds(40, -40 * 990'000, 30);
  expect_exception(ExceptionKind::kQuantities);
}

TEST_F(ExecutionsTest, ACancelationWhoseTotalDoesNotFollowEndsTheOrderAndSaysSo) {
  report(fix::ExecType::kCanceled, id(1), 0, 60);
  expect_holds(0, 0, 0);
  EXPECT_EQ(last().kind, wire::ReportKind::kCanceled);
  EXPECT_EQ(last().cumulative_shares, 0u) << "what is booked, as the position";
  expect_exception(ExceptionKind::kQuantities);
}

TEST_F(ExecutionsTest, AnExpiryWhoseTotalDoesNotFollowEndsTheOrderAndSaysSo) {
  take(fill());
  report(fix::ExecType::kExpired, id(1), 0, 100);
  expect_holds(40, -40 * 990'000, 0);
  expect_exception(ExceptionKind::kQuantities);
}

TEST_F(ExecutionsTest, AReplacementWhoseTotalDoesNotFollowHidesNoFill) {
  request(replace(2, id(1), 1'000'000, 100));
  report(fix::ExecType::kReplaced, id(2), 40, 60, 0, 0, id(1));
  expect_exception(ExceptionKind::kQuantities);
  expect_holds(0, 0, 40);
  // Its last fill does not follow either: 60 are still missing.
  report(fix::ExecType::kFill, id(2), 0, 100, 40, 1'000'000);
  ASSERT_EQ(events.exceptions.size(), 2u);
  EXPECT_EQ(events.exceptions[1].kind, ExceptionKind::kQuantities);
  expect_holds(40, -40 * 1'000'000, 0);
}

TEST_F(ExecutionsTest, AReplacementLeavesWhatWasAskedFor) {
  request(replace(2, id(1), 1'000'000, 120));
  report(fix::ExecType::kReplaced, id(2), 500, 0, 0, 0, id(1));
  expect_exception(ExceptionKind::kQuantities);
  expect_holds(0, 0, 120);
}

TEST_F(ExecutionsTest, AReplacementThatAnswersACancelIsAnExceptionAndNoFillFollowsFromIt) {
  take(fill());
  request(cancel(2, id(1)));
  report(fix::ExecType::kReplaced, id(2), 60, 40, 0, 0, id(1));
  expect_holds(40, -40 * 990'000, 60);
  expect_exception(ExceptionKind::kReplacement);
  report(fix::ExecType::kPartialFill, id(1), 0, 5'040, 5'000, 1'000'000);
  ASSERT_EQ(events.exceptions.size(), 2u);
  EXPECT_EQ(events.exceptions[1].kind, ExceptionKind::kShares);
  expect_holds(40, -40 * 990'000, 60);
}

TEST_F(ExecutionsTest, AFillOutsideItsLimitIsBookedAndAnException) {
  fix::ExecutionReport dear = fill();
  dear.last_price = {1'500'000};
  take(dear);
  expect_holds(40, -40 * 1'500'000, 60);
  expect_exception(ExceptionKind::kOutsideLimit);
}

TEST_F(ExecutionsTest, ASixthDecimalIsOutsideTheLimit) {
  fix::ExecutionReport dear = fill();
  dear.last_price = {1'000'000};
  take(dear);
  EXPECT_TRUE(events.exceptions.empty());
  dear = fill(901);
  dear.cum_qty = 80;
  dear.leaves_qty = 20;
  dear.last_price = {1'000'000};
  dear.last_price_hundredths = 1;
  take(dear);
  expect_exception(ExceptionKind::kOutsideLimit);
}

// The venue may have taken it already.
TEST_F(ExecutionsTest, AFillMayHaveThePriceOfAReplacementOnItsWay) {
  request(replace(2, id(1), 1'010'000, 100));
  fix::ExecutionReport better = fill();
  better.last_price = {1'010'000};
  take(better);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_F(ExecutionsTest, ASellBelowItsLimitIsAnException) {
  request(limit_order(2, 1'000'000, 100, Side::kSell));
  accept(id(2));
  report(fix::ExecType::kPartialFill, id(2), 60, 40, 40, 999'999);
  expect_exception(ExceptionKind::kOutsideLimit);
}

TEST_F(ExecutionsTest, ACorrectionToAPriceOutsideTheLimitIsBookedAndAnException) {
  take(fill());
  fix::ExecutionReport right = corrected(30);
  right.last_price = {1'200'000};
  take(right);
  expect_holds(30, -30 * 1'200'000, 70);
  expect_exception(ExceptionKind::kOutsideLimit);
}

TEST_F(ExecutionsTest, ARejectionAfterTheAcceptanceEndsTheOrder) {
  report(fix::ExecType::kRejected, id(1), 0, 0);
  expect_holds(0, 0, 0);
  EXPECT_EQ(last().kind, wire::ReportKind::kExpired);
  EXPECT_EQ(last().reason, trading::RejectReason::kVenue);
}

TEST_F(ExecutionsTest, DoneForDayEndsTheOrderAndStoppedAndSuspendedDoNot) {
  report(fix::ExecType::kStopped, id(1), 100, 0);
  report(fix::ExecType::kSuspended, id(1), 100, 0);
  report(fix::ExecType::kCalculated, id(1), 100, 0);
  expect_holds(0, 0, 100);
  report(fix::ExecType::kDoneForDay, id(1), 0, 0);
  expect_holds(0, 0, 0);
  EXPECT_EQ(last().kind, wire::ReportKind::kExpired);
}

TEST_F(ExecutionsTest, AReportThatCouldNotBeReadIsAnException) {
  fix::MessageInfo came = info();
  gateway->reports().on_refused({"8", 31, "not of its data type", id(1)}, came);
  expect_exception(ExceptionKind::kUnreadable);
  EXPECT_EQ(events.exceptions[0].strategy, kStrategy);
  gateway->reports().on_refused({"B", 35, "unsupported", 0}, came);
  EXPECT_EQ(events.exceptions.size(), 1u);
}

// No order moves; journal, risk and strategy get a corrected fill.
TEST_F(ExecutionsTest, ATradeThatAPersonBooksMovesThePositionAlone) {
  const ManualTrade sold{.shares = 30,
                         .price = 990'000,
                         .price_hundredths = 50,
                         .strategy = kStrategy,
                         .side = Side::kSell,
                         .symbol = fix::Symbol::from("AAPL")};
  EXPECT_EQ(gateway->book_by_hand(sold), ManualResult::kBooked);
  expect_holds(-30, 30 * 990'000 + 15, 100);
  EXPECT_EQ(last().kind, wire::ReportKind::kFillCorrected);
  EXPECT_EQ(events.events.back().report_kind, wire::ReportKind::kFillCorrected);
  JournalState state({64, 16, 16, 64});
  for (const JournalRecord& record : journal.records) state.apply(record);
  EXPECT_EQ(state.impossible, 0u);
  EXPECT_EQ(state.ledger.position(0).row.position_shares, -30) << "after a restart, too";
  ManualTrade other = sold;
  other.symbol = fix::Symbol::from("ZZZZ");
  EXPECT_EQ(gateway->book_by_hand(other), ManualResult::kNoSymbol);
  other = sold;
  other.strategy = 99;
  EXPECT_EQ(gateway->book_by_hand(other), ManualResult::kNoStrategy);
  journal.room_for_reports = false;
  EXPECT_EQ(gateway->book_by_hand(sold), ManualResult::kNoRoom);
  expect_holds(-30, 30 * 990'000 + 15, 100);
}

TEST_F(ExecutionsTest, AVenueMayTakeBackWhatAPersonHasBooked) {
  EXPECT_EQ(gateway->book_by_hand({.exec_id = 900,
                                   .shares = 40,
                                   .price = 990'000,
                                   .strategy = kStrategy,
                                   .symbol = fix::Symbol::from("AAPL")}),
            ManualResult::kBooked);
  fix::ExecutionReport canceled = bust(901, 900, 0);
  canceled.cl_ord_id = 12'345;
  take(canceled);
  expect_holds(0, 0, 100);
}

// An oeg died between the booking and the clearing, and the exception is open still.
TEST_F(ExecutionsTest, AnExecutionThatAPersonHasBookedIsNotBookedAgain) {
  const ManualTrade bought{.exec_id = 900,
                           .shares = 40,
                           .price = 990'000,
                           .strategy = kStrategy,
                           .symbol = fix::Symbol::from("AAPL")};
  EXPECT_EQ(gateway->book_by_hand(bought), ManualResult::kBooked);
  EXPECT_EQ(gateway->book_by_hand(bought), ManualResult::kBookedBefore);
  EXPECT_EQ(gateway->ledger().position(0).row.position_shares, 40);
}

TEST(Executions, ForgetsTheOldestWhenItIsFull) {
  Executions executions(4);
  for (std::uint64_t order = 1; order <= 3; ++order)
    executions.add({7, order, 0, 1, 1, 0, Side::kBuy});
  for (std::uint64_t exec = 10; exec <= 12; ++exec)
    executions.add({exec, 1, 0, 1, 1, 0, Side::kBuy});
  EXPECT_EQ(executions.find(7, 1), nullptr);
  EXPECT_EQ(executions.find(7, 2), nullptr);
  ASSERT_NE(executions.find(7, 3), nullptr);
  for (std::uint64_t exec = 10; exec <= 12; ++exec) EXPECT_NE(executions.find(exec, 1), nullptr);
  executions.add({13, 1, 0, 1, 1, 0, Side::kBuy});
  EXPECT_EQ(executions.find(7, 3), nullptr);
}

TEST(Executions, AreVisitedOldestFirstBeforeAndAfterTheirPlacesAreFilled) {
  Executions executions(4);
  const auto visited = [&executions] {
    std::vector<std::uint64_t> ids;
    executions.for_each([&](const Execution& each) { ids.push_back(each.exec_id); });
    return ids;
  };
  EXPECT_THAT(visited(), ::testing::IsEmpty());
  for (std::uint64_t id = 1; id <= 3; ++id) executions.add({.exec_id = id, .order_id = 1});
  EXPECT_THAT(visited(), ::testing::ElementsAre(1, 2, 3));
  executions.add({.exec_id = 4, .order_id = 1});
  EXPECT_THAT(visited(), ::testing::ElementsAre(1, 2, 3, 4));
  for (std::uint64_t id = 5; id <= 6; ++id) executions.add({.exec_id = id, .order_id = 1});
  EXPECT_THAT(visited(), ::testing::ElementsAre(3, 4, 5, 6));
}

}  // namespace
}  // namespace tickpath::oeg
