#include "tools/cli/audit.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/control/run_directory.hpp"
#include "tests/support/folder.hpp"
#include "tests/unit/cli/five_sides.hpp"

namespace tickpath::cli {
namespace {

using control::RunDirectory;
using control::Summary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What a run of `sides` leaves: summaries, and the pid files of those that ended in order.
class LeftBehind {
 public:
  explicit LeftBehind(const FiveSides& sides = {}) {
    for (const Summary* each : {&sides.sim, &sides.mdh, &sides.oeg, &sides.risk, &sides.strategy})
      leave(*each);
  }
  void leave(const Summary& summary) const {
    test_support::write_file(run_dir() + "/" + summary.name + ".summary.json",
                             control::to_json(summary).dump());
    leave_file(summary.name + ".pid");
  }
  void leave_file(const std::string& name) const {
    test_support::write_file(run_dir() + "/" + name, "");
  }
  std::string run_dir() const { return folder_.path(); }
  Conservation audit() const { return cli::audit(remains_of(std::vector<std::string>{run_dir()})); }

 private:
  test_support::Folder folder_;
};

TEST(Audit, OfAFolderInWhichEverythingFitsHolds) {
  const LeftBehind left;
  EXPECT_TRUE(left.audit().holds()) << to_text(left.audit());
}

// The oeg that led has its summary on another host.
TEST(Audit, OfAPartDoesNotMissWhoLed) {
  FiveSides sides;
  sides.oeg.stood_by = true;
  const LeftBehind left(sides);
  const auto has_line = [&](bool whole) {
    return to_text(cli::audit(remains_of(left.run_dir(), {"oeg"}, whole))).find("none led") !=
           std::string::npos;
  };
  EXPECT_TRUE(has_line(true));
  EXPECT_FALSE(has_line(false));
}

TEST(Audit, MissesWhoeverRanAndLeftNoSummary) {
  const LeftBehind left;
  left.leave_file("oeg-2.pid");
  left.leave_file("up.pid");  // no program of the pipeline
  EXPECT_THAT(left.audit().missing, ElementsAre("oeg-2"));
  EXPECT_THAT(to_text(left.audit()), HasSubstr("MISSING oeg-2 left no summary"));
  left.leave_file("sim-2.pid");
  EXPECT_EQ(left.audit().problem(), "conservation is not shown: no summary of oeg-2, sim-2");
}

TEST(Audit, SaysOfOneThatRunsStillThatItDoes) {
  const LeftBehind left;
  const RunDirectory running(left.run_dir(), "mdh-2");
  EXPECT_THAT(to_text(left.audit()), HasSubstr("MISSING mdh-2 still runs (process"));
}

// Each would have to be in the books of the other one; no witness: as if it led alone.
TEST(Audit, OfAPairTheOneThatLedLastSpeaksForTheOther) {
  FiveSides sides;
  sides.oeg.details["pair_epoch"] = 3;
  const LeftBehind left(sides);
  left.leave_file("oeg-2.pid");
  EXPECT_FALSE(left.audit().holds());
  left.leave_file("oeg.pair");
  left.leave_file("oeg-2.pair");
  EXPECT_TRUE(left.audit().holds()) << to_text(left.audit());
  EXPECT_THAT(in_one_line(to_text(left.audit())), HasSubstr("note    oeg-2 left no summary: the"));
  // Two pairs, of which one has left nothing.
  for (const char* name : {"oeg-3.pid", "oeg-4.pid", "oeg-3.pair", "oeg-4.pair"})
    left.leave_file(name);
  EXPECT_THAT(left.audit().missing, ElementsAre("oeg-2", "oeg-3", "oeg-4"));
}

TEST(Audit, OfTwoRisksTheOneThatWasActiveLastSpeaksForTheOther) {
  FiveSides sides;
  const LeftBehind left(sides);
  left.leave_file("risk-2.pid");
  EXPECT_THAT(left.audit().missing, IsEmpty());
  EXPECT_THAT(in_one_line(to_text(left.audit())), HasSubstr("note    risk-2 left no summary"));
  // The summary of another oeg, which has no other risk.
  Summary other;
  other.program = "oeg";
  other.name = "oeg-2";
  other.has_positions = true;
  other.events = {{"risk-2", 0, 0, 0}};
  left.leave(other);
  EXPECT_THAT(left.audit().missing, ElementsAre("risk-2"));
}

// Each of them says in its summary that it left one.
TEST(Audit, MissesAJournalOrALedgerThatIsGone) {
  FiveSides sides;
  sides.oeg.details["journal_records"] = 3;
  sides.sim.details["ledger_rows"] = 2;
  const LeftBehind left(sides);
  EXPECT_THAT(to_text(left.audit()), HasSubstr("BROKEN  oeg: its order journal: is not there"));
  EXPECT_THAT(to_text(left.audit()), HasSubstr("BROKEN  sim: its ledger: is not there"));
  left.leave_file("sim.ledger.json");
  EXPECT_THAT(to_text(left.audit()), HasSubstr("BROKEN  sim: its ledger can be read"));
  left.leave_file("oeg.journal");
  EXPECT_THAT(to_text(left.audit()), HasSubstr("BROKEN  oeg: its journal and its exceptions"));
}

TEST(Audit, SaysThatAJournalIsOnTheHostWhereItsOegRan) {
  FiveSides sides;
  sides.oeg.details["journal_records"] = 3;
  const LeftBehind left(sides);
  left.leave_file("oeg.host");
  EXPECT_TRUE(left.audit().holds()) << to_text(left.audit());
  EXPECT_THAT(to_text(left.audit()), HasSubstr("note    the journal of oeg is on its host"));
}

}  // namespace
}  // namespace tickpath::cli
