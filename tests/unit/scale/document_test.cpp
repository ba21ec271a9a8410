// docs/SCALE.md shows what commands print. Whoever changes a cost, a scenario or the arithmetic
// finds here that the page says something else.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.hpp"
#include "tests/support/sanitized.hpp"
#include "tools/scale/analysis.hpp"
#include "tools/scale/simulation.hpp"

namespace tickpath::scale {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(test_support::source("config/scale")))
    files.push_back(entry.path());
  return files;
}

// The commands that print what the page has below them, each on one line.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> commands;
  std::istringstream lines(page);
  std::string command;
  for (std::string line; std::getline(lines, line);) {
    command += line;
    if (command.ends_with("\\")) {
      command.pop_back();
      continue;
    }
    if (command.starts_with("$bin/tickpath scale ") &&
        command.find(" --markdown") != std::string::npos)
      commands.push_back(command);
    command.clear();
  }
  return commands;
}

test_support::Finished shell(const std::string& command) {
  const std::string bin =
      std::filesystem::path(test_support::program("tickpath")).parent_path().string();
  return test_support::run({"/bin/sh", "-c", "bin='" + bin + "'; " + command},
                           test_support::source("."));
}

TEST(ScaleDocument, ShowsWhatItsCommandsPrint) {
  const std::string page = text_of(test_support::source("docs/SCALE.md"));
  std::vector<std::string> commands = commands_of(page);
  EXPECT_GE(commands.size(), 5u);
  if (test_support::kSanitized)
    commands.resize(1);  // the others take minutes, and are the same code
  for (const std::string& command : commands) {
    const test_support::Finished done = shell(command);
    EXPECT_EQ(done.exit_code, 0) << command;
    ASSERT_FALSE(done.output.empty()) << command;
    EXPECT_THAT(page, HasSubstr(done.output))
        << "docs/SCALE.md does not show what this prints now; put it there:\n"
        << command;
  }
}

TEST(ScaleDocument, EachOfItsScenariosIsShownAndSimulatedAsBusyAsComputed) {
  const std::string page = text_of(test_support::source("docs/SCALE.md"));
  const std::vector<std::string> files = scenario_files();
  EXPECT_GE(files.size(), 3u);
  for (const std::string& file : files) {
    EXPECT_THAT(page, HasSubstr("config/scale/" + std::filesystem::path(file).filename().string()));
    Scenario scenario = load_scenario(file);
    // Nothing is lost on the way, so that all of it comes to the end.
    scenario.mdh.send_depth = 65'536;
    scenario.mdh.buffer_bytes = std::uint64_t{1} << 32;
    scenario.strategy.ring_slots = scenario.oeg.ring_slots = 1 << 22;
    scenario.run.messages = 40'000;
    const SimulationResult result = simulate(scenario);
    EXPECT_EQ(result.flow.lost + result.flow.skipped + result.flow.overrun, 0u);
    scenario.feed.rate = result.rate;
    const Analysis analysis = analyse(scenario);
    ASSERT_EQ(result.links.size(), analysis.loads.size());
    // Packets choose their line at random: the busiest has so many, give or take its root. All
    // together have what was sent, whatever they chose.
    const double packets =
        4e4 / scenario.feed.packet_messages * scenario.feed.busiest_line / scenario.feed.lines;
    for (std::size_t i = 0; i < result.links.size(); ++i) {
      const Load& load = analysis.loads[i];
      ASSERT_EQ(result.links[i].link, load.link);
      if (load.utilisation < 1e-3) continue;  // so few messages that one more or less counts
      if (load.link != Link::kMdhIn) {        // a line is heard by one host or by more
        EXPECT_NEAR(result.links[i].mean, load.mean, 0.01 * load.mean)
            << file << ": " << name_of(load.link);
      }
      EXPECT_NEAR(result.links[i].utilisation, load.utilisation,
                  std::max(0.02, 4 / std::sqrt(packets)) * load.utilisation)
          << file << ": " << name_of(load.link);
    }
  }
}

TEST(ScaleCommand, SaysWhatIsWrong) {
  const test_support::Finished unknown =
      shell("\"$bin/tickpath\" scale config/scale/here.toml --set feed.rat=1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("feed.rat"));
  const test_support::Finished absent = shell("\"$bin/tickpath\" scale none.toml");
  EXPECT_NE(absent.exit_code, 0);
  EXPECT_THAT(absent.output, HasSubstr("none.toml"));
  const test_support::Finished both =
      shell("\"$bin/tickpath\" scale config/scale/here.toml --cores 8");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.output, HasSubstr("--hosts"));
  const test_support::Finished bad =
      shell("\"$bin/tickpath\" scale config/scale/here.toml --vary fabric.fan_out=tree");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.output, HasSubstr("relay"));
}

TEST(ScaleCommand, ReadsTheArrivalsOfARecordingAndPrintsJson) {
  const test_support::Folder folder;
  const std::string recording = folder / "day.itch50";
  const test_support::Finished done =
      shell("\"$bin/tickpath\" generate " + recording +
            " --messages 5000 --symbols 5 --duration 1 >/dev/null && \"$bin/tickpath\" scale "
            "config/scale/here.toml --recording " +
            recording + " --set run.messages=2000 --json");
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("\"messages\": 2000"));
  EXPECT_THAT(done.output, HasSubstr("\"feed_to_strategy\""));
}

}  // namespace
}  // namespace tickpath::scale
