// The preallocated tables under the engine.
#include <map>
#include <random>
#include <unordered_map>

#include <gmock/gmock.h>

#include "common/base/id_map.hpp"
#include "strategy/order_table.hpp"
#include "strategy/parameters.hpp"
#include "strategy/plugin.h"
#include "strategy/timers.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::HasSubstr;

// Random inserts and erases against std::unordered_map; consecutive ids, as orders have, and a map
// so small that clusters wrap around its end.
TEST(IdMap, AgreesWithTheStandardMapUnderRandomWork) {
  IdMap map(24);
  std::unordered_map<std::uint64_t, std::uint32_t> answer;
  std::mt19937 random(20120621);
  std::uint64_t next = (std::uint64_t{1} << 48) + 1;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 2 == 0) {
      const bool fits = answer.size() < 24;
      EXPECT_EQ(map.insert(next, static_cast<std::uint32_t>(step)), fits);
      if (fits) answer[next] = static_cast<std::uint32_t>(step);
      ++next;
    } else if (!answer.empty()) {
      const auto victim = std::next(answer.begin(), random() % answer.size());
      map.erase(victim->first);
      answer.erase(victim);
    }
    ASSERT_EQ(map.size(), answer.size());
    for (const auto& [id, value] : answer) ASSERT_EQ(map.find(id), value);
    ASSERT_EQ(map.find(next), IdMap::kNone);
  }
}

TEST(IdMap, RefusesAnIdThatItHolds) {
  IdMap map(4);
  EXPECT_TRUE(map.insert(5, 1));
  EXPECT_FALSE(map.insert(5, 2));
  EXPECT_EQ(map.find(5), 1u);
  EXPECT_EQ(map.find(0), IdMap::kNone);
  map.erase(6);
  map.erase(0);
  EXPECT_EQ(map.size(), 1u);
}

TEST(OrderTable, FindsAnOrderByItsLiveAndItsPendingId) {
  OrderTable table(2);
  Order* kept = table.insert(Order{.id = 10});
  ASSERT_NE(kept, nullptr);
  table.set_pending(*kept, 11);
  EXPECT_EQ(table.find(11), kept);
  table.promote_pending(*kept);
  EXPECT_EQ(table.find(10), nullptr);
  EXPECT_EQ(kept->id, 11u);
  table.erase(*kept);
  EXPECT_EQ(table.find(11), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(OrderTable, KeepsEveryIdFindableWhenFullOfOrdersWithPendingRequests) {
  OrderTable table(64);
  for (std::uint64_t id = 1; id <= 64; ++id) {
    Order* kept = table.insert(Order{.id = id});
    ASSERT_NE(kept, nullptr);
    table.set_pending(*kept, id + 1'000);
  }
  EXPECT_TRUE(table.full());
  for (std::uint64_t id = 1; id <= 64; ++id) EXPECT_EQ(table.find(id), table.find(id + 1'000));
}

TEST(Timers, OfOneDeadlineFireInTheOrderTheyWereSet) {
  Timers timers(4);
  timers.add_owner();
  timers.set(100, 1, 0);
  timers.set(100, 2, 0);
  timers.set(50, 3, 0);
  Timer timer;
  std::vector<std::uint64_t> cookies;
  while (timers.take_due(100, timer)) cookies.push_back(timer.cookie);
  EXPECT_THAT(cookies, ::testing::ElementsAre(3, 1, 2));
}

TEST(Timers, OfAnotherOwnerCannotBeCancelled) {
  Timers timers(4);
  timers.add_owner();
  const std::uint64_t id = timers.set(100, 1, 0);
  EXPECT_FALSE(timers.cancel(id, 1));
  EXPECT_TRUE(timers.cancel(id, 0));
  EXPECT_FALSE(timers.cancel(id, 0));
  EXPECT_FALSE(timers.cancel(0, 0));
}

TEST(Timers, OfOneOwnerLeaveTheOthersTheirs) {
  Timers timers(2);
  timers.add_owner();
  timers.add_owner();
  EXPECT_NE(timers.set(10, 1, 0), 0u);
  EXPECT_NE(timers.set(20, 2, 0), 0u);
  EXPECT_EQ(timers.set(30, 3, 0), 0u) << "it has its share";
  EXPECT_NE(timers.set(15, 4, 1), 0u);
  timers.drop(0);
  EXPECT_EQ(timers.next_deadline_ns(), 15u);
  EXPECT_NE(timers.set(5, 5, 0), 0u);
  Timer timer;
  ASSERT_TRUE(timers.take_due(5, timer));
  EXPECT_EQ(timer.cookie, 5u);
}

// Against a sorted list.
TEST(Timers, FireInOrderWhateverIsCancelled) {
  Timers timers(64);
  timers.add_owner();
  std::mt19937 random(3);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> expected;  // deadline, id
  for (int step = 0; step < 5'000; ++step) {
    if (random() % 3 != 0) {
      const std::uint64_t deadline = random() % 1'000;
      if (const std::uint64_t id = timers.set(deadline, static_cast<std::uint64_t>(step), 0);
          id != 0)
        expected[{deadline, id}] = static_cast<std::uint64_t>(step);
      else
        ASSERT_EQ(expected.size(), 64u);
    } else if (!expected.empty() && random() % 2 == 0) {
      auto victim = expected.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % expected.size()));
      ASSERT_TRUE(timers.cancel(victim->first.second, 0));
      expected.erase(victim);
    } else if (!expected.empty()) {
      Timer timer;
      ASSERT_TRUE(timers.take_due(1'000, timer));
      ASSERT_EQ(timer.cookie, expected.begin()->second);
      expected.erase(expected.begin());
    }
  }
}

class ParametersOf : public ::testing::Test {
 protected:
  ParameterReader reader{{{"size", std::int64_t{100}, "x.toml:8:8"},
                          {"edge", 1.5},
                          {"on", true},
                          {"pause", std::string("5ms"), "x.toml:9:9"},
                          {"symbols", std::string(" AAPL , MSFT,,GOOG")}},
                         "strategy 2 (quoter)",
                         "x.toml:3:1"};
};

TEST_F(ParametersOf, APluginComeWithTheTypeTheyHave) {
  std::int64_t size = 0;
  double edge = 0;
  bool on = false;
  std::uint64_t pause = 0;
  EXPECT_EQ(reader.integer("size", size), TICKPATH_OK);
  EXPECT_EQ(reader.number("edge", edge), TICKPATH_OK);
  EXPECT_EQ(reader.boolean("on", on), TICKPATH_OK);
  EXPECT_EQ(reader.duration_ns("pause", pause), TICKPATH_OK);
  EXPECT_EQ(size, 100);
  EXPECT_EQ(edge, 1.5);
  EXPECT_TRUE(on);
  EXPECT_EQ(pause, 5'000'000u);
  EXPECT_EQ(reader.number("size", edge), TICKPATH_OK) << "an integer is a number";
  EXPECT_EQ(edge, 100.0);
}

TEST_F(ParametersOf, APluginAreSplitIntoLists) {
  const char* symbol = nullptr;
  EXPECT_EQ(reader.text_at("symbols", 2, symbol), TICKPATH_OK);
  EXPECT_STREQ(symbol, "GOOG");
  EXPECT_EQ(reader.text_at("symbols", 3, symbol), TICKPATH_MISSING_PARAMETER);
}

TEST_F(ParametersOf, AWrongTypeNamePlacePluginKeyAndWhatWasFound) {
  std::int64_t number = 0;
  EXPECT_EQ(reader.integer("pause", number), TICKPATH_WRONG_TYPE);
  EXPECT_EQ(
      reader.error(),
      "x.toml:9:9: strategy 2 (quoter): parameter 'pause': found the text \"5ms\"; the plugin "
      "wants an integer");
  std::uint64_t duration = 0;
  EXPECT_EQ(reader.duration_ns("symbols", duration), TICKPATH_WRONG_TYPE);
  EXPECT_THAT(reader.error(), HasSubstr("with its unit"));
}

TEST_F(ParametersOf, AMissingKeySaysWhereToAddIt) {
  bool flag = false;
  EXPECT_EQ(reader.boolean("absent", flag), TICKPATH_MISSING_PARAMETER);
  EXPECT_THAT(reader.error(),
              HasSubstr("x.toml:3:1: strategy 2 (quoter): parameter 'absent': missing; add it"));
}

TEST_F(ParametersOf, AValueThatThePluginRejectsIsNamedLikeAWrongType) {
  EXPECT_EQ(reader.reject("size", "at most 50"), TICKPATH_INVALID);
  EXPECT_EQ(reader.error(),
            "x.toml:8:8: strategy 2 (quoter): parameter 'size': found the integer 100; the plugin "
            "wants at most 50");
}

}  // namespace
}  // namespace tickpath::strategy
