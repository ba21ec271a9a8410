// Where orders go, on books made by hand and at random.
#include "strategy/router.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "strategy/plugin.h"

namespace tickpath::strategy {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;

RoutedBook book(Side side, const std::vector<RoutedLevel>& levels, std::int32_t taker = 0,
                std::int32_t maker = 0) {
  RoutedBook made;
  made.taker_fee = taker;
  made.maker_fee = maker;
  for (const RoutedLevel& level : levels) made.add(side, level.price, level.shares);
  return made;
}

std::vector<RoutedPart> split(const RoutedOrder& order, const std::vector<RoutedBook>& books) {
  std::vector<RoutedPart> parts(books.size());
  parts.resize(split(order, books, parts));
  return parts;
}

// book, shares, price, rests
auto part(std::size_t of, std::uint32_t shares, std::uint32_t price, bool rests = false) {
  return FieldsAre(of, shares, price, rests);
}

const std::vector<RoutedBook> kAsks{book(Side::kBuy, {{100, 50}, {102, 80}}),
                                    book(Side::kBuy, {{101, 30}, {102, 90}})};

TEST(Router, SweepsTheBestPricesOfAllVenuesOneOrderAVenue) {
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 100, .limit = 102}, kAsks),
              ElementsAre(part(0, 50, 100), part(1, 50, 102)));
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 40, .limit = 102}, kAsks),
              ElementsAre(part(0, 40, 100)));
}

TEST(Router, SellsToTheHighestBidFirst) {
  const std::vector<RoutedBook> bids{book(Side::kSell, {{99, 50}, {98, 10}}),
                                     book(Side::kSell, {{100, 20}})};
  EXPECT_THAT(split({.side = Side::kSell, .shares = 60, .limit = 99}, bids),
              ElementsAre(part(1, 20, 100), part(0, 40, 99)));
}

TEST(Router, AtOnePriceTheLargerSizeComesFirstAndThenTheLowerFee) {
  const std::vector<RoutedBook> sizes{book(Side::kBuy, {{100, 10}}, -5),
                                      book(Side::kBuy, {{100, 30}}, 7)};
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 20}, sizes), ElementsAre(part(1, 20, 100)));
  const std::vector<RoutedBook> fees{book(Side::kBuy, {{100, 30}}, 7),
                                     book(Side::kBuy, {{100, 30}}, -5)};
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 20}, fees), ElementsAre(part(1, 20, 100)));
}

TEST(Router, WhatNoBookShowsGoesToTheFirstVenueUnderTheLimitOfTheOrder) {
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 400, .limit = 101}, kAsks),
              ElementsAre(part(0, 370, 101), part(1, 30, 101)));
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 400, .limit = 101, .rests = true}, kAsks),
              ElementsAre(part(0, 370, 101, true), part(1, 30, 101)));
}

TEST(Router, AnOrderThatCannotTradeRestsWholeWhereTheOtherSideIsBest) {
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 70, .limit = 99, .rests = true}, kAsks),
              ElementsAre(part(0, 70, 99, true)));
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 70, .limit = 99}, kAsks), IsEmpty())
      << "immediate: there is nothing to be had";
  const std::vector<RoutedBook> fees{book(Side::kBuy, {{101, 10}}, 0, 3),
                                     book(Side::kBuy, {}, 0, -9),
                                     book(Side::kBuy, {{101, 10}}, 0, -2)};
  EXPECT_THAT(split({.side = Side::kBuy, .shares = 70, .limit = 99, .rests = true}, fees),
              ElementsAre(part(2, 70, 99, true)))
      << "one price and size: the venue that pays makers; an empty book comes last";
}

TEST(Router, PostOnlyLeavesVenuesOutAtWhichItWouldTrade) {
  const RoutedOrder order{
      .side = Side::kBuy, .shares = 10, .limit = 100, .rests = true, .post_only = true};
  EXPECT_THAT(split(order, kAsks), ElementsAre(part(1, 10, 100, true)));
  EXPECT_THAT(split(order, {kAsks[0]}), IsEmpty());
}

TEST(Router, FillOrKillGoesWholeToTheCheapestThatShowsEnough) {
  RoutedOrder order{.side = Side::kBuy, .shares = 100, .limit = 102, .whole = true};
  EXPECT_THAT(split(order, kAsks), ElementsAre(part(0, 100, 102, true)))
      << "50 x 100 + 50 x 102 against 30 x 101 + 70 x 102";
  order.shares = 131;
  EXPECT_THAT(split(order, kAsks), IsEmpty()) << "130 and 120 are shown";
  order.shares = 60;
  order.limit = 101;
  EXPECT_THAT(split(order, kAsks), IsEmpty());
}

// A sum of 64 bits would be below zero: the dearer venue would be taken for the cheaper one.
TEST(Router, AWholeOrderOfAnySizeGoesToTheCheaperVenue) {
  constexpr std::uint32_t kShares = 4'000'000'000;
  RoutedOrder order{.side = Side::kBuy, .shares = kShares, .whole = true};
  const std::vector<RoutedBook> asks{book(Side::kBuy, {{4'000'000'000, kShares}}),
                                     book(Side::kBuy, {{2'000'000'000, kShares}})};
  EXPECT_THAT(split(order, asks), ElementsAre(FieldsAre(1u, kShares, _, _)));
  order.side = Side::kSell;
  const std::vector<RoutedBook> bids{book(Side::kSell, {{2'000'000'000, kShares}}),
                                     book(Side::kSell, {{4'000'000'000, kShares}})};
  EXPECT_THAT(split(order, bids), ElementsAre(FieldsAre(1u, kShares, _, _)));
}

TEST(Router, ALevelThatIsNoLevelIsLeftOut) {
  const RoutedBook made =
      book(Side::kBuy, {{0, 10}, {101, 0}, {100, 5}, {100, 9}, {99, 9}, {102, 7}});
  ASSERT_EQ(made.count, 2u);
  EXPECT_EQ(made.levels[0].price, 100u);
  EXPECT_EQ(made.levels[1].price, 102u);
}

// ------------------------------------------------------------------------- against a reference

// Share by share: the prices of all that is shown within the limit, best first.
std::vector<std::uint32_t> shares_shown(const RoutedOrder& order,
                                        const std::vector<RoutedBook>& books) {
  std::vector<std::uint32_t> prices;
  for (const RoutedBook& each : books)
    for (std::size_t i = 0; i < each.count; ++i) {
      const RoutedLevel& level = each.levels[i];
      const bool good = order.limit == 0 || (order.side == Side::kBuy ? level.price <= order.limit
                                                                      : level.price >= order.limit);
      if (good) prices.insert(prices.end(), level.shares, level.price);
    }
  std::sort(prices.begin(), prices.end());
  if (order.side == Side::kSell) std::reverse(prices.begin(), prices.end());
  return prices;
}

// What is paid for the first `shares` of it.
std::uint64_t value(const std::vector<std::uint32_t>& prices, std::size_t shares) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < shares; ++i) sum += prices.at(i);
  return sum;
}

// What the parts trade against the books as they were.
struct Traded {
  std::size_t shares = 0;
  std::uint64_t value = 0;
};
Traded trade(const RoutedOrder& order, const std::vector<RoutedBook>& books,
             const std::vector<RoutedPart>& parts) {
  Traded all;
  for (const RoutedPart& each : parts) {
    RoutedOrder alone = order;
    alone.limit = each.price;
    const auto prices = shares_shown(alone, {books[each.book]});
    const std::size_t shares = std::min<std::size_t>(each.shares, prices.size());
    all.shares += shares;
    all.value += value(prices, shares);
  }
  return all;
}

std::uint32_t below(std::mt19937& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

std::vector<RoutedBook> random_books(std::mt19937& random, Side side) {
  std::vector<RoutedBook> books(1 + below(random, 4));
  for (RoutedBook& each : books) {
    each.taker_fee = static_cast<std::int32_t>(below(random, 5)) - 2;
    // Close together, so that prices and sizes are often the same.
    std::uint32_t price = 100 + below(random, 6);
    for (std::size_t level = below(random, 6); level > 0; --level) {
      each.add(side, price, 10 * (1 + below(random, 4)));
      const std::uint32_t step = 1 + below(random, 2);
      price = side == Side::kBuy ? price + step : price - step;
    }
  }
  return books;
}

class RouterProperty : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RouterProperty, IsNeverWorseThanTheBestVenueAloneAndAsGoodAsShareByShare) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 2'000; ++round) {
    const Side side = below(random, 2) == 0 ? Side::kBuy : Side::kSell;
    const std::vector<RoutedBook> books = random_books(random, side);
    const RoutedOrder order{.side = side,
                            .shares = 1 + below(random, 250),
                            .limit = below(random, 4) == 0 ? 0 : 98 + below(random, 10),
                            .rests = below(random, 2) == 0};
    const std::vector<RoutedPart> parts = split(order, books);
    const Traded traded = trade(order, books, parts);
    const auto shown = shares_shown(order, books);
    ASSERT_EQ(traded.shares, std::min<std::size_t>(order.shares, shown.size())) << round;
    ASSERT_EQ(traded.value, value(shown, traded.shares)) << "seed " << GetParam() << ", " << round;
    for (const RoutedBook& each : books) {
      const auto alone = shares_shown(order, {each});
      const std::size_t shares = std::min<std::size_t>(order.shares, alone.size());
      ASSERT_GE(traded.shares, shares);
      const std::uint64_t cost = value(alone, shares);
      const std::uint64_t own = value(shown, shares);
      ASSERT_TRUE(side == Side::kBuy ? own <= cost : own >= cost) << round;
    }
    std::uint64_t sent = 0;
    std::vector<std::size_t> places;
    for (const RoutedPart& each : parts) {
      sent += each.shares;
      places.push_back(each.book);
    }
    std::sort(places.begin(), places.end());
    ASSERT_EQ(std::adjacent_find(places.begin(), places.end()), places.end()) << "one a venue";
    ASSERT_EQ(sent, parts.empty() ? 0 : order.shares) << "no share more or less than asked for";
    ASSERT_EQ(parts.empty(), shown.empty() && !order.rests);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RouterProperty, ::testing::Range(1u, 6u));

}  // namespace
}  // namespace tickpath::strategy
