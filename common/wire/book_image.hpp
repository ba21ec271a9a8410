// mdh -> subscribers (WRITE) and anyone (READ): the ten best levels of one instrument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/book_update.hpp"

namespace tickpath::wire {

// Depth of an image. Ten is what venues' aggregated feeds show; each level costs 24 bytes on every
// flush of a changed book.
inline constexpr std::size_t kImageLevels = 10;

// 0 price (Price(4), 0 = no level) | 4 shares | 8 orders
struct ImageLevel {
  std::uint32_t price;
  std::uint32_t shares;
  std::uint32_t orders;
  friend bool operator==(const ImageLevel&, const ImageLevel&) = default;
};

// The logical record. It travels striped over cache lines with a version in each (common/link,
// VersionedRecord), so its size is a multiple of 8 and needs no sequence of its own.
struct BookImage {
  std::uint64_t ring_sequence;  // of the last update that this image includes
  std::uint64_t trace_id;       // of that update
  std::uint64_t exchange_time_ns;
  std::uint32_t instrument_id;
  std::uint32_t last_trade_price;  // 0 until the first trade
  std::uint32_t last_trade_shares;
  std::uint8_t states;            // as in BookUpdate
  std::uint8_t numbering[3];      // the lowest bits of BookUpdate::numbering() that it is of
  ImageLevel bids[kImageLevels];  // best first
  ImageLevel asks[kImageLevels];

  bool is_of(std::uint64_t of) const noexcept {
    return numbering[0] == (of & 0xff) && numbering[1] == (of >> 8 & 0xff) &&
           numbering[2] == (of >> 16 & 0xff);
  }
  void set_numbering(std::uint64_t of) noexcept {
    for (std::uint8_t& byte : numbering) {
      byte = static_cast<std::uint8_t>(of & 0xff);
      of >>= 8;
    }
  }
  FeedState feed_state() const noexcept { return static_cast<FeedState>(states & 0x0f); }
  TradingState trading_state() const noexcept { return static_cast<TradingState>(states >> 4); }
};
static_assert(std::is_trivially_copyable_v<BookImage>);
static_assert(sizeof(BookImage) == 280 && offsetof(BookImage, bids) == 40);

}  // namespace tickpath::wire
