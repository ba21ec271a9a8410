// Every id that the exchange has seen: whatever their numbers, all that were asked for fit.
#include "sim/matching/id_table.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "common/base/error.hpp"

namespace tickpath::sim {
namespace {

TEST(IdTable, FindsWhatWasInsertedAndNothingElse) {
  IdTable table(100);
  EXPECT_EQ(table.find(7), nullptr);
  IdTable::Entry* const entry = table.insert(7, 1, 5);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(table.find(7), entry);
  EXPECT_EQ(entry->node, 5u);
  EXPECT_EQ(table.find(8), nullptr);
  EXPECT_EQ(table.find(7 + 64), nullptr);
}

TEST(IdTable, IsFullAtItsLimitAndKeepsWhatItHas) {
  IdTable table(3);
  for (std::uint32_t i = 1; i <= 3; ++i)
    ASSERT_NE(table.insert(~std::uint64_t{0} - i, i, i), nullptr);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.insert(1, 9, 9), nullptr);
  for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(table.find(~std::uint64_t{0} - i)->number, i);
}

TEST(IdTable, RefusesASizeOfZero) { EXPECT_THROW(IdTable(0), Error); }

// Counters of several strategies, ids with a step, ids of others.
TEST(IdTable, AgreesWithAMapWhateverTheNumbering) {
  std::mt19937_64 random(4);
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{1} << 40}) {
    IdTable table(5'000);
    std::map<std::uint64_t, std::uint32_t> model;
    for (std::uint32_t i = 1; i <= 5'000; ++i) {
      const std::uint64_t id =
          (random() % 5) << 56 | (random() % 10 == 0 ? random() >> 8 : i * step);
      if (table.find(id) == nullptr) {
        ASSERT_TRUE(model.emplace(id, i).second);
        ASSERT_NE(table.insert(id, i, i), nullptr);
      }
      ASSERT_EQ(table.find(id)->number, model.at(id));
    }
    for (const auto& [id, number] : model) ASSERT_EQ(table.find(id)->number, number);
    ASSERT_EQ(table.size(), model.size());
  }
}

}  // namespace
}  // namespace tickpath::sim
