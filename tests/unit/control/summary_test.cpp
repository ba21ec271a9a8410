#include "common/control/summary.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tests/unit/control/scratch.hpp"

namespace tickpath::control {
namespace {

TEST(Summary, ReadsBackWhatItWrote) {
  Summary summary;
  summary.program = "strategy";
  summary.name = "strategy-2";
  summary.strategy_id = 7;
  summary.orders = RequestFlow{1, 2, 3, 4, 5, 6};
  summary.reports = ReportFlow{7, 8, 9, 10};
  summary.positions = {{7, "AAPL", -100, 123456789012345, 3}};
  summary.has_positions = true;
  summary.ticks = {{"mdh", 1, 2, 3}};
  summary.open_orders = 11;
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
  try {
    summary_from_json(json);
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("positions"), std::string::npos);
  }
}

TEST(WriteFileAtomically, ReplacesTheFileAndLeavesNoOther) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/x";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
  EXPECT_THROW(write_file_atomically(scratch.path() + "/no/x", ""), SystemError);
}

}  // namespace
}  // namespace tickpath::control
