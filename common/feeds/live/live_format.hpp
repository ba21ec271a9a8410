// The formats of a live feed, a row each: what `feed.protocol` may say, and what sim and mdh need
// to know of it. A format's codec is a folder of common/feeds.
//
// A new one is a row in live_format.cpp; its messages as events of the book (mdh/feed.cpp says
// where they are chosen); and its recordings (sim/replay/recording_loader.cpp). Nothing else asks
// which format it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tickpath::feeds {

enum class FeedProtocol : std::uint8_t { kItch50, kIexDeep10 };

// How packets carry numbered messages.
enum class Transport : std::uint8_t {
  kMoldUdp64,  // common/feeds/itch/moldudp64.hpp; a session is ten characters
  kIexTp,  // common/feeds/iex/iex_tp.hpp; a session is a number, and each packet says when it was
           // sent, so that a sender which counts from 1 again is known
};

// The two bytes of length before each message.
constexpr bool has_big_endian_blocks(Transport transport) noexcept {
  return transport == Transport::kMoldUdp64;
}

struct LiveFormat {
  FeedProtocol protocol;
  const char* key;   // of feed.protocol
  const char* text;  // in help
  Transport transport;
  // Lost messages can be had again, one by one or as a snapshot of the books.
  bool recoverable;
  // Order by order: an order has its place in a queue, so sim can match others with it.
  bool has_orders;
  // Prices may be larger than the Price(4) of an update.
  bool wide_prices;
  // Where each message has its symbol, blanks behind it to eight characters; 0: most messages have
  // a locate alone, at bytes 1 and 2.
  std::size_t symbol_at;
  // Types without symbol or locate.
  std::string_view types_of_no_symbol;
  bool (*is_type)(char type);
};

// All rows, by FeedProtocol.
std::span<const LiveFormat> live_formats() noexcept;
inline const LiveFormat& format_of(FeedProtocol protocol) noexcept {
  return live_formats()[static_cast<std::size_t>(protocol)];
}

}  // namespace tickpath::feeds
