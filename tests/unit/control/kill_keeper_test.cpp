// The kill switch of risk and oeg over restarts: its table and its file.
#include "common/control/kill_keeper.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"

namespace tickpath::control {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

wire::KillRecord by_operator(std::uint32_t id, const char* name) {
  wire::KillRecord record{.since_ns = 1'774'965'731'000'000'000,
                          .id = static_cast<std::uint16_t>(id),
                          .cause = wire::KillCause::kOperator};
  std::strncpy(record.operator_name, name, sizeof(record.operator_name) - 1);
  return record;
}
wire::KillRecord by_limit(std::uint32_t id) {
  return {.since_ns = 1,
          .value = -5'000'000'000'000'000'000,
          .limit = 10'000'000,
          .id = static_cast<std::uint16_t>(id),
          .cause = wire::KillCause::kLoss,
          .keep_orders = 1};
}
bool same(const wire::KillRecord& left, const wire::KillRecord& right) {
  return std::memcmp(&left, &right, sizeof(left)) == 0;
}

class Kills : public ::testing::Test {
 protected:
  test_support::Folder directory;
  const std::string path = directory.path() + "/risk.kills";
  KillTable table;
};

TEST_F(Kills, AreReadAsTheyWereWritten) {
  write_kills(path, {17, {by_operator(7, "alice"), by_limit(wire::kKillAll)}});
  const KeptKills kept = read_kills(path);
  EXPECT_EQ(kept.version, 17u);
  ASSERT_EQ(kept.kills.size(), 2u);
  EXPECT_TRUE(same(kept.kills[0], by_operator(7, "alice")));
  EXPECT_TRUE(same(kept.kills[1], by_limit(wire::kKillAll)));
}

TEST_F(Kills, AreNoneWhereThereIsNoFile) {
  EXPECT_TRUE(read_kills(path).kills.empty());
  EXPECT_EQ(read_kills(path).version, 0u);
}

// A program that guessed might let somebody trade whom a person has stopped.
TEST_F(Kills, OfAFileThatCannotBeUnderstoodAreAnErrorThatSaysWhatToDo) {
  for (const char* text : {"", "{", "[]", "{\"format\": 2, \"version\": 1, \"kills\": []}",
                           "{\"format\": 1, \"version\": 1}",
                           "{\"format\": 1, \"version\": 1, \"kills\": [{\"strategy\": 300}]}",
                           "{\"format\": 1, \"version\": 1, \"kills\": [{\"strategy\": 3, "
                           "\"by\": \"whim\", \"since_ns\": 1}]}"}) {
    std::ofstream(path) << text;
    EXPECT_THAT([this] { (void)read_kills(path); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr("remove it only if"))))
        << text;
  }
}

TEST_F(Kills, AreInTheFileAfterTheNextTickAndGoneFromItWhenLifted) {
  KillKeeper keeper(path, table);
  keeper.tick();
  EXPECT_FALSE(std::filesystem::exists(path)) << "nobody was ever killed";
  table.set(by_operator(7, "alice"));
  table.publish(1, 3);
  keeper.tick();
  ASSERT_EQ(read_kills(path).kills.size(), 1u);
  const Json told = keeper.describe();
  EXPECT_EQ(told.at("version"), 1);
  EXPECT_EQ(told.at("saved_version"), 1);
  EXPECT_EQ(told.at("command"), 3);
  EXPECT_EQ(told.at("kills").at(0).at("strategy"), 7);
  EXPECT_EQ(told.at("kills").at(0).at("by"), "operator");
  EXPECT_EQ(told.at("kills").at(0).at("operator"), "alice");
  EXPECT_EQ(told.at("kills").at(0).at("since"), "2026-03-31T14:02:11Z");
  table.clear(7);
  table.publish(2, 4);
  keeper.tick();
  EXPECT_TRUE(read_kills(path).kills.empty());
  EXPECT_EQ(read_kills(path).version, 2u);
}

// Two files of one version must say the same, whoever of two programs kept them.
TEST_F(Kills, AreNotKeptUnderTheVersionBeforeTheirs) {
  KillKeeper keeper(path, table);
  table.set(by_operator(7, "alice"));
  table.publish(1, 0);
  table.set(by_limit(3));
  keeper.tick();
  EXPECT_FALSE(std::filesystem::exists(path)) << "the datapath thread is about to say version 2";
  table.publish(2, 0);
  keeper.tick();
  EXPECT_EQ(read_kills(path).version, 2u);
  EXPECT_EQ(read_kills(path).kills.size(), 2u);
}

TEST_F(Kills, ThatCannotBeWrittenAreNotToldToBeSaved) {
  KillKeeper keeper(directory.path() + "/none/risk.kills", table);
  table.set(by_limit(3));
  table.publish(1, 0);
  keeper.tick();
  EXPECT_EQ(keeper.describe().at("version"), 1);
  EXPECT_EQ(keeper.describe().at("saved_version"), 0);
  EXPECT_THAT(keeper.describe().at("error").get<std::string>(), HasSubstr("none/risk.kills"));
  std::filesystem::create_directory(directory.path() + "/none");
  keeper.tick();
  EXPECT_EQ(keeper.describe().at("saved_version"), 1) << "it tries again";
  EXPECT_FALSE(keeper.describe().contains("error"));
}

TEST_F(Kills, FollowTheControlBlockAndItsDescriptions) {
  wire::ControlBlock block{};
  block.set_kill(7, true, true);
  block.set_kill(wire::kKillAll, true, true);
  block.kill_version = 9;
  block.kill = by_operator(7, "alice");
  std::vector<std::uint32_t> changed;
  const auto note = [&](std::uint32_t id, bool killed) {
    changed.push_back(killed ? id : id + 1000);
  };
  table.follow(block, note);
  EXPECT_EQ(changed, (std::vector<std::uint32_t>{7, wire::kKillAll}));
  EXPECT_TRUE(same(table[7], by_operator(7, "alice")));
  EXPECT_EQ(table[wire::kKillAll].cause, wire::KillCause::kUnknown) << "the next block tells why";
  block.kill = by_limit(wire::kKillAll);
  table.follow(block, note);
  EXPECT_TRUE(same(table[wire::kKillAll], by_limit(wire::kKillAll)));
  block.set_kill(7, false, false);
  block.kill = by_operator(7, "alice");  // a description alone kills nobody
  table.follow(block, note);
  EXPECT_FALSE(table.killed(7));
  EXPECT_EQ(changed.size(), 3u);
  EXPECT_EQ(changed.back(), 1007u);
  KillState state{};
  ASSERT_TRUE(table.state(state));
  EXPECT_EQ(state.version, 9u);
}

TEST_F(Kills, AreDescribedOneAfterTheOther) {
  EXPECT_EQ(table.next_killed(0), wire::kKillIds);
  table.set(by_limit(3));
  table.set(by_limit(200));
  EXPECT_EQ(table.next_killed(0), 3u);
  EXPECT_EQ(table.next_killed(4), 200u);
  EXPECT_EQ(table.next_killed(201), 3u);
}

}  // namespace
}  // namespace tickpath::control
