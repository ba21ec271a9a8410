// What a person is told about a plugin that cannot be used: which file, what, and what to do.
#include "strategy/plugin_file.hpp"

#include <gmock/gmock.h>

#include "tests/support/folder.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string test_plugin(const std::string& name) {
  const char* bin = std::getenv("TICKPATH_BIN");
  return std::filesystem::path(bin == nullptr ? "build/release/bin" : bin).parent_path().string() +
         "/tests/plugins/" + name + ".so";
}

TEST(PluginFile, NamesEveryPlaceWhereAMissingFileWasLookedFor) {
  EXPECT_THAT(
      [] { find_plugin_file("plugins/nobody.so", "/etc/conf"); },
      ThrowsMessage<PluginError>(AllOf(
          HasSubstr("plugins/nobody.so: no such file"), HasSubstr("/etc/conf/plugins/nobody.so"),
          HasSubstr("/lib/tickpath/plugins/nobody.so"), HasSubstr("correct `file`"))));
}

TEST(PluginFile, FindsAFileBesideTheConfigurationThatNamesIt) {
  const std::filesystem::path object = test_plugin("c_plugin");
  const std::string found =
      find_plugin_file(object.filename().string(), object.parent_path().string());
  EXPECT_TRUE(std::filesystem::equivalent(found, object));
}

TEST(PluginFile, IsNotLookedForInTheWorkingDirectory) {
  const std::filesystem::path object = test_plugin("c_plugin");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(object.parent_path());
  for (const char* const plugin_dir : {"/etc/conf", ""})
    EXPECT_THROW((void)find_plugin_file(object.filename().string(), plugin_dir), PluginError);
  std::filesystem::current_path(before);
}

TEST(PluginFile, ThatOthersCanChangeIsNotLoaded) {
  const test_support::Folder folder;
  const std::filesystem::path copy = folder / "copy.so";
  std::filesystem::copy_file(test_plugin("c_plugin"), copy);
  std::filesystem::permissions(copy, std::filesystem::perms(0666));
  EXPECT_THAT([&] { load_plugin(copy); },
              ThrowsMessage<PluginError>(HasSubstr("as others could change it")));
  std::filesystem::permissions(copy, std::filesystem::perms(0644));
  EXPECT_NO_THROW((void)load_plugin(copy));
}

TEST(PluginFile, LoadsAPluginWrittenInC) {
  EXPECT_STREQ(load_plugin(test_plugin("c_plugin")).name, "c-plugin");
}

TEST(PluginFile, RefusesAnotherAbiVersionByName) {
  EXPECT_THAT([] { load_plugin(test_plugin("wrong_abi")); },
              ThrowsMessage<PluginError>(AllOf(HasSubstr("wrong_abi.so"), HasSubstr("ABI 3"),
                                               HasSubstr("speaks ABI 2"), HasSubstr("rebuild"))));
}

TEST(PluginFile, RefusesAnotherStructLayoutNamingTheStruct) {
  EXPECT_THAT([] { load_plugin(test_plugin("wrong_size")); },
              ThrowsMessage<PluginError>(
                  AllOf(HasSubstr("tickpath_book_change has 40 bytes"), HasSubstr("packing"))));
}

TEST(PluginFile, RefusesAnObjectWithoutTheEntry) {
  EXPECT_THAT(
      [] { load_plugin(test_plugin("no_entry")); },
      ThrowsMessage<PluginError>(AllOf(HasSubstr("has no entry"), HasSubstr("TICKPATH_STRATEGY"))));
}

TEST(PluginFile, RefusesAnEntryThatReturnsNothing) {
  EXPECT_THAT([] { load_plugin(test_plugin("null_entry")); },
              ThrowsMessage<PluginError>(HasSubstr("returned null")));
}

TEST(PluginFile, RefusesAnObjectWhoseSymbolsDoNotResolve) {
  EXPECT_THAT([] { load_plugin(test_plugin("missing_symbol")); },
              ThrowsMessage<PluginError>(AllOf(HasSubstr("cannot be loaded"),
                                               HasSubstr("a_function_that_nobody_defines"))));
}

TEST(PluginFile, RefusesAFileThatIsNoSharedObject) {
  const std::string path = ::testing::TempDir() + "text.so";
  std::ofstream(path) << "this is text\n";
  EXPECT_THAT(
      [&] { load_plugin(path); },
      ThrowsMessage<PluginError>(AllOf(HasSubstr("text.so"), HasSubstr("cannot be loaded"))));
}

// ---------------------------------------------------------------------- contained while running

class ThrowingPlugin : public testing::EngineTest,
                       public ::testing::WithParamInterface<const char*> {};

TEST_P(ThrowingPlugin, IsReportedDisabledAndCleanedUpWhileOthersGoOn) {
  const std::string where = GetParam();
  list(3, "AAPL");
  testing::Scripted& other = add(2);
  // gateway_state is already called by add(), so the order is placed by hand there.
  Instance& bad = add(1, load_plugin(test_plugin("throwing")), {{"where", where}});
  engine.advance(1'000);
  engine.on_update(update(3, 100'000, 100'100));
  if (where == "report") accept(wire::OrderId::make(1, 7, 1));
  if (where == "trade") engine.on_update(update(3, 100'000, 100'100, wire::UpdateKind::kExecute));
  if (where == "feed_state") engine.on_market_state(wire::FeedState::kEnded);
  engine.on_turn();
  if (where == "stop") engine.begin_stop();

  EXPECT_EQ(bad.state, InstanceState::kFailed);
  EXPECT_EQ(engine.counters().plugins_failed.get(), 1u);
  EXPECT_THAT(next_log(), AllOf(HasSubstr(where + " failed"), HasSubstr("disabled"),
                                HasSubstr("thrown in " + where)));
  EXPECT_THAT(std::string(bad.failure_text()), HasSubstr(where + " failed")) << "for the summary";
  // What it had open is cancelled.
  engine.on_turn();
  const std::size_t orders = bad.counters.orders.get();
  EXPECT_EQ(bad.counters.cancels.get(), orders);
  if (orders != 0) {
    tell(wire::ReportKind::kCanceled, wire::OrderId::make(1, 7, 2), wire::OrderId::make(1, 7, 1));
  }
  EXPECT_EQ(bad.orders.size(), 0u);
  // The other one still sees the market, the bad one does not.
  const std::size_t before = other.changes.size();
  engine.on_update(update(3, 100'000, 100'200));
  EXPECT_EQ(other.changes.size(), before + 1);
  EXPECT_EQ(bad.counters.orders.get(), orders);
}
INSTANTIATE_TEST_SUITE_P(EveryCallback, ThrowingPlugin,
                         ::testing::Values("book_change", "trade", "report", "timer", "feed_state",
                                           "gateway_state", "stop"));

class BadPlugin : public testing::EngineTest {};

TEST_F(BadPlugin, ThatThrowsInStartIsNamedWithItsWords) {
  testing::Scripted& other = add(2);
  EXPECT_THAT(
      [&] {
        add(1, load_plugin(test_plugin("throwing")), {{"where", std::string("start")}});
      },
      ThrowsMessage<PluginError>(AllOf(HasSubstr("throwing (strategy 1)"),
                                       HasSubstr("start failed"), HasSubstr("thrown in start"))));
  list(3, "AAPL");
  engine.on_update(update(3, 100'000, 100'100));
  EXPECT_EQ(other.changes.size(), 1u);
}

TEST_F(BadPlugin, ThatLetsAnExceptionThroughTheCBoundaryIsContained) {
  list(3, "AAPL");
  Instance& bad = add(1, load_plugin(test_plugin("uncaught")));
  testing::Scripted& other = add(2);
  engine.on_update(update(3, 100'000, 100'100));
  EXPECT_EQ(bad.state, InstanceState::kFailed);
  EXPECT_EQ(other.changes.size(), 1u);
  EXPECT_THAT(next_log(), HasSubstr("left through the C function"));
}

TEST_F(BadPlugin, ThatReturnsFailureIsReportedWithItsReason) {
  list(3, "AAPL");
  Instance& plugin =
      add(1, load_plugin(test_plugin("c_plugin")), {{"symbol", std::string("AAPL")}});
  engine.on_update(update(3, 100'000, 100'100));
  ASSERT_EQ(port.count, 1u);
  EXPECT_EQ(port.last().shares, 100u);
  tell(wire::ReportKind::kRejected, port.last().order_id, 0, trading::RejectReason::kOrderSize);
  EXPECT_EQ(plugin.state, InstanceState::kFailed);
  EXPECT_THAT(next_log(), HasSubstr("the order was rejected"));
}

TEST_F(BadPlugin, IsRefusedWhenItsStrategyIdIsTaken) {
  add(1);
  EXPECT_THAT([&] { add(1); }, ThrowsMessage<PluginError>(HasSubstr("strategy id 1 is taken")));
}

TEST_F(BadPlugin, IsToldWhichParameterIsMissing) {
  EXPECT_THAT([&] { add(1, load_plugin(test_plugin("c_plugin"))); },
              ThrowsMessage<PluginError>(
                  HasSubstr("test.toml: strategy 1 (c-plugin): parameter 'symbol': missing")));
}

TEST_F(BadPlugin, IsToldWhichParameterIsMissingThoughOneIsLikeIt) {
  EXPECT_THAT(
      [&] {
        add(1, load_plugin(test_plugin("c_plugin")), {{"smybol", std::string("AAPL")}});
      },
      ThrowsMessage<PluginError>(HasSubstr("parameter 'symbol': missing; is 'smybol' in its")));
}

TEST_F(BadPlugin, IsToldWhichParameterNobodyAskedFor) {
  EXPECT_THAT(
      [&] {
        add(1, load_plugin(test_plugin("c_plugin")),
            {{"symbol", std::string("AAPL")}, {"symbl", std::string("AAPL"), "test.toml:7:9"}});
      },
      ThrowsMessage<PluginError>(
          "test.toml:7:9: strategy 1 (c-plugin): parameter 'symbl': unknown; "
          "the plugin knows: symbol"));
}

// Not its type but its value is wrong: the plugin says what it wants, the engine where it stands.
TEST_F(BadPlugin, IsToldWhereAValueStandsThatItRejects) {
  class Choosy : public tickpath::Strategy {
    void start() override {
      if (parameter<std::uint16_t>("size") == 0) wrong_parameter("size", "at least 1");
    }
  };
  static const tickpath_plugin choosy = tickpath::plugin_boundary::describe<Choosy>("choosy", "1");
  EXPECT_THAT(
      [&] {
        add(1, choosy, {{"size", std::int64_t{0}, "test.toml:7:8"}});
      },
      ThrowsMessage<PluginError>("test.toml:7:8: strategy 1 (choosy): parameter 'size': "
                                 "found the integer 0; the plugin wants at least 1"));
  EXPECT_THAT(
      [&] {
        add(2, choosy, {{"size", std::int64_t{70'000}, "test.toml:7:8"}});
      },
      ThrowsMessage<PluginError>(HasSubstr("wants an integer from 0 to 65535")));
}

}  // namespace
}  // namespace tickpath::strategy
