#include "strategy/router.hpp"

#include <algorithm>
#include <tuple>

#include "strategy/plugin.h"

namespace tickpath::strategy {
namespace {

// Ascending is better, for both sides: a buyer wants it low, a seller high.
std::int64_t cost(Side side, std::uint32_t price) noexcept {
  return side == Side::kBuy ? std::int64_t{price} : -std::int64_t{price};
}

bool within(const RoutedOrder& order, std::uint32_t price) noexcept {
  return order.limit == 0 || cost(order.side, price) <= cost(order.side, order.limit);
}

// Level by level over all books.
class Sweep {
 public:
  Sweep(const RoutedOrder& order, std::span<const RoutedBook> books,
        std::span<RoutedPart> parts) noexcept
      : order_(order), books_(books), parts_(parts), left_(order.shares) {}

  std::size_t run() noexcept {
    std::size_t book = 0;
    while (left_ != 0 && find_best(book)) {
      const RoutedLevel& level = books_[book].levels[next_[book]++];
      const std::uint32_t taken = std::min(left_, level.shares);
      RoutedPart& part = part_of(book);
      part.shares += taken;
      part.price = level.price;
      left_ -= taken;
    }
    return count_;
  }
  std::uint32_t left() const noexcept { return left_; }

 private:
  bool find_best(std::size_t& best) const noexcept {
    bool found = false;
    for (std::size_t book = 0; book < books_.size(); ++book) {
      if (next_[book] == books_[book].count ||
          !within(order_, books_[book].levels[next_[book]].price))
        continue;
      if (!found || rank(book) < rank(best)) best = book;
      found = true;
    }
    return found;
  }
  std::tuple<std::int64_t, std::int64_t, std::int32_t> rank(std::size_t book) const noexcept {
    const RoutedLevel& level = books_[book].levels[next_[book]];
    return {cost(order_.side, level.price), -std::int64_t{level.shares}, books_[book].taker_fee};
  }
  RoutedPart& part_of(std::size_t book) noexcept {
    for (RoutedPart& part : parts_.first(count_))
      if (part.book == book) return part;
    parts_[count_] = {.book = book};
    return parts_[count_++];
  }

  const RoutedOrder& order_;
  std::span<const RoutedBook> books_;
  std::span<RoutedPart> parts_;
  std::uint32_t left_;
  std::array<std::size_t, TICKPATH_VENUES_MAX> next_{};  // by book: its best level not yet taken
  std::size_t count_ = 0;
};

// Whether any of it would trade at once.
bool trades(const RoutedOrder& order, const RoutedBook& book) noexcept {
  return book.count != 0 && within(order, book.levels[0].price);
}

// Where it is closest to trading. False: nowhere.
bool resting_place(const RoutedOrder& order, std::span<const RoutedBook> books,
                   std::size_t& best) noexcept {
  const auto rank = [&](const RoutedBook& book) {
    const RoutedLevel first = book.count == 0 ? RoutedLevel{0, 0} : book.levels[0];
    return std::tuple(book.count == 0, cost(order.side, first.price), -std::int64_t{first.shares},
                      book.maker_fee);
  };
  bool found = false;
  for (std::size_t book = 0; book < books.size(); ++book) {
    if (order.post_only && trades(order, books[book])) continue;
    if (!found || rank(books[book]) < rank(books[best])) best = book;
    found = true;
  }
  return found;
}

// What all of it would cost at one book, or bring, and then less is more; false: the book does not
// show enough. Prices and all shares are 32 bits each: no sum of theirs is beyond 64.
bool whole_cost(const RoutedOrder& order, const RoutedBook& book, std::uint64_t& sum) noexcept {
  std::uint32_t left = order.shares;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < book.count && left != 0; ++i) {
    const RoutedLevel& level = book.levels[i];
    if (!within(order, level.price)) return false;
    const std::uint32_t taken = std::min(left, level.shares);
    value += std::uint64_t{level.price} * taken;
    left -= taken;
  }
  sum = order.side == Side::kBuy ? value : ~value;
  return left == 0;
}

bool place_of_whole(const RoutedOrder& order, std::span<const RoutedBook> books,
                    std::size_t& best) noexcept {
  bool found = false;
  std::uint64_t lowest = 0;
  for (std::size_t book = 0; book < books.size(); ++book) {
    std::uint64_t sum = 0;
    if (!whole_cost(order, books[book], sum)) continue;
    if (!found ||
        std::tuple(sum, books[book].taker_fee) < std::tuple(lowest, books[best].taker_fee)) {
      best = book;
      lowest = sum;
    }
    found = true;
  }
  return found;
}

}  // namespace

void RoutedBook::add(Side side, std::uint32_t price, std::uint32_t shares) noexcept {
  if (price == 0 || shares == 0 || count == levels.size()) return;
  if (count != 0 && cost(side, price) <= cost(side, levels[count - 1].price)) return;
  levels[count++] = {price, shares};
}

std::size_t split(const RoutedOrder& order, std::span<const RoutedBook> books,
                  std::span<RoutedPart> parts) noexcept {
  std::size_t book = 0;
  if (order.whole) {
    if (!place_of_whole(order, books, book)) return 0;
    parts[0] = {book, order.shares, order.limit, true};
    return 1;
  }
  std::size_t count = 0;
  std::uint32_t left = order.shares;
  if (!order.post_only) {
    Sweep sweep(order, books, parts);
    count = sweep.run();
    left = sweep.left();
  }
  if (count == 0) {
    if (!order.rests || !resting_place(order, books, book)) return 0;
    parts[0] = {book, order.shares, order.limit, true};
    return 1;
  }
  if (left == 0) return count;
  // Beyond what is shown there may be more: behind the tenth level, or hidden.
  parts[0].shares += left;
  parts[0].price = order.limit;
  parts[0].rests = order.rests;
  return count;
}

}  // namespace tickpath::strategy
