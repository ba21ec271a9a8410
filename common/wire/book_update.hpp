// mdh -> every market data subscriber: one slot of the update ring for each feed message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/units.hpp"
#include "common/wire/constants.hpp"

namespace tickpath::wire {

enum class UpdateKind : std::uint8_t {
  kNone = 0,
  kAdd = 1,           // displayed order added
  kExecute = 2,       // displayed order executed, whole or in part: see is_trade()
  kCancel = 3,        // displayed order reduced
  kDelete = 4,        // displayed order removed
  kReplace = 5,       // displayed order replaced: price and shares are the new ones
  kTrade = 6,         // execution of a non-displayed order, or a cross: the book does not change
  kTradingState = 7,  // trading_state changed
  kDirectory = 8,     // a new instrument: read its row of the directory
  kFeedState = 9,     // feed_state changed (instrument_id may be kNoInstrument: all)
  kBookCleared = 10,  // every order of the instrument was dropped (new session, resynchronisation)
  kInformation = 11,  // any other feed message; carried so that sequence numbers stay gapless
  kImbalance = 12,    // of an auction to come: the slot holds an ImbalanceUpdate
  kNumbering = 13,    // of the feed, begins anew from here on: see numbering(); of no instrument
};

// The update stands for a message of the feed, and its time is the exchange's. The others are mdh's
// own, and may have none.
constexpr bool is_of_feed(UpdateKind kind) noexcept {
  return kind != UpdateKind::kFeedState && kind != UpdateKind::kBookCleared &&
         kind != UpdateKind::kNumbering && kind != UpdateKind::kNone;
}

// FeedState of an instrument as mdh knows it; a strategy must not quote on anything but kGood.
enum class FeedState : std::uint8_t { kUnknown = 0, kGood = 1, kStale = 2, kEnded = 3 };

// ITCH 5.0, 1.2.2 "Stock Trading Action": H, P, Q, T.
enum class TradingState : std::uint8_t {
  kUnknown = 0,
  kHalted = 1,
  kPaused = 2,
  kQuotationOnly = 3,
  kTrading = 4,
};
// The state that a code of the feed means (Nasdaq TotalView-ITCH 5.0, 1.2.2 Stock Trading Action,
// "Trading State"); kUnknown for any that is not there.
constexpr TradingState trading_state(char code) noexcept {
  switch (code) {
    case 'H':
      return TradingState::kHalted;
    case 'P':
      return TradingState::kPaused;
    case 'Q':
      return TradingState::kQuotationOnly;
    case 'T':
      return TradingState::kTrading;
    default:
      return TradingState::kUnknown;
  }
}

// Whether orders gather without being matched: a book may be crossed then.
constexpr bool gathers(TradingState state) noexcept {
  return state == TradingState::kHalted || state == TradingState::kPaused ||
         state == TradingState::kQuotationOnly;
}

// How often times of day have begun anew since mdh's start, modulo 128: with another day, a
// midnight or another session. A time earlier than the last one is a break where this has changed.
constexpr std::uint8_t day_of(std::uint8_t marks) noexcept {
  return static_cast<std::uint8_t>(marks >> 1);
}
constexpr std::uint8_t with_day(std::uint8_t marks, std::uint8_t day) noexcept {
  return static_cast<std::uint8_t>((marks & 1u) | static_cast<unsigned>(day) << 1);
}

// 0 trace_id | 8 exchange_time_ns | 16 received_tsc | 24 instrument_id | 28 price | 32 shares
// | 36 best_bid | 40 best_ask | 44 best_bid_shares | 48 best_ask_shares | 52 kind | 53 side
// | 54 states: feed in bits 0-3, trading in bits 4-7
// | 55 marks: unprinted in bit 0, day in bits 1-7                          (56 bytes)
//
// Prices are unsigned 32-bit Price(4), exactly what ITCH can carry; 0 is "none". The quote after
// the message rides in every update, so that a reader needs no book of its own.
struct BookUpdate {
  std::uint64_t trace_id;          // MoldUDP64 sequence number of the feed message
  std::uint64_t exchange_time_ns;  // since midnight, from the feed message
  std::uint64_t received_tsc;      // mdh.rx of this message
  std::uint32_t instrument_id;
  std::uint32_t price;   // of the event: level added to, executed at, removed from
  std::uint32_t shares;  // of the event
  std::uint32_t best_bid;
  std::uint32_t best_ask;
  std::uint32_t best_bid_shares;  // displayed at the best bid, all orders
  std::uint32_t best_ask_shares;
  UpdateKind kind;
  Side side;  // of the resting order concerned; 0 where there is none
  std::uint8_t states;
  std::uint8_t marks;

  // In `marks`: an execution that another message tells as a trade, for all of a cross together.
  // ITCH 5.0, 1.4.2, "Printable": to be left out of volume and of time and sales.
  static constexpr std::uint8_t kUnprinted = 1;
  void set_day(std::uint8_t day) noexcept { marks = with_day(marks, day); }
  std::uint8_t day() const noexcept { return day_of(marks); }

  // A trade to be counted, once each.
  bool is_trade() const noexcept { return is_trade(kind, (marks & kUnprinted) == 0); }
  static constexpr bool is_trade(UpdateKind kind, bool printed) noexcept {
    return kind == UpdateKind::kTrade || (kind == UpdateKind::kExecute && printed);
  }
  // In kNumbering: what names the session and, where that began anew, the numbering within it. Two
  // mdh's that hear the same give the same; never 0.
  std::uint64_t numbering() const noexcept {
    return std::uint64_t{shares} << 32 | std::uint64_t{price};
  }
  FeedState feed_state() const noexcept { return static_cast<FeedState>(states & 0x0f); }
  TradingState trading_state() const noexcept { return static_cast<TradingState>(states >> 4); }
  void set_states(FeedState feed, TradingState trading) noexcept {
    states = static_cast<std::uint8_t>(static_cast<unsigned>(feed) | static_cast<unsigned>(trading)
                                                                         << 4);
  }
};
static_assert(std::is_trivially_copyable_v<BookUpdate>);
static_assert(sizeof(BookUpdate) == kSlotPayloadBytes && alignof(BookUpdate) == 8);
static_assert(offsetof(BookUpdate, instrument_id) == 24 && offsetof(BookUpdate, best_bid) == 36 &&
              offsetof(BookUpdate, kind) == 52 && offsetof(BookUpdate, states) == 54 &&
              offsetof(BookUpdate, marks) == 55);

// The state of an instrument, or with kNoInstrument of the whole feed.
inline BookUpdate feed_state_update(std::uint32_t instrument, FeedState state,
                                    std::uint64_t trace_id = 0) noexcept {
  BookUpdate update{};
  update.trace_id = trace_id;
  update.instrument_id = instrument;
  update.kind = UpdateKind::kFeedState;
  update.set_states(state, TradingState::kUnknown);
  return update;
}
// trace_id: of the first message of the new numbering.
inline BookUpdate numbering_update(std::uint64_t numbering, std::uint64_t trace_id) noexcept {
  BookUpdate update{};
  update.trace_id = trace_id;
  update.instrument_id = kNoInstrument;
  update.price = static_cast<std::uint32_t>(numbering);
  update.shares = static_cast<std::uint32_t>(numbering >> 32);
  update.kind = UpdateKind::kNumbering;
  return update;
}

// The program word of a subscriber's watermark: the numbering in 56 bits, the state of the whole
// feed in the lowest eight. Its program place is the trace id of the newest update.
constexpr std::uint64_t feed_word(std::uint64_t numbering, FeedState state) noexcept {
  return numbering << 8 | static_cast<std::uint64_t>(state);
}

// What a slot holds instead of a BookUpdate when its kind says kImbalance (ITCH 5.0, 1.6 "Net Order
// Imbalance Indicator"). Where both have a field it has one place.
// 0 trace_id | 8 exchange_time_ns | 16 received_tsc | 24 instrument_id | 28 reference_price
// | 32 imbalance_shares | 36 far_price | 40 near_price | 44 paired_shares | 48 cross | 49 direction
// | 50 variation | 51 reserved | 52 kind | 53 side | 54 states | 55 marks           (56 bytes)
struct ImbalanceUpdate {
  std::uint64_t trace_id;
  std::uint64_t exchange_time_ns;
  std::uint64_t received_tsc;
  std::uint32_t instrument_id;
  std::uint32_t reference_price;   // at which the two counts are taken
  std::uint32_t imbalance_shares;  // not paired; what exceeds four bytes is told as their largest
  std::uint32_t far_price;         // would clear the orders of the cross alone; 0: none
  std::uint32_t near_price;        // those of the book as well; 0: none
  std::uint32_t paired_shares;     // as imbalance_shares
  char cross;                      // O opening, C closing, H halt or IPO, A after hours
  char direction;                  // B, S, N no imbalance, O too few orders
  char variation;                  // of the near price from the reference, as ITCH codes it
  std::uint8_t reserved0;
  UpdateKind kind;
  Side side;  // of the imbalance; 0: none
  std::uint8_t states;
  std::uint8_t marks;  // the day
};
static_assert(std::is_trivially_copyable_v<ImbalanceUpdate>);
static_assert(sizeof(ImbalanceUpdate) == sizeof(BookUpdate) &&
              offsetof(ImbalanceUpdate, instrument_id) == offsetof(BookUpdate, instrument_id) &&
              offsetof(ImbalanceUpdate, kind) == offsetof(BookUpdate, kind) &&
              offsetof(ImbalanceUpdate, side) == offsetof(BookUpdate, side) &&
              offsetof(ImbalanceUpdate, states) == offsetof(BookUpdate, states) &&
              offsetof(ImbalanceUpdate, marks) == offsetof(BookUpdate, marks));

}  // namespace tickpath::wire
