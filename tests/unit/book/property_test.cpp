// Random streams, valid and not, against a book that is slow and obviously right.
#include <list>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "common/book/book.hpp"

namespace tickpath::book {
namespace {

struct PlainOrder {
  std::uint64_t reference;
  std::uint32_t shares;
  std::uint64_t user;
};

class PlainBook {
 public:
  struct Where {
    Locate locate;
    Side side;
    std::uint32_t price;
    std::list<PlainOrder>::iterator at;
  };

  Status add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
             std::uint32_t price, std::uint64_t user) {
    if (shares == 0) return Status::kZeroShares;
    if (price == 0) return Status::kZeroPrice;
    if (orders_.contains(reference)) return Status::kDuplicateReference;
    auto& queue = levels_[{locate, side}][price];
    queue.push_back({reference, shares, user});
    orders_[reference] = {locate, side, price, std::prev(queue.end())};
    return Status::kOk;
  }
  Status take(std::uint64_t reference, std::uint32_t shares) {
    const auto found = orders_.find(reference);
    if (found == orders_.end()) return Status::kUnknownReference;
    if (shares == 0) return Status::kZeroShares;
    std::uint32_t& rests = found->second.at->shares;
    if (shares < rests) {
      rests -= shares;
      return Status::kOk;
    }
    const Status status = shares == rests ? Status::kOk : Status::kSharesExceeded;
    remove(reference);
    return status;
  }
  Status remove(std::uint64_t reference) {
    const auto found = orders_.find(reference);
    if (found == orders_.end()) return Status::kUnknownReference;
    const Where where = found->second;
    auto& side = levels_[{where.locate, where.side}];
    side[where.price].erase(where.at);
    if (side[where.price].empty()) side.erase(where.price);
    orders_.erase(found);
    return Status::kOk;
  }
  Status replace(std::uint64_t reference, std::uint64_t new_reference, std::uint32_t shares,
                 std::uint32_t price) {
    const auto found = orders_.find(reference);
    if (found == orders_.end()) return Status::kUnknownReference;
    const Where where = found->second;
    const std::uint64_t user = where.at->user;
    remove(reference);
    return add(where.locate, new_reference, where.side, shares, price, user);
  }
  void clear(Locate locate) {
    std::erase_if(orders_, [&](const auto& entry) { return entry.second.locate == locate; });
    for (const Side side : {Side::kBuy, Side::kSell}) levels_[{locate, side}].clear();
  }

  const std::map<std::uint32_t, std::list<PlainOrder>>& side(Locate locate, Side side) {
    return levels_[{locate, side}];
  }
  std::size_t orders() const { return orders_.size(); }

 private:
  std::map<std::pair<Locate, Side>, std::map<std::uint32_t, std::list<PlainOrder>>> levels_;
  std::unordered_map<std::uint64_t, Where> orders_;
};

void expect_same_level(const LevelView& level, std::uint32_t price,
                       const std::list<PlainOrder>& queue) {
  ASSERT_EQ(level.price, price);
  ASSERT_EQ(level.orders, queue.size());
  std::uint64_t shares = 0;
  for (const PlainOrder& order : queue) shares += order.shares;
  ASSERT_EQ(level.shares, shares);
}

void expect_same_queue(const LevelBookSet&, Locate, Side, std::uint32_t,
                       const std::list<PlainOrder>&) {}
void expect_same_queue(const BookSet& books, Locate locate, Side side, std::uint32_t price,
                       const std::list<PlainOrder>& queue) {
  Handle at = books.front(locate, side, price);
  for (const PlainOrder& order : queue) {
    ASSERT_NE(at, kNoOrder);
    const OrderView view = books.order(at);
    ASSERT_EQ(view.reference, order.reference);
    ASSERT_EQ(view.shares, order.shares);
    ASSERT_EQ(view.user, order.user);
    at = books.next(at);
  }
  ASSERT_EQ(at, kNoOrder);
}

template <class Books>
void expect_same_side(const Books& books, PlainBook& plain, Locate locate, Side side) {
  const auto& levels = plain.side(locate, side);
  ASSERT_EQ(books.depth(locate, side), levels.size());
  std::uint32_t rank = 0;
  const auto compare = [&](std::uint32_t price, const std::list<PlainOrder>& queue) {
    expect_same_level(books.level(locate, side, rank++), price, queue);
    expect_same_queue(books, locate, side, price, queue);
  };
  if (side == Side::kBuy)
    for (auto it = levels.rbegin(); it != levels.rend(); ++it) compare(it->first, it->second);
  else
    for (const auto& [price, queue] : levels) compare(price, queue);
}

struct Shape {
  std::uint32_t locates;
  std::uint32_t prices;  // distinct, around a centre
  std::uint64_t stride;  // between references: what a feed's numbering may look like
  bool wild;             // now and then prices at the ends of the range
};

class BookProperty : public testing::TestWithParam<Shape> {};

// Drops what a set of books can drop at a time: a symbol, or all.
void clear(BookSet& books, PlainBook& plain, Locate locate, std::uint32_t) {
  books.clear(locate);
  plain.clear(locate);
}
void clear(LevelBookSet& books, PlainBook& plain, Locate, std::uint32_t locates) {
  books.clear();
  for (std::uint32_t i = 0; i < locates; ++i) plain.clear(static_cast<Locate>(65'535 - i));
}

template <class Books>
void expect_agreement(const Shape& shape) {
  std::mt19937_64 random(20'261 + shape.prices);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  Books books({.orders_max = 4'096, .levels_max = 4'096});
  PlainBook plain;
  std::uint64_t next_reference = 1;
  const auto any_reference = [&] {
    // Mostly recent ones, which may be gone or may never have been.
    return (next_reference + 2 - below(std::min<std::uint64_t>(next_reference + 2, 700))) *
           shape.stride;
  };
  const auto any_price = [&]() -> std::uint32_t {
    const std::uint64_t dice = below(200);
    if (dice == 0) return 0;
    if (shape.wild && dice < 20) return static_cast<std::uint32_t>(random()) | 1;
    return static_cast<std::uint32_t>(0x7fff'ff00 + below(shape.prices));
  };
  for (int step = 0; step < 60'000; ++step) {
    const auto locate = static_cast<Locate>(65'535 - below(shape.locates));
    const auto shares = static_cast<std::uint32_t>(below(20));
    const Side side = below(2) == 0 ? Side::kBuy : Side::kSell;
    const std::uint64_t reference = any_reference();
    const std::uint32_t price = any_price();
    Status got = Status::kOk;
    Status wanted = Status::kOk;
    const std::uint64_t dice = below(10'000);
    if (dice < 4'500 && plain.orders() < 4'000) {
      const std::uint64_t fresh = below(50) == 0 ? reference : next_reference++ * shape.stride;
      got = books.add(locate, fresh, side, shares, price, random() ^ fresh).status;
      const Handle handle = books.find(fresh);
      wanted = plain.add(locate, fresh, side, shares, price,
                         handle == kNoOrder ? 0 : books.order(handle).user);
    } else if (dice < 6'500) {
      got = books.execute(reference, shares).status;
      wanted = plain.take(reference, shares);
    } else if (dice < 9'000) {
      got = books.remove(reference).status;
      wanted = plain.remove(reference);
    } else if (dice < 9'995) {
      const std::uint64_t fresh =
          below(50) == 0 ? any_reference() : next_reference++ * shape.stride;
      got = books.replace(reference, fresh, shares, price).status;
      wanted = plain.replace(reference, fresh, shares, price);
    } else {
      clear(books, plain, locate, shape.locates);
    }
    ASSERT_EQ(got, wanted) << "step " << step;
    ASSERT_EQ(books.orders_resting(), plain.orders()) << "step " << step;
    const auto& levels = plain.side(locate, Side::kBuy);
    ASSERT_EQ(books.best(locate, Side::kBuy).price, levels.empty() ? 0 : levels.rbegin()->first);
    if (step % 2'000 == 0) {
      for (std::uint32_t i = 0; i < shape.locates; ++i)
        for (const Side each : {Side::kBuy, Side::kSell})
          ASSERT_NO_FATAL_FAILURE(
              expect_same_side(books, plain, static_cast<Locate>(65'535 - i), each));
    }
    if (step % 10'000 == 0) books.verify();
  }
  books.verify();
}

TEST_P(BookProperty, AgreesWithAPlainBookOnRandomStreams) { expect_agreement<BookSet>(GetParam()); }
TEST_P(BookProperty, AgreesWithAPlainBookWithoutQueues) {
  expect_agreement<LevelBookSet>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Shapes, BookProperty,
                         testing::Values(Shape{1, 12, 1, false}, Shape{3, 40, 1, true},
                                         Shape{50, 200, 8, true}, Shape{1, 3'000, 1, true},
                                         Shape{4, 30, std::uint64_t{1} << 35, false}));

}  // namespace
}  // namespace tickpath::book
