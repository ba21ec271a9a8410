#include "common/control/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::control {
namespace {

TEST(Summary, ReadsBackWhatItWrote) {
  Summary summary{.program = "strategy",
                  .name = "strategy-2",
                  .strategy_id = 7,
                  .orders = RequestFlow{1, 2, 3, 4, 5, 6},
                  .reports = ReportFlow{7, 8, 9, 10},
                  .positions = {{7, "AAPL", -100, 123456789012345, 3}},
                  .has_positions = true,
                  .ticks = {{"mdh", 1, 2, 3}},
                  .open_orders = 11};
  const Summary again = summary_from_json(Json::parse(to_json(summary).dump()));
  EXPECT_EQ(to_json(again), to_json(summary));
  EXPECT_EQ(again.strategy_id, 7);
  EXPECT_EQ(again.orders->unanswered, 6u);
  EXPECT_FALSE(again.changes.has_value());
  EXPECT_EQ(again.positions.at(0).cash, 123456789012345);
}

TEST(Summary, ThatLacksAKeyIsAnErrorThatNamesIt) {
  Json json = to_json(Summary{});
  json.erase("positions");
  EXPECT_THAT(test_support::error_of<Error>([&] { summary_from_json(json); }),
              ::testing::HasSubstr("positions"));
}

TEST(WriteFileAtomically, ReplacesTheFileAndLeavesNoOther) {
  const test_support::Folder scratch;
  const std::string path = scratch / "x";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
  EXPECT_THROW(write_file_atomically(scratch / "no/x", ""), SystemError);
}

}  // namespace
}  // namespace tickpath::control
