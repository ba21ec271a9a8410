// Conservation over several venues, and over the shards of one.
#include <algorithm>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"
#include "tests/unit/cli/five_sides.hpp"
#include "tools/cli/conservation.hpp"

namespace tickpath::cli {
namespace {

using control::RequestFlow;
using control::Summary;
using ::testing::HasSubstr;

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

// Two mdhs share a feed of 100 messages, of which 10 name no symbol.
TEST(Conservation, FindsSymbolsThatNoShardHasTaken) {
  FiveSides run;
  run.sim.feed_messages = 100;
  run.mdh.feed_messages = 100, run.mdh.feed_messages_missed = 0;
  run.mdh.details = {{"shard", 1}, {"shards", 2}, {"other_shards", 30}, {"of_no_symbol", 10}};
  Summary second = run.mdh;
  second.name = "mdh-2";
  second.ticks.clear();
  second.details["shard"] = 2;
  second.details["other_shards"] = 60;
  const auto check = [&] {
    return check_conservation({run.sim, run.mdh, second, run.oeg, run.risk, run.strategy}, {});
  };
  EXPECT_TRUE(check().holds()) << to_text(check());
  second.details["other_shards"] = 61;
  EXPECT_THAT(in_one_line(to_text(check())),
              HasSubstr("BROKEN  feed: messages taken by all shards together = sent: 99 of 100"));
  // Before a symbol is known both may have taken its message.
  second.details["other_shards"] = 58;
  EXPECT_THAT(in_one_line(to_text(check())),
              HasSubstr("note    feed: 2 messages were taken by more than one shard"));
  EXPECT_TRUE(check().holds());
  second.details["shard"] = 1;
  EXPECT_THAT(in_one_line(to_text(check())),
              HasSubstr("BROKEN  feed: shard 2/2 of it: no mdh has kept its books"));
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
  for (const char* line :
       {"channel: requests sent by strategy 1 = received by oeg: 28 = 28",
        "ticks: published by mdh to strategy = seen + overrun: 2000 = 1690 + 310",
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

}  // namespace
}  // namespace tickpath::cli
