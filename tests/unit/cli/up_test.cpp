// `tickpath up`, `down` and `status` over programs that stand in for the real ones.
#include <algorithm>
#include <csignal>

#include <nlohmann/json.hpp>

#include "tests/unit/cli/up_fixture.hpp"

namespace tickpath::test_support {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST_F(Up, StartsInOrderReplaysAndStopsInOrder) {
  configure("strategy", "drain = 50");
  const Finished finished = up();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(diary("starts"), ElementsAre("sim", "mdh", "oeg", "risk", "strategy"));
  EXPECT_THAT(diary("replays"), ElementsAre("sim"));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh", "sim"));
  EXPECT_THAT(finished.output, HasSubstr("replay ended"));
  EXPECT_THAT(finished.output, HasSubstr("everything is accounted for"));
}

TEST_F(Up, DetachReturnsOnceAllAreReadyAndTheRunGoesOnUntilItIsStopped) {
  configure("sim", "replay = 60000");
  EXPECT_THAT(up({"--detach"}), Ends(0, "strategy   ready"));
  EXPECT_THAT(diary("stopped"), ElementsAre());
  EXPECT_THAT(tickpath({"down"}), Ends(0));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh", "sim"));
  EXPECT_THAT(read_file(folder_ / "run/up.log"), Not(HasSubstr("the run goes on")));
}

TEST_F(Up, DetachTellsWhatDidNotComeUp) {
  configure("mdh", "ready_after = -1");
  EXPECT_THAT(up({"--detach", "--ready-timeout", "3"}), Ends(1, "mdh is not ready after"));
  EXPECT_THAT(diary("stopped"), ElementsAre("mdh", "sim"));
}

TEST_F(Up, RunsSeveralStrategiesAndSetsKeysOfOne) {
  configure("strategy-2", "drain = 60000");
  EXPECT_THAT(up({"--set", "strategy-2:drain=1", "--set", "log.level=debug"}), Ends(0));
  EXPECT_THAT(diary("stopped"), IsSupersetOf({"strategy", "strategy-2"}));
}

TEST_F(Up, AProgramThatIsNotReadyInTimeIsToldWithItsReasonAndLogAndAllIsStopped) {
  configure("mdh", "ready_after = -1");
  EXPECT_THAT(up({"--ready-timeout", "3"}),
              Ends(1, "mdh is not ready after", "waiting for Godot", "log: run/mdh.log"));
  EXPECT_THAT(diary("starts"), ElementsAre("sim", "mdh"));
  EXPECT_THAT(diary("stopped"), ElementsAre("mdh", "sim"));
}

TEST_F(Up, AProgramThatDiesBeforeItIsReadyIsTold) {
  configure("oeg", "ready_after = -1\ndie_after = 1");
  EXPECT_THAT(up(), Ends(1, "oeg killed by signal 9 (Killed) before it was ready"));
}

TEST_F(Up, ADeathInTheMiddleStopsTheRestInOrder) {
  configure("sim", "replay = 60000");
  configure("risk", "die_in_replay = 100");
  EXPECT_THAT(up(), Ends(1, "risk killed by signal 9", "MISSING risk left no summary"));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "mdh", "sim"));
}

TEST_F(Up, ADeathInTheMiddleLetsTheRestGoOnIfSoAsked) {
  configure("sim", "replay = 1500");
  configure("strategy", "die_in_replay = 100");
  EXPECT_THAT(up({"--on-failure", "continue"}),
              Ends(1, "strategy killed by signal 9", "replay ended"));
  EXPECT_THAT(diary("stopped"), ElementsAre("oeg", "risk", "mdh", "sim"));
}

TEST_F(Up, AProgramThatDiesIsStartedAgainIfSoAskedAndTheRunGoesOn) {
  configure("sim", "replay = 4000");
  configure("strategy", "die_in_replay = 500");
  const Finished finished = up({"--on-failure", "restart"});
  EXPECT_THAT(finished.output,
              HasSubstr("strategy killed by signal 9 (Killed), is started again in "));
  EXPECT_THAT(finished.output, HasSubstr("strategy is ready again (process "));
  EXPECT_THAT(finished.output, HasSubstr("replay ended"));
  EXPECT_GE(std::ranges::count(diary("starts"), "strategy"), 2);
  EXPECT_EQ(std::ranges::count(diary("starts"), "oeg"), 1);
}

TEST_F(Up, AnExchangeThatDiesEndsTheRunAlsoWhereOthersWouldBeStartedAgain) {
  configure("sim", "replay = 60000\ndie_in_replay = 200");
  EXPECT_THAT(up({"--on-failure", "restart"}), Ends(1));
  EXPECT_EQ(std::ranges::count(diary("starts"), "sim"), 1);
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh"));
}

// The person who asked is told what is open.
TEST_F(Up, AProgramThatIsAskedToStopIsNotStartedAgainWhateverItsEnd) {
  configure("sim", "replay = 60000");
  configure("strategy-2", "drain = -1");
  Process process(
      command({"--on-failure", "restart", "--set", "strategy-2:datapath.stop_timeout=50ms"}),
      folder_.path());
  ASSERT_TRUE(process.wait_for_output("strategy-2 ready", kPatience)) << process.output();
  EXPECT_THAT(tickpath({"down", "--only", "strategy-2"}),
              Ends(1, "strategy-2: not settled within datapath.stop_timeout: still thinking"));
  ASSERT_TRUE(process.wait_for_output("strategy-2 exited with 1", kPatience)) << process.output();
  process.signal(SIGINT);
  EXPECT_THAT(process.wait(), Ends(1, "it was asked to stop, and is not started again"));
  EXPECT_EQ(std::ranges::count(diary("starts"), "strategy-2"), 1);
}

TEST_F(Up, OfTwoInOneRunDirectoryOneGoesOnAndTheOtherOneTouchesNothing) {
  Process first(command({"--no-replay"}), folder_.path());
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder_ / "run/up.lock"); }));
  EXPECT_THAT(up({"--no-replay"}), Ends(1, "`tickpath up` already runs in 'run' as process " +
                                               std::to_string(first.id())));
  ASSERT_TRUE(first.wait_for_output("up; Ctrl-C", kPatience)) << first.output();
  EXPECT_THAT(diary("stops"), ElementsAre());
  first.signal(SIGINT);
  EXPECT_THAT(first.wait(), Ends(0, "everything is accounted for"));
}

TEST_F(Up, ATerminalThatIsGoneStopsAllInOrder) {
  configure("sim", "replay = 60000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));
  process.signal(SIGHUP);
  EXPECT_THAT(process.wait(), Ends(0, "everything is accounted for"));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh", "sim"));
}

TEST_F(Up, RunsUnderAShellThatIgnoresTheEndOfChildren) {
  std::vector<std::string> arguments{"/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"};
  for (const std::string& word : command()) arguments.push_back(word);
  EXPECT_THAT(run(arguments, folder_.path(), 60s), Ends(0, "everything is accounted for"));
}

TEST_F(Up, DownSaysHowTheRunInTheBackgroundHasEnded) {
  configure("sim", "replay = 60000");
  configure("strategy", "lost_orders = 3");
  EXPECT_THAT(up({"--detach"}), Ends(0));
  EXPECT_THAT(tickpath({"down"}), Ends(1, "the run failed", "conservation is broken"));
}

TEST_F(Up, WhatIsDeadWhenDownComesIsNotStartedAgainInTheMiddleOfIt) {
  configure("sim", "replay = 60000");
  EXPECT_THAT(up({"--detach", "--on-failure", "restart"}), Ends(0));
  ASSERT_EQ(::kill(std::atoi(read_file(folder_ / "run/mdh.pid").c_str()), SIGKILL), 0);
  EXPECT_THAT(tickpath({"down"}), Ends(1, "the run failed", "mdh killed by signal 9"));
  EXPECT_EQ(std::ranges::count(diary("starts"), "mdh"), 1);
}

TEST_F(Up, DownSaysWhatHadNotSettledWhereNobodyElseWould) {
  Process mdh({folder_ / "bin/mdh", "config/mdh.toml", "--run-dir", "run", "--set", "drain=-1",
               "--set", "datapath.stop_timeout=50ms"},
              folder_.path());
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder_ / "run/mdh.admin"); }));
  EXPECT_THAT(tickpath({"down"}), Ends(1, "stopped, but not all in order", "mdh: not settled"));
  EXPECT_EQ(mdh.wait().exit_code, 1);
}

TEST_F(Up, BrokenConservationFails) {
  configure("strategy", "lost_orders = 3");
  EXPECT_THAT(up(),
              Ends(1, "BROKEN  orders: sent by strategy = accepted + rejected: 3 is not 0 + 0",
                   "conservation is broken"));
}

TEST_F(Up, APluginThatCannotBeUsedIsToldAtOnceAndFailsTheRun) {
  configure("strategy", "problem = \"plugin momentum: no such parameter\"");
  EXPECT_THAT(up(), Ends(1, "strategy: strategy 1 is unusable: plugin momentum: no such parameter",
                         "everything is accounted for",
                         "the run failed:\n  strategy: plugin momentum: no such"));
}

// strategy2, strategy-b and risk_2 are programs, notes.toml is none.
TEST_F(Up, EveryFileNamedAfterAProgramIsAnInstanceOfIt) {
  for (const char* name : {"strategy2", "strategy-b", "risk_2", "strategical"}) configure(name);
  const Finished finished = up();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(diary("starts"), ElementsAre("sim", "mdh", "oeg", "risk", "risk_2", "strategy",
                                           "strategy-b", "strategy2"));
  EXPECT_THAT(finished.output, HasSubstr("config/strategical.toml is left out"));
}

// One that was started by hand in the run directory of `up` belongs to its end, and to its books.
TEST_F(Up, StopsAStrategyStartedBesideItBeforeWhatThatNeeds) {
  configure("sim", "replay = 60000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));
  std::filesystem::create_directory(folder_ / "elsewhere");
  write_file(folder_ / "elsewhere/mine.toml",
             "name = \"mine\"\nlost_orders = 4\n[datapath]\nwait = \"park\"\n[trace]\ncapacity = "
             "1024\n");
  Process mine({folder_ / "bin/strategy", "elsewhere/mine.toml", "--run-dir", "run"},
               folder_.path());
  const auto runs = [&] { return tickpath({"status"}).output.find("mine") != std::string::npos; };
  for (int look = 0; look < 600 && !runs(); ++look) ::usleep(100'000);
  process.signal(SIGINT);
  const Finished finished = process.wait();
  EXPECT_THAT(finished.output, HasSubstr("BROKEN  orders: sent by mine = accepted + rejected"));
  EXPECT_EQ(mine.wait().exit_code, 0);
  const std::vector<std::string> stopped = diary("stopped");
  const auto at = [&](const char* name) { return std::ranges::find(stopped, name); };
  EXPECT_LT(at("mine"), at("oeg"));
}

TEST_F(Up, AStrategyIsTakenOutOfARunningPipelineAndPutBack) {
  configure("sim", "replay = 60000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));
  EXPECT_EQ(tickpath({"down", "--only", "strategy"}).exit_code, 0);
  ASSERT_TRUE(process.wait_for_output("the run goes on: tickpath up config --only strategy",
                                      test_support::kPatience))
      << process.output();
  Process again(command({"--only", "strategy"}), folder_.path());
  ASSERT_TRUE(all_ready(again));
  process.signal(SIGINT);
  EXPECT_THAT(process.wait(), Ends(0));
  EXPECT_EQ(again.wait().exit_code, 0) << again.output();
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "strategy", "oeg", "risk", "mdh", "sim"));
}

TEST_F(Up, WrongConfigurationsAreToldTogetherAndNothingStarts) {
  configure("sim", "raedy_after = 1");
  configure("oeg", "drain = \"x\"");
  EXPECT_THAT(up(), Ends(2,
                         "config/sim.toml:1: raedy_after: unknown key; did you mean "
                         "'ready_after'?",
                         "config/oeg.toml:1: drain: found \"x\""));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/diary"));
}

TEST_F(Up, AnOverrideForNobodyIsRefused) {
  EXPECT_THAT(up({"--set", "mhd:drain=1"}), Ends(2, "--set mhd:drain=1: no program of that name"));
}

TEST_F(Up, AnEmptyDirectoryIsRefused) {
  EXPECT_EQ(tickpath({"up", "bin"}).exit_code, 2);
  EXPECT_EQ(tickpath({"up", "nowhere"}).exit_code, 1);
}

TEST_F(Up, AnInterruptStopsAllInOrder) {
  configure("sim", "replay = 60000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));
  process.signal(SIGINT);
  EXPECT_THAT(process.wait(), Ends(0));
  EXPECT_THAT(diary("halts"), ElementsAre("sim"));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh", "sim"));
}

TEST_F(Up, AnInterruptBeforeAllAreReadyStopsWhatRuns) {
  configure("oeg", "ready_after = -1");
  Process process(command(), folder_.path());
  ASSERT_TRUE(process.wait_for_output("mdh        ready", test_support::kPatience))
      << process.output();
  // Before it has a handler, the signal that stops oeg would be its end.
  ASSERT_TRUE(test_support::wait_until([&] { return diary("starts").size() >= 3; }))
      << process.output();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 1);
  EXPECT_THAT(diary("stopped"), ElementsAre("oeg", "mdh", "sim"));
}

TEST_F(Up, AProgramThatDoesNotStopIsKilledAndTold) {
  configure("mdh", "drain = -1");
  EXPECT_THAT(up({"--stop-timeout", "0.5", "--set", "mdh:datapath.stop_timeout=1min"}),
              Ends(1, "mdh did not stop within"));
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "sim"));
}

TEST_F(Up, StatusShowsThemAndDownStopsThemFromOutside) {
  configure("sim", "replay = 60000");
  // Meanwhile `up` notices the end of strategy, and asks oeg to end that is nearly gone.
  configure("oeg", "linger = 1000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));

  const Finished table = tickpath({"status"});
  EXPECT_EQ(table.exit_code, 0);
  for (const char* name : {"sim", "mdh", "oeg", "risk", "strategy"})
    EXPECT_THAT(table.output, HasSubstr(name));
  const auto json = nlohmann::json::parse(tickpath({"status", "--json"}).output);
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[0]["program"], "strategy");
  EXPECT_EQ(json[0]["state"], "ready");

  EXPECT_THAT(up(), Ends(1, "already runs in 'run'"));

  EXPECT_EQ(tickpath({"down"}).exit_code, 0);
  EXPECT_THAT(diary("stopped"), ElementsAre("strategy", "oeg", "risk", "mdh", "sim"));
  EXPECT_THAT(process.wait(), Ends(0));
  EXPECT_EQ(tickpath({"status"}).exit_code, 1);
  EXPECT_THAT(tickpath({"down"}).output, HasSubstr("nothing runs in 'run'"));
}

// Two hosts, played by two run directories: what `tickpath up` does on each, from start to books.
TEST_F(Up, StopsAcrossHostsProgramAfterProgramAndChecksTheBooksOfAll) {
  const auto here = [&](const std::string& run_dir, std::vector<std::string> programs) {
    std::vector<std::string> arguments{"--run-dir", run_dir, "--no-replay", "--only"};
    arguments.insert(arguments.end(), programs.begin(), programs.end());
    return command(arguments);
  };
  std::vector<std::string> market = here("run1", {"sim", "mdh", "strategy"});
  std::erase(market, "--until-end");
  std::vector<std::string> orders = here("run2", {"oeg", "risk"});
  Process first(market, folder_.path());
  Process second(orders, folder_.path());
  ASSERT_TRUE(first.wait_for_output("up; Ctrl-C", test_support::kPatience)) << first.output();
  ASSERT_TRUE(second.wait_for_output("up; Ctrl-C", test_support::kPatience)) << second.output();

  EXPECT_THAT(tickpath({"replay", "--run-dir", "run1"}), Ends(0, "replay ended"));
  EXPECT_EQ(tickpath({"down", "--run-dir", "run1", "--only", "strategy"}).exit_code, 0);
  EXPECT_EQ(tickpath({"down", "--run-dir", "run2"}).exit_code, 0);
  EXPECT_EQ(second.wait().exit_code, 0) << second.output();
  const auto json =
      nlohmann::json::parse(tickpath({"status", "--run-dir", "run1", "--json"}).output);
  EXPECT_EQ(json.size(), 2u) << "the orderly end of the strategy ended others of its host";
  EXPECT_EQ(tickpath({"down", "--run-dir", "run1"}).exit_code, 0);
  EXPECT_EQ(first.wait().exit_code, 0) << first.output();

  EXPECT_THAT(tickpath({"books", "run1", "run2"}), Ends(0, "everything is accounted for"));
  EXPECT_THAT(tickpath({"books", "run1"}), Ends(1, "MISSING oeg"));
  EXPECT_EQ(tickpath({"books", "run1", "run1"}).exit_code, 1);
  EXPECT_EQ(tickpath({"books", "run3"}).exit_code, 1);
}

// An oeg may be one of a pair, whose other one runs elsewhere: it is not ready without its witness.
TEST_F(Up, StartsRiskBesideAnOegOfAPartThatIsNotReadyYet) {
  configure("oeg", "ready_after = -1");
  EXPECT_THAT(up({"--ready-timeout", "2", "--only", "oeg", "risk"}),
              Ends(1, "oeg is not ready after 2 s"));
  EXPECT_THAT(diary("starts"), UnorderedElementsAre("oeg", "risk"));
}

TEST_F(Up, DownOfAProgramThatDoesNotRunIsRefused) {
  configure("sim", "replay = 60000");
  Process process(command(), folder_.path());
  ASSERT_TRUE(all_ready(process));
  EXPECT_THAT(tickpath({"down", "--only", "sim-2"}), Ends(1, "'sim-2' does not run in 'run'"));
  EXPECT_EQ(tickpath({"down"}).exit_code, 0);
}

TEST_F(Up, LeavesNothingOfAnEarlierRun) {
  std::filesystem::create_directory(folder_ / "run");
  write_file(folder_ / "run/other.trace", "old");
  write_file(folder_ / "run/sim.summary.json", "old");
  EXPECT_EQ(up().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/other.trace"));
}

}  // namespace
}  // namespace tickpath::test_support
