// Books whose best bid is at or above their best ask although orders are being matched. A venue
// would have traded them, so no such book is right: the feed or the recording lacks something. In
// an auction's order collection, a halt or a pause orders gather unmatched, and such a book says
// nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/counter.hpp"

namespace tickpath::book {

// Locked books count: a venue trades them, too. 0 is "no price"; no ask, taken down by one, is
// above every bid, so that this is one comparison.
constexpr bool is_crossed(std::uint32_t best_bid, std::uint32_t best_ask) noexcept {
  return best_bid > best_ask - 1;
}

// How often and how long one book was crossed; times are the feed's own.
struct CrossedBook {
  Counter times;
  Counter total_ns;  // of those that are over, or that finish() ended
  Counter longest_ns;
  Counter crossed;  // 1 while it is
};

// By any dense index. Allocates in the constructor alone. One writer; any thread reads.
class CrossedBooks {
 public:
  explicit CrossedBooks(std::size_t books)
      : books_(std::make_unique<CrossedBook[]>(books)),
        since_ns_(std::make_unique<std::uint64_t[]>(books)),
        size_(books) {}

  void begin(std::size_t at, std::uint64_t time_ns) noexcept {
    books_[at].times.add();
    books_[at].crossed.set(1);
    since_ns_[at] = time_ns;
    times_.add();
    now_.set(now_.get() + 1);
  }
  void end(std::size_t at, std::uint64_t time_ns) noexcept {
    books_[at].crossed.set(0);
    add(books_[at], time_ns > since_ns_[at] ? time_ns - since_ns_[at] : 0);
    now_.set(now_.get() - 1);
  }

  // Adds what those have lasted that are crossed still, at the end of all: they stay so.
  void finish(std::uint64_t time_ns) noexcept {
    for (std::size_t at = 0; at < size_; ++at) {
      if (books_[at].crossed.get() == 0) continue;
      add(books_[at], time_ns > since_ns_[at] ? time_ns - since_ns_[at] : 0);
      since_ns_[at] = time_ns;
    }
  }

  const CrossedBook& operator[](std::size_t at) const noexcept { return books_[at]; }
  std::size_t size() const noexcept { return size_; }
  // Sums over all books.
  const Counter& times() const noexcept { return times_; }
  const Counter& now() const noexcept { return now_; }
  const Counter& total_ns() const noexcept { return total_ns_; }
  const Counter& longest_ns() const noexcept { return longest_ns_; }

 private:
  void add(CrossedBook& book, std::uint64_t lasted) noexcept {
    book.total_ns.add(lasted);
    book.longest_ns.set(std::max(book.longest_ns.get(), lasted));
    total_ns_.add(lasted);
    longest_ns_.set(std::max(longest_ns_.get(), lasted));
  }

  std::unique_ptr<CrossedBook[]> books_;
  std::unique_ptr<std::uint64_t[]> since_ns_;  // the writer's alone
  std::size_t size_;
  Counter times_, now_, total_ns_, longest_ns_;
};

}  // namespace tickpath::book
