// A kill ends by `tickpath unkill` and by nothing else: neither by a restart of risk nor of oeg,
// nor of both, nor with one of their two records of it lost.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fault/fault_run.hpp"
#include "tests/support/finished.hpp"

namespace tickpath::test_support {
namespace {

using nlohmann::json;

class KillSwitch : public ::testing::Test {
 protected:
  void SetUp() override { run_.begin(); }
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", run_.logs().c_str());
  }

  Finished tickpath(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{program("tickpath")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--run-dir", run_.folder().run_dir()});
    return run(all, run_.folder().path(), std::chrono::seconds(60));
  }
  void die(const std::vector<std::string>& programs, bool with_its_record) {
    for (const std::string& name : programs) {
      run_.kill(name);
      run_.reap(name);
      if (!with_its_record) continue;
      EXPECT_TRUE(std::filesystem::remove(run_.folder().run_dir() + "/" + name + ".kills"));
    }
    for (const std::string& name : programs) run_.start(name);
    ASSERT_TRUE(run_.wait_until([this] {
      const json oeg = run_.status("oeg");
      return oeg.is_object() && oeg.value("risk_alive", false);
    }));
  }
  // Both say who is killed, and orders are refused for it.
  void expect_killed(const std::string& after) {
    SCOPED_TRACE(after);
    for (const char* const name : {"risk", "oeg"}) {
      // The control thread shows what the datapath obeys a tick later.
      json kills;
      ASSERT_TRUE(run_.wait_until([&] {
        kills = run_.status(name).at("kill_switch").at("kills");
        return kills.size() == 1;
      })) << name
          << ": " << kills;
      EXPECT_EQ(kills.at(0).at("strategy"), "all") << name;
    }
    const std::uint64_t sent = run_.counter("oeg", "orders", "sent");
    const std::uint64_t refused = run_.counter("oeg", "refused", "kill_switch");
    EXPECT_TRUE(run_.wait_counter_above("oeg", "refused", "kill_switch", refused + 5));
    EXPECT_EQ(run_.counter("oeg", "orders", "sent"), sent);
  }

  FaultRun run_;
};

TEST_F(KillSwitch, AnOperatorsKillOutlivesEachProgramAndEachRecordOfIt) {
  const Finished kill = tickpath({"kill"});
  ASSERT_EQ(kill.exit_code, 0) << kill.output;
  expect_killed("the kill");
  die({"risk"}, false);
  expect_killed("a death of risk");
  die({"risk"}, true);
  expect_killed("a death of risk that takes its record with it");
  die({"oeg"}, false);
  expect_killed("a death of oeg");
  die({"oeg"}, true);
  expect_killed("a death of oeg that takes its record with it");
  die({"oeg", "risk"}, false);
  expect_killed("a death of both");
  EXPECT_THAT(tickpath({"unkill"}), Ends(0));
  EXPECT_TRUE(run_.trades());
  EXPECT_TRUE(run_.end());
}

TEST_F(KillSwitch, NamesTheOrdersWhoseCancelTheVenueHasNotConfirmed) {
  // Quotes are in the market, and the venue does not answer any more.
  ASSERT_TRUE(run_.wait_until([this] {
    run_.signal("sim", SIGSTOP);
    const Finished kill = tickpath({"kill", "--timeout", "0.5"});
    if (kill.output.find("has not confirmed the cancels of strategy ") != std::string::npos) {
      EXPECT_NE(kill.exit_code, 0);
      EXPECT_TRUE(kill.output.find(" to buy") != std::string::npos ||
                  kill.output.find(" to sell") != std::string::npos)
          << kill.output;
      return true;
    }
    // Nothing was open just then.
    run_.signal("sim", SIGCONT);
    EXPECT_EQ(tickpath({"unkill"}).exit_code, 0);
    EXPECT_TRUE(run_.trades());
    return false;
  }));
  run_.signal("sim", SIGCONT);
  const Finished again = tickpath({"kill"});
  EXPECT_EQ(again.exit_code, 0) << "once it answers: " << again.output;
  EXPECT_THAT(again.output, ::testing::HasSubstr("nothing is open"));
  EXPECT_TRUE(run_.end());
}

TEST_F(KillSwitch, AStrategyThatIsNotThereIsAnErrorUnlessForced) {
  EXPECT_THAT(tickpath({"kill", "--strategy", "77"}),
              Ends(::testing::Ne(0), "strategy 77", "--force"));
  EXPECT_TRUE(run_.status("risk").at("kill_switch").at("kills").empty());
  EXPECT_THAT(tickpath({"kill", "--strategy", "77", "--force"}), Ends(0));
  EXPECT_EQ(run_.status("oeg").at("kill_switch").at("kills").at(0).at("strategy"), 77);
  EXPECT_THAT(tickpath({"unkill", "--strategy", "76"}), Ends(0, "there was no such kill"));
  EXPECT_TRUE(run_.end());
}

TEST_F(KillSwitch, SuccessIsSaidOnlyWhenOegActsOnIt) {
  run_.signal("oeg", SIGSTOP);
  // The reason is that of the last look, which on a busy machine may be that risk answers late.
  Finished kill;
  EXPECT_TRUE(run_.wait_until([&] {
    kill = tickpath({"kill", "--timeout", "1"});
    EXPECT_NE(kill.exit_code, 0) << kill.output;
    return kill.exit_code == 0 || kill.output.find("oeg does not answer") != std::string::npos;
  })) << kill.output;
  run_.signal("oeg", SIGCONT);
  // The kill was given, and reaches oeg when oeg goes on.
  EXPECT_TRUE(run_.wait_until([this] {
    const json oeg = run_.status("oeg");
    return oeg.is_object() && !oeg.at("kill_switch").at("kills").empty();
  }));
  const json kills = run_.status("oeg").at("kill_switch").at("kills");
  EXPECT_EQ(kills.at(0).at("strategy"), "all");
  EXPECT_EQ(kills.at(0).at("by"), "operator");
  EXPECT_FALSE(kills.at(0).at("operator").get<std::string>().empty());
  const Finished both = tickpath({"unkill", "--strategy", "1"});
  EXPECT_THAT(both.output, ::testing::HasSubstr("all strategies are killed since"));
  EXPECT_THAT(tickpath({"unkill"}), Ends(0));
  EXPECT_TRUE(run_.trades());
  EXPECT_TRUE(run_.end());
}

}  // namespace
}  // namespace tickpath::test_support
