// The words of trading that programs, FIX and plugins share. Each word is a row of a table here;
// the enumerator, its name and the check of strategy/plugin.h are made from the row. Side, prices
// and cash are in common/base/units.hpp.
//
// ROW(enumerator, the end of its name in strategy/plugin.h, name in logs and tables, value). Values
// are stable: wire messages, journals and scripts keep them. A new word is a row here and an
// enumerator in plugin.h, without which strategy does not compile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tickpath::trading {

// clang-format off

// FIX tag 40: the character less '0'. order_terms.hpp says what goes with what.
#define TICKPATH_ORDER_TYPES(ROW)                                                                  \
  ROW(kMarket, MARKET, market, 1)                                                                  \
  ROW(kLimit, LIMIT, limit, 2)                                                                     \
  /* a market order once the market trades at its stop price or beyond */                          \
  ROW(kStop, STOP, stop, 3)                                                                        \
  /* a limit order then */                                                                         \
  ROW(kStopLimit, STOP_LIMIT, stop_limit, 4)                                                       \
  /* to the best price of its own side (18=R); its price is a limit, 0: it has none */             \
  ROW(kPegged, PEGGED, pegged, 'P' - '0')

// FIX tag 59.
#define TICKPATH_TIMES_IN_FORCE(ROW)                                                               \
  ROW(kDay, DAY, day, 0)                                                                           \
  ROW(kGoodTillCancel, GTC, gtc, 1)                                                                \
  /* in the opening cross or not at all */                                                         \
  ROW(kAtTheOpening, AT_THE_OPENING, at_the_opening, 2)                                            \
  ROW(kImmediateOrCancel, IOC, ioc, 3)                                                             \
  /* whole, at once, or not at all */                                                              \
  ROW(kFillOrKill, FOK, fok, 4)                                                                    \
  /* FIX 4.3 and later; we use it in 4.2, too */                                                   \
  ROW(kAtTheClose, AT_THE_CLOSE, at_the_close, 7)

// FIX 4.2's OrdStatus (tag 39), without the states that this pipeline cannot reach.
#define TICKPATH_ORDER_STATES(ROW)                                                                 \
  /* requested, not yet acknowledged by the venue */                                               \
  ROW(kPendingNew, PENDING_NEW, pending_new, 0)                                                    \
  /* acknowledged, nothing filled */                                                               \
  ROW(kWorking, WORKING, working, 1)                                                               \
  /* acknowledged, something filled, something left */                                             \
  ROW(kPartlyFilled, PARTLY_FILLED, partly_filled, 2)                                              \
  /* this one and those below are final */                                                         \
  ROW(kFilled, FILLED, filled, 3)                                                                  \
  ROW(kCanceled, CANCELED, canceled, 4)                                                            \
  ROW(kRejected, REJECTED, rejected, 5)                                                            \
  ROW(kExpired, EXPIRED, expired, 6)

// Why oeg, or the venue through oeg, refused a request.
#define TICKPATH_REJECT_REASONS(ROW)                                                               \
  ROW(kNone, NONE, none, 0)                                                                        \
  ROW(kOrderSize, ORDER_SIZE, order_size, 1)                                                       \
  ROW(kOrderValue, ORDER_VALUE, order_value, 2)                                                    \
  ROW(kPriceCollar, PRICE_COLLAR, price_collar, 3)                                                 \
  ROW(kOpenOrders, OPEN_ORDERS, open_orders, 4)                                                    \
  ROW(kPositionLimit, POSITION_LIMIT, position_limit, 5)                                           \
  ROW(kMessageRate, MESSAGE_RATE, message_rate, 6)                                                 \
  ROW(kKillSwitch, KILL_SWITCH, kill_switch, 7)                                                    \
  ROW(kUnknownInstrument, UNKNOWN_INSTRUMENT, unknown_instrument, 8)                               \
  ROW(kUnknownOrder, UNKNOWN_ORDER, unknown_order, 9)                                              \
  ROW(kDuplicateOrderId, DUPLICATE_ORDER_ID, duplicate_order_id, 10)                               \
  /* a field outside its range: kind, side, type, zero shares or price */                          \
  ROW(kMalformed, MALFORMED, malformed, 11)                                                        \
  /* the FIX session is not logged on */                                                           \
  ROW(kSessionDown, SESSION_DOWN, session_down, 12)                                                \
  /* risk's heartbeat stopped longer ago than configured */                                        \
  ROW(kRiskAbsent, RISK_ABSENT, risk_absent, 13)                                                   \
  /* no fresh price to check collar or value against */                                            \
  ROW(kNoMarket, NO_MARKET, no_market, 14)                                                         \
  /* of an oeg that did not name the table that is full: 24 to 26 do */                            \
  ROW(kCapacity, CAPACITY, capacity, 15)                                                           \
  /* the exchange refused it */                                                                    \
  ROW(kVenue, VENUE, venue, 16)                                                                    \
  /* cancel or replace of an order that is done */                                                 \
  ROW(kTooLate, TOO_LATE, too_late, 17)                                                            \
  /* an earlier cancel or replace has no answer yet */                                             \
  ROW(kPendingRequest, PENDING_REQUEST, pending_request, 18)                                       \
  /* it did not reach the venue in time, and was not sent again */                                 \
  ROW(kStale, STALE, stale, 22)                                                                    \
  /* a report about this symbol could not be booked; a person must look at it */                   \
  ROW(kException, EXCEPTION, exception, 23)                                                        \
  /* oeg has room for orders.max open orders */                                                    \
  ROW(kOrdersFull, ORDERS_FULL, orders_full, 24)                                                   \
  /* oeg has room for orders.positions_max pairs of strategy and instrument */                     \
  ROW(kPositionsFull, POSITIONS_FULL, positions_full, 25)                                          \
  /* oeg's journal has no room: the disk is full */                                                \
  ROW(kJournalFull, JOURNAL_FULL, journal_full, 26)                                                \
  /* reports of the venue are missing, and asked for; cancels pass */                              \
  ROW(kVenueGap, VENUE_GAP, venue_gap, 27)                                                         \
  /* what is held and open over all instruments would be worth too much */                         \
  ROW(kGrossLimit, GROSS_LIMIT, gross_limit, 28)

// clang-format on

// An enumeration of the rows of a table. name() returns "?" for a value without a row.
#define TICKPATH_ENUMERATOR(enumerator, upper, lower, value) enumerator = value,
#define TICKPATH_CASE(enumerator, upper, lower, value) \
  case enumerator:                                     \
    return #lower;
#define TICKPATH_WORDS(Word, TABLE)                              \
  enum class Word : std::uint8_t { TABLE(TICKPATH_ENUMERATOR) }; \
  constexpr std::string_view name(Word word) noexcept {          \
    using enum Word;                                             \
    switch (word) { TABLE(TICKPATH_CASE) }                       \
    return "?";                                                  \
  }                                                              \
  constexpr bool is_known(Word word) noexcept { return name(word) != "?"; }

TICKPATH_WORDS(OrderType, TICKPATH_ORDER_TYPES)
TICKPATH_WORDS(TimeInForce, TICKPATH_TIMES_IN_FORCE)
TICKPATH_WORDS(OrderState, TICKPATH_ORDER_STATES)
TICKPATH_WORDS(RejectReason, TICKPATH_REJECT_REASONS)
#undef TICKPATH_WORDS
#undef TICKPATH_CASE
#undef TICKPATH_ENUMERATOR

constexpr bool is_final(OrderState state) noexcept { return state >= OrderState::kFilled; }

// oeg refuses every order for such a reason until something changes, and says so to its strategies
// (ReportKind::kAccepting).
constexpr bool refuses_every_order(RejectReason reason) noexcept {
  using enum RejectReason;
  return reason == kKillSwitch || reason == kSessionDown || reason == kVenueGap ||
         reason == kRiskAbsent || reason == kJournalFull;
}

// Elements of an array that is indexed by reason: one beyond the greatest value.
#define TICKPATH_VALUE(enumerator, upper, lower, value) std::size_t{value},
inline constexpr std::size_t kRejectReasonValues =
    std::max({TICKPATH_REJECT_REASONS(TICKPATH_VALUE)}) + 1;
#undef TICKPATH_VALUE

}  // namespace tickpath::trading
