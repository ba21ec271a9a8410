// The venue's own best quotes (TOPS 1.6), held against a book built from DEEP 1.0 of the same
// session.
#pragma once

#include <cstdio>
#include <deque>
#include <functional>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/deep_market.hpp"

namespace tickpath::test_support {

// The venue's quotes of each symbol, held against the book as it was at their time. Both feeds
// stamp what one event did with one time; over all symbols, neither feed is in order of time.
class QuotesCompared {
 public:
  // What the book shows of a symbol as it stands.
  using Shown = std::function<DeepQuote(const iex::Symbol&)>;
  explicit QuotesCompared(Shown shown) : shown_(std::move(shown)) {}

  // From TOPS, all of them first.
  void operator()(const iex::QuoteUpdate& quote) {
    waiting_[std::string(quote.symbol.view())].push_back(quote);
  }
  void operator()(const auto&) noexcept {}

  // Before an update of this symbol and time is applied: quotes from before it show the book as it
  // stands.
  void before(std::string_view symbol, iex::Timestamp time) {
    const auto found = waiting_.find(symbol);
    if (found == waiting_.end()) return;
    std::deque<iex::QuoteUpdate>& waiting = found->second;
    for (; !waiting.empty() && waiting.front().timestamp < time; waiting.pop_front())
      compare(waiting.front());
  }
  // The rest, up to the end of what the book is built from.
  void finish(iex::Timestamp end) {
    for (const auto& [symbol, waiting] : waiting_)
      for (const iex::QuoteUpdate& quote : waiting)
        if (quote.timestamp < end) compare(quote);
  }
  // A book may differ where one event's quote was sent before the rest of it (0.2 %).
  void expect_agreement(const char* what) const {
    std::printf("%s: %llu of %llu, %.3f %%\n", what, static_cast<unsigned long long>(agreed_),
                static_cast<unsigned long long>(quotes_),
                100.0 * static_cast<double>(agreed_) / static_cast<double>(quotes_));
    EXPECT_GT(quotes_, 100'000u);
    EXPECT_GE(static_cast<double>(agreed_), 0.998 * static_cast<double>(quotes_));
  }

 private:
  void compare(const iex::QuoteUpdate& quote) {
    const auto u64 = [](auto value) { return static_cast<std::uint64_t>(value); };
    ++quotes_;
    agreed_ += shown_(quote.symbol) == DeepQuote{u64(quote.bid_price), quote.bid_size,
                                                 u64(quote.ask_price), quote.ask_size};
  }

  Shown shown_;
  std::map<std::string, std::deque<iex::QuoteUpdate>, std::less<>> waiting_;
  std::uint64_t quotes_ = 0, agreed_ = 0;
};

}  // namespace tickpath::test_support
