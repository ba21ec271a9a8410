// Against real captures: DEEP 1.0, and the venue's own best quotes (TOPS 1.6) of the same session.
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "common/iex/capture_reader.hpp"
#include "common/iex/codec.hpp"
#include "common/iex/deep_books.hpp"
#include "tests/support/recordings.hpp"

namespace tickpath::iex {
namespace {

// Decodes, encodes, and compares byte by byte.
struct Again {
  std::array<std::byte, kMaxMessageBytes> bytes;
  std::size_t length = 0;
  void operator()(const auto& message) noexcept { length = encode(message, bytes.data()); }
};

// Next to a book, when an event is complete: crossed is what no venue's book is.
struct Crossings {
  const book::BookSet& set;
  const DeepBooks& books;
  std::uint64_t looks = 0, crossed = 0;
  template <char Type>
  void operator()(const PriceLevelUpdate<Type>& m) noexcept {
    const book::Locate locate = books.symbols().find(m.symbol);
    if (books.in_transition(locate)) return;
    const book::Quote bid = set.best(locate, Side::kBuy), ask = set.best(locate, Side::kSell);
    ++looks;
    crossed += bid.price != 0 && ask.price != 0 && bid.price >= ask.price;
  }
  void operator()(const auto&) noexcept {}
};

constexpr book::Options kRoomy{.orders_max = 1u << 20, .levels_max = 1u << 20};

TEST(IexCaptures, OfDeepAreWholeAndEveryMessageComesBackByteForByte) {
  const auto path = test_support::data_folder() / "iex/20260713_DEEP10.pcap.zst";
  TICKPATH_NEED_DATA(path);
  const auto deep = CaptureReader::open(path);
  ASSERT_NE(deep, nullptr);
  EXPECT_EQ(deep->protocol(), kDeep10);
  book::BookSet set(kRoomy);
  DeepBooks books(set);
  Crossings crossings{set, books};
  std::uint64_t other = 0;
  std::uint64_t last = 0;
  for (CapturedMessage captured; deep->next(captured);) {
    const std::span<const std::byte> message = captured.bytes;
    ASSERT_EQ(captured.sequence, ++last);
    Again again;
    ASSERT_EQ(decode(message, again), DecodeStatus::kOk);
    other += !std::ranges::equal(std::span(again.bytes).first(again.length), message);
    (void)decode(message, books);
    (void)decode(message, crossings);
  }
  EXPECT_EQ(deep->counts().segments, 150'000u);
  EXPECT_EQ(deep->counts().messages, 203'110u);
  EXPECT_EQ(deep->counts().heartbeats, 2'696u);
  EXPECT_EQ(deep->counts().gaps, 0u);
  EXPECT_EQ(deep->counts().damaged, 0u);
  EXPECT_EQ(deep->damage(), "");
  EXPECT_EQ(other, 0u);
  EXPECT_EQ(books.symbols().size(), 13'015u);
  EXPECT_GT(crossings.looks, 100'000u);
  EXPECT_EQ(crossings.crossed, 0u);
  EXPECT_EQ(books.counters().unknown_levels.get(), 0u);
  EXPECT_EQ(books.counters().unusable_prices.get(), 0u);
  EXPECT_EQ(books.counters().refused.get(), 0u);
}

// A side of a quote and of a book.
bool same(const book::Quote& built, Price price, std::uint32_t size) {
  return std::int64_t{built.price} == price && built.shares == size;
}

// The venue's quotes of each symbol, held against the book as it was at their time. Both feeds
// stamp what one event did with one time; over all symbols, neither feed is in order of time.
class QuotesCompared {
 public:
  QuotesCompared(const book::BookSet& set, const DeepBooks& books) : set_(set), books_(books) {}

  // From TOPS, all of them first.
  void operator()(const QuoteUpdate& quote) {
    waiting_[std::string(quote.symbol.view())].push_back(quote);
  }
  // Before an update of this symbol and time is applied: quotes from before it show the book as it
  // stands.
  void before(const Symbol& symbol, Timestamp time) {
    const auto found = waiting_.find(symbol.view());
    if (found == waiting_.end()) return;
    std::deque<QuoteUpdate>& waiting = found->second;
    for (; !waiting.empty() && waiting.front().timestamp < time; waiting.pop_front())
      compare(waiting.front());
  }
  // The rest, up to the end of what the book is built from.
  void finish(Timestamp end) {
    for (auto& [symbol, waiting] : waiting_)
      for (const QuoteUpdate& quote : waiting)
        if (quote.timestamp < end) compare(quote);
  }
  void operator()(const auto&) noexcept {}

  std::uint64_t quotes = 0, agreed = 0;

 private:
  void compare(const QuoteUpdate& quote) {
    const book::Locate locate = books_.symbols().find(quote.symbol);
    ++quotes;
    agreed += same(set_.best(locate, Side::kBuy), quote.bid_price, quote.bid_size) &&
              same(set_.best(locate, Side::kSell), quote.ask_price, quote.ask_size);
  }

  const book::BookSet& set_;
  const DeepBooks& books_;
  std::map<std::string, std::deque<QuoteUpdate>, std::less<>> waiting_;
};

struct Apply {
  DeepBooks& books;
  QuotesCompared& compared;
  Timestamp newest = 0;
  template <char Type>
  void operator()(const PriceLevelUpdate<Type>& m) {
    newest = std::max(newest, m.timestamp);
    compared.before(m.symbol, m.timestamp);
    books(m);
  }
  void operator()(const auto& m) { books(m); }
};

TEST(IexCaptures, OfDeepAgreeWithTheVenuesOwnQuotes) {
  const auto folder = test_support::data_folder() / "iex";
  const auto deep_path = folder / "20260713_DEEP10.pcap.zst";
  const auto tops_path = folder / "20260713_TOPS16.pcap.zst";
  TICKPATH_NEED_DATA(deep_path);
  TICKPATH_NEED_DATA(tops_path);
  book::BookSet set(kRoomy);
  DeepBooks books(set);
  QuotesCompared compared(set, books);
  const auto tops = CaptureReader::open(tops_path);
  const auto deep = CaptureReader::open(deep_path);
  ASSERT_TRUE(tops != nullptr && deep != nullptr);
  CapturedMessage message;
  while (tops->next(message)) ASSERT_EQ(decode(message.bytes, compared), DecodeStatus::kOk);
  EXPECT_EQ(tops->counts().gaps, 0u);
  Apply apply{books, compared};
  while (deep->next(message)) ASSERT_EQ(decode(message.bytes, apply), DecodeStatus::kOk);
  compared.finish(apply.newest);
  std::printf("best bid and offer as quoted: %llu of %llu, %.3f %%\n",
              static_cast<unsigned long long>(compared.agreed),
              static_cast<unsigned long long>(compared.quotes),
              100.0 * static_cast<double>(compared.agreed) / static_cast<double>(compared.quotes));
  EXPECT_GT(compared.quotes, 100'000u);
  EXPECT_GE(static_cast<double>(compared.agreed), 0.998 * static_cast<double>(compared.quotes));
}

}  // namespace
}  // namespace tickpath::iex
