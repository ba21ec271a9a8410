#include "common/trading/position.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tickpath::trading {
namespace {

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

struct Held {
  std::int64_t shares = 0;
  std::int64_t cash = 0;
  std::uint32_t fills = 0;
  void apply(const Fill& fill) { apply_fill(fill, shares, cash, fills); }
};

TEST(ApplyFill, MovesSharesAndCashAgainstEachOther) {
  Held held;
  held.apply({Side::kBuy, 100, {1'000'000}});
  EXPECT_EQ(held.shares, 100);
  EXPECT_EQ(held.cash, -100'000'000);
  held.apply({Side::kSell, 300, {1'010'000}});
  EXPECT_EQ(held.shares, -200);
  EXPECT_EQ(held.cash, -100'000'000 + 303'000'000);
  EXPECT_EQ(held.fills, 2u);
}

TEST(ApplyFill, GivesBackWhatAnExecutionTookToTheLastDigit) {
  Held held;
  for (const Side side : {Side::kBuy, Side::kSell}) {
    held.apply({side, 150, {12'345, 1}});  // 185.17650 + 0.00015: rounded
    held.apply({side, 150, {12'345, 1}, false});
    EXPECT_EQ(held.shares, 0);
    EXPECT_EQ(held.cash, 0);
    EXPECT_EQ(held.fills, 0u);
  }
}

// Four of the largest executions are beyond 64 bits of cash; the value of one is beyond 63.
TEST(ApplyFill, SaturatesCashInsteadOfWrapping) {
  Held bought;
  Held sold;
  for (int i = 0; i < 4; ++i) {
    bought.apply({Side::kBuy, kMost, {kMost, 99}});
    sold.apply({Side::kSell, kMost, {kMost, 99}});
    EXPECT_EQ(bought.cash, kLowest);
    EXPECT_EQ(sold.cash, kHighest);
  }
  EXPECT_EQ(bought.shares, 4 * std::int64_t{kMost});
  EXPECT_EQ(sold.shares, -4 * std::int64_t{kMost});
}

TEST(ApplyFill, SaturatesSharesInsteadOfWrapping) {
  Held held{.shares = kHighest - 1};
  held.apply({Side::kBuy, 100, {1}});
  EXPECT_EQ(held.shares, kHighest);
  held = {.shares = kLowest + 1};
  held.apply({Side::kBuy, 100, {1}, false});
  EXPECT_EQ(held.shares, kLowest);
}

TEST(SaturatingAdd, StaysAtEitherEnd) {
  EXPECT_EQ(saturating_add(kHighest, std::int64_t{1}), kHighest);
  EXPECT_EQ(saturating_add(kLowest, std::int64_t{-1}), kLowest);
  EXPECT_EQ(saturating_add(kLowest, ~std::uint64_t{0}), kHighest) << "their sum";
  EXPECT_EQ(saturating_subtract(kLowest, std::int64_t{1}), kLowest);
  EXPECT_EQ(saturating_subtract(kHighest, std::int64_t{-1}), kHighest);
}

}  // namespace
}  // namespace tickpath::trading
