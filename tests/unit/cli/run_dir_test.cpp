// The run directory of `up`: where the files say, and of one configuration alone.
#include <filesystem>
#include <map>

#include "common/config/values.hpp"
#include "common/fix/detail/message_store.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/cli/up_fixture.hpp"
#include "tools/cli/cross_check.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/run_dir_check.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Blocks of different pages are pasted into one checkout, one after the other: no journal, FIX
// store or kill of one configuration may meet another.
TEST(RunDirectories, NoTwoConfigurationsOfTheSourceShareOne) {
  std::map<std::string, std::string> configurations;
  for (const char* name : {"demo", "hosts", "hot", "hot-risk", "shards", "venues"}) {
    const std::string folder = source(std::string("config/") + name);
    const std::string run_dir = cli::run_dir_of(cli::configured_programs(folder, {}, {}));
    const auto [other, first] = configurations.emplace(run_dir, name);
    EXPECT_TRUE(first) << name << " and " << other->second << ": " << run_dir;
  }
}

TEST_F(Up, MeetsInTheRunDirectoryThatTheFilesName) {
  for (const char* name : {"sim", "mdh", "oeg", "risk", "strategy"})
    configure(name, "run_dir = \"run/mine\"");
  EXPECT_THAT(up({"--no-replay", "--detach"}), Ends(0, "tickpath down --run-dir run/mine stops"));
  EXPECT_THAT(tickpath({"status"}), Ends(1, "programs run in 'run/mine'"));
  EXPECT_THAT(tickpath({"down", "--run-dir", "run/mine"}), Ends(0));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/mine/sim.summary.json"));
}

TEST_F(Up, FilesThatNameTwoRunDirectoriesAreRefused) {
  configure("mdh", "run_dir = \"run/mine\"");
  EXPECT_THAT(up(), Ends(2, "has run_dir = \"run\"", "config/mdh.toml \"run/mine\"", "--run-dir"));
}

TEST(RunDirectories, AFixStoreOfAnotherSessionIsToldWithItsRemedyBeforeAnythingStarts) {
  const Folder folder;
  const std::string store = folder / "oeg-1.fixstore";
  { const fix::detail::MessageStore made(store, 8, "SHARD1", "SIM"); }
  const std::string session = "[venue]\nstore = \"{run_dir}/{name}.fixstore\"\ntarget = \"SIM\"\n";
  const auto told = [&](const std::string& sender, const std::string& host = {}) {
    return cli::foreign_stores(
        {{"oeg-1", "oeg", "config/oeg-1.toml",
          "run_dir = \"" + folder.path() + "\"\n" + session + "sender = \"" + sender + "\"\n",
          host}});
  };
  EXPECT_THAT(told("VENUE1"),
              ElementsAre(AllOf(HasSubstr("config/oeg-1.toml: FIX store " + store),
                                HasSubstr("SHARD1 -> SIM, not to VENUE1 -> SIM"),
                                HasSubstr("--run-dir"), HasSubstr("remove " + store))));
  EXPECT_THAT(told("SHARD1"), IsEmpty());
  EXPECT_THAT(told("VENUE1", "order"), IsEmpty()) << "it lies on another host";
}

}  // namespace
}  // namespace tickpath::test_support
