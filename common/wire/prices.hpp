// mdh -> anyone (READ): the price store, one region: recent trades, quotes and bars of each
// instrument. common/stores/prices/DESIGN.md says how it is read while mdh writes.
//
//   0                 StoreInfo
//   index_offset      SymbolSlot[index_slots]   symbol -> row, open addressing
//   rows_offset       PriceRow[instruments]     the newest of each, and where its rings are
//   lines_offset[k]   HistoryLine[...]          the lines that the rings of kind k are made of
//
// Times are the exchange's, in nanoseconds since midnight, as in BookUpdate. Prices are Price(4).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/book_update.hpp"

namespace tickpath::wire {

enum class HistoryKind : std::uint8_t { kTrades = 0, kQuotes = 1, kBars1s = 2, kBars1m = 3 };
inline constexpr std::size_t kHistoryKinds = 4;

// An execution that counts (BookUpdate::is_trade()).
// 0 time_ns | 8 trace_id | 16 price | 20 shares | 24 kind | 25 side | 26 states | 27 reserved
struct PriceTrade {
  std::uint64_t time_ns;
  std::uint64_t trace_id;
  std::uint32_t price;
  std::uint32_t shares;
  UpdateKind kind;  // kExecute or kTrade
  Side side;        // of the resting order; 0 where none is shown
  std::uint8_t states;
  std::uint8_t reserved[5];
};
static_assert(sizeof(PriceTrade) == 32 && offsetof(PriceTrade, kind) == 24);

// The best bid and offer from then on.
// 0 time_ns | 8 trace_id | 16 bid | 20 ask | 24 bid_shares | 28 ask_shares | 32 states | 33
// reserved
struct PriceQuote {
  std::uint64_t time_ns;
  std::uint64_t trace_id;
  std::uint32_t bid;  // 0: none, as in BookUpdate
  std::uint32_t ask;
  std::uint32_t bid_shares;
  std::uint32_t ask_shares;
  std::uint8_t states;  // as in BookUpdate: a quote is to be trusted where the feed state is kGood
  std::uint8_t reserved[7];

  FeedState feed_state() const noexcept { return static_cast<FeedState>(states & 0x0f); }
};
static_assert(sizeof(PriceQuote) == 40 && offsetof(PriceQuote, states) == 32);

// The trades of [start_ns, start_ns + length of the kind). One without trades does not exist.
// 0 start_ns | 8 open | 12 high | 16 low | 20 close | 24 volume | 32 notional | 40 trades
struct PriceBar {
  std::uint64_t start_ns;
  std::uint32_t open;
  std::uint32_t high;
  std::uint32_t low;
  std::uint32_t close;
  std::uint64_t volume;    // shares
  std::uint64_t notional;  // sum of price x shares, in 1/10,000; the largest number if it is more
  std::uint64_t trades;    // 0: no bar

  // Volume-weighted average price in 1/10,000, rounded half up; 0 where no share traded.
  std::uint64_t vwap() const noexcept {
    return volume == 0 ? 0 : notional / volume + (notional % volume >= (volume + 1) / 2 ? 1 : 0);
  }
  friend bool operator==(const PriceBar&, const PriceBar&) = default;
};
static_assert(sizeof(PriceBar) == 48 && offsetof(PriceBar, volume) == 24);

// The newest of one instrument; all zero in what has not been yet.
struct LatestPrices {
  std::uint64_t symbol;  // symbol_word()
  std::uint32_t instrument_id;
  std::uint32_t day;  // counts from 1 at mdh's start; 0: neither trade nor quote yet
  PriceTrade trade;
  PriceQuote quote;
  PriceBar day_bar;  // of the day so far; start_ns: of its first trade
  PriceBar bar_1s;   // the newest, which may still grow: final once the clock has passed its end
  PriceBar bar_1m;
};
static_assert(sizeof(LatestPrices) == 232 && std::is_trivially_copyable_v<LatestPrices>);

// Where the entries of one kind are: entry i, of those below `written`, in line i mod depth of the
// ring, unless it is before `first` or was overwritten.
// 0 location | 8 first | 16 written | 24 day_first
struct RingHead {
  std::uint64_t location;   // first line of the ring, times 256, + log2 of its depth; 0: none yet
  std::uint64_t first;      // the oldest entry that this ring has had, of the day
  std::uint64_t written;    // entries since mdh's start
  std::uint64_t day_first;  // the first entry of the day

  static constexpr std::uint64_t locate(std::uint64_t line, unsigned depth_log2) noexcept {
    return line << 8 | depth_log2;
  }
  static constexpr std::uint64_t line_of(std::uint64_t location) noexcept { return location >> 8; }
  static constexpr std::uint64_t depth_of(std::uint64_t location) noexcept {
    return location == 0 ? 0 : std::uint64_t{1} << (location & 0x3f);
  }
};
static_assert(sizeof(RingHead) == 32);

// Six cache lines. `check`: link::check_word() of `latest`; 0: never written.
struct alignas(64) PriceRow {
  LatestPrices latest;
  std::uint64_t check;
  std::uint64_t reserved[2];
  std::array<RingHead, kHistoryKinds> rings;
};
static_assert(sizeof(PriceRow) == 384 && offsetof(PriceRow, check) == 232 &&
              offsetof(PriceRow, rings) == 256);

// One entry of a ring: a PriceTrade, PriceQuote or PriceBar, padded with zeros, and which one.
struct alignas(64) HistoryLine {
  std::array<std::uint64_t, 7> payload;
  std::uint64_t number;  // its index + 1
};
static_assert(sizeof(HistoryLine) == 64 && offsetof(HistoryLine, number) == 56);

// 0 symbol | 8 row + 1. Both are zero where nothing is; neither changes once it is there.
struct SymbolSlot {
  std::uint64_t symbol;
  std::uint64_t row_and_1;
};
static_assert(sizeof(SymbolSlot) == 16);

// A reader looks at one cache line of the index at a time: it begins with that of the symbol's
// hash, and goes on to the next, in a circle, until it has the symbol or an empty slot.
inline constexpr std::size_t kSlotsPerIndexLine = 64 / sizeof(SymbolSlot);

// One of index_lines(), a power of two: multiplication spreads the characters into the high bits
// (Knuth, The Art of Computer Programming, volume 3, 6.4, "multiplicative hashing").
constexpr std::uint64_t index_line_of(std::uint64_t symbol, std::uint64_t lines) noexcept {
  return (symbol * 0x9e37'79b9'7f4a'7c15u >> 32) & (lines - 1);
}

// One cache line for what never changes, one for what does, each word by itself.
struct alignas(64) StoreInfo {
  static constexpr std::uint64_t kMagic = 0x3265726f'74736b74;  // "tkstore2" as bytes in memory
  std::uint64_t magic;
  std::uint64_t bytes;  // of the region
  std::uint64_t instruments;
  std::uint64_t index_slots;  // a power of two
  std::uint64_t index_offset;
  std::uint64_t rows_offset;
  std::array<std::uint64_t, kHistoryKinds> lines_offset;
  std::array<std::uint64_t, kHistoryKinds> lines;
  std::uint64_t reserved[2];

  std::uint64_t clock_ns;  // the newest time of any message of the day
  std::uint64_t day;       // counts from 1
  std::uint64_t rows;      // in use
  std::uint64_t state;     // FeedState of the whole feed
  std::uint64_t reserved_end[4];
};
static_assert(sizeof(StoreInfo) == 192 && offsetof(StoreInfo, clock_ns) == 128);

constexpr std::uint64_t length_ns(HistoryKind kind) noexcept {
  return kind == HistoryKind::kBars1s   ? 1'000'000'000u
         : kind == HistoryKind::kBars1m ? 60'000'000'000u
                                        : 0u;
}

}  // namespace tickpath::wire
