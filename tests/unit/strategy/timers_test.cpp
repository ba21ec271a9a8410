// Timers of plugins: by the wall's clock and by the market's, set in callbacks and in start().
#include <stdexcept>

#include <gmock/gmock.h>

#include "strategy/plugin_file.hpp"
#include "tests/unit/strategy/engine_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scripted;

class EngineTimers : public testing::EngineTest {
 protected:
  static constexpr std::uint64_t kOpenNs = 34'200'000'000'000;  // 09:30

  // A message of the feed at so many nanoseconds after the open.
  void message(std::uint64_t since_open_ns, wire::UpdateKind kind = wire::UpdateKind::kAdd) {
    message_at(kOpenNs + since_open_ns, kind);
  }
  void message_at(std::uint64_t time_ns, wire::UpdateKind kind = wire::UpdateKind::kAdd) {
    wire::BookUpdate told = update(3, 100'000, 100'100, kind);
    told.exchange_time_ns = time_ns;
    told.set_day(day);
    engine.on_update(told);
  }
  std::uint8_t day = 1;  // as mdh counts them
};

TEST_F(EngineTimers, TimersFireInOrderOnceAndOnlyWhenDue) {
  Scripted& strategy = add(1);
  engine.advance(1'000);
  EXPECT_TRUE(strategy.set_timer(500, 5));
  EXPECT_TRUE(strategy.set_timer(100, 1));
  std::uint64_t third = 0;
  EXPECT_TRUE(strategy.set_timer(200, 2, &third));
  EXPECT_TRUE(strategy.cancel_timer(third));
  EXPECT_EQ(engine.next_timer_ns(), 1'100u);
  engine.advance(1'099);
  EXPECT_FALSE(engine.on_turn());
  engine.advance(2'000);
  EXPECT_TRUE(engine.on_turn());
  EXPECT_THAT(strategy.timers, ElementsAre(1u, 5u));
  EXPECT_EQ(engine.next_timer_ns(), Timers::kNever);
}

// Arms a timer where it has everything that it needs for it: in start().
class Waiting final : public Scripted {
  void start() override {
    set = set_timer(500, 7);
    if (fails) throw std::runtime_error("not today");
  }

 public:
  static inline bool fails = false;
  bool set = false;
};

TEST_F(EngineTimers, ATimerOfStartFiresAfterItsDelay) {
  static const tickpath_plugin plugin = plugin_boundary::describe<Waiting>("waiting", "1");
  Waiting::fails = false;
  engine.advance(1'000);
  add(1, plugin);
  const auto& waiting = static_cast<const Waiting&>(*Scripted::last_made);
  EXPECT_TRUE(waiting.set);
  engine.advance(1'499);
  EXPECT_FALSE(engine.on_turn());
  engine.advance(1'500);
  EXPECT_TRUE(engine.on_turn());
  EXPECT_THAT(waiting.timers, ElementsAre(7u));
}

TEST_F(EngineTimers, ATimerOfAStartThatFailedIsGone) {
  static const tickpath_plugin plugin = plugin_boundary::describe<Waiting>("waiting", "1");
  Waiting::fails = true;
  EXPECT_THROW(add(1, plugin), PluginError);
  EXPECT_EQ(engine.next_timer_ns(), Timers::kNever);
}

TEST_F(EngineTimers, APluginThatUsesUpTheTimersIsToldSo) {
  Scripted& strategy = add(1);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(strategy.set_timer(100));
  EXPECT_FALSE(strategy.set_timer(100));
  EXPECT_TRUE(add(2).set_timer(100)) << "another has its own";
}

TEST_F(EngineTimers, OfTheMarketFireWithItsMessagesAndNotWithTheWall) {
  Scripted& strategy = add(1);
  EXPECT_EQ(strategy.market_ns(), 0u);
  message(0);
  EXPECT_EQ(strategy.market_ns(), kOpenNs);
  EXPECT_TRUE(strategy.set_market_timer(5'000, 5));
  EXPECT_TRUE(strategy.set_market_timer(1'000, 1));
  std::uint64_t cancelled = 0;
  EXPECT_TRUE(strategy.set_market_timer(2'000, 2, &cancelled));
  EXPECT_TRUE(strategy.cancel_timer(cancelled));
  EXPECT_FALSE(strategy.cancel_timer(cancelled));
  engine.advance(1'000'000'000);
  EXPECT_FALSE(engine.on_turn());
  message(999);
  EXPECT_THAT(strategy.timers, IsEmpty());
  message(1'000);
  EXPECT_THAT(strategy.timers, ElementsAre(1u));
  message(2'000'000'000);
  EXPECT_THAT(strategy.timers, ElementsAre(1u, 5u));
}

// A timer sees the market as it was until its time.
TEST_F(EngineTimers, OfTheMarketFireBeforeTheOtherCallbacksOfTheirMessage) {
  Scripted& strategy = add(1);
  message(0);
  EXPECT_TRUE(strategy.set_market_timer(1'000, 1));
  static std::size_t fired;
  fired = 0;
  strategy.on_change = [](Scripted& of, const Scripted::BookChange&) { fired = of.timers.size(); };
  message(1'000);
  EXPECT_EQ(fired, 1u);
}

TEST_F(EngineTimers, OfTheMarketCountFromTheFirstMessageWhereTheyAreSetBefore) {
  Scripted& strategy = add(1);
  EXPECT_TRUE(strategy.set_market_timer(1'000, 1));
  message(0);
  message(999);
  EXPECT_THAT(strategy.timers, IsEmpty());
  message(1'000);
  EXPECT_THAT(strategy.timers, ElementsAre(1u));
}

// What mdh says of its own has no time of the exchange, and a day that begins goes back in it.
TEST_F(EngineTimers, OfTheMarketTakeNoTimeForWhatIsNoMessageAndForTheNight) {
  Scripted& strategy = add(1);
  message(1'000);
  EXPECT_TRUE(strategy.set_market_timer(1'000, 1));
  message_at(0, wire::UpdateKind::kFeedState);
  message_at(kOpenNs * 2, wire::UpdateKind::kBookCleared);
  message(500);  // out of order
  EXPECT_THAT(strategy.timers, IsEmpty());
  message_at(4'000'000'000'000);  // the next morning
  EXPECT_THAT(strategy.timers, IsEmpty());
  message_at(4'000'000'000'999);
  EXPECT_THAT(strategy.timers, IsEmpty());
  message_at(4'000'000'001'000);
  EXPECT_THAT(strategy.timers, ElementsAre(1u));
}

// Two days of ten seconds, as `tickpath generate --days 2 --duration 10s` makes them.
TEST_F(EngineTimers, OfTheMarketGoOnInAShortDay) {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  Scripted& strategy = add(1);
  message(0);
  message(10 * kSecondNs);
  EXPECT_TRUE(strategy.set_market_timer(2 * kSecondNs, 1));
  day = 2;
  message(0);
  EXPECT_EQ(strategy.market_ns(), kOpenNs);
  message(2 * kSecondNs - 1);
  EXPECT_THAT(strategy.timers, IsEmpty());
  message(2 * kSecondNs);
  EXPECT_THAT(strategy.timers, ElementsAre(1u));
}

// A reader of two mdh's, one of which was started on the second day.
TEST_F(EngineTimers, OfTheMarketTakeNoTimeFromCountsOfDaysThatDiffer) {
  Scripted& strategy = add(1);
  message(1'000);
  EXPECT_TRUE(strategy.set_market_timer(1'000, 1));
  for (int i = 0; i < 10; ++i) {
    day = static_cast<std::uint8_t>(1 + i % 2);
    message(1'900 - 100 * (i % 2 == 0 ? 0u : 1u));
  }
  EXPECT_THAT(strategy.timers, IsEmpty());
  message(2'000);
  EXPECT_THAT(strategy.timers, ElementsAre(1u));
}

TEST_F(EngineTimers, OfTheMarketThatAreTooManyAtOnceFollowInTheNextTurn) {
  options.timers_max = 20;
  Engine many{options, port, images, trace, log};
  Instance& instance = many.add(testing::scripted_plugin(), {1, "", {}, "test.toml", 7});
  many.start(instance);
  Scripted& strategy = *Scripted::last_made;
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(strategy.set_market_timer(1, i));
  wire::BookUpdate told = update(3, 100'000, 100'100);
  for (told.exchange_time_ns = kOpenNs; told.exchange_time_ns <= kOpenNs + 1;
       ++told.exchange_time_ns)
    many.on_update(told);
  EXPECT_EQ(strategy.timers.size(), 16u);
  EXPECT_TRUE(many.on_turn());
  EXPECT_EQ(strategy.timers.size(), 20u);
}

}  // namespace
}  // namespace tickpath::strategy
