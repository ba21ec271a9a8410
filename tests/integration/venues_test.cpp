// Two venues and one strategy program: the whole of config/venues.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/trace/analysis.hpp"
#include "oeg/journal_record.hpp"
#include "tests/integration/stacks_run.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/relay.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

class Venues : public StacksRun {
 protected:
  Venues() : StacksRun("config/venues") {}
  void SetUp() override {
    if (over_network()) GTEST_SKIP() << "config/venues is of shm";
  }
  // The same symbols, moved by other seeds.
  std::vector<std::string> up(std::uint64_t messages, double seconds,
                              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{program("tickpath"), "up",
                                       folder.config_dir(), "--run-dir",
                                       folder.run_dir(),    "--until-end"};
    for (const int venue : {1, 2}) {
      const std::string file = folder / ("venues-" + std::to_string(venue) + ".itch50");
      EXPECT_THAT(run({program("tickpath"), "generate", file, "--messages",
                       std::to_string(messages), "--symbols", "20", "--seed", std::to_string(venue),
                       "--duration", std::to_string(seconds)}),
                  Ends(0));
      arguments.insert(arguments.end(),
                       {"--set", "sim-" + std::to_string(venue) + ":replay.file=" + file});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // Recordings of one market, 10,000 messages a second, and one plugin that routes.
  std::vector<std::string> up_routing(unsigned seconds, const std::string& parameters) const {
    const std::string file = folder / "venues.itch50";
    EXPECT_THAT(run({program("tickpath"), "generate", file, "--venues", "2", "--messages",
                     std::to_string(seconds * 10'000), "--symbols", "60", "--seed", "5",
                     "--duration", std::to_string(seconds)}),
                Ends(0));
    folder.trade_only_by(
        "routing", "name = \"routing\"\n[plugin.parameters]\nafter = \"500ms\"\n" + parameters);
    return {program("tickpath"),
            "up",
            folder.config_dir(),
            "--run-dir",
            folder.run_dir(),
            "--until-end",
            "--set",
            "sim-1:replay.file=" + recording(1),
            "--set",
            "sim-2:replay.file=" + recording(2)};
  }
  static std::vector<std::string> guarded() {
    const char* const guard = std::getenv("TICKPATH_ALLOC_GUARD");
    if (guard == nullptr) return {};
    return {"--preload", guard};
  }
  void expect_conservation(const std::vector<std::string>& more) const;
  std::string recording(int venue) const {
    return folder / ("venues-" + std::to_string(venue) + ".itch50");
  }

  Finished command(std::vector<std::string> words) const {
    words.insert(words.begin(), program("tickpath"));
    words.insert(words.end(), {"--run-dir", folder.run_dir()});
    return run(words, {}, std::chrono::seconds(60));
  }
  json status(const std::string& name) const {
    // What a program that does not answer is said about comes in between: there is no status then.
    const json all = json::parse(command({"status", "--json"}).output, nullptr, false);
    if (all.is_array())
      for (const json& each : all)
        if (each.at("name") == name) return each;
    throw Error(name + " does not run");
  }
  // Strategy 2, as an oeg acts on it.
  bool is_killed_at(const std::string& oeg) const {
    const json kills = status(oeg).at("kill_switch").at("kills");
    return std::ranges::any_of(kills, [](const json& kill) { return kill.at("strategy") == 2; });
  }
  // One risk has both venues: a kill given while an oeg is away is no success before it is back.
  void kill_while_an_oeg_is_away() const {
    ASSERT_EQ(::kill(folder.program_id("oeg-2"), SIGKILL), 0);
    const Finished early = command({"kill", "--strategy", "2", "--timeout", "0.02"});
    EXPECT_EQ(early.exit_code, 1) << early.output;
    EXPECT_NE(early.output.find("second: "), std::string::npos) << early.output;
    const Finished killed = command({"kill", "--strategy", "2", "--timeout", "30"});
    EXPECT_EQ(killed.exit_code, 0) << killed.output;
    EXPECT_TRUE(is_killed_at("oeg-1"));
    EXPECT_TRUE(is_killed_at("oeg-2"));
    const Finished lifted = command({"unkill", "--strategy", "2"});
    EXPECT_EQ(lifted.exit_code, 0) << lifted.output;
    EXPECT_FALSE(is_killed_at("oeg-1"));
    EXPECT_FALSE(is_killed_at("oeg-2"));
    for (const json& venue : status("risk").at("venues"))
      EXPECT_EQ(venue.at("positions"), "whole") << venue;
  }

  bool more_at_the_first() const {
    return folder.wait_counter_above("oeg-1", "orders", "received", received("oeg-1") + 50);
  }
  // New orders in the symbol that an oeg has sent, by its journal.
  std::size_t orders_in(const std::string& symbol, const std::string& oeg) const {
    const std::string journal = read_file(folder.run_dir() + "/" + oeg + ".journal");
    constexpr std::size_t kRecordsAt = 4096;
    std::size_t count = 0;
    for (std::size_t at = kRecordsAt; at + sizeof(tickpath::oeg::JournalRecord) <= journal.size();
         at += sizeof(tickpath::oeg::JournalRecord)) {
      tickpath::oeg::JournalRecord record;
      std::memcpy(&record, journal.data() + at, sizeof(record));
      if (record.sequence == 0) break;
      count += record.event.event == wire::EventKind::kRequested &&
               record.event.request_kind == wire::RequestKind::kNew && record.symbol == symbol;
    }
    return count;
  }

  // Both venues' mdh's write the busiest symbol's book into the home that mdh-1 keeps.
  bool book_home_is_whole() const {
    const Finished book = run({program("tickpath"), "book", "ZAAA", "--mdh", "mdh-1", "--run-dir",
                               folder.run_dir(), "--json"});
    if (book.exit_code != 0) return false;
    const json venues = json::parse(book.output).at("venues");
    return venues.size() == 2 && std::ranges::all_of(venues, [](const json& venue) {
             return venue.at("writer_alive") == true && !venue.at("bids").empty();
           });
  }
};

// Parameters of the plugin that routes.
constexpr const char* kOften = "pause = \"5ms\"\norders_max = 1000000\nonce_a_symbol = false\n";

// As one process: the key `process` of both.
const std::vector<std::string> kOneOegProcess{"--set", "oeg:process=oeg"};
const std::vector<std::string> kOneMdhProcess{"--set", "mdh:process=mdh"};

// Under the guard, where there is one: a program whose datapath thread allocates or calls the
// kernel ends there, and so does the run.
TEST_F(Venues, OneStrategyTradesOnBothAndEverythingIsConservedAtEachAndOverBoth) {
  expect_conservation(guarded());
}

// One oeg with a FIX session a venue, of FIX 4.2 and FIX 4.4, and one mdh for both feeds.
TEST_F(Venues, TheSameWhereOneOegAndOneMdhAreOfBothVenues) {
  std::vector<std::string> more = guarded();
  more.insert(more.end(), kOneOegProcess.begin(), kOneOegProcess.end());
  more.insert(more.end(), kOneMdhProcess.begin(), kOneMdhProcess.end());
  expect_conservation(more);
  for (const char* program : {"oeg", "mdh"})
    for (const char* instance : {"-1.log", "-2.log"})
      EXPECT_NE(read_file(folder.run_dir() + "/" + program + instance)
                    .find("2 instances in this process, on one datapath thread"),
                std::string::npos)
          << program << instance;
}

// Both venues' orders are recovered from the journals, and both sessions are logged on to again.
TEST_F(Venues, OneOegOfBothThatIsKilledComesBackToBoth) {
  std::vector<std::string> more{"--on-failure", "restart"};
  more.insert(more.end(), kOneOegProcess.begin(), kOneOegProcess.end());
  Process pipeline(up(100'000, 25, more), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("replay:", std::chrono::seconds(60))) << pipeline.output();
  for (const char* oeg : {"oeg-1", "oeg-2"})
    ASSERT_TRUE(folder.wait_counter_above(oeg, "reports", "fills", 5)) << pipeline.output();
  const pid_t process = folder.program_id("oeg-1");
  ASSERT_EQ(process, folder.program_id("oeg-2"));
  EXPECT_THAT(command({"down", "--only", "oeg-2"}),
              Ends(1, "'oeg-2' and 'oeg-1' share process", "give both to --only"));
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  for (const char* oeg : {"oeg-1", "oeg-2"}) {
    await_restart(oeg, process);
    EXPECT_TRUE(folder.wait_counter_above(oeg, "reports", "fills", 0)) << oeg;
  }
  EXPECT_EQ(folder.program_id("oeg-1"), folder.program_id("oeg-2"));
  pipeline.signal(SIGTERM);
  const Finished finished = pipeline.wait(std::chrono::seconds(90));
  folder.check_logs();
  EXPECT_EQ(finished.exit_code, 0) << finished.output << folder.logs();
  EXPECT_NE(finished.output.find("everything is accounted for"), std::string::npos)
      << finished.output;
}

void Venues::expect_conservation(const std::vector<std::string>& more) const {
  const Finished finished = run(up(30'000, 3, more), folder.path(), std::chrono::seconds(120));
  folder.check_logs();
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  for (const char* line :
       {"first: positions and cash: sim = strategy", "second: positions and cash: sim = strategy",
        "first: positions and cash: sim = risk", "second: positions and cash: sim = risk",
        "positions and cash by symbol: strategies = oegs of all venues",
        "positions and cash by symbol: strategies = risks of all venues",
        "positions and cash by symbol: strategies = sims of all venues",
        "fees, in millionths: paid by all parties = had by the venues"})
    EXPECT_NE(finished.output.find(line), std::string::npos) << line << "\n" << finished.output;
  const json strategy = json::parse(folder.summary("strategy"));
  ASSERT_EQ(strategy.at("venues").size(), 2u);
  for (const json& venue : strategy.at("venues")) {
    EXPECT_GT(venue.at("orders").at("accepted"), 20) << venue;
    EXPECT_GT(venue.at("reports").at("fills"), 0) << venue;
  }
  // The arbitrageur has traded at both.
  for (const char* oeg : {"oeg-1", "oeg-2"}) {
    const json held = json::parse(folder.summary(oeg)).at("strategies");
    EXPECT_TRUE(std::ranges::any_of(held, [](const json& each) {
      return each.at("strategy_id") == 1 && each.at("orders") > 0;
    })) << oeg;
  }
  std::vector<trace::TraceFile> files;
  for (const char* name : {"sim-1", "sim-2", "mdh-1", "mdh-2", "oeg-1", "oeg-2", "strategy"})
    files.emplace_back(folder.run_dir() + "/" + name + ".trace");
  const trace::Analysis analysis = trace::analyse(files);
  EXPECT_GE(analysis.ticks, 60'000u);
  EXPECT_TRUE(analysis.missing.empty());
  std::uint64_t of_venues = 0;
  for (const trace::Interval& each : analysis.headline) {
    if (!each.name.starts_with("tick-to-order, venue")) continue;
    EXPECT_GT(each.distribution.count, 10u) << each.name;
    of_venues += each.distribution.count;
  }
  EXPECT_EQ(of_venues, analysis.headline[0].distribution.count);
}

// The books that the router saw are made again from the recordings, and what it chose from these.
TEST_F(Venues, TheRouterIsNeverWorseThanTheBestVenueAloneOnTheRecordedBooks) {
  // Each symbol once: nothing that it took before is then missing at an exchange.
  const std::string once = "pause = \"20ms\"\norders_max = 400\nonce_a_symbol = true\n";
  ASSERT_THAT(run(up_routing(2, once), folder.path(), std::chrono::seconds(120)), Ends(0));
  const std::vector<std::string> routes{program("tickpath"), "routes", folder.run_dir()};
  const Finished checked = run(routes);
  SCOPED_TRACE(checked.output);
  EXPECT_THAT(checked, Ends(0, "60 orders were routed",
                            "ok      the books that it saw are those of the feeds: 1",
                            "alone, for as many shares: 60 of 60",
                            "ok      split by price, then size, then fee: 60 of 60",
                            ::testing::ContainsRegex("met the books that it saw; of these [1-9]")));
  // The text says how many orders met the books that they were sent by, and how many of these were
  // filled as planned. What rests of an earlier order of ours is in no recorded book, and one may
  // meet it.
  const std::string& text = checked.output;
  const std::size_t line = text.rfind('\n', text.find(" met the books"));
  const auto number = [&](std::size_t at) { return std::strtoull(text.c_str() + at, nullptr, 10); };
  const std::uint64_t as_planned = number(text.find("of these ") + 9);
  EXPECT_LE(as_planned, number(line + 1)) << text;
  EXPECT_LE(number(line + 1) - as_planned, 2u) << text;

  std::vector<std::string> others = routes;
  others.insert(others.end(), {"--recording", "2=" + recording(1)});
  EXPECT_THAT(run(others), Ends(1, "BROKEN  the books that it saw are those of the feeds",
                                "did not do what it promises"));
  std::filesystem::remove(folder.run_dir() + "/sim-2.ledger.json");
  EXPECT_THAT(run(routes), Ends(1, "UNCHECKED  venue 2: no sim of it has left a ledger",
                                "not everything could be checked"));
}

// The second's oeg has lost its risk, and refuses.
TEST_F(Venues, TheRouterSendsNothingToAVenueThatAcceptsNothing) {
  Process pipeline(up_routing(60, kOften), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("replay:", std::chrono::seconds(60))) << pipeline.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg-2", "orders", "received", 20)) << pipeline.output();
  ASSERT_THAT(command({"revoke", "risk", "--oeg", "oeg-2"}), Ends(0));
  ASSERT_TRUE(more_at_the_first()) << pipeline.output();  // and what was on its way is there
  const std::uint64_t before = received("oeg-2");
  ASSERT_TRUE(more_at_the_first()) << pipeline.output();
  EXPECT_EQ(received("oeg-2"), before);
  ASSERT_THAT(command({"restore", "risk", "--oeg", "oeg-2"}), Ends(0));
  EXPECT_TRUE(folder.wait_counter_above("oeg-2", "orders", "received", before + 20))
      << pipeline.output();
  pipeline.signal(SIGTERM);
  const Finished finished = pipeline.wait(std::chrono::seconds(90));
  EXPECT_EQ(finished.exit_code, 0) << finished.output << folder.logs();
}

// Behind the second's oeg the network fails, and its own connections stay. It is started by hand,
// for `up` would not accept the relay's address.
TEST_F(Venues, TheRouterSendsNothingToAVenueWhoseSessionIsCut) {
  const std::string text = read_file(folder.config_dir() + "/oeg-2.toml");
  const std::string key = "address = \"127.0.0.1:";
  Relay relay(static_cast<std::uint16_t>(std::stoi(text.substr(text.find(key) + key.size()))));
  std::vector<std::string> arguments = up_routing(60, kOften);
  arguments.insert(arguments.end(), {"--only", "sim-1", "sim-2", "mdh-1", "mdh-2"});
  Process markets(arguments, folder.path());
  ASSERT_TRUE(markets.wait_for_output("replay:", std::chrono::seconds(60))) << markets.output();
  const auto by_hand = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{program(name.substr(0, name.find('-'))),
                                   folder.config_dir() + "/" + name + ".toml",
                                   "--run-dir",
                                   folder.run_dir(),
                                   "--set",
                                   "name=" + name};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  Process first(by_hand("oeg-1"), folder.path());
  Process second(
      by_hand("oeg-2", {"--set", "venue.address=127.0.0.1:" + std::to_string(relay.port())}),
      folder.path());
  ASSERT_TRUE(folder.wait_listening("oeg-1") && folder.wait_listening("oeg-2"));
  Process risk(by_hand("risk"), folder.path());
  Process strategy(by_hand("strategy"), folder.path());
  ASSERT_TRUE(folder.wait_counter_above("oeg-2", "orders", "received", 20)) << folder.logs();
  relay.set_closed(true);
  ASSERT_TRUE(wait_until([&] { return relay.cuts() != 0; }));
  ASSERT_TRUE(more_at_the_first()) << folder.logs();  // and what was on its way is there
  const std::uint64_t before = received("oeg-2");
  ASSERT_TRUE(more_at_the_first()) << folder.logs();
  ASSERT_TRUE(more_at_the_first()) << folder.logs();
  EXPECT_EQ(received("oeg-2"), before);
  relay.set_closed(false);
  EXPECT_TRUE(folder.wait_counter_above("oeg-2", "orders", "received", before + 20))
      << folder.logs();
  for (Process* each : {&strategy, &risk, &first, &second, &markets}) {
    each->signal(SIGTERM);
    (void)each->wait(std::chrono::seconds(60));
  }
}

// One symbol at the second venue alone: the exchange there has halted it.
TEST_F(Venues, TheRouterSendsNothingToAVenueWhereTheSymbolIsHalted) {
  std::vector<std::string> arguments = up_routing(60, kOften);
  // What a person does to a symbol is on the feed only where sim makes the feed itself.
  arguments.insert(arguments.end(), {"--set", "sim-2:matching.publish=true"});
  Process pipeline(arguments, folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("replay:", std::chrono::seconds(60))) << pipeline.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg-2", "orders", "received", 20)) << pipeline.output();
  const std::string symbol = "ZAAA";
  ASSERT_THAT(command({"trading", "halt", symbol, "--sim", "sim-2"}), Ends(0));
  ASSERT_TRUE(more_at_the_first()) << pipeline.output();
  const std::size_t before = orders_in(symbol, "oeg-2"), at_first = orders_in(symbol, "oeg-1");
  ASSERT_TRUE(wait_until([&] { return orders_in(symbol, "oeg-1") > at_first + 10; }))
      << pipeline.output();
  EXPECT_EQ(orders_in(symbol, "oeg-2"), before);
  ASSERT_THAT(command({"trading", "resume", symbol, "--sim", "sim-2"}), Ends(0));
  EXPECT_TRUE(wait_until([&] { return orders_in(symbol, "oeg-2") > before; })) << pipeline.output();
  pipeline.signal(SIGTERM);
  const Finished finished = pipeline.wait(std::chrono::seconds(90));
  EXPECT_EQ(finished.exit_code, 0) << finished.output << folder.logs();
}

TEST_F(Venues, WhatHappensToProgramsOfOneStopsNothingAtTheOther) {
  Process pipeline(up(160'000, 40, {"--on-failure", "restart"}), folder.path());
  ASSERT_TRUE(pipeline.wait_for_output("replay:", std::chrono::seconds(60))) << pipeline.output();
  ASSERT_TRUE(folder.wait_counter_above("oeg-1", "reports", "fills", 5)) << pipeline.output();
  EXPECT_TRUE(wait_until([&] { return book_home_is_whole(); }, std::chrono::minutes(1)));
  kill_and_await("oeg-1", "oeg-1", "oeg-2");
  kill_and_await("mdh-1", "oeg-1", "oeg-2");
  kill_while_an_oeg_is_away();
  EXPECT_TRUE(wait_until([&] { return book_home_is_whole(); }, std::chrono::minutes(1)))
      << "the home began anew with mdh-1, and is filled again";
  pipeline.signal(SIGTERM);
  const Finished finished = pipeline.wait(std::chrono::seconds(90));
  EXPECT_EQ(finished.exit_code, 0) << finished.output << folder.logs();
  EXPECT_NE(finished.output.find("first: strategy 1 and oeg connected more than once"),
            std::string::npos)
      << finished.output;
}

}  // namespace
}  // namespace tickpath::test_support
