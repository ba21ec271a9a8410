#include "tools/watch/frame.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/watch/statuses.hpp"

namespace tickpath::watch {
namespace {

using control::Json;
using ::testing::HasSubstr;

Json full_view() {
  Found found = two_looks();
  for (int i = 0; i < 60; ++i)
    found.positions.push_back({{"strategy", i % 3},
                               {"symbol", "S" + std::to_string(i)},
                               {"shares", i},
                               {"cash", -1e6 * i},
                               {"fills", 60 - i}});
  found.hops.push_back({{"from", "mdh.kernel_rx"},
                        {"to", "oeg.sent"},
                        {"headline", true},
                        {"count", 12},
                        {"p50_ns", 3893},
                        {"p99_ns", 26'300},
                        {"max_ns", 4'590'000}});
  for (int i = 0; i < 14; ++i)
    found.hops.push_back({{"from", "strategy.posted"}, {"to", "oeg.risk_passed"}, {"count", i}});
  status_of(found, "mdh")["feed"]["state"] = "stale";
  Json view = view_of(found);
  view["run_dir"] = "run";
  view["utc"] = "2027-02-19T10:00:00Z";
  view["window_s"] = 10;
  return view;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Frame, OfAnySizeFitsTheTerminal) {
  const Json view = full_view();
  for (const std::size_t columns : {1u, 20u, 40u, 80u, 81u, 120u, 139u, 140u, 160u, 300u})
    for (const std::size_t rows : {1u, 2u, 5u, 24u, 50u, 200u}) {
      FrameOptions options{columns, rows};
      options.footer = "q quit";
      const auto lines = frame_of(view, options);
      EXPECT_EQ(lines.size(), rows) << columns << " x " << rows;
      for (const std::string& line : lines_of(plain_text(lines)))
        EXPECT_LE(width_of(line), columns) << line;
    }
}

TEST(Frame, OfEightyColumnsAndTwentyFourRowsHasSomethingOfEachPart) {
  FrameOptions options{80, 24};
  options.footer = "q quit";
  const std::string text = plain_text(frame_of(full_view(), options));
  for (const char* const part :
       {" tickpath  run  10:00:00Z  P&L -400.50  orders 100/s", " ALARM    mdh: the feed is stale",
        "1,000 messages/s", "25 %", "mdh: feed stale", "oeg/the venue: logged on",
        " tick-to-order ", "3893 ns", "26.3 us", "4.59 ms", " QUEUES  empty", " 2 quoter ",
        "strategy 2 loss_max", "80.1 %", " ZAAA ", " q quit"})
    EXPECT_THAT(text, HasSubstr(part)) << text;
}

TEST(Frame, OfAWideTerminalHasTwoColumns) {
  const auto lines = lines_of(plain_text(frame_of(full_view(), {160, 50})));
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find(" PROGRAM") != line.npos && line.find(" STRATEGY") != line.npos;
  }));
}

TEST(Frame, PositionsAreSortedByWhatIsAskedFor) {
  const Json view = full_view();
  const auto first = [&](std::size_t sort, bool reverse, std::size_t skip = 0) {
    FrameOptions options{80, 0};
    options.sort = sort;
    options.reverse = reverse;
    options.skip = skip;
    const auto lines = lines_of(plain_text(frame_of(view, options)));
    const auto title = std::ranges::find_if(
        lines, [](const std::string& line) { return line.starts_with(" POSITION"); });
    const std::string line = *(title + 1);
    return line.substr(1, line.find(' ', 1) - 1);
  };
  const auto key = [](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(kSortKeys, name) - kSortKeys.begin());
  };
  EXPECT_EQ(first(key("shares"), false), "ZAAA") << "250, sold";
  EXPECT_EQ(first(key("shares"), false, 1), "S59");
  EXPECT_EQ(first(key("shares"), true), "S0");
  EXPECT_EQ(first(key("symbol"), false), "S0");
  EXPECT_EQ(first(key("symbol"), true), "ZAAA");
  EXPECT_EQ(first(key("fills"), false), "S0");
  EXPECT_EQ(first(key("cash"), false), "S59");
  EXPECT_EQ(first(key("strategy"), false), "S0");
}

TEST(Frame, WhatIsNotShownIsCounted) {
  const std::string text = plain_text(frame_of(full_view(), {80, 45}));
  EXPECT_THAT(text, ::testing::ContainsRegex(" \\.\\.\\. [0-9]+ more"));
}

TEST(Frame, WhereNothingRunsItSaysSo) {
  const Json view = {{"nothing_runs", "nothing runs in 'run'"}};
  EXPECT_THAT(plain_text(frame_of(view, {80, 24})), HasSubstr(" nothing runs in 'run'\n"));
}

TEST(Frame, ANameOfManyBytesIsCutBetweenCharacters) {
  EXPECT_EQ(cut("\xc3\xa4\xc3\xb6x", 2), "\xc3\xa4\xc3\xb6");
  EXPECT_EQ(width_of("\xc3\xa4\xc3\xb6x"), 3u);
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(Frame, ATerminalGetsEachLineOnceAndWhatWasThereErased) {
  const std::string text = terminal_text({{{"a", Style::kAlarm}}, {{"b"}}}, true);
  EXPECT_EQ(text, "\x1b[H\x1b[K\x1b[1;31ma\x1b[0m\r\n\x1b[Kb");
  EXPECT_EQ(terminal_text({{{"a", Style::kAlarm}}}, false), "\x1b[H\x1b[Ka");
}

}  // namespace
}  // namespace tickpath::watch
