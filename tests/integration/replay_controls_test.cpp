// sim's replay under `tickpath replay pause, continue, seek, stop`.
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class ReplayControls : public ::testing::Test {
 protected:
  // An hour of market, which nobody waits for.
  virtual std::string recording() { return folder_.generate(30'000, 3'600); }
  void SetUp() override {
    sim_ = std::make_unique<Process>(
        std::vector<std::string>{program("sim"), folder_.config_dir() + "/sim.toml", "--run-dir",
                                 folder_.run_dir(), "--set", "replay.file=" + recording(), "--set",
                                 "replay.max_idle=0s", "--set", "replay.max_rate=20000"},
        folder_.path());
    until([&] { return replay().value("state", "") == "waiting"; });
  }
  nlohmann::json replay() const {
    try {
      return control::admin_command(control::admin_path(folder_.run_dir(), "sim"),
                                    {{"command", "status"}})
          .at("replay");
    } catch (const Error&) {
      return nlohmann::json::object();  // not up yet
    }
  }
  void until(const std::function<bool()>& done) const {
    ASSERT_TRUE(test_support::turn_until(done, [&] { std::this_thread::sleep_for(10ms); }))
        << replay().dump();
  }
  Finished control(const std::vector<std::string>& action) const {
    std::vector<std::string> command{program("tickpath"), "replay"};
    command.insert(command.end(), action.begin(), action.end());
    command.insert(command.end(), {"--run-dir", folder_.run_dir()});
    return run(command, folder_.path());
  }
  void expect_good(const std::vector<std::string>& action) const {
    EXPECT_THAT(control(action), Ends(0));
  }
  void expect_refused(const std::vector<std::string>& action, const std::string& why) const {
    EXPECT_THAT(control(action), Ends(::testing::Ne(0), why));
  }

  PipelineFolder folder_;
  std::unique_ptr<Process> sim_;
};

TEST_F(ReplayControls, PauseContinueSeekAndStop) {
  expect_refused({"pause"}, "is waiting");
  expect_good({"start", "--no-wait"});
  until([&] { return replay().at("messages_sent") > 0; });
  expect_refused({"continue"}, "is running");
  expect_good({"pause"});
  until([&] { return replay().at("state") == "paused"; });
  const auto sent = replay().at("messages_sent");
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(replay().at("messages_sent"), sent);
  expect_good({"continue"});
  until([&] { return replay().at("state") == "running"; });

  // Half an hour ahead: what lies between arrives within seconds, then it is an hour's pace again.
  expect_refused({"seek"}, "time of day");
  expect_refused({"seek", "9 o'clock"}, "9 o'clock");
  expect_refused({"seek", "09:00"}, "start sim again with replay.from");
  expect_good({"seek", "10:00"});
  constexpr std::uint64_t kTenNs = 36'000'000'000'000, kMinuteNs = 60'000'000'000;
  until([&] { return replay().at("position_ns") >= kTenNs - kMinuteNs; });
  std::this_thread::sleep_for(300ms);
  const nlohmann::json there = replay();
  EXPECT_EQ(there.at("state"), "running");
  EXPECT_GT(there.at("messages_sent"), 10'000);
  EXPECT_LT(there.at("position_ns"), kTenNs + 2 * kMinuteNs);
  EXPECT_GT(there.at("remaining_ns"), 20 * kMinuteNs);
  EXPECT_LT(there.at("remaining_ns"), 40 * kMinuteNs);

  // What is left of the half hour takes so much less.
  expect_refused({"speed"}, "wants a number");
  expect_refused({"speed", "fast"}, "no speed");
  expect_refused({"speed", "0"}, "speed wants a number from");
  expect_good({"speed", "100"});
  until([&] { return replay().at("speed") == 100.0; });
  EXPECT_LT(replay().at("remaining_ns"), kMinuteNs);
  until([&] { return replay().at("position_ns") >= kTenNs + 2 * kMinuteNs; });

  expect_good({"stop"});
  until([&] { return replay().at("state") == "halted"; });
  expect_refused({"seek", "10:20"}, "is halted");
  sim_->signal(SIGTERM);
  EXPECT_EQ(sim_->wait(test_support::kPatience).exit_code, 0) << sim_->output();
}

// Two days of an hour each.
class ReplayOfTwoDays : public ReplayControls {
 protected:
  std::string recording() override {
    const std::string path = folder_.path() + "/days.itch50";
    EXPECT_THAT(run({program("tickpath"), "generate", path, "--days", "2", "--messages", "6000",
                     "--symbols", "5", "--duration", "3600s"},
                    folder_.path()),
                Ends(0));
    return path;
  }
};

TEST_F(ReplayOfTwoDays, ASeekGoesToTheOtherDayAndStaysPausedWhereItWas) {
  constexpr std::uint64_t kMinuteNs = 60'000'000'000, kThereNs = (33 * 60 + 45) * kMinuteNs;
  expect_good({"start", "--no-wait"});
  until([&] { return replay().at("messages_sent") > 0; });
  expect_good({"pause"});
  until([&] { return replay().at("state") == "paused"; });
  expect_good({"seek", "33:45"});
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(replay().at("state"), "paused");
  EXPECT_LT(replay().at("messages_sent"), 3'000);
  expect_good({"continue"});
  until([&] { return replay().at("position_ns") >= kThereNs - kMinuteNs; });
  std::this_thread::sleep_for(200ms);
  const nlohmann::json there = replay();
  EXPECT_EQ(there.at("state"), "running");
  EXPECT_LT(there.at("position_ns"), kThereNs + 2 * kMinuteNs);
  EXPECT_LT(there.at("messages_sent"), 6'000);
  // The plan knows times by parts of the recording: of the second day's hour some 45 minutes.
  EXPECT_GT(there.at("remaining_ns"), 30 * kMinuteNs);
  EXPECT_LT(there.at("remaining_ns"), 60 * kMinuteNs);
  expect_refused({"seek", "33:40"}, "start sim again with replay.from");
  sim_->signal(SIGTERM);
  EXPECT_EQ(sim_->wait(test_support::kPatience).exit_code, 0) << sim_->output();
}

TEST_F(ReplayControls, SymbolsAreHaltedAndResumedByHand) {
  const auto trading = [&](const std::string& action, const std::string& symbol) {
    return run({program("tickpath"), "trading", action, symbol, "--run-dir", folder_.run_dir()},
               folder_.path());
  };
  const auto by_hand = [&] {
    const nlohmann::json counters = control::admin_command(
        control::admin_path(folder_.run_dir(), "sim"), {{"command", "counters"}});
    return counters.at("counters").at("replay").at("states_by_hand").get<int>();
  };
  EXPECT_THAT(trading("halt", "ZAAA"), Ends(1, "has not listed it"));
  expect_good({"start", "--no-wait"});
  until([&] { return replay().at("messages_sent") > 100; });
  for (const char* action : {"halt", "pause", "quote", "resume"}) {
    const int before = by_hand();
    EXPECT_THAT(trading(action, "ZAAA"), Ends(0));
    EXPECT_EQ(by_hand(), before + 1) << action;
  }
  EXPECT_NE(trading("close", "ZAAA").exit_code, 0);
  EXPECT_THAT(trading("halt", "NOSUCH").output, HasSubstr("no symbol NOSUCH"));
  EXPECT_THAT(trading("halt", "MUCHTOOLONG").output, HasSubstr("1 to 8 characters"));
  sim_->signal(SIGTERM);
  EXPECT_EQ(sim_->wait(test_support::kPatience).exit_code, 0) << sim_->output();
}

TEST_F(ReplayControls, AreExplained) {
  const Finished help = control({"--help"});
  for (const char* word : {"pause", "continue", "seek", "speed", "stop", "watch"})
    EXPECT_THAT(help.output, HasSubstr(word));
  expect_refused({"rewind"}, "rewind");
  expect_refused({"pause", "10:00"}, "a time is for seek");
  sim_->signal(SIGTERM);
  EXPECT_EQ(sim_->wait(test_support::kPatience).exit_code, 0) << sim_->output();
}

}  // namespace
}  // namespace tickpath::test_support
