// oeg -> risk: the drop copy, one ring slot for each event in an order's life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"

namespace tickpath::wire {

enum class EventKind : std::uint8_t {
  kRequested = 1,   // a request arrived and passed the checks; it is about to be sent
  kRefused = 2,     // a request was rejected by oeg; reason says why
  kReported = 3,    // the venue answered; report_kind says what
  kException = 4,   // a report of the venue was not booked, or with a doubt: a person must look
  kNewSession = 5,  // oeg's journal alone: the FIX numbers begin with 1 from here on
  // Drop copy alone, of an oeg in a pair: what follows is of the one that leads, since the epoch in
  // order_id; the rest is 0. When it begins to lead, for each risk that connects while it does, and
  // again now and then: a reader that was overrun may have missed it.
  kLeads = 6,
  // Drop copy alone: what the venue charges for the fill before it, fee_of(). It counts in its row.
  kFee = 7,
};

//  0 order_id | 8 target_order_id | 16 trace_id | 24 instrument_id | 28 shares | 32 price
// 36 leaves_shares | 40 cumulative_shares | 44 event | 45 report_kind | 46 request_kind
// 47 side | 48 reason | 49 strategy_id | 50 state | 51 price_hundredths | 52 row_event  (56 bytes)
struct OrderEvent {
  std::uint64_t order_id;
  std::uint64_t target_order_id;  // kFee: the fee
  std::uint64_t trace_id;
  std::uint32_t instrument_id;
  std::uint32_t shares;  // requested: ordered; fill: last_shares
  std::uint32_t price;   // Price(4); requested: limit, 0 market; fill: last_price
  std::uint32_t leaves_shares;
  std::uint32_t cumulative_shares;
  EventKind event;
  ReportKind report_kind;    // kReported and kRefused
  RequestKind request_kind;  // kRequested and kRefused
  Side side;
  trading::RejectReason reason;
  std::uint8_t strategy_id;
  trading::OrderState state;      // of the order after the event
  std::uint8_t price_hundredths;  // fill: fifth and sixth decimal, see fill_of()
  // Number of this event among those of its row (strategy and instrument): PositionRow::events,
  // once the row includes it. Refusals change no row and have none (0). Compared modulo
  // 2^32.
  std::uint32_t row_event;
};
static_assert(std::is_trivially_copyable_v<OrderEvent>);
static_assert(sizeof(OrderEvent) == kSlotPayloadBytes && offsetof(OrderEvent, event) == 44 &&
              offsetof(OrderEvent, price_hundredths) == 51 &&
              offsetof(OrderEvent, row_event) == 52);

// A fill, its cancellation or its correction, as the position has it.
constexpr trading::Fill fill_of(const OrderEvent& event) noexcept {
  return {event.side,
          event.shares,
          {event.price, event.price_hundredths},
          event.report_kind != ReportKind::kFillCanceled};
}

// kFee: in 1/1,000,000, below 0 a rebate.
constexpr std::int64_t fee_of(const OrderEvent& event) noexcept {
  return static_cast<std::int64_t>(event.target_order_id);
}
constexpr void set_fee(OrderEvent& event, std::int64_t fee) noexcept {
  event.event = EventKind::kFee;
  event.target_order_id = static_cast<std::uint64_t>(fee);
}

}  // namespace tickpath::wire
