// fuzz(): the strategies that ship pass it, and it finds each way to fail.
#include "strategy/test_matchers.hpp"
#include "tests/unit/test_bench/plugins.hpp"

namespace tickpath {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t kSeeds = 200;
constexpr std::uint32_t kSteps = 400;

struct Fuzzed {
  const char* name;
  TestBenchOptions options;
};

class Fuzz : public ::testing::TestWithParam<Fuzzed> {};

TEST_P(Fuzz, AnExampleLivesThroughEverySeed) {
  TestBench bench(GetParam().options);
  FuzzResult all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const FuzzResult one = fuzz(bench, seed, kSteps);
    all.events += one.events;
    all.requests += one.requests;
    all.fills += one.fills;
    all.outages += one.outages;
  }
  // The events reached the strategy, and it traded.
  EXPECT_GT(all.events, kSeeds * kSteps / 2);
  EXPECT_GT(all.requests, kSeeds);
  EXPECT_GT(all.fills, kSeeds / 2);
  EXPECT_GT(all.outages, kSeeds);
  EXPECT_TRUE(bench.requests().empty()) << "the bench itself was used";
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Fuzz,
    ::testing::Values(
        Fuzzed{"quoter",
               {.plugin = "plugins/quoter.so",
                .parameters = "symbols = \"*\"\norder_shares = 100\nposition_max_shares = 400\n"
                              "edge_ticks = 0\nskew_ticks = 3\nmove_ticks = 1\n"
                              "throttle = \"1ms\"\nreject_pause = \"5ms\"",
                .symbols = {"ZAAA", "ZAAB"}}},
        Fuzzed{"momentum",
               {.plugin = "plugins/momentum.so",
                .parameters = "symbols = \"*\"\norder_shares = 100\naverage_updates = 10\n"
                              "position_max_shares = 500\nmove_min_spreads = 0.2\n"
                              "imbalance_min = 0.1\nspread_max_basis_points = 1000\n"
                              "cooldown = \"1ms\"",
                .symbols = {"ZAAA", "ZAAB"}}},
        Fuzzed{"arbitrage",
               {.plugin = "plugins/arbitrage.so",
                .parameters = "symbols = \"*\"\norder_shares_max = 200\nedge_min = 0\n"
                              "legged_max_shares = 1000\npause = \"1ms\"",
                .symbols = {"ZAAA", "ZAAB"},
                .venues = {{"ALPHA"}, {"BETA"}}}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzFinds, TheSameOfTheSameSeed) {
  const auto once = [] {
    TestBench bench({.plugin = testing::test_plugin("telling"),
                     .set = {{"symbols", "ZAAA"}, {"timer", "5ms"}},
                     .symbols = {"ZAAA"}});
    const FuzzResult result = fuzz(bench, 42, 2'000);
    return std::vector{result.events, result.requests, result.fills, result.outages};
  };
  EXPECT_EQ(once(), once());
}

TEST(FuzzFinds, AnExceptionOfEachCallback) {
  for (const char* const where : {"book_change", "trade", "report", "feed_state", "stop"}) {
    TestBench bench({.plugin = testing::test_plugin("throwing"),
                     .set = {{"where", where}},
                     .symbols = {"ZAAA"},
                     .connected = false});
    EXPECT_THAT([&] { fuzz(bench, 1, 2'000); },
                ThrowsMessage<StrategyFailure>(AllOf(HasSubstr("fuzz seed 1, step "),
                                                     HasSubstr("thrown in " + std::string(where)))))
        << where;
  }
}

TEST(FuzzFinds, ACrashAHangAndAnEnd) {
  const auto fails = [](const char* how, const char* text) {
    TestBench bench({.plugin = testing::test_plugin("misbehaving"),
                     .set = {{"where", "stop"}, {"how", how}},
                     .symbols = {"ZAAA"}});
    EXPECT_THAT([&] { fuzz(bench, 7, 100, {.event_max = std::chrono::milliseconds(300)}); },
                ThrowsMessage<StrategyFailure>(
                    AllOf(HasSubstr("fuzz seed 7, step 90 (stop)"), HasSubstr(text))))
        << how;
  };
  fails("hang", "it hangs: no end after 300 ms");
  fails("abort", "it crashed: Aborted");
}

TEST(FuzzFinds, AnOrderWhoseTermsDoNotGoTogether) {
  TestBench bench({.plugin = testing::test_plugin("telling"),
                   .set = {{"symbols", "ZAAA"}, {"malformed", true}},
                   .symbols = {"ZAAA"}});
  EXPECT_THAT([&] { fuzz(bench, 3, 2'000); },
              ThrowsMessage<StrategyFailure>(HasSubstr("TICKPATH_INVALID")));
}

TEST(FuzzFinds, ThatThereIsNothingToTrade) {
  TestBench bench({.plugin = testing::test_plugin("telling"), .set = {{"symbols", "ZAAA"}}});
  EXPECT_THROW(fuzz(bench, 1), TestBenchError);
}

}  // namespace
}  // namespace tickpath
