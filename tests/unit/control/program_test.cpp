// A whole program behind run_program(), in a process of its own.
#include "common/control/program.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tests/support/child.hpp"
#include "tests/support/folder.hpp"
#include "tests/unit/control/small_program.hpp"

namespace tickpath::control {
namespace {

using ::testing::HasSubstr;

struct EchoConfig {
  CommonConfig common;
  int ready_after_ticks = 0;
  int drain_ticks = 0;
  bool throw_at_start = false;
  bool throw_in_tick = false;
  std::string text = "{run_dir}/{name}";
};

config::Schema<EchoConfig> echo_schema() {
  config::Schema<EchoConfig> schema;
  schema.include("", &EchoConfig::common, common_schema());
  schema.integer("ready_after", &EchoConfig::ready_after_ticks, {-1, 1000}, "ticks", "-1: never");
  schema.integer("drain", &EchoConfig::drain_ticks, {-1, 1000}, "ticks", "-1: never");
  schema.flag("throw_at_start", &EchoConfig::throw_at_start, "fail in on_start()");
  schema.flag("throw_in_tick", &EchoConfig::throw_in_tick, "fail in the fifth tick");
  schema.text("text", &EchoConfig::text, "shown by status");
  return schema;
}

class EchoApplication final : public Application, public Datapath {
 public:
  EchoApplication(const EchoConfig& config, Runtime& runtime) : config_(config) {
    runtime.counters().add("echo", "turns", turns_, Counters::Weight::kKey);
    runtime.add_command("double", "twice the number", [](const Json& request) {
      if (!request.contains("number")) throw Error("which number?");
      return Json{{"result", request["number"].get<int>() * 2}};
    });
    event_ = ::eventfd(0, EFD_NONBLOCK);
    watch_ = runtime.watch(event_, [this] {
      std::uint64_t count = 0;
      (void)!::read(event_, &count, sizeof(count));
      ++woken_;
    });
    once_ = runtime.after(std::chrono::milliseconds(1), [this] {
      const std::uint64_t one = 1;
      (void)!::write(event_, &one, sizeof(one));
    });
    often_ = runtime.every(std::chrono::milliseconds(1), [this] {
      if (++often_count_ == 3) often_.cancel();  // from its own callback
    });
  }
  ~EchoApplication() override { ::close(event_); }

  Datapath& datapath() override { return *this; }
  bool turn() noexcept override {
    turns_.add();
    return false;
  }
  void on_start() override {
    if (config_.throw_at_start) throw Error("no luck at the start");
  }
  void on_tick() override {
    if (++ticks_ == 5 && config_.throw_in_tick) throw Error("no luck in a tick");
  }
  std::string not_ready_reason() override {
    const bool ready = config_.ready_after_ticks >= 0 && ticks_ >= config_.ready_after_ticks;
    return ready ? "" : "waiting for tick " + std::to_string(config_.ready_after_ticks);
  }
  void describe(Json& status) override {
    status["text"] = config_.text;
    status["woken"] = woken_;
    status["often"] = often_count_;
  }
  void begin_stop() override { stop_tick_ = ticks_; }
  bool drained(std::string& why) override {
    why = "an order is open";
    return config_.drain_ticks >= 0 && ticks_ >= stop_tick_ + config_.drain_ticks;
  }
  void summarize(Summary& summary) override { summary.feed_messages = 42; }

 private:
  EchoConfig config_;
  Counter turns_;
  int ticks_ = 0, stop_tick_ = 0, woken_ = 0, often_count_ = 0, event_ = -1;
  Subscription watch_, once_, often_;
};

class Program : public ::testing::Test {
 protected:
  Program() { write("echo.toml", kSmallConfig); }

  void write(const std::string& file, const std::string& text) {
    test_support::write_file(scratch_ / file, text);
  }
  std::string read(const std::string& file) const {
    return test_support::read_file(scratch_ / file);
  }

  // In a child, its output in "out".
  void start(std::vector<std::string> settings) {
    std::vector<std::string> arguments{scratch_ / "echo.toml", "--run-dir", scratch_ / "run"};
    for (const std::string& setting : settings)
      arguments.insert(arguments.end(), {"--set", setting});
    launch(arguments);
  }
  void launch(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "echo");
    child_ = std::make_unique<test_support::Child>(
        [&] { return run_small<EchoConfig, EchoApplication>(arguments, echo_schema()); },
        scratch_ / "out");
  }
  int wait_for_end() { return child_->wait(); }

  std::string socket() const { return admin_path(scratch_ / "run", "echo"); }
  Json ask(const Json& request) const { return admin_request(socket(), request); }
  // Until the admin socket answers.
  Json ready(int timeout_ms = 5000) const {
    return answer(socket(), {{"command", "ready"}, {"timeout_ms", timeout_ms}});
  }
  // Of a program that may not listen yet.
  static Json answer(const std::string& at, const Json& request) {
    for (int attempt = 0; attempt < 500; ++attempt) {
      try {
        return admin_request(at, request);
      } catch (const Error&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return {};
  }

  test_support::Folder scratch_;
  std::unique_ptr<test_support::Child> child_;
};

TEST_F(Program, AnswersReadyWhenTheApplicationIs) {
  start({"ready_after=5"});
  EXPECT_EQ(ready(), (Json{{"ok", true}, {"ready", true}}));
  Json status = ask({{"command", "status"}});
  EXPECT_EQ(status["state"], "ready");
  EXPECT_EQ(status["pid"], child_->id());
  EXPECT_EQ(status["wait_mode"], "yield");
  // The datapath's thread may still wait for a core.
  for (int attempt = 0; attempt < 500 && status["key_counters"]["echo.turns"] == 0; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = ask({{"command", "status"}});
  }
  EXPECT_GT(status["key_counters"]["echo.turns"], 0);
}

TEST_F(Program, SaysWhyItIsNotReadyWhenTheTimeIsOver) {
  start({"ready_after=-1"});
  EXPECT_EQ(ready(50), (Json{{"ok", true}, {"ready", false}, {"reason", "waiting for tick -1"}}));
  EXPECT_EQ(ask({{"command", "status"}})["state"], "starting");
}

TEST_F(Program, StopsInOrderBySignalAndLeavesASummary) {
  start({"drain=3"});
  ready();
  child_->signal(SIGTERM);
  EXPECT_EQ(wait_for_end(), 0);
  const Summary summary = summary_from_json(Json::parse(read("run/echo.summary.json")));
  EXPECT_EQ(summary.program, "echo");
  EXPECT_EQ(summary.feed_messages, 42u);
  EXPECT_THAT(read("run/echo.log"), HasSubstr("stopped"));
  EXPECT_EQ(RunDirectory::holder(scratch_ / "run", "echo"), 0);
}

TEST_F(Program, StopsThroughTheAdminSocket) {
  start({});
  ready();
  EXPECT_EQ(ask({{"command", "stop"}}), (Json{{"ok", true}}));
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(Program, ThatDoesNotSettleInTimeSaysWhatIsOpenAndFails) {
  start({"drain=-1", "datapath.stop_timeout=50ms"});
  ready();
  child_->signal(SIGTERM);
  EXPECT_EQ(wait_for_end(), 1);
  EXPECT_THAT(read("out"), HasSubstr("not settled within datapath.stop_timeout: an order is open"));
}

TEST_F(Program, ASignalAfterAStopThatWasAskedForDoesNotForceIt) {
  start({"drain=10"});
  ready();
  ask({{"command", "stop"}});
  child_->signal(SIGTERM);
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(Program, ASecondSignalDoesNotWait) {
  start({"drain=-1", "datapath.stop_timeout=100s"});
  ready();
  child_->signal(SIGINT);
  while (ask({{"command", "status"}})["state"] != "stopping") {
  }
  child_->signal(SIGINT);
  EXPECT_EQ(wait_for_end(), 1);
}

TEST_F(Program, RunsItsOwnCommandsAndReportsTheirErrors) {
  start({});
  ready();
  EXPECT_EQ(ask({{"command", "double"}, {"number", 21}}), (Json{{"result", 42}, {"ok", true}}));
  EXPECT_EQ(ask({{"command", "double"}}), (Json{{"ok", false}, {"error", "which number?"}}));
  EXPECT_FALSE(ask({{"command", "double"}, {"number", "text"}})["ok"]);
  EXPECT_FALSE(ask({{"command", "nonsense"}})["ok"]);
  EXPECT_FALSE(ask("not an object")["ok"]);
  EXPECT_FALSE(ask({{"command", "ready"}, {"timeout_ms", "x"}})["ok"]);
  EXPECT_THROW(admin_command(socket(), {{"command", "nonsense"}}), Error);
}

TEST_F(Program, WatchesDescriptorsAndRunsTimersUntilTheyAreCancelled) {
  start({"ready_after=20"});
  ready();
  const Json status = ask({{"command", "status"}});
  EXPECT_EQ(status["woken"], 1);
  EXPECT_EQ(status["often"], 3);
}

TEST_F(Program, PutsRunDirectoryAndNameIntoItsTexts) {
  start({"name=second"});
  const std::string run = scratch_ / "run";
  EXPECT_EQ(answer(admin_path(run, "second"), {{"command", "status"}})["text"], run + "/second");
  EXPECT_TRUE(std::filesystem::exists(run + "/second.trace"));
}

TEST_F(Program, ThatFailsWhileItStartsOrRunsExitsWithOneAndSaysWhy) {
  start({"throw_at_start=true"});
  EXPECT_EQ(wait_for_end(), 1);
  EXPECT_THAT(read("out"), HasSubstr("no luck at the start"));
  start({"throw_in_tick=true"});
  EXPECT_EQ(wait_for_end(), 1);
  EXPECT_THAT(read("out"), HasSubstr("no luck in a tick"));
}

TEST_F(Program, ASecondOneOfItsNameIsRefused) {
  start({});
  ready();
  const std::unique_ptr<test_support::Child> first = std::move(child_);
  start({});
  EXPECT_EQ(wait_for_end(), 1);
  EXPECT_THAT(read("out"), HasSubstr("already runs in"));
  EXPECT_TRUE(ask({{"command", "status"}})["ok"]) << "the first lives on";
}

TEST_F(Program, AWrongConfigurationExitsWithTwoAndListsEveryProblem) {
  write("echo.toml", "drian = 1\n[datapath]\nwait = \"nap\"\n");
  start({});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("echo.toml:1: drian: unknown key; did you mean 'drain'?"));
  EXPECT_THAT(read("out"), HasSubstr("echo.toml:3: datapath.wait: found \"nap\""));
}

// Its turns stand still while it sleeps: peers would take it for dead.
TEST_F(Program, ThatWouldSleepForLongerThanAHangIsRefused) {
  start({"datapath.wait=park", "datapath.park_timeout=51ms", "datapath.hang_after=100ms"});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("datapath.park_timeout: may be at most half of "
                                     "datapath.hang_after"));
  start({"datapath.wait=yield", "datapath.park_timeout=51ms", "datapath.hang_after=100ms"});
  EXPECT_TRUE(ready()["ready"]) << "it never sleeps";
}

TEST_F(Program, ChecksAndPrintsItsConfigurationWithoutRunning) {
  launch({scratch_ / "echo.toml", "--check"});
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(read("out"), HasSubstr("is fine"));
  launch({"--print-config"});
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(read("out"), HasSubstr("wait = \"auto\""));
  launch({});
  EXPECT_EQ(wait_for_end(), 2);
  launch({"--nonsense"});
  EXPECT_EQ(wait_for_end(), 2);
}

}  // namespace
}  // namespace tickpath::control
