// The messages of IEX DEEP ("Investors Exchange DEEP Specification", version 1.08, "Administrative
// Message Formats", "Trading Message Formats", "Auction Message Formats") and the one more of IEX
// TOPS ("Investors Exchange TOPS Specification", version 1.66, "Quote Update Message").
//
// Every message begins with its type, a byte of its own meaning, and the time in ns since the Unix
// epoch; these three come first in each struct, without comment. Integers are little-endian, prices
// have four implied decimals. Behind each field stands its offset. kLength is the length known
// today: the venue may lengthen a message at its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/feeds/itch/alpha.hpp"

namespace tickpath::iex {

// Fixed-width ASCII, left-justified, padded with spaces on the right ("Data Types", String), as
// Nasdaq's.
template <std::size_t N>
using Text = itch::Alpha<N>;
using Symbol = Text<8>;
using Price = std::int64_t;      // $ x 10,000
using Timestamp = std::int64_t;  // ns since the Unix epoch

struct SystemEvent {
  static constexpr char kType = 'S';
  static constexpr std::size_t kLength = 10;
  static constexpr char kStartOfMessages = 'O', kStartOfSystemHours = 'S',
                        kStartOfRegularMarketHours = 'R', kEndOfRegularMarketHours = 'M',
                        kEndOfSystemHours = 'E', kEndOfMessages = 'C';
  char event = ' ';
  Timestamp timestamp = 0;
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.event, m.timestamp);
  }
};

struct SecurityDirectory {
  static constexpr char kType = 'D';
  static constexpr std::size_t kLength = 31;
  static constexpr std::uint8_t kTestSecurity = 0x80, kWhenIssued = 0x40, kEtp = 0x20;
  std::uint8_t flags = 0;
  Timestamp timestamp = 0;
  Symbol symbol{};                   // 10
  std::uint32_t round_lot_size = 0;  // 18
  Price adjusted_poc_price = 0;      // 22
  std::uint8_t luld_tier = 0;        // 30
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.flags, m.timestamp, m.symbol, m.round_lot_size, m.adjusted_poc_price, m.luld_tier);
  }
};

struct TradingStatus {
  static constexpr char kType = 'H';
  static constexpr std::size_t kLength = 22;
  static constexpr char kHalted = 'H', kOrderAcceptance = 'O', kPaused = 'P', kTrading = 'T';
  char status = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};   // 10
  Text<4> reason{};  // 18
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.status, m.timestamp, m.symbol, m.reason);
  }
};

struct RetailLiquidityIndicator {
  static constexpr char kType = 'I';
  static constexpr std::size_t kLength = 18;
  char indicator = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};  // 10
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.indicator, m.timestamp, m.symbol);
  }
};

struct OperationalHaltStatus {
  static constexpr char kType = 'O';
  static constexpr std::size_t kLength = 18;
  static constexpr char kHalted = 'O', kNotHalted = 'N';
  char status = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};  // 10
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.status, m.timestamp, m.symbol);
  }
};

struct ShortSalePriceTest {
  static constexpr char kType = 'P';
  static constexpr std::size_t kLength = 19;
  std::uint8_t in_effect = 0;
  Timestamp timestamp = 0;
  Symbol symbol{};    // 10
  char detail = ' ';  // 18
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.in_effect, m.timestamp, m.symbol, m.detail);
  }
};

struct SecurityEvent {
  static constexpr char kType = 'E';
  static constexpr std::size_t kLength = 18;
  static constexpr char kOpeningProcessComplete = 'O', kClosingProcessComplete = 'C';
  char event = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};  // 10
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.event, m.timestamp, m.symbol);
  }
};

// The displayed size that rests at one price now; 0: the level is gone. Not orders.
template <char Type>
struct PriceLevelUpdate {
  static constexpr char kType = Type;
  static constexpr std::size_t kLength = 30;
  // A bit of `flags`. Without it the book is in transition: other updates of the same event follow
  // ("Price Level Update Message", Event Flags).
  static constexpr std::uint8_t kEventComplete = 0x1;
  std::uint8_t flags = 0;
  Timestamp timestamp = 0;
  Symbol symbol{};         // 10
  std::uint32_t size = 0;  // 18, shares
  Price price = 0;         // 22
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.flags, m.timestamp, m.symbol, m.size, m.price);
  }
};
using BuyLevelUpdate = PriceLevelUpdate<'8'>;
using SellLevelUpdate = PriceLevelUpdate<'5'>;

// A trade, or one that is taken back.
template <char Type>
struct Trade {
  static constexpr char kType = Type;
  static constexpr std::size_t kLength = 38;
  std::uint8_t sale_condition_flags = 0;
  Timestamp timestamp = 0;
  Symbol symbol{};            // 10
  std::uint32_t size = 0;     // 18
  Price price = 0;            // 22
  std::int64_t trade_id = 0;  // 30
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.sale_condition_flags, m.timestamp, m.symbol, m.size, m.price, m.trade_id);
  }
};
using TradeReport = Trade<'T'>;
using TradeBreak = Trade<'B'>;

struct OfficialPrice {
  static constexpr char kType = 'X';
  static constexpr std::size_t kLength = 26;
  static constexpr char kOpening = 'Q', kClosing = 'M';
  char price_type = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};  // 10
  Price price = 0;  // 18
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.price_type, m.timestamp, m.symbol, m.price);
  }
};

struct AuctionInformation {
  static constexpr char kType = 'A';
  static constexpr std::size_t kLength = 80;
  char auction_type = ' ';
  Timestamp timestamp = 0;
  Symbol symbol{};                           // 10
  std::uint32_t paired_shares = 0;           // 18
  Price reference_price = 0;                 // 22
  Price indicative_clearing_price = 0;       // 30
  std::uint32_t imbalance_shares = 0;        // 38
  char imbalance_side = ' ';                 // 42
  std::uint8_t extension_number = 0;         // 43
  std::uint32_t scheduled_auction_time = 0;  // 44, s since the Unix epoch
  Price auction_book_clearing_price = 0;     // 48
  Price collar_reference_price = 0;          // 56
  Price lower_auction_collar = 0;            // 64
  Price upper_auction_collar = 0;            // 72
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.auction_type, m.timestamp, m.symbol, m.paired_shares, m.reference_price,
          m.indicative_clearing_price, m.imbalance_shares, m.imbalance_side, m.extension_number,
          m.scheduled_auction_time, m.auction_book_clearing_price, m.collar_reference_price,
          m.lower_auction_collar, m.upper_auction_collar);
  }
};

// TOPS only: the best displayed bid and offer. A side without one has size and price 0.
struct QuoteUpdate {
  static constexpr char kType = 'Q';
  static constexpr std::size_t kLength = 42;
  static constexpr std::uint8_t kNotActive = 0x80, kOutsideRegularHours = 0x40;
  std::uint8_t flags = 0;
  Timestamp timestamp = 0;
  Symbol symbol{};             // 10
  std::uint32_t bid_size = 0;  // 18
  Price bid_price = 0;         // 22
  Price ask_price = 0;         // 30
  std::uint32_t ask_size = 0;  // 38
  template <class Self, class Codec>
  static constexpr void fields(Self& m, Codec& codec) {
    codec(m.flags, m.timestamp, m.symbol, m.bid_size, m.bid_price, m.ask_price, m.ask_size);
  }
};

}  // namespace tickpath::iex
