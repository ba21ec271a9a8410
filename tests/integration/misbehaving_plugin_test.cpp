// A plugin that hangs or crashes gets its name told at once, wherever a person looks.
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::test_support {
namespace {

using control::Json;

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class MisbehavingPlugin : public ::testing::Test {
 protected:
  static std::string file() {
    const std::filesystem::path binaries = std::filesystem::path(program("strategy")).parent_path();
    return binaries.parent_path() / "tests/plugins/misbehaving.so";
  }
  // In place of the demo's plugins.
  void write(const std::string& how, const std::string& where) const {
    const std::string path = folder_.config_dir() + "/strategy.toml";
    std::string text = read_file(path);
    text.resize(text.find("[[plugin]]"));
    text += "[[plugin]]\nid = 3\nname = \"rascal\"\nfile = \"" + file() +
            "\"\n[plugin.parameters]\nhow = \"" + how + "\"\nwhere = \"" + where + "\"\n";
    write_file(path, text);
  }
  // The strategy program alone: its plugin is started, and stopped, without mdh or oeg.
  std::vector<std::string> strategy() const {
    return {program("strategy"), folder_.config_dir() + "/strategy.toml", "--run-dir",
            folder_.run_dir()};
  }
  // Null: it does not answer.
  Json status() const {
    try {
      return control::admin_command(control::admin_path(folder_.run_dir(), "strategy"),
                                    {{"command", "status"}});
    } catch (const Error&) {
      return nullptr;
    }
  }
  void until_status(const std::function<bool(const Json&)>& is_so) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (Json told = status(); !told.is_object() || !is_so(told); told = status()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << told;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  std::string log() const { return read_file(folder_.run_dir() + "/strategy.log"); }

  PipelineFolder folder_;
};

TEST_F(MisbehavingPlugin, ThatHangsIsNamedByStatusAndLogWhileItHangs) {
  write("hang", "stop");
  Process hanging(strategy());
  until_status([](const Json&) { return true; });
  hanging.signal(SIGTERM);
  until_status([](const Json& told) { return told.value("state", "") == "hanging"; });
  const std::string where = "the datapath thread hangs in plugin rascal (strategy 3) in stop";
  const Json told = status();
  EXPECT_EQ(told["plugins"][0].value("state", ""), "hanging") << told;
  const Finished shown = run({program("tickpath"), "status", "--run-dir", folder_.run_dir()});
  EXPECT_TRUE(tells(shown.output, "hanging") && tells(shown.output, where)) << shown.output;
  EXPECT_TRUE(tells(log(), where)) << log();
  hanging.signal(SIGTERM);  // not to wait any longer
  EXPECT_THAT(hanging.wait(kPatience), Ends(1, where + "; leaving without it"));
}

class Starting : public MisbehavingPlugin, public ::testing::WithParamInterface<std::string> {
 protected:
  ~Starting() override { ::unsetenv("TICKPATH_TEST_HANG_IN_CREATE"); }
};

TEST_P(Starting, APluginThatHangsIsNamedWithItsCallbackByStatusUpAndLog) {
  write("hang", GetParam());
  if (GetParam() == "create") ::setenv("TICKPATH_TEST_HANG_IN_CREATE", "1", 1);
  const std::string where = "it is in plugin rascal (strategy 3) in " + GetParam();
  Process hanging(strategy());
  until_status([&](const Json& told) { return told.value("not_ready_reason", "") == where; });
  EXPECT_EQ(status().value("state", ""), "starting");
  const Finished shown = run({program("tickpath"), "status", "--run-dir", folder_.run_dir()});
  EXPECT_TRUE(tells(shown.output, where)) << shown.output;
  hanging.signal(SIGTERM);
  EXPECT_THAT(hanging.wait(kPatience), Ends(1, where + "; leaving without it"));

  EXPECT_THAT(run({program("tickpath"), "up", folder_.config_dir(), "--run-dir", folder_.run_dir(),
                   "--only", "strategy", "--ready-timeout", "2"}),
              Ends(1, "not ready after 2 s: " + where));
  EXPECT_TRUE(tells(log(), "not ready after 1 s: " + where)) << log();
}

INSTANTIATE_TEST_SUITE_P(Callbacks, Starting, ::testing::Values("create", "start"));

// With the rest of the pipeline: the first that a plugin is told is that oeg is there.
TEST_F(MisbehavingPlugin, ThatHangsOrCrashesEndsUpWithItsName) {
  const std::string recording = folder_.generate(1'000, 1);
  for (const char* how : {"hang", "crash"}) {
    write(how, "gateway_state");
    const Finished finished = folder_.run_up(recording, {"--ready-timeout", "600"});
    EXPECT_FALSE(finished.timed_out) << "it waits for a program that " << how << "s";
    EXPECT_EQ(finished.exit_code, 1) << finished.output;
    EXPECT_TRUE(tells(finished.output, "plugin rascal (strategy 3) in gateway_state"))
        << finished.output;
  }
}

class CrashOf : public MisbehavingPlugin, public ::testing::WithParamInterface<std::string> {};

TEST_P(CrashOf, APluginIsToldWithItsNameItsCallbackAndAStack) {
  if (kSanitized && GetParam() == "overflow")
    GTEST_SKIP() << "a sanitizer notices the end of the stack by itself";
  for (const std::string where : {"start", "stop"}) {
    write(GetParam(), where);
    Process crashing(strategy());
    if (where == "stop") {
      until_status([](const Json&) { return true; });
      crashing.signal(SIGTERM);
    }
    const Finished finished = crashing.wait(kPatience);
    if (!kSanitized) {
      EXPECT_EQ(finished.signal, GetParam() == "abort" ? SIGABRT : SIGSEGV) << finished.output;
    }
    const std::string whose = ", plugin rascal (strategy 3) in " + where;
    EXPECT_TRUE(tells(finished.output, "strategy: crashed by SIG")) << finished.output;
    EXPECT_TRUE(tells(finished.output, whose)) << finished.output;
    EXPECT_TRUE(tells(finished.output, "misbehaving.so(")) << finished.output;
    if (where == "start") continue;  // on the thread that writes the log
    EXPECT_TRUE(tells(log(), "crashed by SIG") && tells(log(), whose)) << log();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, CrashOf, ::testing::Values("crash", "overflow", "abort"));

}  // namespace
}  // namespace tickpath::test_support
