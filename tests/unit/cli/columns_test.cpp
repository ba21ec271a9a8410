// What is shown to a person fits a terminal of 80 columns, and of fewer.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/cli/commands.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/replay_view.hpp"

namespace tickpath::cli {
namespace {

using control::Json;

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Columns, OfTheReplaysLine) {
  const Json replay = {{"messages_sent", 312'345'678},       {"messages_total", 412'345'678},
                       {"position_ns", 34'200'000'000'000},  {"rate", 1'234'567},
                       {"remaining_ns", 12'345'000'000'000}, {"state", "paused"}};
  for (const std::size_t columns : {20u, 40u, 60u, 80u, 100u, 200u})
    EXPECT_LT(replay_line(replay, columns).size(), columns) << replay_line(replay, columns);
  EXPECT_NE(replay_line(replay, 200).find("[####"), std::string::npos);
  EXPECT_NE(replay_line(replay, 0).find("paused (tickpath replay continue)"), std::string::npos);
  const Json small = {{"messages_sent", 5}, {"messages_total", 10}, {"state", "running"}};
  EXPECT_EQ(replay_line(small, 80).find("[###############...............]  50 %"), 0u)
      << replay_line(small, 80);
}

TEST(Columns, OfTheProgressBar) {
  for (const std::size_t columns : {20u, 40u, 80u, 120u})
    EXPECT_LT(progress_line("converting a recording", 1.0, 1e6, columns).size(), columns);
  EXPECT_NE(progress_line("generating", 0.5, 8, 80).find("####...."), std::string::npos);
}

TEST(Columns, OfWhatRiskKnowsOfEachVenue) {
  Json all = Json::array({{{"name", "risk"}, {"program", "risk"}, {"role", "active"}}});
  for (const char* positions : {"whole", "pending", "unknown", "doubtful"})
    all[0]["venues"].push_back({{"name", positions}, {"positions", positions}});
  all[0]["venues"].back()["mdh_alive"] = false;
  all[0]["venues"].back()["not_ready_reason"] = "waiting for oeg at " + std::string(100, 'x');
  const std::string text = status_text(all, 80);
  EXPECT_LT(longest_line(text), 80u) << text;
  for (const char* line :
       {"    whole: positions are whole\n", "    pending: positions not confirmed; the last known",
        "    unknown: positions NOT KNOWN yet: limits that they may relieve wait\n",
        "    doubtful: positions DOUBTFUL: they count against limits alone\n",
        "      NO MDH: the last marks count\n", "      waiting for oeg at xxx"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(Columns, OfTheStatus) {
  Json counters = Json::object();
  for (int i = 0; i < 12; ++i) counters["group.a_counter_" + std::to_string(i)] = 1'234'567'890'123;
  const Json all = Json::array({{{"name", "strategy-2"},
                                 {"program", "strategy"},
                                 {"pid", 4'194'304},
                                 {"state", "not ready"},
                                 {"wait_mode", "yield"},
                                 {"wait_configured", "auto"},
                                 {"cores", "cpus 0-127 (unpinned)"},
                                 {"uptime_ms", 123'456'789},
                                 {"not_ready_reason", std::string(100, 'x')},
                                 {"key_counters", counters}}});
  const std::string text = status_text(all, 80);
  EXPECT_LT(longest_line(text), 80u) << text;
  EXPECT_NE(text.find("group.a_counter_11=1234567890123"), std::string::npos) << text;
  EXPECT_LT(longest_line(status_text(all, 40)), 40u);
}

TEST(Columns, OfTheStatusThatIsWatched) {
  const auto look = [](int pid, std::int64_t uptime_ms, std::uint64_t messages,
                       std::uint64_t fill) {
    return Json::array(
        {{{"name", "mdh"},
          {"program", "mdh"},
          {"pid", pid},
          {"uptime_ms", uptime_ms},
          {"key_counters", {{"feed.gaps", 0}, {"feed.messages", messages}, {"ring.fill", fill}}}}});
  };
  const Json first = look(7, 1'000, 500, 9), second = look(7, 3'000, 4'500, 3),
             third = look(7, 4'000, 4'503, 3), another = look(8, 5'000, 9'000, 3);
  const std::string text = status_text(watched(second, first), 80);
  EXPECT_NE(text.find("feed.messages=4500 +2000/s  ring.fill=3\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("feed.gaps"), std::string::npos) << "it is 0";
  EXPECT_NE(status_text(watched(third, second), 80).find("feed.messages=4503 +3.0/s"),
            std::string::npos);
  EXPECT_EQ(status_text(watched(another, third), 80).find("/s"), std::string::npos)
      << "it was started again";
  Json many = second;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "group.a_counter_" + std::to_string(i);
    many[0]["key_counters"][name] = 1'234'567'890'123;
    many[0]["rates"][name] = 1'234'567.0;
  }
  EXPECT_LT(longest_line(status_text(many, 80)), 80u);
}

TEST(Columns, AScreenShowsWhatFits) {
  EXPECT_EQ(screen_text("a\nb\n", 3, 80), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
  EXPECT_EQ(screen_text("a\nb\nc\n", 3, 80), "\x1b[Ha\x1b[K\n... 2 more lines\x1b[K\n\x1b[J");
  EXPECT_EQ(screen_text("a\nb\n", 1, 80), "\x1b[H... 2 more lines\x1b[K\n\x1b[J");
  EXPECT_EQ(screen_text("12345\n", 3, 5), "\x1b[H1234\x1b[K\n\x1b[J");
}

TEST(Columns, AreThoseThatTheEnvironmentTells) {
  ::setenv("COLUMNS", "132", 1);
  EXPECT_EQ(terminal_columns(), 132u);
  ::setenv("COLUMNS", "rubbish", 1);
  EXPECT_GE(terminal_columns(), 20u);
  ::unsetenv("COLUMNS");
}

}  // namespace
}  // namespace tickpath::cli
