// The market side of the engine: who is told what, and when.

#include <stdexcept>

#include <gmock/gmock.h>

#include "common/base/foreign_code.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::Scripted;

class Market : public testing::EngineTest {
 protected:
  // A strategy that subscribed to these symbols in start().
  template <const char* const* Symbols, std::size_t Count>
  class For final : public Scripted {
    void start() override {
      for (std::size_t i = 0; i < Count; ++i) subscribe(Symbols[i]);
    }
  };
};

constexpr const char* kTwo[] = {"AAPL", "NOSUCH"};

TEST_F(Market, ABookChangeReachesOnlyThoseWhoSubscribed) {
  static constexpr const char* kOne[] = {"AAPL"};
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kOne, 1>>("one", "1");
  list(3, "AAPL");
  list(4, "MSFT");
  add(1, plugin);
  Scripted& one = *Scripted::last_made;
  Scripted& all = add(2);
  engine.on_update(update(3, 100'000, 100'100));
  engine.on_update(update(4, 200'000, 200'100));
  ASSERT_EQ(one.changes.size(), 1u);
  EXPECT_EQ(one.changes[0].instrument, 3u);
  EXPECT_EQ(one.changes[0].best_ask, 100'100u);
  EXPECT_EQ(all.changes.size(), 2u);
}

// For who looks from outside while the callback runs: a watcher of hangs, a crash handler.
TEST_F(Market, TheCallbackThatRunsIsKnownByNameUntilItReturnsOrThrows) {
  list(3, "AAPL");
  Scripted& scripted = add(1);
  static std::string seen;
  static int calls;
  calls = 0;
  scripted.on_change = [](Scripted&, const Scripted::BookChange&) {
    seen = foreign_code();
    if (++calls > 1) throw std::runtime_error("enough");
  };
  engine.on_update(update(3, 100'000, 100'100));
  EXPECT_THAT(seen, AllOf(HasSubstr("plugin "), HasSubstr("(strategy 1) in book_change")));
  EXPECT_EQ(foreign_code(), nullptr);
  seen.clear();
  engine.on_update(update(3, 100'000, 100'200));
  EXPECT_THAT(seen, HasSubstr("in book_change"));
  EXPECT_EQ(foreign_code(), nullptr);
}

TEST_F(Market, ASymbolThatTheDirectoryNamesLaterIsSettledThen) {
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kTwo, 1>>("late", "1");
  add(1, plugin);
  Scripted& late = *Scripted::last_made;
  EXPECT_TRUE(late.instruments.empty());
  list(9, "AAPL");
  EXPECT_THAT(late.instruments, ElementsAre(Pair("AAPL", 9u)));
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(late.changes.size(), 1u);
}

// A feed without a directory (several instruments in one file) names a symbol with its first order.
TEST_F(Market, ASymbolThatFirstAppearsAfterAnothersOrderIsSettledThen) {
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kTwo, 1>>("late", "1");
  add(1, plugin);
  Scripted& late = *Scripted::last_made;
  list(4, "MSFT");
  engine.on_update(update(4, 200'000, 200'100));
  EXPECT_THAT(late.instruments, ElementsAre(Pair("AAPL", TICKPATH_NO_INSTRUMENT)));
  EXPECT_THAT(next_log(), HasSubstr("not among the 1"));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 1u);
  engine.on_update(update(9, 0, 0, wire::UpdateKind::kDirectory));
  list(9, "AAPL");
  EXPECT_THAT(late.instruments,
              ElementsAre(Pair("AAPL", TICKPATH_NO_INSTRUMENT), Pair("AAPL", 9u)));
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(late.changes.size(), 1u);
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u) << "it is listed by now";
}

// The row of a new instrument is read some time after its first updates.
TEST_F(Market, WhoSubscribedToAllMissesNoUpdateOfAnInstrumentThatIsNewToTheDirectory) {
  Scripted& all = add(1);
  engine.on_update(update(5, 0, 0, wire::UpdateKind::kDirectory));
  engine.on_update(update(5, 100'000, 100'100));
  EXPECT_EQ(all.changes.size(), 1u);
  list(5, "NEW");
  engine.on_update(update(5, 100'000, 100'200));
  EXPECT_EQ(all.changes.size(), 2u);
}

TEST_F(Market, AnUnknownSymbolIsReportedOnceTheDirectoryIsComplete) {
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kTwo, 2>>("wrong", "1");
  add(1, plugin);
  Scripted& wrong = *Scripted::last_made;
  list(9, "AAPL");
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u);
  engine.on_directory_behind(true);
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u) << "rows are still being fetched";
  engine.on_directory_behind(false);
  engine.on_update(update(9, 100'000, 100'200));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 1u);
  EXPECT_THAT(next_log(), AllOf(HasSubstr("'NOSUCH'"), HasSubstr("not among the 1")));
  EXPECT_THAT(wrong.instruments,
              ElementsAre(Pair("AAPL", 9u), Pair("NOSUCH", TICKPATH_NO_INSTRUMENT)));
  EXPECT_EQ(wrong.changes.size(), 2u) << "it goes on with the symbol that exists";
}

// A directory message and the first order may come in one batch of updates, before the directory's
// row could be read.
TEST_F(Market, ASymbolAnnouncedInTheSameBatchAsTheFirstOrderIsNotTakenForUnknown) {
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kTwo, 1>>("early", "1");
  add(1, plugin);
  Scripted& early = *Scripted::last_made;
  engine.on_directory_behind(false);
  engine.on_update(update(9, 0, 0, wire::UpdateKind::kDirectory));
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u);
  list(9, "AAPL");
  EXPECT_THAT(early.instruments, ElementsAre(Pair("AAPL", 9u)));
}

// What a connection or an overrun brings comes before the rows that it may have listed.
TEST_F(Market, NoSymbolIsTakenForUnknownInTheTurnOfAConnectionOrAnOverrun) {
  static const tickpath_plugin plugin = plugin_boundary::describe<For<kTwo, 1>>("joins", "1");
  add(1, plugin);
  engine.on_directory_behind(false);
  engine.on_mdh(true);
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u);
  engine.on_directory_behind(false);
  engine.on_overrun();
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 0u);
  engine.on_directory_behind(false);
  engine.on_update(update(9, 100'000, 100'100));
  EXPECT_EQ(engine.counters().symbols_unknown.get(), 1u);
}

TEST_F(Market, AnExecutionIsABookChangeAndATradeAHiddenOneOnlyATrade) {
  list(3, "AAPL");
  Scripted& strategy = add(1);
  engine.on_update(update(3, 100'000, 100'100, wire::UpdateKind::kExecute));
  engine.on_update(update(3, 100'000, 100'100, wire::UpdateKind::kTrade));
  EXPECT_EQ(strategy.changes.size(), 1u);
  ASSERT_EQ(strategy.trades.size(), 2u);
  EXPECT_EQ(strategy.trades[0].displayed, 1);
  EXPECT_EQ(strategy.trades[1].displayed, 0);
}

TEST_F(Market, AnExecutionThatIsNotPrintableIsABookChangeAlone) {
  list(3, "AAPL");
  Scripted& strategy = add(1);
  wire::BookUpdate unprinted = update(3, 100'000, 100'100, wire::UpdateKind::kExecute);
  unprinted.marks = wire::BookUpdate::kUnprinted;
  engine.on_update(unprinted);
  EXPECT_EQ(strategy.changes.size(), 1u);
  EXPECT_TRUE(strategy.trades.empty());
}

TEST_F(Market, ImagesAfterLostUpdatesComeAsResyncedBookChanges) {
  list(3, "AAPL");
  Scripted& strategy = add(1);
  wire::BookImage image{.trace_id = 77, .instrument_id = 3};
  image.states = 0x41;  // good, trading
  image.bids[0] = {99'900, 500, 2};
  image.asks[0] = {100'300, 400, 1};
  engine.on_image(image);
  ASSERT_EQ(strategy.changes.size(), 1u);
  EXPECT_EQ(strategy.changes[0].kind, TICKPATH_UPDATE_RESYNCED);
  EXPECT_EQ(strategy.changes[0].best_bid, 99'900u);
  tickpath_quote quote{};
  EXPECT_TRUE(strategy.quote(3, quote));
  EXPECT_EQ(quote.best_ask_shares, 400u);
}

TEST_F(Market, DepthReadsTheImageAndSaysSoWhenThereIsNone) {
  list(3, "AAPL");
  Scripted& strategy = add(1);
  tickpath_depth depth{};
  EXPECT_FALSE(strategy.depth(3, depth));
  images.images[3].bids[9] = {99'000, 700, 3};
  EXPECT_TRUE(strategy.depth(3, depth));
  EXPECT_EQ(depth.bids[9].shares, 700u);
}

TEST_F(Market, FeedStatesReachTheSubscribersOfTheInstrumentOrEveryone) {
  list(3, "AAPL");
  Scripted& strategy = add(1);
  wire::BookUpdate one = update(3, 0, 0, wire::UpdateKind::kFeedState);
  one.set_states(wire::FeedState::kStale, wire::TradingState::kTrading);
  engine.on_update(one);
  engine.on_market_state(wire::FeedState::kGood);
  engine.on_market_state(wire::FeedState::kGood);
  engine.on_market_state(wire::FeedState::kStale);
  EXPECT_THAT(strategy.feeds, ElementsAre(Pair(3u, TICKPATH_FEED_STALE),
                                          Pair(TICKPATH_NO_INSTRUMENT, TICKPATH_FEED_GOOD),
                                          Pair(TICKPATH_NO_INSTRUMENT, TICKPATH_FEED_STALE)));
}

TEST_F(Market, AnInstrumentThatIsStaleAloneStaysSoWhenTheFeedIsGood) {
  list(3, "AAPL");
  list(4, "MSFT");
  Scripted& strategy = add(1);
  const auto say = [&](std::uint32_t id, wire::UpdateKind kind, wire::FeedState state) {
    wire::BookUpdate made = update(id, 99'000, 99'100, kind);
    made.set_states(state, wire::TradingState::kTrading);
    engine.on_update(made);
  };
  const auto shown = [&](std::uint32_t id) {
    tickpath_quote quote{};
    EXPECT_TRUE(strategy.quote(id, quote));
    EXPECT_EQ(quote.best_bid, 99'000u);
    return quote.feed_state;
  };
  for (const std::uint32_t id : {3u, 4u}) {
    say(id, wire::UpdateKind::kBookCleared, wire::FeedState::kStale);
    say(id, wire::UpdateKind::kFeedState, wire::FeedState::kStale);
  }
  // One is good again before the whole feed is, with the quote that it has now.
  say(4, wire::UpdateKind::kFeedState, wire::FeedState::kGood);
  EXPECT_EQ(shown(3), TICKPATH_FEED_STALE);
  EXPECT_EQ(shown(4), TICKPATH_FEED_GOOD);
  engine.on_market_state(wire::FeedState::kStale);
  engine.on_market_state(wire::FeedState::kGood);
  EXPECT_EQ(shown(3), TICKPATH_FEED_STALE);
  EXPECT_EQ(shown(4), TICKPATH_FEED_GOOD);
  say(3, wire::UpdateKind::kBookCleared, wire::FeedState::kGood);  // rebuilt
  engine.on_market_state(wire::FeedState::kStale);
  engine.on_market_state(wire::FeedState::kGood);
  EXPECT_EQ(shown(3), TICKPATH_FEED_GOOD);
}

TEST_F(Market, AnInstrumentBeyondTheTablesIsCountedNotTouched) {
  engine.on_update(update(64, 100'000, 100'100));
  EXPECT_EQ(engine.counters().instruments_beyond.get(), 1u);
}

TEST_F(Market, TextOfAPluginIsCutAndLoggedUnderItsStrategy) {
  Scripted& strategy = add(9);
  strategy.log(std::string(300, 'x'), TICKPATH_WARNING);
  LogRecord record;
  ASSERT_TRUE(log.try_pop(record));
  EXPECT_EQ(record.strategy_id, 9);
  EXPECT_EQ(record.from_engine, 0);
  EXPECT_EQ(record.view().size(), LogRecord::kTextMax);
  for (int i = 0; i < 70; ++i) strategy.log("more");
  EXPECT_EQ(engine.counters().log_dropped.get(), 6u) << "the queue holds 64";
}

}  // namespace
}  // namespace tickpath::strategy
