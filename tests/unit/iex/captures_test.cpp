// Against real captures: DEEP 1.0, and the venue's own best quotes (TOPS 1.6) of the same session.
#include <algorithm>
#include <array>
#include <span>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/deep_books.hpp"
#include "common/feeds/recordings/iex_capture_reader.hpp"
#include "tests/support/quotes_compared.hpp"
#include "tests/support/recordings.hpp"

namespace tickpath::iex {
namespace {

using test_support::QuotesCompared;

// Decodes, encodes, and compares byte by byte.
struct Again {
  std::array<std::byte, kMaxMessageBytes> bytes;
  std::size_t length = 0;
  void operator()(const auto& message) noexcept { length = encode(message, bytes.data()); }
};

// Next to a book, when an event is complete: crossed is what no venue's book is.
struct Crossings {
  const book::LevelBookSet& set;
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
  book::LevelBookSet set(kRoomy);
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

struct Apply {
  DeepBooks& books;
  QuotesCompared& compared;
  Timestamp newest = 0;
  template <char Type>
  void operator()(const PriceLevelUpdate<Type>& m) {
    newest = std::max(newest, m.timestamp);
    compared.before(m.symbol.view(), m.timestamp);
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
  book::LevelBookSet set(kRoomy);
  DeepBooks books(set);
  QuotesCompared compared([&](const Symbol& symbol) {
    const book::Locate locate = books.symbols().find(symbol);
    const book::Quote bid = set.best(locate, Side::kBuy), ask = set.best(locate, Side::kSell);
    return test_support::DeepQuote{bid.price, bid.shares, ask.price, ask.shares};
  });
  const auto tops = CaptureReader::open(tops_path);
  const auto deep = CaptureReader::open(deep_path);
  ASSERT_TRUE(tops != nullptr && deep != nullptr);
  CapturedMessage message;
  while (tops->next(message)) ASSERT_EQ(decode(message.bytes, compared), DecodeStatus::kOk);
  EXPECT_EQ(tops->counts().gaps, 0u);
  Apply apply{books, compared};
  while (deep->next(message)) ASSERT_EQ(decode(message.bytes, apply), DecodeStatus::kOk);
  compared.finish(apply.newest);
  compared.expect_agreement("best bid and offer as quoted");
}

}  // namespace
}  // namespace tickpath::iex
