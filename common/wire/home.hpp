// The book home: what several mdh's write, by RDMA, into the memory of one that was told to keep
// it, and anyone may READ: for every symbol the books of all venues, and the best prices over all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/book_image.hpp"

namespace tickpath::wire {

inline constexpr std::size_t kVenuesMax = 8;

// Which life of a writer a thing is of: its lane, and the lane's epoch then. It counts while the
// lane's word says that this epoch lives.
// As a word: 63-40 epoch | 39-32 lane + 1 | 31-0 0. 0: nobody.
struct Writer {
  std::uint32_t epoch = 0;  // 24 bits
  std::uint8_t lane = 0;
  bool somebody = false;

  constexpr std::uint64_t word() const noexcept {
    return somebody ? std::uint64_t{epoch} << 40 | std::uint64_t{lane + 1u} << 32 : 0;
  }
  static constexpr Writer of_word(std::uint64_t word) noexcept {
    const auto lane = static_cast<std::uint8_t>(word >> 32);
    return lane == 0 ? Writer{}
                     : Writer{static_cast<std::uint32_t>(word >> 40),
                              static_cast<std::uint8_t>(lane - 1), true};
  }
  friend constexpr bool operator==(const Writer&, const Writer&) = default;
};
static_assert(Writer::of_word(Writer{7, 0, true}.word()) == Writer{7, 0, true});

// A lane's word, changed by COMPARE_SWAP alone: its writer raises the beats, and whoever finds that
// they stand still ends the epoch. As a word: 63-40 epoch | 39-0 beats; no beats: nobody writes.
struct Lane {
  std::uint32_t epoch = 0;  // 24 bits
  std::uint64_t beats = 0;  // 40 bits

  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{epoch & 0xffffffu} << 40 | (beats & kBeatsMask);
  }
  static constexpr Lane of_word(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 40), word & kBeatsMask};
  }
  constexpr bool alive() const noexcept { return beats != 0; }
  constexpr Lane beaten() const noexcept {
    return {epoch, (beats + 1) > kBeatsMask ? 1 : beats + 1};
  }
  constexpr Lane ended() const noexcept { return {(epoch + 1) & 0xffffffu, 0}; }
  constexpr Lane begun() const noexcept { return {(epoch + 1) & 0xffffffu, 1}; }
  static constexpr std::uint64_t kBeatsMask = (std::uint64_t{1} << 40) - 1;
  friend constexpr bool operator==(const Lane&, const Lane&) = default;
};

// Whether it is known to write no more: its epoch is over for good, as soon as a word of its lane
// is seen that has a later one. An older word says nothing.
constexpr bool is_over(Writer writer, Lane seen) noexcept {
  const std::uint32_t later = (seen.epoch - writer.epoch) & 0xffffffu;
  return !writer.somebody || (later != 0 && later < 0x800000u);
}
// Whether it writes, by a word of its lane that was read just now.
constexpr bool is_alive(Writer writer, Lane seen) noexcept {
  return writer.somebody && seen.alive() && seen.epoch == writer.epoch;
}

// One venue's best prices of one symbol, as its mdh has them.
// 0 trace_id | 8 writer | 16 bid | 20 bid_shares | 24 ask | 28 ask_shares
struct VenueQuote {
  std::uint64_t trace_id;  // feed sequence number, at the venue, of the newest update in it
  // The upper half of Writer::word(), and in bits 0-7 `states` as in BookUpdate.
  std::uint64_t writer_and_states;
  std::uint32_t bid;  // Price(4); 0: none
  std::uint32_t bid_shares;
  std::uint32_t ask;
  std::uint32_t ask_shares;

  Writer writer() const noexcept { return Writer::of_word(writer_and_states); }
  FeedState feed_state() const noexcept { return static_cast<FeedState>(writer_and_states & 0x0f); }
  TradingState trading_state() const noexcept {
    return static_cast<TradingState>(writer_and_states >> 4 & 0x0f);
  }
  void set(Writer writer, std::uint8_t states) noexcept {
    writer_and_states = writer.word() | states;
  }
};
static_assert(std::is_trivially_copyable_v<VenueQuote> && sizeof(VenueQuote) == 32);

enum MarketFlags : std::uint8_t {
  kLocked = 1u << 0,   // the best bid of one venue is the best ask of another
  kCrossed = 1u << 1,  // or above it
};

// All venues' best prices of one symbol, and the best of them: five lines less eight bytes.
// 0 symbol | 8 written_realtime_ns | 16 best_bid | 20 best_ask | 24 best_bid_shares
// | 28 best_ask_shares | 32 bid_venues | 33 ask_venues | 34 flags | 35 reserved | 40 venues
struct Consolidated {
  std::uint64_t symbol;               // symbol_word()
  std::uint64_t written_realtime_ns;  // by the writer's clock
  std::uint32_t best_bid;             // Price(4); 0: none
  std::uint32_t best_ask;
  std::uint32_t best_bid_shares;  // at that price, over all venues
  std::uint32_t best_ask_shares;
  std::uint8_t bid_venues;  // bit v: venue v stands at the best bid
  std::uint8_t ask_venues;
  std::uint8_t flags;  // MarketFlags
  std::uint8_t reserved[5];
  VenueQuote venues[kVenuesMax];
};
static_assert(std::is_trivially_copyable_v<Consolidated> && sizeof(Consolidated) == 296 &&
              offsetof(Consolidated, venues) == 40);

// One venue's book of one symbol: five lines.
struct VenueBook {
  std::uint64_t symbol;
  std::uint64_t written_realtime_ns;
  std::uint64_t writer;  // Writer::word()
  BookImage image;       // instrument_id and ring_sequence are the writing mdh's own
  std::uint64_t reserved;
};
static_assert(std::is_trivially_copyable_v<VenueBook> && sizeof(VenueBook) == 312);

// Fills the best prices from the venues' own. A venue counts while its feed is good and its writer
// alive: `alive` has bit v set for it.
void consolidate(Consolidated& book, std::uint32_t alive) noexcept;

}  // namespace tickpath::wire
