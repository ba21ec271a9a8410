// A whole program behind run_program(), in a process of its own.
#include "common/control/program.hpp"

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iterator>
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
using ::testing::Not;

struct EchoConfig {
  CommonConfig common;
  int ready_after_ticks = 0;
  int drain_ticks = 0;
  bool throw_at_start = false;
  bool throw_in_tick = false;
  bool throw_made = false;
  std::int64_t made_after_ms = 0;
  bool crash_in_turn = false;
  std::string text = "{run_dir}/{name}";
};

config::Schema<EchoConfig> echo_schema() {
  config::Schema<EchoConfig> schema;
  schema.include("", &EchoConfig::common, common_schema());
  schema.integer("ready_after", &EchoConfig::ready_after_ticks, {-1, 1000}, "ticks", "-1: never");
  schema.integer("drain", &EchoConfig::drain_ticks, {-1, 1000}, "ticks", "-1: never");
  schema.flag("throw_at_start", &EchoConfig::throw_at_start, "fail in on_start()");
  schema.flag("throw_in_tick", &EchoConfig::throw_in_tick, "fail in the fifth tick");
  schema.flag("throw_made", &EchoConfig::throw_made, "fail while it is made");
  schema.integer("made_after", &EchoConfig::made_after_ms, {0, 1000}, "ms",
                 "how long it takes to be made");
  schema.flag("crash_in_turn", &EchoConfig::crash_in_turn, "crash in the 100th turn");
  schema.text("text", &EchoConfig::text, "shown by status");
  return schema;
}

class EchoApplication final : public Application, public Datapath {
 public:
  EchoApplication(const EchoConfig& config, Runtime& runtime) : config_(config) {
    std::this_thread::sleep_for(std::chrono::milliseconds(config.made_after_ms));
    if (config.throw_made) throw Error("no luck while it is made");
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
    if (config_.crash_in_turn && turns_.get() == 100) std::raise(SIGSEGV);
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
  // The answer of a program that may not listen yet.
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
  EXPECT_EQ(ready(), (Json{{"ok", true}, {"ready", true}, {"pid", child_->id()}}));
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
  EXPECT_EQ(ready(50), (Json{{"ok", true},
                             {"ready", false},
                             {"pid", child_->id()},
                             {"reason", "waiting for tick -1"}}));
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

// ------------------------------------------------------------- several instances in one process

class SeveralInstances : public Program {
 protected:
  SeveralInstances() {
    for (const char* name : {"a", "b", "c"}) write(std::string(name) + ".toml", kSmallConfig);
  }
  void start_of(const std::vector<std::string>& names, std::vector<std::string> settings = {}) {
    std::vector<std::string> arguments;
    for (const std::string& name : names) arguments.push_back(scratch_ / (name + ".toml"));
    arguments.insert(arguments.end(), {"--run-dir", scratch_ / "run"});
    for (const std::string& setting : settings)
      arguments.insert(arguments.end(), {"--set", setting});
    launch(arguments);
  }
  Json ask(const std::string& name, const Json& request) const {
    return answer(admin_path(scratch_ / "run", name), request);
  }
  std::ptrdiff_t threads() const {
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(child_->id()) +
                                                    "/task");
    return std::distance(begin(tasks), end(tasks));
  }
  Json ready(const std::string& name) const {
    return ask(name, {{"command", "ready"}, {"timeout_ms", 5000}});
  }
};

TEST_F(SeveralInstances, HaveAThreadTogetherAndAllElseOfTheirOwn) {
  start_of({"a"}, {"name=alone"});
  ready("alone");
  const std::ptrdiff_t alone = threads();  // a sanitizer has its own
  child_->signal(SIGTERM);
  EXPECT_EQ(wait_for_end(), 0) << read("out");
  start_of({"a", "b", "c"}, {"b:text=of b", "drain=2"});
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_EQ(ready(name)["ready"], true) << name;
    const Json status = ask(name, {{"command", "status"}});
    EXPECT_EQ(status["name"], name);
    EXPECT_EQ(status["pid"], child_->id());
    const std::string run = scratch_ / "run";
    EXPECT_EQ(status["text"], std::string(name) == "b" ? "of b" : run + "/" + name);
    EXPECT_EQ(RunDirectory::holder(run, name), child_->id());
    EXPECT_TRUE(std::filesystem::exists(run + "/" + name + ".trace"));
  }
  EXPECT_EQ(threads(), alone + 2) << "a control thread each, and one datapath thread";
  child_->signal(SIGTERM);
  EXPECT_EQ(wait_for_end(), 0) << read("out");
  for (const char* name : {"a", "b", "c"}) {
    const std::string stem = std::string("run/") + name;
    EXPECT_EQ(summary_from_json(Json::parse(read(stem + ".summary.json"))).name, name);
    EXPECT_THAT(read(stem + ".log"), HasSubstr(std::string(" ") + name + " info: stopped"));
    for (const std::string other : {"a", "b", "c"}) {
      if (other == name) continue;
      EXPECT_THAT(read(stem + ".log"), Not(HasSubstr(" " + other + " info:")));
    }
    EXPECT_EQ(RunDirectory::holder(scratch_ / "run", name), 0);
  }
}

TEST_F(SeveralInstances, AllEndInOrderWhenOneIsAskedTo) {
  start_of({"a", "b"}, {"a:drain=10"});
  ready("a");
  ready("b");
  EXPECT_EQ(ask("b", {{"command", "stop"}})["ok"], true);
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(read("run/b.log"), HasSubstr("stopping: asked through the admin socket"));
  EXPECT_THAT(read("run/a.log"), HasSubstr("stopping: b stops"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/a.summary.json"));
}

TEST_F(SeveralInstances, AllEndInOrderAndTheProcessFailsWhenOneFails) {
  for (const char* how : {"b:throw_at_start=true", "b:throw_in_tick=true", "b:throw_made=true"}) {
    start_of({"a", "b"}, {how});
    EXPECT_EQ(wait_for_end(), 1) << how;
    EXPECT_THAT(read("run/b.log"), HasSubstr("no luck")) << how;
    EXPECT_THAT(read("run/a.log"), HasSubstr("stopping: b ")) << how;
    EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/a.summary.json")) << how;
    std::filesystem::remove_all(scratch_ / "run");
  }
}

TEST_F(SeveralInstances, ThatDoNotFitTogetherAreRefusedBeforeAnythingIsMade) {
  start_of({"a", "b"}, {"name=same"});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("two instances are called 'same'"));
  start_of({"a", "b"}, {"b:datapath.wait=park"});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("a and b share a datapath thread, and must say the same"));
  start_of({"a", "b"}, {"d:text=x"});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("--set d:text=x: no configuration of that name is given"));
  start_of(std::vector<std::string>(kInstancesMax + 1, "a"));
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("at most 16 instances fit in one process"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run"));
}

TEST_F(SeveralInstances, AreRefusedWhereOneRunsAlreadyAndTheOtherOneStaysFree) {
  start_of({"b"}, {"name=b"});
  ready("b");
  const std::unique_ptr<test_support::Child> first = std::move(child_);
  start_of({"a", "b"});
  EXPECT_EQ(wait_for_end(), 1);
  EXPECT_THAT(read("out"), HasSubstr("'b' already runs in"));
  EXPECT_EQ(RunDirectory::holder(scratch_ / "run", "a"), 0);
  EXPECT_TRUE(ask("b", {{"command", "status"}})["ok"]) << "the first lives on";
}

TEST_F(SeveralInstances, ACrashWritesTheLogsOfAll) {
  // Also where it happens before the other one is taken in by the datapath thread.
  for (const char* how : {"a:made_after=0", "a:made_after=300"}) {
    start_of({"a", "b"}, {"b:crash_in_turn=true", how});
    EXPECT_NE(wait_for_end(), 0) << how;
    EXPECT_THAT(read("run/a.log"), HasSubstr("crashed by SIGSEGV")) << how;
    EXPECT_THAT(read("run/b.log"), HasSubstr("crashed by SIGSEGV")) << how;
    std::filesystem::remove_all(scratch_ / "run");
  }
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

TEST_F(Program, WithAProviderThatThereIsNotIsRefusedByCheck) {
  launch({scratch_ / "echo.toml", "--check", "--set", "fabric.provider=ofy"});
  EXPECT_EQ(wait_for_end(), 2);
  EXPECT_THAT(read("out"), HasSubstr("fabric.provider: found \"ofy\"; allowed is one of: \"shm\" "
                                     "\"verbs\" \"ofi\""));
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
