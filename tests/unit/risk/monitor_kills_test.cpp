// The kill switch over restarts of risk, and between two risks.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/unit/risk/monitor_fixture.hpp"

namespace tickpath::risk::fed {
namespace {

class RiskKills : public Risk {};

// As the control thread reads them for the file.
std::vector<wire::KillRecord> kept_by(const Monitor& monitor) {
  control::KillState state;
  std::vector<wire::KillRecord> kept;
  EXPECT_TRUE(monitor.kills().state(state) && monitor.kills().kills(kept, state.changes));
  return kept;
}

TEST_F(RiskKills, KillsOfAnEarlierRunAreInItsFirstBlock) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0}, "alice");
  limit({.position_shares_max = 100});
  fill(10, 101, 1'000'000);
  const std::vector<wire::KillRecord> kept = kept_by(*monitor);
  ASSERT_EQ(kept.size(), 2u);
  const std::uint64_t version = monitor->block().kill_version;

  monitor = std::make_unique<Monitor>(options());
  monitor->restore_kills(kept, version);
  EXPECT_TRUE(monitor->block().killed(7));
  EXPECT_TRUE(monitor->block().killed(1));
  EXPECT_FALSE(monitor->block().killed(2));
  EXPECT_EQ(breach(), LimitKind::kPositionShares);
  EXPECT_STREQ(monitor->kills()[7].operator_name, "alice");
  EXPECT_EQ(monitor->kills()[7].since_ns, kept[1].since_ns);
  monitor->kill(8, {LimitKind::kOperator, 0, 0});
  EXPECT_GT(monitor->block().kill_version, version);
}

TEST_F(RiskKills, AKillThatOnlyOegKnowsIsTakenOver) {
  wire::ControlBlock found{};
  found.kill_version = 41;
  found.set_kill(7, true, true);
  found.set_kill(Monitor::kAll, true, true);
  found.kill.id = 7;
  found.kill.cause = LimitKind::kOperator;
  monitor->adopt_kills(found);
  EXPECT_EQ(monitor->block().kill_all, 1u);
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_GT(monitor->block().kill_version, 41u);
  EXPECT_EQ(breach(7), LimitKind::kOperator);
  EXPECT_EQ(breach(Monitor::kAll), LimitKind::kUnknown) << "oeg's block described another";
  monitor->unkill(7);
  monitor->unkill(Monitor::kAll);
  EXPECT_FALSE(monitor->block().killed(7));
}

TEST_F(RiskKills, AKillThatAPersonLiftedMeanwhileIsNotTakenOverFromOeg) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed();
  const wire::ControlBlock at_oeg = monitor->block();
  monitor->unkill(7);  // while there is no connection
  monitor->adopt_kills(at_oeg);
  EXPECT_FALSE(monitor->block().killed(7));
  // Once oeg has had that, a kill found there is another risk's.
  monitor->block_confirmed();
  monitor->adopt_kills(at_oeg);
  EXPECT_TRUE(monitor->block().killed(7));
}

// Another risk was the active one meanwhile: what oeg has of it is newer than what was kept here.
TEST_F(RiskKills, AKillThatWasLiftedAtAnotherRiskDoesNotComeBack) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->kill(8, {LimitKind::kOperator, 0, 0});
  const std::vector<wire::KillRecord> kept = kept_by(*monitor);
  const std::uint64_t version = monitor->block().kill_version;
  monitor = std::make_unique<Monitor>(options());
  monitor->restore_kills(kept, version);
  wire::ControlBlock found{};
  found.kill_version = version + 2;  // 7 was lifted, 9 was killed
  found.set_kill(8, true, true);
  found.set_kill(9, true, true);
  monitor->adopt_kills(found);
  EXPECT_FALSE(monitor->block().kill_bit(7));
  EXPECT_TRUE(monitor->block().kill_bit(8));
  EXPECT_TRUE(monitor->block().kill_bit(9));
  EXPECT_GT(monitor->block().kill_version, found.kill_version);
}

TEST_F(RiskKills, AnOlderKillSwitchOfOegLiftsNothing) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->kill(8, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed();
  wire::ControlBlock found{};
  found.kill_version = 1;
  monitor->adopt_kills(found);
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_TRUE(monitor->block().kill_bit(8));
}

TEST_F(RiskKills, AKillThatOegHasNotHadOutlivesANewerSwitchOfAnotherRisk) {
  monitor->kill(7, {LimitKind::kLoss, 2, 1});
  wire::ControlBlock found{};
  found.kill_version = monitor->block().kill_version + 5;
  monitor->adopt_kills(found);
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_GT(monitor->block().kill_version, found.kill_version);
}

TEST_F(RiskKills, AKillOfAnotherRiskIsNotLiftedByWhatAPersonLiftedHereBefore) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed();
  wire::ControlBlock found = monitor->block();
  monitor->unkill(7);  // while there is no connection
  found.kill_version = monitor->block().kill_version + 3;
  monitor->adopt_kills(found);
  EXPECT_TRUE(monitor->block().kill_bit(7));
}

// Whatever its numbers say: what it wrote after it was replaced nobody has read.
TEST_F(RiskKills, WhoeverStoodByGoesByTheKillSwitchOfOeg) {
  wire::ControlBlock found{};
  found.kill_version = monitor->block().kill_version + 1;
  found.set_kill(8, true, true);
  for (int i = 0; i < 5; ++i) {
    monitor->kill(7, {LimitKind::kOperator, 0, 0});
    monitor->unkill(7);
  }
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed();
  const std::uint64_t before = monitor->block().kill_version;
  monitor->forget();
  control::KillState state{};
  ASSERT_TRUE(monitor->kills().state(state));
  EXPECT_EQ(state.version, 0u) << "so it is in the file, older than any";
  monitor->adopt_kills(found);
  EXPECT_FALSE(monitor->block().kill_bit(7));
  EXPECT_TRUE(monitor->block().kill_bit(8));
  EXPECT_GT(monitor->block().kill_version, std::max(before, found.kill_version));
  ASSERT_TRUE(monitor->kills().state(state));
  EXPECT_EQ(state.version, monitor->block().kill_version);
}

TEST_F(RiskKills, WhoeverStoodByKeepsItsKillsWhereOegKnowsOfNone) {
  monitor->kill(7, {LimitKind::kOperator, 0, 0});
  monitor->block_confirmed();
  monitor->forget();
  const std::vector<wire::KillRecord> kept = kept_by(*monitor);
  monitor->adopt_kills({});
  EXPECT_TRUE(monitor->block().kill_bit(7));
  // Also over a restart; and oeg's file keeps no switch of version 0.
  monitor = std::make_unique<Monitor>(options());
  monitor->restore_kills(kept, 0);
  monitor->adopt_kills({});
  EXPECT_TRUE(monitor->block().kill_bit(7));
  EXPECT_GT(monitor->block().kill_version, 0u);
}

TEST_F(RiskKills, WhoeverStandsByHoldsNothingThatCouldBreakALimit) {
  limit({.position_shares_max = 100});
  fill(10, 90, 1'000'000);
  monitor->forget();
  EXPECT_TRUE(monitor->ledger().rows().empty());
  EXPECT_EQ(monitor->view(1).fills.get(), 0u);
  fill(11, 90, 1'000'000);
  EXPECT_FALSE(monitor->block().killed(1)) << "the shares of before are forgotten";
  EXPECT_EQ(monitor->ledger().rows().size(), 1u);
}

}  // namespace
}  // namespace tickpath::risk::fed
