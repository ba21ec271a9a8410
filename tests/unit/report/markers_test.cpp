// parse_marker(), markers_in(): what the programs' logs say of a run.
#include "tools/report/markers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"

namespace tickpath::report {
namespace {

using testing::ElementsAre;

TEST(Markers, AreLinesWithTheProgramsOwnWords) {
  Marker marker;
  ASSERT_TRUE(parse_marker(
      "2026-11-29T15:07:39.470057 sim info: replay paused: 39855 messages, at 09:30:06.889", "sim",
      marker));
  EXPECT_EQ(marker.kind, "pause");
  EXPECT_EQ(marker.text, "replay paused: 39855 messages, at 09:30:06.889");
  EXPECT_EQ(marker.realtime_ns % 1'000'000'000, 470'057'000);
  EXPECT_FALSE(parse_marker("2026-11-29T15:07:39.470057 mdh info: replay paused: 1", "mdh", marker))
      << "another program may say the same of something else";
  EXPECT_FALSE(parse_marker("    # replay paused: a comment", "sim", marker));
  EXPECT_FALSE(parse_marker("replay paused:", "sim", marker));
  EXPECT_FALSE(parse_marker("", "sim", marker));
}

TEST(Markers, AreThoseOfTheRunInTheOrderOfTime) {
  test_support::Folder folder;
  const std::string second = "2026-11-29T15:07:";
  test_support::write_file(folder / "sim.log",
                           second + "01.000000 sim info: replay running: 1 messages\n" +  //
                               second + "04.000000 sim info: replay paused: 2 messages\n" + second +
                               "05.000000 sim info: replay running: 2 messages\n" + second +
                               "59.000000 sim info: replay paused: 9 messages\n");
  test_support::write_file(folder / "risk.log",
                           second +
                               "02.000000 risk warning: strategy 3 is killed by the operator\n" +
                               second + "06.000000 risk warning: strategy 3 may trade again\n");
  test_support::write_file(folder / "mdh-b.log",
                           second + "03.000000 mdh warning: feed: gap: from sequence 7 on\n");
  test_support::write_file(folder / "other.log", second + "03.000000 other info: feed: gap: x\n");
  Marker first;
  ASSERT_TRUE(parse_marker(second + "00.000000 sim info: replay paused: 0", "sim", first));
  const auto markers =
      markers_in({folder.path()}, first.realtime_ns, first.realtime_ns + 30'000'000'000);
  std::vector<std::string> kinds;
  for (const Marker& each : markers) kinds.push_back(each.program + " " + each.kind);
  EXPECT_THAT(kinds,
              ElementsAre("risk kill", "mdh-b gap", "sim pause", "sim continue", "risk lifted"))
      << "the start of a replay is no mark, and one minute later is another run";
}

}  // namespace
}  // namespace tickpath::report
