// Why oeg, or the venue through oeg, said no: the one table of reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tickpath::wire {

// ROW(enumerator, TICKPATH_REASON_ in strategy/plugin.h, name in logs and tables, value). Values
// are stable: scripts and journals keep them. A new reason is a row here and an enumerator in
// plugin.h, without which strategy does not compile.
// clang-format off
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
  ROW(kVenueGap, VENUE_GAP, venue_gap, 27)
// clang-format on

enum class RejectReason : std::uint8_t {
#define TICKPATH_ENUMERATOR(enumerator, upper, lower, value) enumerator = value,
  TICKPATH_REJECT_REASONS(TICKPATH_ENUMERATOR)
#undef TICKPATH_ENUMERATOR
};

// oeg refuses every order for such a reason until something changes, and says so to its strategies
// (ReportKind::kAccepting).
constexpr bool refuses_every_order(RejectReason reason) noexcept {
  using enum RejectReason;
  return reason == kKillSwitch || reason == kSessionDown || reason == kVenueGap ||
         reason == kRiskAbsent || reason == kJournalFull;
}

struct RejectReasonName {
  RejectReason reason;
  std::string_view name;
};
inline constexpr RejectReasonName kRejectReasons[] = {
#define TICKPATH_NAME(enumerator, upper, lower, value) {RejectReason::enumerator, #lower},
    TICKPATH_REJECT_REASONS(TICKPATH_NAME)
#undef TICKPATH_NAME
};

// Elements of an array that is indexed by reason: one beyond the greatest value.
inline constexpr std::size_t kRejectReasonValues = [] {
  std::size_t values = 0;
  for (const RejectReasonName& each : kRejectReasons)
    if (const auto value = static_cast<std::size_t>(each.reason); value >= values)
      values = value + 1;
  return values;
}();

}  // namespace tickpath::wire
