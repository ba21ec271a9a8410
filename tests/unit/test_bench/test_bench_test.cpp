// What a test of a strategy sees of the bench, and the errors for wrong use.
#include "strategy/test_bench.hpp"

#include "strategy/test_matchers.hpp"
#include "tests/unit/test_bench/plugins.hpp"

namespace tickpath {
namespace {

using std::chrono::milliseconds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr const char* kQuoter = R"(
symbols = "*"
order_shares = 100
position_max_shares = 400
edge_ticks = 0
skew_ticks = 0
move_ticks = 1
throttle = "0ms"
)";

TestBench quoter(bool simulated_venue = false) {
  return TestBench({.plugin = "plugins/quoter.so",
                    .parameters = kQuoter,
                    .symbols = {"ZAAA", "ZAAB"},
                    .simulated_venue = simulated_venue});
}

// The newest callbacks of `telling`, by name.
std::vector<std::string> told(TestBench& bench) {
  std::vector<std::string> words;
  for (const TestLogLine& line : bench.take_log())
    if (!line.from_engine && !line.text.starts_with("best level") &&
        !line.text.starts_with("position") && !line.text.starts_with("asked"))
      words.push_back(line.text.substr(0, line.text.find(' ')));
  return words;
}
TestBench telling(const std::string& more = {}) {
  return TestBench({.plugin = testing::test_plugin("telling"),
                    .parameters = more,
                    .set = {{"symbols", "ZAAA"}},
                    .symbols = {"ZAAA"}});
}

TEST(TestBench, ShowsTheOrdersOfAStrategyAndTakesTheAnswers) {
  TestBench bench = quoter();
  bench.quote("ZAAA", to_price(10.00), to_price(10.05));
  const std::vector<TestRequest> sent = bench.take_requests();
  ASSERT_THAT(sent, ElementsAre(AllOf(IsBuy("ZAAA", 100, to_price(10.00)), IsPostOnly()),
                                AllOf(IsSell("ZAAA", 100, to_price(10.05)), IsPostOnly())));
  bench.accept(sent[0]);
  bench.accept(sent[1]);
  EXPECT_NE(bench.fill(sent[0], 40), 0u);
  EXPECT_EQ(bench.position("ZAAA").shares, 40);
  EXPECT_EQ(bench.position("ZAAA").cash, -40 * 100'000);
  EXPECT_EQ(bench.order(sent[0]).leaves, 60u);
  EXPECT_EQ(bench.order(sent[0]).state, TICKPATH_STATE_PARTLY_FILLED);

  bench.quote("ZAAA", to_price(10.01), to_price(10.05));
  const TestRequest replace = bench.only_request();
  EXPECT_THAT(replace, IsReplaceOf(sent[0], 100, to_price(10.01)));
  bench.accept(replace);
  EXPECT_EQ(bench.order(sent[0]).id, replace.id);
  bench.fill(replace, 60);
  EXPECT_TRUE(bench.order(replace).done());
  EXPECT_EQ(bench.position("ZAAA").shares, 100);
}

TEST(TestBench, TellsWhatAReplaceAndARejectOfOneDo) {
  TestBench bench = quoter();
  bench.quote("ZAAA", 100'000, 100'500);
  const std::vector<TestRequest> sent = bench.take_requests();
  for (const TestRequest& each : sent) bench.accept(each);
  bench.trading("ZAAA", TICKPATH_TRADING_HALTED);
  const std::vector<TestRequest> cancels = bench.take_requests();
  ASSERT_THAT(cancels, ElementsAre(IsCancelOf(sent[0]), IsCancelOf(sent[1])));
  bench.accept(cancels[0]);
  bench.reject(cancels[1], TICKPATH_REASON_VENUE, "try again");
  EXPECT_THAT(bench.open_orders(), ElementsAre(::testing::Field(&TestOrder::id, sent[1].id)));
  EXPECT_THAT(bench.take_log(), ElementsAre(LogSays(HasSubstr("the venue says: try again"))));
}

TEST(TestBench, RefusesWhatCannotBe) {
  TestBench bench = quoter();
  bench.quote("ZAAA", 100'000, 100'500);
  const TestRequest buy = bench.take_requests().front();
  const auto says = [](const char* text) { return ThrowsMessage<TestBenchError>(HasSubstr(text)); };
  EXPECT_THAT([&] { bench.quote("ZBBB", 1, 2); },
              says("nobody listed 'ZBBB'; there is ZAAA, ZAAB"));
  EXPECT_THAT([&] { bench.fill(buy, 101); }, says("has 100 shares open: 101 cannot fill"));
  EXPECT_THAT([&] { bench.fill(buy, 10, 100'100); }, says("has the limit 10.0000"));
  EXPECT_THAT([&] { bench.fill(4711, 10); }, says("is no order or request of the strategy"));
  EXPECT_THAT([&] { bench.restate(buy, 100); }, says("leaves fewer"));
  EXPECT_THAT([&] { bench.trigger(buy); }, says("is no stop order"));
  bench.accept(buy);
  EXPECT_THAT([&] { bench.accept(buy); }, says("was answered already"));
  bench.expire(buy);
  EXPECT_THAT([&] { bench.fill(buy, 1); }, says("is done (expired)"));
  EXPECT_THAT([&] { bench.bust(99); }, says("there is no execution 99"));
  EXPECT_THAT([&] { bench.only_request(); }, says("there are 0"));
  EXPECT_THAT([&] { bench.execute("ZAAA", TICKPATH_BUY, 101); }, says("but 100 at 10.0000"));
  EXPECT_THAT([&] { bench.execute("ZAAB", TICKPATH_BUY, 1); }, says("book is empty"));
  EXPECT_THAT([&] { bench.book("ZAAA", {{1, 1}, {2, 1}}, {}); }, says("give the best first"));
  EXPECT_THAT([&] { bench.advance(milliseconds(-1)); }, says("does not run backwards"));
  EXPECT_THAT([&] { bench.feed(TICKPATH_FEED_GOOD, "BETA"); }, says("no venue 'BETA'"));
  EXPECT_THAT([&] { bench.list("ZAAA"); }, says("is listed already"));
  bench.gateway(false);
  EXPECT_THAT([&] { bench.expire(bench.open_orders()[0]); }, says("oeg is away"));
  bench.mdh(false);
  EXPECT_THAT([&] { bench.quote("ZAAA", 100'000, 100'500); }, says("mdh is away"));
}

TEST(TestBench, SaysInTheWordsOfTheProgramWhyAStrategyDoesNotStart) {
  const auto says = [](const char* text) {
    return ThrowsMessage<StrategyFailure>(HasSubstr(text));
  };
  EXPECT_THAT([] { TestBench({.plugin = "plugins/nobody.so"}); }, says("no such file"));
  EXPECT_THAT([] { TestBench({.plugin = testing::test_plugin("wrong_abi")}); },
              says("built for plugin ABI"));
  EXPECT_THAT([] { TestBench({.plugin = testing::test_plugin("telling")}); },
              says("parameter 'symbols': missing"));
  EXPECT_THAT([] { (void)telling("symbol = 1"); }, says("parameters:1:10"));
  EXPECT_THAT([] { (void)telling("symbols = 1\nsymbols = 2"); },
              ThrowsMessage<TestBenchError>(HasSubstr("parameters:2")));
}

TEST(TestBench, ThrowsWhatAStrategyThrewAndShowsItsCancels) {
  TestBench bench({.plugin = testing::test_plugin("throwing"),
                   .set = {{"where", "trade"}},
                   .symbols = {"ZAAA"}});
  bench.quote("ZAAA", 100'000, 100'100);
  const TestRequest buy = bench.only_request();
  bench.accept(buy);
  EXPECT_THAT([&] { bench.trade("ZAAA", 100'050, 10); },
              ThrowsMessage<StrategyFailure>(HasSubstr("trade failed, the plugin is disabled")));
  EXPECT_TRUE(bench.failed());
  EXPECT_THAT(bench.only_request(), IsCancelOf(buy));
  EXPECT_NO_THROW(bench.trade("ZAAA", 100'050, 10));
}

TEST(TestBench, FiresTimersOfBothClocksAtTheirTime) {
  TestBench bench = telling("timer = \"5ms\"");
  EXPECT_THAT(told(bench), ElementsAre("start", "gateway_state", "instrument", "feed_state"));
  bench.advance(milliseconds(4));
  EXPECT_THAT(told(bench), IsEmpty());
  bench.advance(milliseconds(11));
  EXPECT_THAT(told(bench), ElementsAre("timer", "timer", "timer"));
  bench.message();  // the market's clock begins
  bench.advance(milliseconds(5));
  EXPECT_THAT(told(bench), IsEmpty());
  bench.message();
  EXPECT_THAT(told(bench), ElementsAre("timer"));
}

TEST(TestBench, TellsOfFeedsHaltsAndGapsAsTheEngineDoes) {
  TestBench bench = telling();
  (void)told(bench);
  bench.trading("ZAAA", TICKPATH_TRADING_HALTED);
  bench.clear("ZAAA");
  bench.resync("ZAAA", {{100'000, 5}}, {});
  bench.feed_of("ZAAA", TICKPATH_FEED_STALE);
  bench.feed(TICKPATH_FEED_ENDED);
  bench.mdh(false);
  bench.mdh(true);
  bench.imbalance("ZAAA", {.side = TICKPATH_SELL});
  EXPECT_THAT(told(bench), ElementsAre("book_change", "book_change", "book_change", "feed_state",
                                       "feed_state", "feed_state", "feed_state", "imbalance"));
}

TEST(TestBench, CancelsWhatRestsWhenTheFeedIsLost) {
  TestBench bench = quoter();
  bench.quote("ZAAA", 100'000, 100'500);
  const std::vector<TestRequest> sent = bench.take_requests();
  for (const TestRequest& each : sent) bench.accept(each);
  bench.mdh(false);
  EXPECT_THAT(bench.take_requests(), ElementsAre(IsCancelOf(sent[0]), IsCancelOf(sent[1])));
}

TEST(TestBench, LosesAnswersWithTheGatewayAndSettlesOrdersBehindIt) {
  TestBench bench = telling();
  bench.quote("ZAAA", 100'000, 100'500);
  const TestRequest buy = bench.only_request();
  (void)told(bench);
  bench.gateway(false);
  EXPECT_THAT([&] { bench.accept(buy); }, ThrowsMessage<TestBenchError>(HasSubstr("oeg is away")));
  bench.gateway(true);
  const TestRequest cancel = bench.only_request();
  EXPECT_THAT(cancel, IsCancelOf(buy));
  EXPECT_THAT([&] { bench.accept(buy); },
              ThrowsMessage<TestBenchError>(HasSubstr("was lost with the connection")));
  bench.reject(cancel, TICKPATH_REASON_UNKNOWN_ORDER);
  EXPECT_THAT(told(bench), ElementsAre("gateway_state", "report", "gateway_state"));
  EXPECT_THAT(bench.open_orders(), IsEmpty());
}

TEST(TestBench, TakesExecutionsBackAndCorrectsThem) {
  TestBench bench = telling();
  bench.quote("ZAAA", 100'000, 100'500);
  const TestRequest buy = bench.only_request();
  const std::uint64_t execution = bench.fill(buy, 300);
  bench.bust(execution);
  EXPECT_EQ(bench.position("ZAAA").shares, 0);
  bench.correct(execution, 200, 99'900);
  EXPECT_EQ(bench.position("ZAAA").shares, 200);
  EXPECT_EQ(bench.position("ZAAA").cash, -200 * 99'900);
}

TEST(TestBench, RefusesRequestsBeyondTheCreditAndWhileNothingIsAccepted) {
  TestBench bench = telling();
  bench.credit(0);
  bench.quote("ZAAA", 100'000, 100'500);
  EXPECT_THAT(bench.take_requests(), IsEmpty());
  EXPECT_EQ(bench.refused(), 1u);
  bench.credit(10);
  bench.gateway_silent();
  bench.quote("ZAAA", 100'000, 100'600);
  EXPECT_THAT(bench.take_requests(), IsEmpty());
  EXPECT_EQ(bench.refused(), 2u);
  EXPECT_EQ(bench.malformed(), 0u);
}

TEST(TestBench, TellsOfRestatementsMovesAndAnotherDay) {
  TestBench bench = telling();
  bench.add("ZAAA", TICKPATH_BUY, 100'000, 100);
  bench.add("ZAAA", TICKPATH_BUY, 99'900, 50);
  bench.move("ZAAA", TICKPATH_BUY, 99'900, 100'100, 50);
  bench.remove("ZAAA", TICKPATH_BUY, 100'000, 40);
  bench.begin_day(std::chrono::hours(9));
  bench.add("ZAAA", TICKPATH_SELL, 100'500, 200);
  const TestRequest buy = bench.only_request();
  EXPECT_THAT(buy, IsBuy("ZAAA", 300, 100'100));
  EXPECT_EQ(bench.market_ns(), 9u * 3'600'000'000'000);
  bench.accept(buy);
  bench.restate(buy, 120);
  EXPECT_EQ(bench.position("ZAAA").open_buy_shares, 120u);
  EXPECT_EQ(bench.order(buy).leaves, 120u);
  EXPECT_THAT(told(bench), ElementsAre("start", "gateway_state", "instrument", "feed_state",
                                       "book_change", "book_change", "book_change", "book_change",
                                       "book_change", "report", "report"));
}

TEST(TestBench, SendsAReportAsItIs) {
  TestBench bench = telling();
  (void)told(bench);
  tickpath_report report{};
  report.kind = TICKPATH_REPORT_FILL;
  report.order_id = 4711;  // of a former life
  report.side = TICKPATH_SELL;
  report.last_shares = 10;
  report.last_price = 100'000;
  bench.report(report);
  EXPECT_EQ(bench.position("ZAAA").shares, -10);
  // A plugin's tables end at instruments_max, so it hears nothing of what is beyond.
  report.instrument = TICKPATH_NO_INSTRUMENT;
  bench.report(report);
  EXPECT_THAT(told(bench), ElementsAre("report"));
  report.kind = TICKPATH_REPORT_LOST;
  EXPECT_THAT([&] { bench.report(report); },
              ThrowsMessage<TestBenchError>(HasSubstr("none that oeg sends")));
}

TEST(TestBench, HoldsWhatIsAdopted) {
  TestBench bench = quoter();
  bench.adopt("ZAAA", 400, -4'000'000);
  bench.quote("ZAAA", 100'000, 100'500);
  EXPECT_THAT(bench.only_request(), IsSell("ZAAA", 100, 100'500));  // it holds its largest position
}

TEST(TestBench, EndsAsTheProgramDoes) {
  TestBench bench = quoter();
  bench.quote("ZAAA", 100'000, 100'500);
  const std::vector<TestRequest> sent = bench.take_requests();
  for (const TestRequest& each : sent) bench.accept(each);
  bench.stop();
  for (const TestRequest& each : bench.take_requests()) {
    EXPECT_FALSE(bench.drained());
    bench.accept(each);
  }
  EXPECT_TRUE(bench.drained());
}

// ------------------------------------------------------------------------------------ venues,
// venue

TestBench arbitrage() {
  return TestBench({.plugin = "plugins/arbitrage.so",
                    .parameters = "symbols = \"*\"\norder_shares_max = 200\nedge_min = 0\n"
                                  "legged_max_shares = 1000\npause = \"5ms\"",
                    .symbols = {"ZAAA"},
                    .venues = {{"ALPHA", -20, 30}, {"BETA", 0, 10}}});
}

TEST(TestBench, HasTheSameSymbolAtSeveralVenues) {
  TestBench bench = arbitrage();
  bench.quote("ZAAA@ALPHA", 100'000, 100'100, 500, 300);
  bench.quote("ZAAA@BETA", 100'200, 100'300, 150, 500);
  const std::vector<TestRequest> legs = bench.take_requests();
  ASSERT_THAT(legs, ElementsAre(AllOf(IsBuy("ZAAA@ALPHA", 150, 100'100), IsImmediate()),
                                AllOf(IsSell("ZAAA@BETA", 150, 100'200), IsImmediate())));
  bench.fill(legs[0], 150);
  bench.fill(legs[1], 50);
  bench.expire(legs[1]);
  EXPECT_EQ(bench.position("ZAAA@ALPHA").shares, 150);
  EXPECT_EQ(bench.position("ZAAA@BETA").shares, -50);
  // What one leg left over is taken back where it brings most.
  bench.advance(milliseconds(5));
  EXPECT_THAT(bench.only_request(), IsSell("ZAAA@BETA", 100, _));
  EXPECT_THAT([&] { bench.quote("ZAAA", 1, 2); },
              ThrowsMessage<TestBenchError>(HasSubstr("there is ZAAA@ALPHA, ZAAA@BETA")));
}

TEST(TestBench, LeavesOutAVenueThatAcceptsNothing) {
  TestBench bench = arbitrage();
  bench.accepting(TICKPATH_REASON_SESSION_DOWN, "BETA");
  bench.quote("ZAAA@ALPHA", 100'000, 100'100);
  bench.quote("ZAAA@BETA", 100'200, 100'300);
  EXPECT_THAT(bench.take_requests(), IsEmpty());
  bench.accepting(TICKPATH_REASON_NONE, "BETA");
  bench.quote("ZAAA@BETA", 100'200, 100'400);
  EXPECT_THAT(bench.take_requests(),
              ElementsAre(IsBuy("ZAAA@ALPHA", 100, 100'100), IsSell("ZAAA@BETA", 100, 100'200)));
}

TEST(TestBench, SimulatesAVenueThatFillsWhatTheBookShows) {
  TestBench bench({.plugin = "plugins/momentum.so",
                   .parameters = "symbols = \"*\"\norder_shares = 500\naverage_updates = 10\n"
                                 "position_max_shares = 900\nmove_min_spreads = 0.5\n"
                                 "imbalance_min = 0.2\nspread_max_basis_points = 100\n"
                                 "cooldown = \"0ms\"",
                   .symbols = {"ZAAA"},
                   .simulated_venue = true});
  bench.quote("ZAAA", 100'000, 100'100, 100, 100);
  bench.book("ZAAA", {{100'300, 900}}, {{100'400, 300}, {100'500, 900}});
  EXPECT_THAT(bench.only_request(), AllOf(IsBuy("ZAAA", 500, 100'400), IsImmediate()));
  EXPECT_EQ(bench.position("ZAAA").shares, 300);  // what stood at its limit
  EXPECT_THAT(bench.open_orders(), IsEmpty());
}

TEST(TestBench, SimulatesAVenueWhereMakersFillAtTheirPrice) {
  TestBench bench = quoter(true);
  bench.quote("ZAAA", 100'000, 100'500);
  ASSERT_THAT(bench.open_orders(), ElementsAre(_, _));
  bench.quote("ZAAA", 99'700, 99'900, 100, 60);  // its bid at 10.0000 is above the asks now
  EXPECT_EQ(bench.position("ZAAA").shares, 60);
  EXPECT_EQ(bench.position("ZAAA").cash, -60 * 100'000);
}

}  // namespace
}  // namespace tickpath
