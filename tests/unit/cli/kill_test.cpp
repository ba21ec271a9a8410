// `tickpath kill` where each venue has a risk of its own succeeds only where all were asked, and
// `tickpath switch` where each has a pair goes to the pair that is meant.
#include <csignal>
#include <map>
#include <memory>

#include "tests/unit/cli/up_fixture.hpp"

namespace tickpath::test_support {
namespace {

class Venues : public Up {
 protected:
  // name: "oeg-1"
  void start(const std::string& name, const std::string& venue, const std::string& text = "") {
    configure(name, "venue_number = " + venue + "\n" + text);
    const std::string program = name.substr(0, name.find('-'));
    std::filesystem::remove(admin(name));  // of one that was killed
    programs_[name] = std::make_unique<Process>(
        std::vector<std::string>{folder_ / "bin/" + program, "config/" + name + ".toml",
                                 "--run-dir", "run", "--set", "name=" + name},
        folder_.path());
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(admin(name)); }));
  }
  std::string admin(const std::string& name) const { return folder_ / ("run/" + name + ".admin"); }
  void die(const std::string& name) {
    programs_.at(name)->signal(SIGKILL);
    EXPECT_EQ(programs_.at(name)->wait().signal, SIGKILL);
  }

  std::map<std::string, std::unique_ptr<Process>> programs_;
};

class Kill : public Venues {
 protected:
  Kill() {
    for (const std::string venue : {"1", "2"})
      for (const std::string program : {"oeg-", "risk-"}) start(program + venue, venue);
  }
  Finished kill() { return tickpath({"kill", "--timeout", "5"}); }
};

TEST_F(Kill, GoesToEachVenue) {
  EXPECT_THAT(kill(), Ends(0, "venue 1, all strategies: no new orders and replacements; nothing is",
                           "venue 2, all strategies: no new orders and replacements; nothing is"));
}

TEST_F(Kill, NamesAVenueWhoseRiskIsDeadAndFails) {
  die("risk-2");
  const std::string there = "venue 2, all strategies: nobody could be asked there (";
  EXPECT_THAT(kill(), Ends(1, "venue 1, all strategies: no new orders and replacements; nothing is",
                           there + "oeg-2 runs, risk-2 does not run): start its risk"));
  EXPECT_THAT(tickpath({"unkill"}), Ends(1, "venue 1, all strategies: may trade again", there));
  die("oeg-2");
  EXPECT_THAT(kill(), Ends(1, there + "oeg-2 does not run, risk-2 does not run)"));
  start("risk-2", "2");
  start("oeg-2", "2");
  EXPECT_THAT(kill(), Ends(0, "venue 2, all strategies: no new orders"));
}

TEST_F(Kill, NamesAShardOfWhichEverybodyIsGone) {
  write_file(folder_ / "run/oeg-3.pid", "0 0\noeg 1 2/2\n");
  EXPECT_THAT(kill(), Ends(1,
                           "venue 1, shard 2/2, all strategies: nobody could be asked there "
                           "(oeg-3 does not run): start its oeg"));
}

// In a pair the oeg that stands by would let the role in, and lead.
TEST_F(Venues, RightsAreTakenBackAtEveryOegAndOneThatCannotBeAskedIsNamed) {
  start("oeg-1a", "1");
  start("oeg-1b", "1");
  EXPECT_THAT(tickpath({"revoke", "risk"}),
              Ends(0, "risk: oeg-1a: 1 rights taken back", "risk: oeg-1b: 1 rights taken back"));
  EXPECT_THAT(diary("revokes"), ::testing::UnorderedElementsAre("oeg-1a", "oeg-1b"));
  die("oeg-1a");
  EXPECT_THAT(tickpath({"revoke", "risk"}), Ends(1, "risk: oeg-1b: 1 rights", "oeg-1a: "));
}

// A takeover of the other pair is no success of this one.
TEST_F(Venues, ASwitchIsOfThePairThatIsMeant) {
  start("oeg-1a", "1", "epoch = 3\nleads = true");
  start("oeg-1b", "1", "epoch = 3");
  start("oeg-2a", "2", "epoch = 5\nleads = true");
  start("oeg-2b", "2", "epoch = 5");
  start("oeg-3", "3");
  EXPECT_THAT(tickpath({"switch", "oeg"}),
              Ends(1, "there are 2 pairs: ", "oeg-1a and oeg-1b (venue 1)", "(venue 2)",
                   "--oeg, --venue or --shard says which one is to switch"));
  EXPECT_THAT(tickpath({"switch", "oeg", "--venue", "3"}), Ends(1, "no oeg of such a pair runs"));
  EXPECT_THAT(tickpath({"switch", "oeg", "--venue", "1"}), Ends(0, "oeg-1b leads, epoch 4"));
  EXPECT_THAT(tickpath({"switch", "oeg", "--oeg", "oeg-2b"}), Ends(0, "oeg-2b leads, epoch 6"));
}

}  // namespace
}  // namespace tickpath::test_support
