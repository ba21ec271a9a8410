#include "common/book/book.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "common/base/error.hpp"

namespace tickpath::book {
namespace {

constexpr Locate kApple = 13;
constexpr Locate kOther = 65'535;

Options small() { return {.orders_max = 8, .levels_max = 4}; }

std::vector<std::uint64_t> queue(const BookSet& books, Locate locate, Side side,
                                 std::uint32_t price) {
  std::vector<std::uint64_t> references;
  for (Handle at = books.front(locate, side, price); at != kNoOrder; at = books.next(at))
    references.push_back(books.order(at).reference);
  return references;
}

class Book : public ::testing::Test {
 protected:
  void TearDown() override { books.verify(); }
  BookSet books{{}};
};

TEST_F(Book, KnowsTheBestPriceOfEachSide) {
  EXPECT_EQ(books.best(kApple, Side::kBuy), Quote{});
  EXPECT_TRUE(books.add(kApple, 1, Side::kBuy, 100, 9'900).ok());
  EXPECT_TRUE(books.add(kApple, 2, Side::kBuy, 50, 10'000).ok());
  EXPECT_TRUE(books.add(kApple, 3, Side::kBuy, 70, 10'000).ok());
  EXPECT_TRUE(books.add(kApple, 4, Side::kSell, 10, 10'200).ok());
  EXPECT_TRUE(books.add(kApple, 5, Side::kSell, 20, 10'100).ok());
  EXPECT_TRUE(books.add(kOther, 6, Side::kSell, 1, 0xffff'ffff).ok());
  EXPECT_EQ(books.best(kApple, Side::kBuy), (Quote{10'000, 120}));
  EXPECT_EQ(books.best(kApple, Side::kSell), (Quote{10'100, 20}));
  EXPECT_EQ(books.best(kOther, Side::kSell), (Quote{0xffff'ffff, 1}));
  EXPECT_EQ(books.best(kOther, Side::kBuy), Quote{});
}

TEST_F(Book, RanksLevelsFromTheBest) {
  for (std::uint32_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(books.add(kApple, i, Side::kBuy, i, 1'000 + (i * 7 % 20)).ok());
    ASSERT_TRUE(books.add(kApple, 100 + i, Side::kSell, i, 2'000 + (i * 7 % 20)).ok());
  }
  LevelView levels[10];
  ASSERT_EQ(books.levels(kApple, Side::kBuy, levels), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(levels[i].price, 1'019 - i);
  ASSERT_EQ(books.levels(kApple, Side::kSell, levels), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(levels[i].price, 2'000 + i);
  EXPECT_EQ(books.level(kApple, Side::kSell, 19).price, 2'019u);
  EXPECT_EQ(books.level(kApple, Side::kSell, 20), LevelView{});
  EXPECT_EQ(books.level_at(kApple, Side::kBuy, 1'007), (LevelView{1'007, 1, 1}));
  EXPECT_EQ(books.level_at(kApple, Side::kBuy, 999), LevelView{});
  EXPECT_EQ(books.depth(kApple, Side::kBuy), 20u);
}

TEST_F(Book, KeepsTheOrderOfTimeWithinAPrice) {
  for (std::uint64_t reference = 1; reference <= 5; ++reference)
    ASSERT_TRUE(books.add(kApple, reference, Side::kSell, 10, 500).ok());
  ASSERT_TRUE(books.execute(1, 4).ok());  // keeps its place
  ASSERT_TRUE(books.reduce(3, 1).ok());   // likewise
  ASSERT_TRUE(books.remove(2).ok());      // from the middle
  ASSERT_TRUE(books.remove(5).ok());      // from the end
  ASSERT_TRUE(books.add(kApple, 6, Side::kSell, 1, 500).ok());
  EXPECT_EQ(queue(books, kApple, Side::kSell, 500), (std::vector<std::uint64_t>{1, 3, 4, 6}));
  std::uint64_t shares_ahead = 0;
  for (Handle at = books.front(kApple, Side::kSell, 500); at != books.find(6); at = books.next(at))
    shares_ahead += books.order(at).shares;
  EXPECT_EQ(shares_ahead, 6u + 9u + 10u);
  EXPECT_EQ(books.front(kApple, Side::kSell), books.find(1));
}

TEST_F(Book, LetsAReplacedOrderLoseItsPlace) {
  ASSERT_TRUE(books.add(kApple, 1, Side::kBuy, 10, 500, 77).ok());
  ASSERT_TRUE(books.add(kApple, 2, Side::kBuy, 10, 500).ok());
  const Change change = books.replace(1, 3, 25, 500);
  EXPECT_TRUE(change.ok());
  EXPECT_EQ(change.side, Side::kBuy);
  EXPECT_EQ(change.shares, 25u);
  EXPECT_EQ(queue(books, kApple, Side::kBuy, 500), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(books.user(books.find(3)), 77u);
  EXPECT_EQ(books.find(1), kNoOrder);
  EXPECT_TRUE(books.replace(3, 3, 5, 600).ok());  // a venue may keep the number
  EXPECT_EQ(books.best(kApple, Side::kBuy), (Quote{600, 5}));
}

TEST_F(Book, TellsWhatAChangeDid) {
  ASSERT_TRUE(books.add(kApple, 1, Side::kSell, 300, 10'000).ok());
  const Change part = books.execute(1, 100);
  EXPECT_EQ(part.side, Side::kSell);
  EXPECT_EQ(part.locate, kApple);
  EXPECT_EQ(part.price, 10'000u);
  EXPECT_EQ(part.shares, 100u);
  EXPECT_EQ(part.remaining, 200u);
  const Change rest = books.remove(1);
  EXPECT_EQ(rest.shares, 200u);
  EXPECT_EQ(rest.remaining, 0u);
}

TEST_F(Book, CarriesAUserWordWithEachOrder) {
  ASSERT_TRUE(books.add(kApple, 9, Side::kBuy, 1, 1, 0xdead'beef'0000'0001).ok());
  const Handle handle = books.find(9);
  EXPECT_EQ(books.user(handle), 0xdead'beef'0000'0001u);
  books.set_user(handle, 5);
  EXPECT_EQ(books.order(handle).user, 5u);
}

TEST_F(Book, CountsAndRefusesWhatMakesNoSense) {
  ASSERT_TRUE(books.add(kApple, 1, Side::kBuy, 10, 500).ok());
  EXPECT_EQ(books.add(kApple, 1, Side::kSell, 10, 700).status, Status::kDuplicateReference);
  EXPECT_EQ(books.add(kApple, 2, Side::kSell, 0, 700).status, Status::kZeroShares);
  EXPECT_EQ(books.add(kApple, 2, Side::kSell, 1, 0).status, Status::kZeroPrice);
  EXPECT_EQ(books.execute(2, 1).status, Status::kUnknownReference);
  EXPECT_EQ(books.reduce(1, 0).status, Status::kZeroShares);
  EXPECT_EQ(books.remove(99).status, Status::kUnknownReference);
  EXPECT_EQ(books.replace(99, 100, 1, 1).status, Status::kUnknownReference);
  EXPECT_EQ(books.best(kApple, Side::kBuy), (Quote{500, 10}));
  EXPECT_EQ(books.best(kApple, Side::kSell), Quote{});
  EXPECT_EQ(books.count(Status::kUnknownReference), 3u);
  EXPECT_EQ(books.count(Status::kZeroShares), 2u);
  EXPECT_EQ(books.count(Status::kOk), 1u);
}

TEST_F(Book, TakesWhatRestsWhenMoreIsExecuted) {
  ASSERT_TRUE(books.add(kApple, 1, Side::kBuy, 10, 500).ok());
  const Change change = books.execute(1, 11);
  EXPECT_EQ(change.status, Status::kSharesExceeded);
  EXPECT_EQ(change.shares, 10u);
  EXPECT_EQ(books.find(1), kNoOrder);
  EXPECT_EQ(books.best(kApple, Side::kBuy), Quote{});
}

TEST_F(Book, RemovesTheOldOrderEvenWhenItsReplacementIsRefused) {
  ASSERT_TRUE(books.add(kApple, 1, Side::kBuy, 10, 500).ok());
  ASSERT_TRUE(books.add(kApple, 2, Side::kBuy, 10, 600).ok());
  EXPECT_EQ(books.replace(1, 2, 10, 500).status, Status::kDuplicateReference);
  EXPECT_EQ(books.find(1), kNoOrder);
  EXPECT_EQ(books.replace(2, 3, 0, 500).status, Status::kZeroShares);
  EXPECT_EQ(books.orders_resting(), 0u);
}

TEST_F(Book, GoesOnWhenOrdersOrLevelsRunOut) {
  BookSet few(small());
  for (std::uint32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(few.add(kApple, i, Side::kBuy, 1, 100 + i).ok());
  EXPECT_EQ(few.add(kApple, 50, Side::kBuy, 1, 200).status, Status::kLevelsFull);
  for (std::uint32_t i = 4; i < 8; ++i) ASSERT_TRUE(few.add(kApple, i, Side::kBuy, 1, 100).ok());
  EXPECT_EQ(few.add(kApple, 51, Side::kBuy, 1, 100).status, Status::kOrdersFull);
  few.verify();
  EXPECT_EQ(few.orders_resting_max(), 8u);
  ASSERT_TRUE(few.remove(3).ok());
  EXPECT_TRUE(few.add(kOther, 51, Side::kSell, 1, 7).ok());
  few.verify();
}

TEST_F(Book, ForgetsOneSymbolOrAll) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(books.add(kApple, i, Side::kBuy, 1, 1 + i % 30).ok());
    ASSERT_TRUE(books.add(kOther, 1'000 + i, Side::kSell, 1, 1 + i % 30).ok());
  }
  books.clear(kApple);
  books.verify();
  EXPECT_EQ(books.depth(kApple, Side::kBuy), 0u);
  EXPECT_EQ(books.find(5), kNoOrder);
  EXPECT_NE(books.find(1'005), kNoOrder);
  books.clear();
  books.verify();
  EXPECT_EQ(books.orders_resting(), 0u);
  EXPECT_TRUE(books.add(kApple, 5, Side::kBuy, 1, 1).ok());
}

TEST_F(Book, RefusesSizesItCannotHold) {
  EXPECT_THROW(BookSet({.orders_max = 0}), Error);
  EXPECT_THROW(BookSet({.levels_max = 0}), Error);
}

TEST_F(Book, HoldsOrdersMaxWhateverTheirReferences) {
  LevelBookSet few({.orders_max = 1'000, .levels_max = 4});
  // 2^53 apart: all of them belong to a few places.
  for (std::uint64_t i = 0; i < 1'000; ++i)
    ASSERT_TRUE(few.add(kApple, i << 53 | i >> 11, Side::kBuy, 1, 1).ok());
  EXPECT_EQ(few.add(kApple, 5, Side::kBuy, 1, 1).status, Status::kOrdersFull);
  EXPECT_EQ(few.best(kApple, Side::kBuy), (Quote{1, 1'000}));
  few.verify();
  for (std::uint64_t i = 0; i < 1'000; ++i) ASSERT_TRUE(few.remove(i << 53 | i >> 11).ok());
  few.verify();
  EXPECT_EQ(few.orders_resting(), 0u);
}

TEST_F(Book, WithoutQueuesTellsOfLevelsAndOrdersAlike) {
  LevelBookSet few(small());
  ASSERT_TRUE(few.add(kApple, 1, Side::kSell, 300, 10'000).ok());
  ASSERT_TRUE(few.add(kApple, 2, Side::kSell, 30, 10'000).ok());
  EXPECT_EQ(few.execute(1, 100).remaining, 200u);
  EXPECT_EQ(few.level(kApple, Side::kSell, 0), (LevelView{10'000, 2, 230}));
  const OrderView order = few.order(few.find(1));
  EXPECT_EQ(order.reference, 1u);
  EXPECT_EQ(order.shares, 200u);
  EXPECT_EQ(order.price, 10'000u);
  EXPECT_EQ(order.side, Side::kSell);
  EXPECT_EQ(order.locate, kApple);
  EXPECT_TRUE(few.replace(1, 9, 5, 9'000).ok());
  EXPECT_EQ(few.best(kApple, Side::kSell), (Quote{9'000, 5}));
  EXPECT_EQ(few.execute(2, 31).status, Status::kSharesExceeded);
  few.verify();
  few.clear();
  few.verify();
  EXPECT_EQ(few.best(kApple, Side::kSell), Quote{});
  EXPECT_EQ(few.find(9), kNoOrder);
}

TEST_F(Book, TakesAnyReferenceAsAHint) {
  BookSet few(small());
  ASSERT_TRUE(few.add(kApple, 3, Side::kBuy, 1, 1).ok());
  for (const std::uint64_t reference : {std::uint64_t{0}, std::uint64_t{3}, ~std::uint64_t{0}}) {
    const BookSet::Hint hint = few.prefetch_order(reference, kOther, Side::kSell, 0xffff'ffff);
    few.prefetch_level(hint);
    few.prefetch_added(hint);
  }
  few.verify();
}

}  // namespace
}  // namespace tickpath::book
