#include "tools/cli/conservation.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"
#include "tests/unit/cli/five_sides.hpp"

namespace tickpath::cli {
namespace {

using control::RequestFlow;
using control::Summary;
using ::testing::HasSubstr;

TEST(Conservation, HoldsWhereEverythingFits) {
  const Conservation conservation = FiveSides().check();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
  EXPECT_THAT(to_text(conservation), HasSubstr("everything is accounted for"));
}

// Each break of the books, and a piece of the line that must say so.
TEST(Conservation, FindsEachWayInWhichItCanBreak) {
  const std::vector<std::pair<std::function<void(FiveSides&)>, std::string>> breaks{
      {[](FiveSides& run) { ++run.strategy.orders->sent; }, "orders: sent by strategy = accepted"},
      {[](FiveSides& run) { ++run.oeg.orders->received; }, "orders: sent by strategies = received"},
      {[](FiveSides& run) { ++run.oeg.orders->refused; }, "orders: received by oeg = refused"},
      {[](FiveSides& run) { ++run.sim.orders->received; },
       "orders: sent by oeg, with its own = received by sim"},
      {[](FiveSides& run) { ++run.sim.orders->accepted; }, "orders: received by sim = accepted"},
      {[](FiveSides& run) { run.oeg.orders->unanswered = 1; }, "orders: unanswered"},
      {[](FiveSides& run) { ++run.sim.orders->accepted, --run.sim.orders->rejected; },
       "orders: accepted by sim = as oeg saw it"},
      {[](FiveSides& run) { --run.sim.changes->accepted, ++run.sim.changes->rejected; },
       "cancels, replacements: rejected by sim = as oeg saw it"},
      {[](FiveSides& run) { run.oeg.has_positions = false; }, "positions and cash of oeg"},
      {[](FiveSides& run) { run.sim.open_orders = 1; }, "open orders: sim = oeg"},
      {[](FiveSides& run) { run.oeg.open_orders = run.sim.open_orders = 1; },
       "open orders: sim = risk"},
      {[](FiveSides& run) { run.strategy.open_orders = 2; }, "open orders: sim = strategy"},
      {[](FiveSides& run) { ++run.oeg.changes->rejected; }, "cancels, replacements: rejected"},
      {[](FiveSides& run) { ++run.sim.reports->sent; }, "reports: sent by sim = received by oeg"},
      {[](FiveSides& run) { ++run.strategy.reports->received; }, "reports: sent by oeg = received"},
      {[](FiveSides& run) { ++run.strategy.strategies[0].reports; },
       "channel: reports sent by oeg to strategy 1 = received by strategy"},
      {[](FiveSides& run) { --run.oeg.strategies[0].requests; },
       "channel: requests sent by strategy 1 = received by oeg"},
      {[](FiveSides& run) { --run.oeg.ticks[0].overrun; }, "ticks: published by mdh to oeg"},
      {[](FiveSides& run) { ++run.oeg.reports->dropped; },
       "reports: that found their strategy gone"},
      {[](FiveSides& run) { ++run.oeg.reports->fills; }, "fills: reported by sim"},
      {[](FiveSides& run) { run.oeg.positions[0].shares += 1; }, "positions and cash: sim = oeg"},
      {[](FiveSides& run) { run.risk.positions[1].cash += 1; }, "positions and cash: sim = risk"},
      {[](FiveSides& run) { run.strategy.positions.pop_back(); },
       "positions and cash: sim = strategy"},
      {[](FiveSides& run) { --run.strategy.ticks[0].seen; }, "ticks: published by mdh to strategy"},
      {[](FiveSides& run) { run.mdh.ticks.erase(run.mdh.ticks.begin() + 1); },
       "ticks: published by mdh to risk"},
      {[](FiveSides& run) { --run.risk.events[0].seen; }, "drop copy: published by oeg to risk"},
      {[](FiveSides& run) { --run.mdh.feed_messages; }, "feed: messages sent by sim"},
      {[](FiveSides& run) { ++run.oeg.positions[1].fills; }, "positions and cash: sim = oeg"},
      {[](FiveSides& run) { run.sim.orders->own = 1; }, "sim: figures that it does not keep"},
      {[](FiveSides& run) { run.risk.feed_messages = 1; }, "risk: figures that it does not keep"},
      {[](FiveSides& run) { ++run.oeg.strategies[0].orders; },
       "orders: received by oeg = from each strategy"},
      {[](FiveSides& run) { run.strategy.strategies[0].strategy_id = 2; },
       "channel: requests sent by strategy 2"},
      {[](FiveSides& run) { run.strategy.strategy_id = 2; }, "strategy: its id"},
      {[](FiveSides& run) { run.oeg.positions[0].fees = 700; }, "fees, in millionths: sim = oeg"},
      {[](FiveSides& run) {
         run.mdh.details = {{"shards", 1}, {"shard", 1}, {"other_shards", 3}};
       },
       "feed: messages that mdh left to other shards"},
  };
  for (const auto& [damage, told] : breaks) {
    FiveSides run;
    damage(run);
    const Conservation conservation = run.check();
    EXPECT_FALSE(conservation.holds()) << told;
    bool found = false;
    for (const auto& line : conservation.lines)
      found = found || (!line.holds && line.rule.starts_with(told));
    EXPECT_TRUE(found) << told << "\n" << to_text(conservation);
  }
}

// 100 shares that cost 5,000 are worth 6,050 at a mark of 60.50; fees of 71 millionths count as 1.
TEST(Conservation, HoldsPAndLAgainstPositionAndMark) {
  FiveSides run;
  for (Summary* summary : {&run.sim, &run.oeg, &run.risk}) summary->positions[0].fees = 71;
  run.risk.profits = {{1, "AAPL", -1, 1050, 1, 121}, {1, "MSFT", 70, 0, 0, 0}};
  EXPECT_TRUE(run.check().holds()) << to_text(run.check());
  const std::vector<std::function<void(control::ProfitSummary&)>> breaks{
      [](control::ProfitSummary& row) { ++row.realised; },
      [](control::ProfitSummary& row) { --row.unrealised; },
      [](control::ProfitSummary& row) { row.mark_doubled += 2; },
      [](control::ProfitSummary& row) { ++row.fees, --row.realised; },
      [](control::ProfitSummary& row) { row.strategy_id = 2; }};
  for (const auto& damage : breaks) {
    FiveSides broken = run;
    damage(broken.risk.profits[0]);
    EXPECT_THAT(in_one_line(to_text(broken.check())), HasSubstr("BROKEN  P&L of risk"));
  }
  run.risk.profits[1].unrealised = 5;  // at cost
  EXPECT_THAT(in_one_line(to_text(run.check())), HasSubstr("2 rows, 1 differ; strategy 1 MSFT"));
}

// oeg sent 3 cancels of its own; the venue may have answered these in either way.
TEST(Conservation, LeavesOpenHowTheVenueAnsweredCancelsOfOegsOwn) {
  FiveSides run;
  run.oeg.changes->own = 3;
  run.sim.changes = flow(7, 0, 0, 5, 2);
  EXPECT_TRUE(run.check().holds()) << to_text(run.check());
  run.sim.changes = flow(7, 0, 0, 2, 5);
  EXPECT_THAT(in_one_line(to_text(run.check())),
              HasSubstr("BROKEN  cancels, replacements: accepted by sim = as oeg saw it, but for "
                        "its own: 2 is not 3 and at most 3"));
}

TEST(Conservation, DoesNotAskARiskThatWasOverrunForOpenOrders) {
  FiveSides run;
  for (Summary* summary : {&run.sim, &run.oeg, &run.strategy}) summary->open_orders = 1;
  EXPECT_FALSE(run.check().holds());
  --run.risk.events[0].seen, ++run.risk.events[0].overrun;
  EXPECT_TRUE(run.check().holds()) << to_text(run.check());
}

TEST(Conservation, TellsWhichPositionsDiffer) {
  FiveSides run;
  run.oeg.positions[0].shares = 90;
  EXPECT_THAT(in_one_line(to_text(run.check())),
              HasSubstr("strategy 1 AAPL: 100 shares, cash -5000 against 90 shares, cash -5000"));
}

TEST(Conservation, FitsATerminalOfEightyColumns) {
  FiveSides run;
  run.sim.orders->received += 12'345'678'901;
  run.mdh.feed_messages += 98'765'432'109;
  run.oeg.resumed = true;
  std::istringstream text(to_text(run.check()));
  int continued = 0;
  for (std::string line; std::getline(text, line); continued += line.starts_with("          "))
    EXPECT_LE(line.size(), 80u) << line;
  EXPECT_GE(continued, 2);
}

TEST(Conservation, IsNotShownWhereAProgramLeftNoSummary) {
  FiveSides run;
  const Conservation conservation = check_conservation({run.sim, run.mdh, run.oeg, run.risk}, kAll);
  EXPECT_FALSE(conservation.holds());
  EXPECT_EQ(conservation.missing, (std::vector<std::string>{"strategy"}));
  for (const auto& line : conservation.lines) EXPECT_TRUE(line.holds) << line.rule;
  EXPECT_EQ(conservation.problem(), "conservation is not shown: no summary of strategy");
}

TEST(Conservation, IsCalledBrokenWhereAFigureDiffersWhoeverElseIsMissing) {
  FiveSides run;
  run.oeg.orders->received += 1;
  const Conservation conservation = check_conservation({run.sim, run.oeg, run.strategy}, kAll);
  EXPECT_THAT(conservation.problem(), HasSubstr("conservation is broken: orders: "));
}

TEST(Conservation, AddsUpSeveralStrategies) {
  FiveSides run;
  Summary second = run.strategy;
  second.name = "strategy-2";
  second.strategy_id = 2;
  second.orders = flow(0, 0, 1, 1, 0);
  second.changes = flow(0, 0, 0, 0, 0);
  second.reports = control::ReportFlow{1, 0, 0, 0};
  second.positions.clear();
  second.ticks.clear();
  second.strategies = {{2, 1, 1, 1}};
  run.oeg.orders = flow(11, 2, 9, 8, 1);
  run.sim.orders = flow(9, 0, 0, 8, 1);
  run.sim.reports->sent = run.oeg.reports->received = 21;
  run.oeg.reports->sent = 23;
  run.oeg.strategies.push_back({2, 1, 1, 1, 1});
  std::vector<std::string> expected = kAll;
  expected.push_back("strategy-2");
  const Conservation conservation =
      check_conservation({run.sim, run.mdh, run.oeg, run.risk, run.strategy, second}, expected);
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
}

// oeg and oeg2 trade at one sim; one order and one report went through the second.
struct TwoGateways : FiveSides {
  Summary oeg2 = oeg;
  Conservation check_all() {
    oeg2.name = "oeg2";
    oeg2.orders = flow(1, 0, 1, 1, 0);
    oeg2.changes = flow(0, 0, 0, 0, 0);
    oeg2.reports = control::ReportFlow{1, 1, 0, 0};
    oeg2.strategies = oeg2_strategies;
    oeg2.positions.clear();
    oeg2.ticks.clear(), oeg2.events.clear();
    return check_conservation({sim, mdh, oeg, oeg2, risk, strategy},
                              {"sim", "mdh", "oeg", "oeg2", "risk", "strategy"});
  }
  std::vector<control::StrategyFlow> oeg2_strategies{{2, 1, 1, 1, 1}};
};

TEST(Conservation, AddsUpSeveralGateways) {
  TwoGateways run;
  run.strategy.orders = flow(0, 0, 11, 8, 3);
  run.strategy.reports->received += 1;
  run.strategy.strategies.push_back({2, 1, 1, 1});
  run.sim.orders = flow(9, 0, 0, 8, 1);
  run.sim.reports->sent += 1;
  EXPECT_TRUE(run.check_all().holds()) << to_text(run.check_all());
  run.oeg2_strategies[0].requests = 2;
  EXPECT_FALSE(run.check_all().holds());
  run.oeg2_strategies[0].requests = 1;
  ++run.sim.orders->received, ++run.sim.orders->accepted;
  EXPECT_FALSE(run.check_all().holds());
}

// strategy was killed and started again: it tells of its second life alone, oeg of both.
struct StrategyStartedAgain : FiveSides {
  StrategyStartedAgain() {
    strategy.orders = flow(0, 0, 3, 2, 1);
    strategy.changes = flow(0, 0, 1, 1, 0);
    strategy.reports = control::ReportFlow{6, 0, 1, 0};
    strategy.strategies = {{1, 1, 4, 6}};
    oeg.strategies = {{1, 2, 4, 6, 10}};
    oeg.reports->dropped = 3;  // found it gone
  }
};

// Two risks that were active one after the other, both of which ended in order: the last one's book
// is the one that fits.
TEST(Conservation, CountsOfTwoRisksTheOneThatWasActiveLast) {
  FiveSides sides;
  sides.risk.details["active_ms"] = 2000;
  Summary former = sides.risk;
  former.name = "risk-2";
  former.details["active_ms"] = 1000;
  former.positions[0].shares = 40;
  std::vector<Summary> all{sides.sim, sides.mdh, sides.oeg, former, sides.risk, sides.strategy};
  settle_pairs(all);
  EXPECT_TRUE(all[3].stood_by);
  EXPECT_FALSE(all[4].stood_by);
  EXPECT_TRUE(check_conservation(all, kAll).holds());
  // Each of two oegs has a risk of its own.
  Summary other = sides.oeg;
  other.name = "oeg-b";
  all = {sides.oeg, other, former, sides.risk};
  settle_pairs(all);
  EXPECT_FALSE(all[2].stood_by);
  // One that never was active, or is no more, says so itself.
  former.stood_by = true;
  former.has_positions = false;
  former.positions.clear();
  EXPECT_TRUE(check_conservation(
                  {sides.sim, sides.mdh, sides.oeg, former, sides.risk, sides.strategy}, kAll)
                  .holds());
}

// One ended while it led, the other one led after it.
TEST(Conservation, OfAPairTheOneThatLedLastCounts) {
  FiveSides sides;
  Summary former = sides.oeg;
  former.name = "oeg-2";
  former.details["pair_epoch"] = 3;
  former.positions.at(0).shares = 40;
  sides.oeg.details["pair_epoch"] = 4;
  std::vector<Summary> all{sides.sim, sides.mdh, former, sides.oeg, sides.risk, sides.strategy};
  settle_pairs(all);
  EXPECT_TRUE(all[2].stood_by);
  EXPECT_FALSE(all[3].stood_by);
  EXPECT_TRUE(check_conservation(all, kAll).holds());
  // Two that are no pair: both count.
  former.details.clear();
  all = {former, sides.oeg};
  settle_pairs(all);
  EXPECT_FALSE(all[0].stood_by || all[1].stood_by);
}

// Two oegs, each on a host of its own, and their risks together on a third: what one directory has
// says nothing of who stood by.
TEST(Conservation, LooksAtAllHostsForWhoWasTheActiveRisk) {
  const test_support::Folder hosts;
  FiveSides sides;
  const auto leave = [&](const char* host, Summary summary, const char* name) {
    std::filesystem::create_directories(hosts / host);
    summary.name = name;
    test_support::write_file(hosts / host + "/" + name + ".summary.json",
                             control::to_json(summary).dump());
  };
  leave("a", sides.oeg, "oeg-a");
  leave("b", sides.oeg, "oeg-b");
  sides.risk.details["active_ms"] = 1000;
  leave("c", sides.risk, "risk-a");
  sides.risk.details["active_ms"] = 2000;
  leave("c", sides.risk, "risk-b");
  for (const Summary& each : read_summaries({hosts / "a", hosts / "b", hosts / "c"}))
    EXPECT_FALSE(each.stood_by) << each.name;
  for (const Summary& each : read_summaries({hosts / "a", hosts / "c"}))
    EXPECT_EQ(each.stood_by, each.name == "risk-a") << each.name;
}

TEST(Conservation, HoldsOverTheRestartOfAStrategy) {
  const Conservation conservation = StrategyStartedAgain().check();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
  EXPECT_THAT(to_text(conservation),
              HasSubstr("note    strategy 1 and oeg connected more than once"));
}

// oeg was killed: of refusals and reports nothing is kept, of the rest its journal.
TEST(Conservation, HoldsOverTheRestartOfOeg) {
  FiveSides run;
  run.strategy.orders->lost = 1;
  run.strategy.orders->sent += 1;
  run.oeg.resumed = true;
  run.oeg.orders = flow(8, 0, 8, 7, 1);
  run.oeg.reports->sent = 4;
  run.oeg.strategies = {{1, 1, 2, 4}};
  run.strategy.strategies = {{1, 2, 2, 4}};
  const Conservation conservation = run.check();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
}

TEST(Conservation, FindsTrueDifferencesOverRestarts) {
  const std::vector<std::pair<std::function<void(FiveSides&)>, std::string>> breaks{
      {[](FiveSides& run) { ++run.strategy.strategies[0].requests; },
       "channel: requests sent by strategy 1 = received by oeg"},
      {[](FiveSides& run) { --run.strategy.strategies[0].reports; },
       "channel: reports sent by oeg to strategy 1 = received by strategy"},
      {[](FiveSides& run) { ++run.strategy.orders->sent; }, "orders: sent by strategy = accepted"},
      {[](FiveSides& run) { ++run.sim.orders->received, ++run.sim.orders->accepted; },
       "orders: sent by oeg, with its own = received by sim"},
      {[](FiveSides& run) { ++run.sim.reports->fills; }, "fills: reported by sim"},
      {[](FiveSides& run) { run.strategy.positions[0].shares += 100; },
       "positions and cash: sim = strategy"},
      {[](FiveSides& run) { run.risk.positions.clear(); }, "positions and cash: sim = risk"},
  };
  for (const auto& [damage, told] : breaks) {
    StrategyStartedAgain run;
    damage(run);
    const Conservation conservation = run.check();
    const auto tells = [&rule = told](const auto& line) {
      return !line.holds && line.rule.starts_with(rule);
    };
    EXPECT_TRUE(std::any_of(conservation.lines.begin(), conservation.lines.end(), tells))
        << told << "\n"
        << to_text(conservation);
  }
}

// Started by hand, and its summary is somewhere else, or it runs still.
TEST(Conservation, IsNotShownWhereOegKnewAStrategyThatLeftNoSummary) {
  FiveSides run;
  run.oeg.strategies.push_back({7, 1, 3, 3, 3});
  run.oeg.orders->received += 3, run.oeg.orders->refused += 3;
  const Conservation conservation = run.check();
  EXPECT_EQ(conservation.missing, (std::vector<std::string>{"strategy id 7"}));
  for (const auto& line : conservation.lines) EXPECT_TRUE(line.holds) << line.rule;
}

TEST(Conservation, OfNothingIsNotShown) {
  const Conservation conservation = check_conservation({}, {});
  EXPECT_FALSE(conservation.holds());
  EXPECT_EQ(conservation.problem(), "conservation is not shown: nothing to check");
}

TEST(Conservation, EndsWithWhatIsMissingInTheBooksThoughTheRestFits) {
  const std::vector<std::tuple<Summary FiveSides::*, std::string, std::string>> losses{
      {&FiveSides::oeg, "exceptions_open", "oeg: reports of the venue that nobody has looked at"},
      {&FiveSides::oeg, "exceptions_unlisted", "oeg: reports of the venue that were to be listed"},
      {&FiveSides::oeg, "journal_lost", "oeg: changes that found the journal full"},
      {&FiveSides::sim, "recording_damage", "sim: damaged places of the recording"},
      {&FiveSides::sim, "conservation_broken", "sim: sums of its ledger that do not hold"},
  };
  for (const auto& [program, detail, told] : losses) {
    FiveSides run;
    (run.*program).details[detail] = 0;
    EXPECT_TRUE(run.check().holds());
    (run.*program).details[detail] = 1;
    EXPECT_THAT(run.check().problem(), HasSubstr("conservation is broken: " + told));
    EXPECT_THAT(in_one_line(to_text(run.check())), HasSubstr("BROKEN  " + told));
  }
}

TEST(Conservation, NotesWhatTheBooksRefused) {
  const std::vector<std::tuple<Summary FiveSides::*, std::string, std::string>> doubts{
      {&FiveSides::sim, "bad_messages", "sim: 7 messages of the recording were refused"},
      {&FiveSides::mdh, "book_refused", "mdh: 7 messages were refused by its books"},
      {&FiveSides::mdh, "malformed_messages", "mdh: 7 messages of the feed were malformed"},
      {&FiveSides::mdh, "bad_symbols", "mdh: 7 messages of the feed named a symbol"},
  };
  for (const auto& [program, detail, told] : doubts) {
    FiveSides run;
    (run.*program).details[detail] = 0;
    EXPECT_THAT(run.check().notes, testing::IsEmpty());
    (run.*program).details[detail] = 7;
    EXPECT_TRUE(run.check().holds());
    EXPECT_THAT(in_one_line(to_text(run.check())), HasSubstr("note    " + told));
  }
}

TEST(Conservation, NotesThatBooksWereCrossed) {
  FiveSides sides;
  EXPECT_THAT(to_text(sides.check()), testing::Not(HasSubstr("crossed")));
  sides.mdh.details = {{"book_crossed", 12}, {"book_crossed_ns", 1'500'000'000}};
  const Conservation result = sides.check();
  EXPECT_TRUE(result.holds());
  EXPECT_THAT(to_text(result),
              HasSubstr("note    mdh: books were crossed 12 times, 1.500 s of the feed's time"));
}

}  // namespace
}  // namespace tickpath::cli
