#include "risk/same_symbol.hpp"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "common/wire/directory.hpp"

namespace tickpath::risk {
namespace {

// Against the plain rule, over rows that are made, named and named otherwise at random.
TEST(SameSymbol, FindsWhatAComparisonOfAllNamesFinds) {
  constexpr std::uint32_t kRows = 60;
  constexpr std::uint32_t kStrategies = 3;
  const std::vector<std::uint64_t> names{0, wire::symbol_word("AAPL"), wire::symbol_word("MSFT"),
                                         wire::symbol_word("IBM"), wire::symbol_word("#1")};
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t end) { return random() % end; };
    std::vector<Row> rows;
    rows.reserve(kRows);
    SameSymbol same(rows, kRows, kStrategies);
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t name = names[below(names.size())];
      if (rows.size() < kRows && below(4) == 0) {
        rows.emplace_back().strategy = static_cast<std::uint32_t>(below(kStrategies));
        same.add(static_cast<std::uint32_t>(rows.size() - 1), name);
      } else if (!rows.empty()) {
        const auto row = static_cast<std::uint32_t>(below(rows.size()));
        const bool other = rows[row].filed != name;
        EXPECT_EQ(same.rename(row, name), other);
        ASSERT_EQ(rows[row].filed, name);
      }
      if (below(200) == 0) {
        same.forget();
        rows.clear();
      }
      for (const Row& row : rows) {
        std::multiset<const Row*> found, unnamed, expected, expected_unnamed;
        same.for_each(row, [&](const Row& each) { found.insert(&each); });
        same.for_each_unnamed(row.strategy, [&](const Row& each) { unnamed.insert(&each); });
        const bool alone = row.filed == 0 || wire::symbol_text(row.filed).starts_with('#');
        for (const Row& other : rows) {
          if (other.strategy != row.strategy) continue;
          if (&other == &row || (!alone && other.filed == row.filed)) expected.insert(&other);
          if (other.filed == 0) expected_unnamed.insert(&other);
        }
        ASSERT_EQ(found, expected) << "seed " << seed << ", step " << step;
        ASSERT_EQ(unnamed, expected_unnamed) << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace tickpath::risk
