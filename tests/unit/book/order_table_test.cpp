// The table of orders by reference: against a std::map, and with references made to hurt it.
#include "common/book/detail/order_table.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::book::detail {
namespace {

struct Record {
  std::uint64_t key;
  std::uint32_t value;
  std::uint32_t unused;
};
using Table = OrderTable<Record>;

constexpr std::uint64_t kHighest = ~std::uint64_t{0};

// False: it is there already.
bool insert(Table& table, std::uint64_t reference, std::uint32_t value) {
  const Table::Home home = table.home_of(reference);
  const std::uint32_t node = table.vacancy(home);
  if (node == Table::kNil) return false;
  table.insert(node, home);
  table[node].value = value;
  return true;
}

std::uint32_t window_of(const Table& table) { return table.last_node(); }

// `count` references that belong to the same place of an empty table.
std::vector<std::uint64_t> rivals(const Table& table, std::uint32_t count) {
  std::vector<std::uint64_t> references;
  const std::uint64_t window = window_of(table);
  for (std::uint64_t lap = 0; lap < count; ++lap) {
    const std::uint64_t first = lap * window;
    const std::uint64_t distance = (7 - table.home_of(first).node) & (window - 1);
    references.push_back(first + distance);
    EXPECT_EQ(table.home_of(references.back()).node, 7u);
  }
  return references;
}

using Model = std::map<std::uint64_t, std::uint32_t>;

void expect_same(const Table& table, const Model& model) {
  ASSERT_EQ(table.size().get(), model.size());
  for (const auto& [reference, value] : model) {
    const std::uint32_t node = table.find(reference);
    ASSERT_NE(node, Table::kNil) << reference;
    ASSERT_EQ(table[node].value, value);
    ASSERT_EQ(table.reference_of(node), reference);
  }
  std::size_t walked = 0;
  for (std::uint32_t node = 1; node <= table.last_node(); ++node)
    if (table.in_use(node)) ++walked;
  ASSERT_EQ(walked, model.size());
}

TEST(OrderTable, GivesNeighboursInTimeNeighbouringPlaces) {
  Table table(1'000);
  for (std::uint64_t reference = 500'000; reference < 500'100; ++reference)
    ASSERT_TRUE(insert(table, reference, 1));
  // But for where the window or one of its laps ends.
  int neighbours = 0;
  for (std::uint64_t reference = 500'001; reference < 500'100; ++reference)
    if (table.find(reference) == table.find(reference - 1) + 1) ++neighbours;
  EXPECT_GE(neighbours, 97);
}

TEST(OrderTable, HoldsTheReferencesAtTheEndsOfSixtyFourBits) {
  Table table(4);
  const std::vector<std::uint64_t> ends{0, 1, kHighest - 1, kHighest};
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(insert(table, ends[i], i));
  EXPECT_TRUE(table.full());
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(insert(table, ends[i], 9));
    EXPECT_EQ(table[table.find(ends[i])].value, i);
    EXPECT_EQ(table.reference_of(table.find(ends[i])), ends[i]);
  }
  EXPECT_EQ(table.find(2), Table::kNil);
  EXPECT_EQ(table.find(std::uint64_t{1} << 63), Table::kNil);
  for (const std::uint64_t reference : ends) table.erase(table.find(reference));
  EXPECT_EQ(table.size().get(), 0u);
}

TEST(OrderTable, HoldsAsManyOrdersAsAskedForThoughAllBelongToOnePlace) {
  Table table(100);
  const std::vector<std::uint64_t> references = rivals(table, 100);
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_FALSE(table.full());
    ASSERT_TRUE(insert(table, references[i], i));
    ASSERT_FALSE(insert(table, references[i], i));
  }
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.size_max().get(), 100u);
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(table[table.find(references[i])].value, i);
    ASSERT_EQ(table.reference_of(table.find(references[i])), references[i]);
  }
}

TEST(OrderTable, MovesNoOrderWhenTheOneBeforeItLeaves) {
  Table table(8);
  const std::vector<std::uint64_t> references = rivals(table, 4);
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(insert(table, references[i], i));
  const std::uint32_t home = table.find(references[0]);
  const std::uint32_t third = table.find(references[2]);
  table.erase(home);
  EXPECT_EQ(table.find(references[0]), Table::kNil);
  EXPECT_EQ(table.find(references[2]), third);
  // The place is free for the next, and what stands behind the window is found from it still.
  ASSERT_TRUE(insert(table, references[0], 5));
  EXPECT_EQ(table.find(references[0]), home);
  table.erase(table.find(references[2]));  // from the middle of the list
  table.erase(table.find(references[3]));
  table.erase(table.find(references[1]));
  EXPECT_EQ(table.find(references[1]), Table::kNil);
  EXPECT_EQ(table[table.find(references[0])].value, 5u);
}

TEST(OrderTable, UsesPlacesBehindTheWindowAgain) {
  Table table(16);
  const std::vector<std::uint64_t> references = rivals(table, 16);
  const std::uint32_t window = window_of(table);
  for (int round = 0; round < 1'000; ++round) {
    for (const std::uint64_t reference : references) ASSERT_TRUE(insert(table, reference, 1));
    for (const std::uint64_t reference : references) table.erase(table.find(reference));
  }
  EXPECT_LE(table.last_node(), window + 15);
}

TEST(OrderTable, IsEmptyAfterClear) {
  Table table(16);
  const std::vector<std::uint64_t> references = rivals(table, 16);
  for (const std::uint64_t reference : references) ASSERT_TRUE(insert(table, reference, 1));
  table.clear();
  expect_same(table, {});
  for (const std::uint64_t reference : references) ASSERT_EQ(table.find(reference), Table::kNil);
  for (const std::uint64_t reference : references) ASSERT_TRUE(insert(table, reference, 2));
  EXPECT_TRUE(table.full());
}

// What a feed's numbering may look like: the n-th reference.
struct Numbering {
  const char* name;
  std::function<std::uint64_t(std::uint64_t)> reference;
};

class OrderTableNumbering : public testing::TestWithParam<Numbering> {};

TEST_P(OrderTableNumbering, AgreesWithAMap) {
  std::mt19937_64 random(20'261);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  constexpr std::uint32_t kOrders = 500;
  Table table(kOrders);
  Model model;
  std::uint64_t next = 1;
  for (int step = 0; step < 40'000; ++step) {
    // Mostly recent ones: they may be there, gone, or yet to come.
    const std::uint64_t n =
        below(50) == 0 ? below(next) : next - below(std::min<std::uint64_t>(next, 600));
    const std::uint64_t reference = GetParam().reference(n);
    // Fills up, empties, and so on.
    const bool adds = below(100) < (step / 4'000 % 2 == 0 ? 60u : 45u);
    if (adds && !table.full()) {
      const std::uint64_t fresh = below(20) == 0 ? reference : GetParam().reference(next++);
      const auto value = static_cast<std::uint32_t>(random());
      ASSERT_EQ(insert(table, fresh, value), model.emplace(fresh, value).second) << "step " << step;
    } else {
      const std::uint32_t node = table.find(reference);
      ASSERT_EQ(node != Table::kNil, model.erase(reference) == 1) << "step " << step;
      if (node != Table::kNil) table.erase(node);
    }
    ASSERT_EQ(table.full(), model.size() == kOrders);
    if (step % 1'000 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_same(table, model));
    }
  }
  expect_same(table, model);
}

INSTANTIATE_TEST_SUITE_P(
    Feeds, OrderTableNumbering,
    testing::Values(
        Numbering{"Dense", [](std::uint64_t n) { return n; }},
        Numbering{"EveryFourth", [](std::uint64_t n) { return n * 4; }},
        Numbering{"Descending", [](std::uint64_t n) { return kHighest - n; }},
        Numbering{"AWindowApart", [](std::uint64_t n) { return n * 1'024; }},
        Numbering{"FarApart", [](std::uint64_t n) { return n << 35; }},
        Numbering{"InTheTopBits", [](std::uint64_t n) { return n << 54 | n; }},
        Numbering{"Scattered", [](std::uint64_t n) { return n * 0xd134'2543'de82'ef95; }},
        Numbering{"RoundTheEnd", [](std::uint64_t n) { return n - 200; }},
        // As DeepBooks numbers: instrument, side and price.
        Numbering{"ByPrice",
                  [](std::uint64_t n) { return (n % 7) << 33 | (n % 2) << 32 | n / 14 * 100; }}),
    [](const auto& shown) { return shown.param.name; });

}  // namespace
}  // namespace tickpath::book::detail
