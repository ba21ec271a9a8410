#include "tools/cli/conservation.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"

namespace tickpath::cli {
namespace {

using control::RequestFlow;
using control::Summary;
using ::testing::HasSubstr;

const std::vector<std::string> kAll{"sim", "mdh", "oeg", "risk", "strategy"};

RequestFlow flow(std::uint64_t received, std::uint64_t refused, std::uint64_t sent,
                 std::uint64_t accepted, std::uint64_t rejected) {
  return {received, refused, sent, accepted, rejected, 0};
}

// With the lines that go on below put behind those that they belong to.
std::string in_one_line(std::string text) {
  const std::string below = "\n          ";
  for (std::size_t at = 0; (at = text.find(below, at)) != std::string::npos;)
    text.replace(at, below.size(), " ");
  return text;
}

// A run in which everything fits: 10 orders, of which oeg refused 2 and the venue 1; 4 cancels.
struct FiveSides {
  Summary sim, mdh, oeg, risk, strategy;

  FiveSides() {
    const auto named = [](Summary& summary, const char* name) {
      summary.program = summary.name = name;
    };
    named(sim, "sim"), named(mdh, "mdh"), named(oeg, "oeg"), named(risk, "risk");
    named(strategy, "strategy");
    strategy.strategy_id = 1;
    strategy.orders = flow(0, 0, 10, 7, 3);
    oeg.orders = flow(10, 2, 8, 7, 1);
    sim.orders = flow(8, 0, 0, 7, 1);
    strategy.changes = flow(0, 0, 4, 3, 1);
    oeg.changes = flow(4, 0, 4, 3, 1);
    sim.changes = flow(4, 0, 0, 3, 1);
    sim.reports = control::ReportFlow{0, 20, 5, 0};
    oeg.reports = control::ReportFlow{20, 22, 5, 0};
    strategy.reports = control::ReportFlow{22, 0, 5, 0};
    oeg.strategies = {{1, 1, 14, 22}};
    strategy.strategies = {{1, 1, 14, 22}};
    for (Summary* summary : {&sim, &oeg, &risk, &strategy}) {
      summary->has_positions = true;
      summary->positions = {{1, "AAPL", 100, -5000, 3}, {1, "MSFT", 0, 70, 2}};
    }
    sim.positions.push_back({1, "IBM", 0, 0, 0});  // nothing ever happened
    mdh.ticks = {{"strategy", 1000, 0, 0}, {"risk", 900, 0, 0}, {"oeg", 950, 0, 0}};
    strategy.ticks = {{"", 1000, 990, 10}};
    risk.ticks = {{"", 0, 900, 0}};
    oeg.ticks = {{"", 950, 150, 800}};
    oeg.events = {{"risk", 50, 0, 0}};
    risk.events = {{"", 0, 50, 0}};
    sim.feed_messages = 1000;
    mdh.feed_messages = 998;
    mdh.feed_messages_missed = 2;
  }
  Conservation check(const std::vector<std::string>& expected = kAll) const {
    return check_conservation({sim, mdh, oeg, risk, strategy}, expected);
  }
};

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
      {[](FiveSides& run) { ++run.oeg.changes->rejected; }, "cancels, replacements: rejected"},
      {[](FiveSides& run) { ++run.sim.reports->sent; }, "reports: sent by sim = received by oeg"},
      {[](FiveSides& run) { ++run.strategy.reports->received; }, "reports: sent by oeg = received"},
      {[](FiveSides& run) { ++run.strategy.strategies[0].reports; },
       "channel: reports sent to strategy 1 = received by strategy"},
      {[](FiveSides& run) { --run.oeg.strategies[0].requests; },
       "channel: requests sent by strategy 1 = received by oeg"},
      {[](FiveSides& run) { --run.oeg.ticks[0].lapped; }, "ticks: published by mdh to oeg"},
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
  EXPECT_EQ(conservation.problem(), "conservation is broken");
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
  run.oeg.strategies.push_back({2, 1, 1, 1});
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
  std::vector<control::StrategyFlow> oeg2_strategies{{2, 1, 1, 1}};
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
    oeg.strategies = {{1, 2, 4, 6}};
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
  // Of two oegs each has a risk of its own.
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
       "channel: reports sent to strategy 1 = received by strategy"},
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
  run.oeg.strategies.push_back({7, 1, 3, 3});
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

// Two stacks and one strategy program: its summary holds a side of each.
struct TwoVenues {
  std::vector<FiveSides> venues{2};
  Summary strategy;

  TwoVenues() {
    strategy.program = strategy.name = "strategy";
    strategy.orders = flow(0, 0, 20, 14, 6);
    strategy.changes = flow(0, 0, 8, 6, 2);
    strategy.reports = control::ReportFlow{44, 0, 10, 0};
    strategy.has_positions = true;
    strategy.positions = {{1, "AAPL", 200, -10'000, 6}, {1, "MSFT", 0, 140, 4}};
    for (std::size_t i = 0; i < 2; ++i) {
      FiveSides& run = venues[i];
      for (Summary* each : {&run.sim, &run.mdh, &run.oeg, &run.risk}) {
        each->venue = static_cast<std::uint8_t>(i + 1);
        each->name += "-" + std::to_string(i + 1);
      }
      run.strategy.venue = static_cast<std::uint8_t>(i + 1);
      run.strategy.venue_name = i == 0 ? "first" : "second";
      run.mdh.ticks = {
          {"strategy", 1000, 0, 0}, {run.risk.name, 900, 0, 0}, {run.oeg.name, 950, 0, 0}};
      run.oeg.events = {{run.risk.name, 50, 0, 0}};
    }
  }
  Conservation check() const {
    std::vector<Summary> all{strategy};
    std::vector<std::string> expected{"strategy"};
    for (const FiveSides& run : venues) {
      all.front().venues.push_back(run.strategy);
      for (const Summary* each : {&run.sim, &run.mdh, &run.oeg, &run.risk}) {
        if (!each->name.empty()) all.push_back(*each);
        expected.push_back(each->program + "-" + std::to_string(&run - venues.data() + 1));
      }
    }
    return check_conservation(all, expected);
  }
};

TEST(Conservation, OfTwoVenuesHoldsAtEachAndOverBoth) {
  const Conservation conservation = TwoVenues().check();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
  const std::string text = in_one_line(to_text(conservation));
  for (const char* line : {"first: orders: sent by strategies = received by oeg",
                           "second: positions and cash: sim = strategy",
                           "orders of strategy = of its venues: 20 = 10 + 10",
                           "positions and cash by symbol: strategies = oegs of all venues"})
    EXPECT_THAT(text, HasSubstr(line));
}

// One risk over both, whose summary holds a side of each, and venues that take fees.
struct OneRiskOfTwoVenues : TwoVenues {
  OneRiskOfTwoVenues() {
    risk.program = risk.name = "risk";
    risk.has_positions = true;
    risk.positions = strategy.positions;
    for (FiveSides& run : venues) {
      run.risk.name = "risk";
      run.risk.venue_name = run.strategy.venue_name;
      run.mdh.ticks[1].peer = run.oeg.events[0].peer = "risk";
      run.sim.details = {{"fees_millionths.V.1", 700},
                         {"rebates_millionths.V.2", 200},
                         {"venue_fees_millionths", 500}};
    }
  }
  Conservation check_all() const {
    std::vector<Summary> all{strategy, risk};
    std::vector<std::string> expected{"strategy", "risk"};
    for (const FiveSides& run : venues) {
      all[0].venues.push_back(run.strategy);
      all[1].venues.push_back(run.risk);
      for (const Summary* each : {&run.sim, &run.mdh, &run.oeg}) {
        all.push_back(*each);
        expected.push_back(each->name);
      }
    }
    return check_conservation(all, expected);
  }
  Summary risk;
};

TEST(Conservation, OfOneRiskOverTwoVenuesHoldsAtEachAndOverBoth) {
  const Conservation conservation = OneRiskOfTwoVenues().check_all();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
  const std::string text = in_one_line(to_text(conservation));
  for (const char* line :
       {"first: positions and cash: sim = risk", "second: positions and cash: sim = risk",
        "second: ticks: published by mdh-2 to risk", "first: drop copy: published by oeg-1 to risk",
        "positions and cash by symbol: strategies = oegs of all venues",
        "positions and cash by symbol: strategies = risks of all venues",
        "positions and cash by symbol: strategies = sims of all venues",
        "fees, in millionths: paid by all parties = had by the venues: 500 + 500 = 500 + 500"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Conservation, OfOneRiskOverTwoVenuesFindsWhatIsWrongAtOneOrInTheSum) {
  const std::vector<std::pair<std::function<void(OneRiskOfTwoVenues&)>, std::string>> breaks{
      {[](OneRiskOfTwoVenues& run) { ++run.venues[1].risk.positions[0].cash; },
       "second: positions and cash: sim = risk"},
      {[](OneRiskOfTwoVenues& run) { ++run.risk.positions[0].shares; },
       "positions and cash by symbol: strategies = risks of all venues"},
      {[](OneRiskOfTwoVenues& run) { --run.venues[0].sim.positions[0].shares; },
       "positions and cash by symbol: strategies = sims of all venues"},
      {[](OneRiskOfTwoVenues& run) { --run.venues[1].risk.events[0].seen; },
       "second: drop copy: published by oeg-2 to risk"},
      // What one venue has too much, the other has too little.
      {[](OneRiskOfTwoVenues& run) {
         run.venues[0].sim.details["venue_fees_millionths"] += 5;
         run.venues[1].sim.details["venue_fees_millionths"] -= 5;
       },
       "fees, in millionths: paid by all parties = had by the venues"},
  };
  for (const auto& [damage, told] : breaks) {
    OneRiskOfTwoVenues run;
    damage(run);
    const Conservation conservation = run.check_all();
    EXPECT_FALSE(conservation.holds()) << told;
    EXPECT_THAT(in_one_line(to_text(conservation)), HasSubstr("BROKEN  " + told));
  }
}

TEST(Conservation, OfAVenueIsEachProgramsSideThere) {
  OneRiskOfTwoVenues run;
  run.risk.venues = {run.venues[0].risk, run.venues[1].risk};
  run.risk.venues[1].positions[0].shares = 7;
  const std::vector<Summary> own = of_venue({run.risk, run.venues[0].oeg, run.venues[1].oeg}, 2);
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].positions[0].shares, 7);
  EXPECT_EQ(own[1].name, "oeg-2");
}

TEST(Conservation, OfTwoVenuesFindsWhatIsWrongAtOneOrInTheirSum) {
  const std::vector<std::pair<std::function<void(TwoVenues&)>, std::string>> breaks{
      {[](TwoVenues& run) { ++run.venues[1].sim.orders->received; },
       "second: orders: sent by oeg, with its own = received by sim"},
      {[](TwoVenues& run) { run.venues[0].risk.positions[0].shares = 1; },
       "first: positions and cash: sim = risk"},
      // What one venue has too much, the other has too little: the sum is right, and nothing else.
      {[](TwoVenues& run) {
         run.venues[0].strategy.positions[0].shares += 5;
         run.venues[1].strategy.positions[0].shares -= 5;
       },
       "first: positions and cash: sim = strategy"},
      {[](TwoVenues& run) { ++run.strategy.orders->sent; }, "orders of strategy = of its venues"},
      {[](TwoVenues& run) { run.strategy.positions[1].cash += 1; },
       "positions and cash by symbol: strategies = oegs of all venues"},
      {[](TwoVenues& run) { run.venues[1].oeg.venue = 0; }, "venue of oeg-2"},
      {[](TwoVenues& run) { --run.venues[1].strategy.ticks[0].seen; },
       "second: ticks: published by mdh-2 to strategy"},
  };
  for (const auto& [damage, told] : breaks) {
    TwoVenues run;
    damage(run);
    const Conservation conservation = run.check();
    EXPECT_FALSE(conservation.holds()) << told;
    EXPECT_THAT(in_one_line(to_text(conservation)), HasSubstr("BROKEN  " + told));
  }
}

// One venue, its symbols shared by two mdh's, oegs and risks: a strategy has a ring and a channel
// to each.
struct TwoShards {
  FiveSides whole;
  Summary mdh, oeg, risk;  // of the second shard; the first one's are `whole`'s

  TwoShards() : mdh(whole.mdh), oeg(whole.oeg), risk(whole.risk) {
    for (Summary* each : {&mdh, &oeg, &risk}) each->name += "-2";
    whole.oeg.details["shard"] = 1;
    oeg.details["shard"] = 2;
    for (Summary* each : {&whole.strategy, &whole.sim}) {
      for (RequestFlow* flow : {&*each->orders, &*each->changes})
        for (const auto count : {&RequestFlow::received, &RequestFlow::sent, &RequestFlow::accepted,
                                 &RequestFlow::rejected})
          flow->*count *= 2;
      each->reports->received *= 2;
      each->reports->sent *= 2;
      each->reports->fills *= 2;
      for (control::PositionSummary of_second : std::vector(each->positions)) {
        of_second.symbol += ".2";
        each->positions.push_back(of_second);
      }
    }
    for (Summary* each : {&oeg, &risk})
      for (control::PositionSummary& row : each->positions) row.symbol += ".2";
    whole.strategy.strategies.push_back({1, 1, 14, 22});
    whole.strategy.ticks.push_back({"", 1000, 700, 300});
    mdh.ticks = {{"strategy", 1000, 0, 0}, {"risk-2", 900, 0, 0}, {"oeg-2", 950, 0, 0}};
    oeg.events = {{"risk-2", 50, 0, 0}};
  }
  Conservation check() const {
    return check_conservation(
        {whole.sim, whole.mdh, mdh, whole.oeg, oeg, whole.risk, risk, whole.strategy},
        {"sim", "mdh", "mdh-2", "oeg", "oeg-2", "risk", "risk-2", "strategy"});
  }
};

TEST(Conservation, OfTwoShardsHoldsOverTheirSums) {
  const Conservation conservation = TwoShards().check();
  EXPECT_TRUE(conservation.holds()) << to_text(conservation);
  const std::string text = in_one_line(to_text(conservation));
  for (const char* line : {"channel: requests sent by strategy 1 = received by oeg: 28 = 28",
                           "ticks: published by mdh to strategy = seen + lapped: 2000 = 1690 + 310",
                           "feed: messages sent by sim = taken by mdh-2 + counted as missed"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Conservation, OfTwoShardsFindsWhatIsWrongInOne) {
  const std::vector<std::pair<std::function<void(TwoShards&)>, std::string>> breaks{
      {[](TwoShards& run) { --run.whole.strategy.ticks[1].seen; },
       "ticks: published by mdh to strategy"},
      {[](TwoShards& run) { ++run.oeg.strategies[0].requests; },
       "channel: requests sent by strategy 1"},
      {[](TwoShards& run) { run.risk.positions[0].shares = 1; }, "positions and cash: sim = risk"},
      {[](TwoShards& run) { --run.mdh.feed_messages; },
       "feed: messages sent by sim = taken by mdh-2"},
      {[](TwoShards& run) { --run.oeg.orders->received; }, "orders: sent by strategies = received"},
  };
  for (const auto& [damage, told] : breaks) {
    TwoShards run;
    damage(run);
    const Conservation conservation = run.check();
    EXPECT_FALSE(conservation.holds()) << told;
    EXPECT_THAT(in_one_line(to_text(conservation)), HasSubstr("BROKEN  " + told));
  }
}

// A pair in each shard: each has a leader of its own.
TEST(Conservation, OfThePairOfEachShardTheOneThatLedLastCounts) {
  const TwoShards run;
  std::vector<Summary> all;
  for (const auto& [leader, epoch] : {std::pair(&run.whole.oeg, 2), std::pair(&run.oeg, 7)})
    for (const int before : {1, 0}) {
      all.push_back(*leader);
      all.back().details["pair_epoch"] = static_cast<std::uint64_t>(epoch - before);
    }
  settle_pairs(all);
  EXPECT_TRUE(all[0].stood_by && all[2].stood_by);
  EXPECT_FALSE(all[1].stood_by || all[3].stood_by);
}

TEST(Conservation, OfTwoVenuesIsNotShownWhereAProgramOfOneLeftNothing) {
  TwoVenues run;
  run.venues[1].risk.name.clear();
  const Conservation conservation = run.check();
  EXPECT_EQ(conservation.missing, (std::vector<std::string>{"risk-2"}));
  EXPECT_FALSE(conservation.holds());
  for (const auto& line : conservation.lines) EXPECT_TRUE(line.holds) << line.rule;
}

TEST(Conservation, TheSummariesOfVenuesSurviveTheFile) {
  Summary strategy = TwoVenues().strategy;
  strategy.venues.push_back(TwoVenues().venues[1].strategy);
  const Summary read = control::summary_from_json(control::to_json(strategy));
  ASSERT_EQ(read.venues.size(), 1u);
  EXPECT_EQ(read.venues[0].venue, 2);
  EXPECT_EQ(read.venues[0].venue_name, "second");
  EXPECT_EQ(read.venues[0].positions.size(), 2u);
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
