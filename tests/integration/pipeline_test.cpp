// The five programs together, as `tickpath up` runs them.
#include "tests/support/pipeline.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/control/admin_client.hpp"
#include "common/trace/analysis.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

// Most replays are as long as this. Sanitized programs do less in a second.
constexpr std::uint64_t kMessages = kSanitized ? 60'000 : 30'000;
constexpr double kSeconds = kMessages / 10'000.0;
// Some hundreds where nothing runs beside. A busy machine sees fewer ticks in time.
constexpr std::uint64_t kOrdersAtLeast = 20;

trace::Analysis analyse_run(const PipelineFolder& folder) {
  std::vector<trace::TraceFile> files;
  for (const char* name : {"sim", "mdh", "strategy", "oeg"}) {
    files.emplace_back(folder.run_dir() + "/" + name + ".trace");
  }
  return trace::analyse(files);
}

TEST(Pipeline, TradesAGeneratedRecordingAndConservesEverything) {
  const PipelineFolder folder;
  const Finished up = folder.run_up(folder.generate(kMessages, kSeconds));
  ASSERT_EQ(up.exit_code, 0) << up.output;
  const trace::Analysis analysis = analyse_run(folder);
  EXPECT_GE(analysis.orders_complete, kOrdersAtLeast);
  EXPECT_TRUE(analysis.missing.empty())
      << "first missing hop " << trace::info(analysis.missing.front().first).name;
  EXPECT_GE(analysis.ticks, kMessages);
  const json sim = json::parse(folder.summary("sim"));
  const json mdh = json::parse(folder.summary("mdh"));
  EXPECT_EQ(sim.at("feed_messages"), kMessages);
  EXPECT_EQ(mdh.at("feed_messages"), kMessages);
  EXPECT_EQ(mdh.at("feed_messages_missed"), 0);
}

// In another run directory, while the first one runs.
TEST(Pipeline, ASecondRunOfTheConfigurationTakesOtherPorts) {
  const PipelineFolder folder;
  const std::string recording = folder.generate(kMessages, kSeconds);
  const auto beside = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = folder.up(recording, more);
    std::ranges::replace(arguments, folder.run_dir(), folder / "beside");
    return run(arguments, folder.path(), kPatience);
  };
  Process first(folder.up(recording, {"--no-replay"}), folder.path());
  ASSERT_TRUE(first.wait_for_output("up; Ctrl-C", kPatience)) << first.output();
  const Finished clash = beside({});
  EXPECT_THAT(clash, Ends(1, "other programs have ports of this run", "sim.toml: feed.source is ",
                          "sim.toml: feed.snapshot.listen is ",
                          "sim.toml: orders.session.0.listen is ", "--port-offset"));
  EXPECT_EQ(clash.output.find("sim        ready"), std::string::npos) << clash.output;
  EXPECT_THAT(beside({"--port-offset", "101"}), Ends(0, "everything is accounted for"));
  first.signal(SIGINT);
  EXPECT_THAT(first.wait(kPatience), Ends(0, "everything is accounted for"));
}

void speak_fix44(const PipelineFolder& folder) {
  for (const char* program : {"sim", "oeg"})
    folder.edit(program, "version = \"4.2\"", "version = \"4.4\"");
}

TEST(PipelineVariants, TradesTheSameOverFix44AndWhileOrdersAreRestated) {
  const PipelineFolder folder;
  speak_fix44(folder);
  folder.edit("sim", "self_match = \"cancel_newest\"", "self_match = \"decrement\"");
  const Finished up = folder.run_up(folder.generate(kMessages, kSeconds));
  ASSERT_EQ(up.exit_code, 0) << up.output;
  EXPECT_GE(analyse_run(folder).orders_complete, kOrdersAtLeast);
  EXPECT_EQ(folder.positions("sim"), folder.positions("oeg"));
  EXPECT_FALSE(folder.positions("oeg").empty());
}

// Every program tells of itself: "pid program allocations session violations watched".
void expect_all_guarded(const std::string& report) {
  std::set<std::string> guarded;
  std::istringstream lines(read_file(report));
  std::uint64_t pid = 0, allocations = 0, session = 0, violations = 0, watched = 0;
  for (std::string name; lines >> pid >> name >> allocations >> session >> violations >> watched;) {
    EXPECT_EQ(violations, 0u) << name;
    EXPECT_EQ(watched, 1u) << name << ": does this kernel take seccomp filters?";
    guarded.insert(name);
  }
  EXPECT_EQ(guarded, (std::set<std::string>{"sim", "mdh", "strategy", "oeg", "risk"}));
}

// The guard ends a program at the first allocation or system call of its datapath thread, other
// than for sockets and the wait mode (tests/support/alloc_guard).
class GuardedPipeline : public ::testing::TestWithParam<const char*> {};

TEST_P(GuardedPipeline, EveryDatapathThreadKeepsFromTheAllocatorAndTheKernel) {
  const char* guard = std::getenv("TICKPATH_ALLOC_GUARD");
  if (guard == nullptr) GTEST_SKIP() << "the allocation guard replaces malloc, as sanitizers do";
  const PipelineFolder folder;
  const std::string report = folder / "guard";
  EXPECT_THAT(
      run(folder.up(folder.generate(20'000, 2),
                    {"--preload", guard, "--set", std::string("datapath.wait=") + GetParam()}),
          folder.path(), std::chrono::seconds(120), {{"TICKPATH_ALLOC_GUARD_FILE", report}}),
      Ends(0));
  EXPECT_GE(analyse_run(folder).orders_complete, kOrdersAtLeast);
  expect_all_guarded(report);
}

INSTANTIATE_TEST_SUITE_P(WaitModes, GuardedPipeline, ::testing::Values("yield", "park"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(PipelineVariants, ReplaysALobsterMessageFile) {
  const std::string file = recording("lobster/AAPL_2012-06-21_message_50.csv.gz");
  if (file.empty()) GTEST_SKIP() << "no recordings: set TICKPATH_DATA";
  const PipelineFolder folder;
  const Finished up =
      folder.run_up(file, {"--set", "sim:replay.pace=max", "--set", "sim:replay.max_rate=20000"});
  ASSERT_EQ(up.exit_code, 0) << up.output;
  EXPECT_EQ(json::parse(folder.summary("mdh")).at("feed_messages_missed"), 0);
  EXPECT_GE(json::parse(folder.summary("mdh")).at("feed_messages"), 91'000);
}

class ItchRecording : public ::testing::TestWithParam<const char*> {};

TEST_P(ItchRecording, ReplaysThroughTheSamePrograms) {
  const std::string file = recording(GetParam());
  if (file.empty()) GTEST_SKIP() << "no recordings: set TICKPATH_DATA";
  const PipelineFolder folder;
  const Finished up =
      folder.run_up(file, {"--set", "sim:replay.pace=max", "--set", "sim:replay.max_rate=5000"});
  ASSERT_EQ(up.exit_code, 0) << up.output;
  EXPECT_EQ(json::parse(folder.summary("mdh")).at("feed_messages"),
            json::parse(folder.summary("sim")).at("feed_messages"));
}

INSTANTIATE_TEST_SUITE_P(Recordings, ItchRecording,
                         ::testing::Values("itch/20200130_AAPL_10k.itch50",
                                           "itch/20191230_first1000.itch50"));

// Line B beside line A, each losing packets in bursts, B late and out of order; and a server that
// is asked for what both lost.
std::vector<std::string> lossy_lines(const PipelineFolder& folder) {
  const std::string config = read_file(folder.config_dir() + "/sim.toml");
  const std::size_t at = config.find("\ngroup = \"") + 10;
  const std::string group = config.substr(at, config.find(':', at) - at);
  const std::string line_b = group + ":" + std::to_string(folder.order_port() + 1);
  // Past the two ports from which the lines are sent.
  const std::string server = "127.0.0.1:" + std::to_string(folder.order_port() + 2);
  std::vector<std::string> arguments;
  for (const std::string& setting :
       {"sim:feed.group_b=" + line_b, "mdh:feed.group_b=" + line_b,
        "sim:feed.retransmission.listen=" + server, "mdh:feed.retransmission.server=" + server,
        std::string("sim:feed.a.loss=0.05"), std::string("sim:feed.a.loss_burst=4"),
        std::string("sim:feed.b.loss=0.05"), std::string("sim:feed.b.delay=100us"),
        std::string("sim:feed.b.jitter=200us")}) {
    arguments.push_back("--set");
    arguments.push_back(setting);
  }
  return arguments;
}

TEST(PipelineVariants, LosesNoMessageToTwoLossyLines) {
  const PipelineFolder folder;
  const Finished up = folder.run_up(folder.generate(kMessages, kSeconds), lossy_lines(folder));
  ASSERT_EQ(up.exit_code, 0) << up.output;
  const json mdh = json::parse(folder.summary("mdh"));
  EXPECT_EQ(mdh.at("feed_messages"), kMessages);
  EXPECT_EQ(mdh.at("feed_messages_missed"), 0);
  EXPECT_NE(read_file(folder.run_dir() + "/mdh.log").find("whole again"), std::string::npos)
      << "nothing was lost on both lines";
  EXPECT_GE(analyse_run(folder).orders_complete, kOrdersAtLeast);
}

// Their own orders are in the strategies' books, in retransmissions, too.
TEST(Pipeline, PublishesItsOrdersOnLossyLinesWithoutAnInvalidMessage) {
  const PipelineFolder folder;
  std::vector<std::string> arguments = lossy_lines(folder);
  arguments.insert(arguments.end(), {"--set", "sim:matching.publish=true"});
  const Finished up = folder.run_up(folder.generate(kMessages, kSeconds), arguments);
  ASSERT_EQ(up.exit_code, 0) << up.output;
  const json sim = json::parse(folder.summary("sim"));
  const json mdh = json::parse(folder.summary("mdh"));
  EXPECT_GT(sim.at("feed_messages"), kMessages + 25);
  EXPECT_EQ(mdh.at("feed_messages"), sim.at("feed_messages"));
  EXPECT_EQ(mdh.at("feed_messages_missed"), 0);
  EXPECT_EQ(mdh.at("details").at("book_refused"), 0);
  EXPECT_GE(analyse_run(folder).orders_complete, kOrdersAtLeast);
}

TEST(Pipeline, AnInterruptStopsAllInOrderAndLosesNothing) {
  const PipelineFolder folder;
  const std::string recording_path = folder.generate(400'000, 40);
  Process up(folder.up(recording_path), folder.path());
  ASSERT_TRUE(up.wait_for_output("strategy   ready", test_support::kPatience)) << up.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg", "reports", "fills", 4)) << up.output();
  up.signal(SIGINT);
  EXPECT_THAT(up.wait(test_support::kPatience), Ends(0, "stopping in order"));
  EXPECT_EQ(json::parse(folder.summary("strategy")).at("open_orders"), 0);
}

TEST(PipelineVariants, StrategiesTradeTheSymbolsThatTheyName) {
  const PipelineFolder folder;
  folder.edit("strategy", "\nsymbols = \"*\"", "\nsymbols = \"ZAAA, ZAAC\"");
  const Finished up = folder.run_up(folder.generate(kMessages, kSeconds));
  ASSERT_EQ(up.exit_code, 0) << up.output;
  const json strategy = json::parse(folder.summary("strategy"));
  EXPECT_GT(strategy.at("orders").at("sent"), 0);
  for (const json& row : strategy.at("positions")) {
    EXPECT_TRUE(row.at("symbol") == "ZAAA" || row.at("symbol") == "ZAAC") << row;
  }
}

json status_of(const PipelineFolder& folder, const std::string& name) {
  return control::admin_command(control::admin_path(folder.run_dir(), name),
                                {{"command", "status"}});
}

// What oeg lists of its positions, while nothing trades.
void expect_positions_hold(const PipelineFolder& folder, std::uint64_t fills) {
  const std::string oeg = control::admin_path(folder.run_dir(), "oeg");
  const json held = control::admin_command(oeg, {{"command", "positions"}}).at("positions");
  std::uint64_t fills_held = 0;
  for (const json& row : held) fills_held += row.at("fills").get<std::uint64_t>();
  EXPECT_EQ(fills_held, fills) << held;
  const json one = control::admin_command(oeg, {{"command", "positions"}, {"most", 1}});
  EXPECT_EQ(one.at("positions"), json::array({held.at(0)})) << "the largest";
  EXPECT_EQ(one.at("rows"), held.size());
  EXPECT_THROW((void)control::admin_command(oeg, {{"command", "positions"}, {"most", -1}}), Error);
}

TEST(Pipeline, AKillRefusesNewOrdersAndCancelsWhatIsOpenUntilItIsLifted) {
  const PipelineFolder folder;
  const char* guard = std::getenv("TICKPATH_ALLOC_GUARD");
  const std::string report = folder / "guard";
  const std::vector<std::string> preload{"--preload", guard != nullptr ? guard : ""};
  Process up(folder.up(folder.generate(2 * kMessages, 2 * kSeconds),
                       guard != nullptr ? preload : std::vector<std::string>{}),
             folder.path(), {{"TICKPATH_ALLOC_GUARD_FILE", report}});
  ASSERT_TRUE(up.wait_for_output("strategy   ready", test_support::kPatience)) << up.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg", "reports", "fills", 4)) << up.output();
  const json risk = status_of(folder, "risk");
  for (const char* count : {"open_orders", "requests", "rejects"}) {
    std::uint64_t sum = 0;
    for (const json& strategy : risk.at("strategies"))
      sum += strategy.at(count).get<std::uint64_t>();
    EXPECT_EQ(risk.at("total").at(count), sum) << count << ": " << risk.at("total");
  }
  EXPECT_GT(risk.at("total").at("requests"), 0);
  EXPECT_EQ(risk.at("total").at("limits").at("total.loss_max"), 2'000'000.0);
  for (const json& strategy : risk.at("strategies"))
    EXPECT_EQ(strategy.at("limits").at("loss_max"), strategy.at("strategy") == 1 ? 5e5 : 1e6);
  const std::vector<std::string> where{"--run-dir", folder.run_dir()};
  EXPECT_THAT(run({program("tickpath"), "kill", where[0], where[1]}), Ends(0));
  const json killed = status_of(folder, "oeg").at("kill_switch");
  EXPECT_EQ(killed.at("kills").at(0).at("strategy"), "all");
  EXPECT_EQ(killed.at("kills").at(0).at("by"), "operator");
  ASSERT_FALSE(killed.at("open").empty());
  for (const json& strategy : killed.at("open")) EXPECT_EQ(strategy.at("orders"), 0) << killed;
  const std::uint64_t fills = folder.counter("oeg", "reports", "fills");
  const Finished status = run({program("tickpath"), "status", where[0], where[1]});
  EXPECT_THAT(status.output, ::testing::HasSubstr("oeg: all strategies are killed since"));
  EXPECT_TRUE(folder.wait_counter_above("oeg", "refused", "kill_switch", 0)) << up.output();
  EXPECT_EQ(folder.counter("oeg", "reports", "fills"), fills) << "nothing was left to be filled";
  expect_positions_hold(folder, fills);
  EXPECT_THAT(run({program("tickpath"), "unkill", where[0], where[1]}), Ends(0));
  EXPECT_THAT(up.wait(test_support::kPatience), Ends(0));
  const json oeg = json::parse(folder.summary("oeg"));
  // A replacement may be all that came while the switch was on.
  EXPECT_GT(oeg.at("orders").at("refused").get<int>() + oeg.at("changes").at("refused").get<int>(),
            0);
  EXPECT_GT(oeg.at("orders").at("sent"), 0);
  EXPECT_NE(read_file(folder.run_dir() + "/risk.log").find("kill"), std::string::npos);
  if (guard != nullptr) expect_all_guarded(report);
}

TEST(PipelineVariants, ASymbolKeepsTheIdThatItHadInAFormerRun) {
  const PipelineFolder folder;
  std::filesystem::create_directories(folder.run_dir());
  // The recording names ZAAA to ZAAT in this order: one more than there is room for beside GONE.
  write_file(folder.run_dir() + "/mdh.instruments", "GONE 2020-01-01\nZAAT\nZAAC\nZAAA\n");
  folder.edit("mdh", "instruments_max = 16384", "instruments_max = 20");
  const Finished up = folder.run_up(folder.generate(20'000, 2));
  EXPECT_EQ(up.exit_code, 0) << up.output << folder.logs();
  std::istringstream kept(read_file(folder.run_dir() + "/mdh.instruments"));
  std::string symbols;
  for (std::string symbol, day; kept >> symbol >> day; symbols += symbol.back())
    EXPECT_NE(day, "2020-01-01") << symbol;
  EXPECT_EQ(symbols, "STCABDEFGHIJKLMNOPQR") << "the last has the id of GONE";
  const auto held = folder.positions("oeg");
  EXPECT_FALSE(held.empty());
  EXPECT_EQ(held, folder.positions("sim"));
  EXPECT_EQ(held, folder.positions("risk"));
}

TEST(PipelineVariants, UpSaysWhoIsKilledSinceAnEarlierRun) {
  const PipelineFolder folder;
  std::filesystem::create_directories(folder.run_dir());
  write_file(folder.run_dir() + "/risk.kills",
             R"({"format": 1, "version": 4, "kills": [{"strategy": "all", "by": "operator",
                "operator": "alice", "since_ns": 1774965731000000000}]})");
  EXPECT_THAT(folder.run_up(folder.generate(10'000, 1)),
              Ends(0, "risk: all strategies are killed since 2026-03-31T14:02:11Z by alice"));
  const json oeg = json::parse(folder.summary("oeg"));
  EXPECT_EQ(oeg.at("orders").at("sent"), 0);
  EXPECT_GT(oeg.at("orders").at("refused"), 0);
}

TEST(Pipeline, RunsParkedInsteadOfPolling) {
  const PipelineFolder folder;
  const Finished up =
      folder.run_up(folder.generate(kMessages, kSeconds), {"--set", "datapath.wait=park"});
  ASSERT_EQ(up.exit_code, 0) << up.output;
  EXPECT_GE(analyse_run(folder).orders_complete, kOrdersAtLeast);
}

}  // namespace
}  // namespace tickpath::test_support
