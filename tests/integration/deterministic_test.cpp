// `tickpath replay --deterministic`: the same input gives the same bytes.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "common/net/file_descriptor.hpp"
#include "tests/support/csv.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

// One run's outcome, by what it printed and left.
struct Outcome {
  Finished finished;
  std::string state;
  std::string orders;
  std::string inputs;
};

class Deterministic : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new PipelineFolder;
    recording_ = folder_->generate(20'000, 2);
    first_ = new Outcome(replay("first"));
  }
  static void TearDownTestSuite() {
    delete first_;
    delete folder_;
  }

  static std::vector<std::string> command(const std::string& name) {
    return {
        program("tickpath"), "replay",        "--deterministic", source("config/demo"),
        "--run-dir",         *folder_ / name, "--set",           "sim:replay.file=" + recording_};
  }

  static Outcome replay(const std::string& name, const std::vector<std::string>& more = {},
                        const std::string& file = {}) {
    std::vector<std::string> arguments = command(name);
    if (!file.empty()) arguments.insert(arguments.end(), {"--set", "sim:replay.file=" + file});
    arguments.insert(arguments.end(), more.begin(), more.end());
    Outcome outcome{.finished =
                        test_support::run(arguments, folder_->path(), test_support::kPatience)};
    EXPECT_EQ(outcome.finished.exit_code, 0) << outcome.finished.output;
    const std::string& output = outcome.finished.output;
    const std::size_t at = output.find("\nstate     ");
    if (at == std::string::npos) return outcome;
    outcome.state = output.substr(at + 11, 16);
    outcome.orders = read_file(*folder_ / (name + "/oeg.journal"));
    outcome.inputs = read_file(*folder_ / (name + "/sim.inputs"));
    return outcome;
  }

  static void expect_equal(const Outcome& run) {
    EXPECT_EQ(run.state, first_->state);
    EXPECT_FALSE(run.state.empty());
    // Not EXPECT_EQ: nobody wants to read 30 MB.
    EXPECT_TRUE(run.orders == first_->orders) << "the order journals differ";
    EXPECT_TRUE(run.inputs == first_->inputs) << "the journals of sim differ";
  }

  static Finished play(const std::string& name, const std::string& journal,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = command(name);
    arguments.insert(arguments.end(), {"--journal", journal});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, folder_->path(), test_support::kPatience);
  }

  static inline PipelineFolder* folder_ = nullptr;
  static inline std::string recording_;
  static inline Outcome* first_ = nullptr;
};

TEST_F(Deterministic, TradesAndConservesEverything) {
  const std::string& output = first_->finished.output;
  EXPECT_NE(output.find("everything is accounted for"), std::string::npos) << output;
  EXPECT_NE(output.find("result, in currency units"), std::string::npos) << output;
  const auto oeg = nlohmann::json::parse(read_file(*folder_ / "first/oeg.summary.json"));
  EXPECT_GE(oeg.at("orders").at("sent"), 50);
  EXPECT_GE(oeg.at("reports").at("fills"), 20);
  const auto mdh = nlohmann::json::parse(read_file(*folder_ / "first/mdh.summary.json"));
  EXPECT_EQ(mdh.at("feed_messages"), 20'000);
}

// Orders or fills of a strategy, as `tickpath orders` and `fills` list them, whose tick is a
// message of the feed from `first` to `last`.
std::size_t count_of_ticks(const std::string& csv, int strategy, std::uint64_t first,
                           std::uint64_t last) {
  std::size_t count = 0;
  for (const test_support::CsvRow& row : test_support::rows_of_csv(csv)) {
    const std::uint64_t tick = std::stoull(row.at("tick"));
    count += row.at("strategy") == std::to_string(strategy) && tick >= first && tick <= last;
  }
  return count;
}

// The number of the feed's message that begins the second day of a BinaryFILE: the second S 'O'.
std::uint64_t begin_of_second_day(const std::string& file) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(file.at(at)); };
  int days = 0;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < file.size(); at += 2u + byte(at) * 256u + byte(at + 1)) {
    ++number;
    if (file.at(at + 2) == 'S' && file.at(at + 13) == 'O' && ++days == 2) return number;
  }
  return 0;
}

// What each strategy held at the end, by "strategy symbol".
std::map<std::string, HeldPosition> held_of(const std::string& json, const char* rows,
                                            const char* shares) {
  std::map<std::string, HeldPosition> held;
  const auto parsed = nlohmann::json::parse(json);
  for (const nlohmann::json& row : parsed.at(rows)) {
    const HeldPosition position{row.at(shares).get<std::int64_t>(),
                                row.at("cash").get<std::int64_t>()};
    if (position == HeldPosition{0, 0}) continue;
    const bool inserted =
        held.emplace(row.at("strategy_id").dump() + " " + row.at("symbol").get<std::string>(),
                     position)
            .second;
    EXPECT_TRUE(inserted) << "two rows of " << row.dump();
  }
  return held;
}

TEST_F(Deterministic, ASecondDayTradesAndBothConserve) {
  const std::string file = *folder_ / "days.itch50";
  ASSERT_THAT(run({program("tickpath"), "generate", file, "--days", "2", "--messages", "40000",
                   "--symbols", "20", "--duration", "10"}),
              Ends(0));
  const std::uint64_t second = begin_of_second_day(read_file(file));
  ASSERT_GT(second, 10'000u);
  const Outcome one = replay("days1", {}, file);
  const Outcome two = replay("days2", {}, file);
  EXPECT_NE(one.finished.output.find("everything is accounted for"), std::string::npos)
      << one.finished.output;
  EXPECT_EQ(one.state, two.state);
  EXPECT_TRUE(one.orders == two.orders) << "the order journals differ";
  EXPECT_TRUE(one.inputs == two.inputs) << "the journals of sim differ";

  const auto listed = [&](const char* what) {
    return run({program("tickpath"), what, "--run-dir", *folder_ / "days1"}).output;
  };
  const std::string orders = listed("orders"), fills = listed("fills");
  const std::uint64_t middle = second + (40'000 - second) / 2;
  for (const int strategy : {1, 2}) {
    SCOPED_TRACE("strategy " + std::to_string(strategy));
    EXPECT_GE(count_of_ticks(orders, strategy, 1, second - 1), 10u);
    EXPECT_GE(count_of_ticks(orders, strategy, second, middle), 10u) << "early on the second day";
    EXPECT_GE(count_of_ticks(fills, strategy, 1, second - 1), 5u);
    EXPECT_GE(count_of_ticks(fills, strategy, second, 40'000), 5u);
  }
  const std::string ledger = read_file(*folder_ / "days1/sim.ledger.json");
  EXPECT_EQ(nlohmann::json::parse(ledger).at("conservation"), nlohmann::json::array());
  const auto held = held_of(ledger, "rows", "position_shares");
  EXPECT_GE(held.size(), 10u);
  EXPECT_EQ(held,
            held_of(read_file(*folder_ / "days1/strategy.summary.json"), "positions", "shares"));
}

// Two days of ten seconds, from mdh's count of days to the plugin.
TEST_F(Deterministic, TheMarketsClockGoesOnInAShortSecondDay) {
  const PipelineFolder own;
  const std::string file = own / "short.itch50";
  ASSERT_THAT(run({program("tickpath"), "generate", file, "--days", "2", "--messages", "4000",
                   "--symbols", "2", "--duration", "10"}),
              Ends(0));
  own.trade_only_by("market_seconds");
  const Finished finished =
      test_support::run({program("tickpath"), "replay", "--deterministic", own.config_dir(),
                         "--run-dir", own / "short", "--set", "sim:replay.file=" + file},
                        own.path(), kPatience);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  const std::string log = read_file(own / "short/lockstep.log");
  const std::size_t at = log.find(" seconds of the market");
  ASSERT_NE(at, std::string::npos) << log;
  const std::size_t begin = log.find_last_not_of("0123456789", at - 1) + 1;
  EXPECT_GE(std::stoi(log.substr(begin, at - begin)), 18) << "of twenty";
}

TEST_F(Deterministic, AConfigurationWithMulticastIsReplayedToTheSame) {
  expect_equal(replay("multicast", {"--set", "mdh:publish.mode=multicast"}));
}

// From the plugin through oeg's checks and FIX to the exchange and back.
TEST_F(Deterministic, AnOrderOfEveryTypeTradesAndImbalancesReachAStrategy) {
  const PipelineFolder own;
  own.trade_only_by("order_types", "[plugin.parameters]\nsymbol = \"ZAAA\"\n");
  const Finished run = test_support::run(
      {program("tickpath"), "replay", "--deterministic", own.config_dir(), "--run-dir",
       own / "types", "--set", "sim:replay.file=" + own.generate(60'000, 20, 5), "--set",
       "sim:matching.crosses=own"},
      own.path(), 2 * test_support::kPatience);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  std::string told = run.output;
  for (const auto& entry : std::filesystem::directory_iterator(own / "types"))
    if (entry.path().extension() == ".log") told += read_file(entry.path());
  for (const char* type :
       {"post-only", "fill-or-kill", "good-till-cancel", "stop", "stop-limit", "pegged", "reserve",
        "replaced stop", "minimum-quantity", "on-open", "on-close"})
    EXPECT_NE(told.find(std::string(type) + " traded"), std::string::npos) << type << "\n" << told;
  EXPECT_NE(told.find("imbalances 1"), std::string::npos);
  EXPECT_NE(run.output.find("everything is accounted for"), std::string::npos) << run.output;
}

TEST_F(Deterministic, APluginThatFailsFailsTheRun) {
  const PipelineFolder own;
  own.trade_only_by("throwing", "[plugin.parameters]\nwhere = \"book_change\"\n");
  EXPECT_THAT(
      test_support::run({program("tickpath"), "replay", "--deterministic", own.config_dir(),
                         "--run-dir", own / "failed", "--set", "sim:replay.file=" + recording_},
                        own.path(), test_support::kPatience),
      Ends(1, "the run failed:", "book_change failed"));
}

TEST_F(Deterministic, OnlyItsUserCanReadWhatItLeaves) {
  const auto mode = [](const std::string& path) {
    return std::filesystem::status(path).permissions() & std::filesystem::perms::all;
  };
  EXPECT_EQ(mode(*folder_ / "first"), std::filesystem::perms::owner_all);
  for (const char* file : {"first/sim.inputs", "first/oeg.journal", "first/lockstep.run"})
    EXPECT_EQ(mode(*folder_ / file) & ~std::filesystem::perms::owner_all,
              std::filesystem::perms::none)
        << file;
}

TEST_F(Deterministic, ADirectoryThatAnotherOneUsesIsLeftAlone) {
  const net::FileDescriptor other(
      ::open((*folder_ / "first/lockstep.run").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_THAT(test_support::run(command("first"), folder_->path(), test_support::kPatience),
              Ends(1, "another deterministic replay runs in"));
  EXPECT_TRUE(std::filesystem::exists(*folder_ / "first/sim.inputs"));
}

TEST_F(Deterministic, WhatItWouldNotRunIsRefused) {
  std::vector<std::string> arguments = command("pairs");
  arguments[3] = source("config/hot");
  EXPECT_THAT(test_support::run(arguments, folder_->path(), test_support::kPatience),
              Ends(2, "has more than one mdh"));
}

TEST_F(Deterministic, TwoRunsGiveTheSameBytes) { expect_equal(replay("second")); }

TEST_F(Deterministic, ABusyMachineChangesNothing) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (int i = 0; i < 4; ++i)
    load.emplace_back([&stop] {
      while (!stop.load()) std::this_thread::yield();
    });
  const Outcome run = replay("busy");
  stop.store(true);
  for (std::thread& thread : load) thread.join();
  expect_equal(run);
}

TEST_F(Deterministic, AnotherSeedOfAJitteringLineGivesAnotherRun) {
  const std::vector<std::string> jitter{"--set", "sim:feed.a.jitter=300us", "--seed"};
  const auto with_seed = [&](const std::string& name, const std::string& seed) {
    std::vector<std::string> more = jitter;
    more.push_back(seed);
    return replay(name, more);
  };
  const Outcome one = with_seed("seed1", "1");
  const Outcome same = with_seed("seed1b", "1");
  const Outcome two = with_seed("seed2", "2");
  EXPECT_EQ(one.state, same.state);
  EXPECT_TRUE(one.orders == same.orders);
  EXPECT_NE(one.state, two.state);
  EXPECT_FALSE(one.orders == two.orders);
  EXPECT_NE(one.state, first_->state);
}

TEST_F(Deterministic, LatenciesAtTheVenueChangeTheRunAndNotItsDeterminism) {
  const std::vector<std::string> slow{"--set", "sim:latency.market_data.model=lognormal",
                                      "--set", "sim:latency.market_data.delay=20us",
                                      "--set", "sim:latency.order_entry.model=normal",
                                      "--set", "sim:latency.order_entry.delay=50us",
                                      "--set", "sim:latency.order_entry.spread=20us",
                                      "--set", "sim:latency.reports.model=fixed",
                                      "--set", "sim:latency.reports.delay=30us"};
  const Outcome one = replay("slow1", slow);
  const Outcome same = replay("slow2", slow);
  EXPECT_EQ(one.state, same.state);
  EXPECT_TRUE(one.orders == same.orders);
  EXPECT_NE(one.state, first_->state);
  EXPECT_FALSE(one.orders == first_->orders);
  EXPECT_THAT(play("slow3", *folder_ / "slow1/sim.inputs", slow), Ends(0));
}

TEST_F(Deterministic, ARateLimitRefusesOrdersAndConservesEverything) {
  const Outcome run = replay("rate", {"--set", "sim:orders.rate_limit=3"});
  const auto sim = nlohmann::json::parse(read_file(*folder_ / "rate/sim.summary.json"));
  EXPECT_GT(sim.at("orders").at("rejected"), 0);
  EXPECT_NE(run.finished.output.find("everything is accounted for"), std::string::npos);
}

TEST_F(Deterministic, AJournalOfSimsInputsGivesTheSameOutputs) {
  EXPECT_THAT(play("journal", *folder_ / "first/sim.inputs"), Ends(0));
  EXPECT_TRUE(read_file(*folder_ / "journal/sim.inputs") == first_->inputs);
}

TEST_F(Deterministic, AJournalTellsWhereAnotherOutputBegins) {
  // Another quantity in the first order, under the old checksum: sim disregards it.
  std::string inputs = first_->inputs;
  const std::size_t order = inputs.find("\00135=D\001");
  ASSERT_NE(order, std::string::npos);
  const std::size_t quantity = inputs.find("\00138=", order);
  ASSERT_NE(quantity, std::string::npos);
  ++inputs[quantity + 4];
  const std::string path = *folder_ / "changed.inputs";
  write_file(path, inputs);
  EXPECT_THAT(play("changed", path), Ends(::testing::Ne(0), "not those of the journal"));
}

TEST_F(Deterministic, AJournalOfAnotherConfigurationIsRefused) {
  EXPECT_THAT(
      play("other", *folder_ / "first/sim.inputs", {"--set", "sim:matching.display_shares_min=7"}),
      Ends(::testing::Ne(0), "another configuration"));
}

TEST_F(Deterministic, ACutJournalSaysWhereItEnds) {
  const std::string path = *folder_ / "cut.inputs";
  write_file(path, first_->inputs.substr(0, first_->inputs.size() / 2));
  EXPECT_THAT(play("cut", path), Ends(::testing::Ne(0), "cut short at byte"));
}

TEST_F(Deterministic, ADirectoryOfSomebodyElseIsNotEmptied) {
  write_file(*folder_ / "precious.txt", "mine");
  std::vector<std::string> arguments = command(".");
  EXPECT_THAT(run(arguments, folder_->path(), test_support::kPatience),
              Ends(::testing::Ne(0), "not empty"));
  EXPECT_EQ(read_file(*folder_ / "precious.txt"), "mine");
}

TEST_F(Deterministic, WhatNeedsTheNetworkIsRefused) {
  std::vector<std::string> arguments = command("network");
  arguments.insert(arguments.end(), {"--set", "sim:feed.retransmission.listen=127.0.0.1:0"});
  EXPECT_THAT(run(arguments, folder_->path(), test_support::kPatience),
              Ends(::testing::Ne(0), "feed.retransmission.listen"));
  std::vector<std::string> shard = command("shard");
  shard.insert(shard.end(), {"--set", "mdh:feed.shard=1/2"});
  EXPECT_THAT(run(shard, folder_->path(), test_support::kPatience),
              Ends(::testing::Ne(0), "feed.shard"));
}

TEST_F(Deterministic, ARecordedHourOfLobsterIsTheSameTwice) {
  const std::string file = recording("lobster/AAPL_2012-06-21_message_50.csv.gz");
  if (file.empty()) GTEST_SKIP() << "no recordings: set TICKPATH_DATA";
  const std::vector<std::string> more{"--set", "sim:replay.max_idle=10ms", "--set",
                                      "sim:replay.to=09:40"};
  const Outcome one = replay("aapl1", more, file);
  const Outcome two = replay("aapl2", more, file);
  EXPECT_EQ(one.state, two.state);
  EXPECT_FALSE(one.state.empty());
  EXPECT_TRUE(one.orders == two.orders);
}

}  // namespace
}  // namespace tickpath::test_support
