// strategy <-> oeg, over the SEND/RECV message channel: one 64-byte message each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/units.hpp"
#include "common/trading/position.hpp"
#include "common/trading/vocabulary.hpp"
#include "common/wire/constants.hpp"

namespace tickpath::wire {

enum class RequestKind : std::uint8_t { kNew = 1, kCancel = 2, kReplace = 3 };
// OrderRequest::instructions, FIX tag 18.
inline constexpr std::uint8_t kPostOnly =
    1;  // 18=6: refused by the venue where it would trade on arrival

// strategy -> oeg
//  0 order_id | 8 target_order_id | 16 trace_id | 24 price | 32 instrument_id | 36 shares
//  40 kind | 41 side | 42 type | 43 time_in_force | 44 strategy_id | 45 instructions | 46 reserved
//  48 stop_price | 52 display_shares | 56 minimum_shares | 60 reserved
struct OrderRequest {
  std::uint64_t order_id;         // of this request: every new, cancel and replace has its own
  std::uint64_t target_order_id;  // cancel, replace: the live order's current id; else 0
  std::uint64_t trace_id;         // the tick that caused it; 0: a timer or a person did
  Price price;                    // limit; 0 for market, stop and cancel
  std::uint32_t instrument_id;
  std::uint32_t shares;  // new: ordered; replace: the new total; cancel: 0
  RequestKind kind;
  Side side;
  trading::OrderType type;
  trading::TimeInForce time_in_force;
  std::uint8_t strategy_id;  // oeg overwrites it with the connection's own
  // A new order has these, display_shares and minimum_shares; oeg repeats them in each replacement.
  std::uint8_t instructions;  // kPostOnly
  std::uint8_t reserved0[2];
  std::uint32_t stop_price;      // Price(4): stop and stop limit; else 0
  std::uint32_t display_shares;  // shown at a time (MaxFloor, 111); 0: all
  std::uint32_t minimum_shares;  // at least so many at once, or none (MinQty, 110); 0: none
  std::uint32_t reserved1;
};
static_assert(std::is_trivially_copyable_v<OrderRequest>);
static_assert(sizeof(OrderRequest) == 64 && offsetof(OrderRequest, price) == 24 &&
              offsetof(OrderRequest, kind) == 40 && offsetof(OrderRequest, instructions) == 45 &&
              offsetof(OrderRequest, stop_price) == 48 &&
              offsetof(OrderRequest, minimum_shares) == 56);

enum class ReportKind : std::uint8_t {
  kAccepted = 1,        // resting or working at the venue
  kRejected = 2,        // a new order, by oeg (reason says which check) or by the venue
  kFill = 3,            // part or all: leaves_shares tells which
  kCanceled = 4,        // at our request
  kExpired = 5,         // by the venue: what an IOC could not trade, end of day
  kReplaced = 6,        // order_id is the live id from now on, target_order_id the one before
  kCancelRejected = 7,  // a cancel or replace; the order lives on as it was
  kReplaceRejected = 8,
  // After each connect, in order with the reports: a PositionReport for each row that the strategy
  // has, then kPositionsEnd. No request is expected before it.
  kPosition = 9,
  kPositionsEnd = 10,
  // The venue took shares off the order by itself, untraded: leaves_shares says what is left, which
  // is not nothing. The order keeps its id; both ids name it.
  kRestated = 11,
  // The venue takes an execution back (a bust): last_shares and last_price are what it was, and the
  // position loses it again. execution_id is that of the execution.
  kFillCanceled = 12,
  // A corrected execution, after a kFillCanceled of the one that it replaces: last_shares and
  // last_price are right, and the position has them.
  kFillCorrected = 13,
  // A PositionReport with the epoch, of a pair of oegs: this one leads, and what follows counts.
  // The first message of a leader to a strategy.
  kLeads = 14,
  // A TextReport: the reason that the venue gave in words, ahead of the report about it.
  kText = 15,
  // A stop order's price was reached: from now on it works as a market or limit order. Nothing else
  // of it changes; both ids name it.
  kTriggered = 16,
  // About no order: `reason` says why every new order is refused now, kNone that none is. Told
  // after each connect, ahead of kPositionsEnd, and at each change.
  kAccepting = 17,
  // About no order: new orders in instrument_id are refused (reason kException), in kNoInstrument:
  // in every one. The list begins with kNoInstrument and kNone, which ends all that was said
  // before. Told after each connect where there is any, ahead of kPositionsEnd, and at each change.
  kHeld = 18,
};

// The report changes an execution that was reported before, of an order that may be done.
constexpr bool changes_fill(ReportKind kind) noexcept {
  return kind == ReportKind::kFillCanceled || kind == ReportKind::kFillCorrected;
}

// The report moves a position.
constexpr bool is_execution(ReportKind kind) noexcept {
  return kind == ReportKind::kFill || changes_fill(kind);
}

// A cancel or replacement was refused.
constexpr bool is_request_reject(ReportKind kind) noexcept {
  return kind == ReportKind::kCancelRejected || kind == ReportKind::kReplaceRejected;
}

// How a request of that kind is refused.
constexpr ReportKind reject_of(RequestKind kind) noexcept {
  return kind == RequestKind::kCancel    ? ReportKind::kCancelRejected
         : kind == RequestKind::kReplace ? ReportKind::kReplaceRejected
                                         : ReportKind::kRejected;
}

// target_order_id says which order it is about; else order_id does.
constexpr bool names_target(ReportKind kind) noexcept {
  return kind == ReportKind::kCanceled || kind >= ReportKind::kReplaced;
}

// oeg -> strategy
//  0 order_id | 8 target_order_id | 16 trace_id | 24 execution_id | 32 instrument_id
// 36 last_shares | 40 last_price | 44 leaves_shares | 48 cumulative_shares | 52 kind | 53 side
// 54 reason | 55 strategy_id | 56 limit_price | 60 last_price_hundredths | 61 reserved
struct OrderReport {
  std::uint64_t order_id;         // the request answered, or the live order's id for a fill
  std::uint64_t target_order_id;  // canceled, replaced, restated, triggered, rejects: the order
  std::uint64_t trace_id;         // of the request
  std::uint64_t execution_id;     // the venue's, unique in its session; 0 for oeg's own answers
  std::uint32_t instrument_id;
  std::uint32_t last_shares;
  std::uint32_t last_price;  // Price(4), of this fill; with its hundredths six decimals
  std::uint32_t leaves_shares;
  std::uint32_t cumulative_shares;
  ReportKind kind;
  Side side;
  trading::RejectReason reason;
  std::uint8_t strategy_id;
  std::uint32_t limit_price;           // Price(4) in effect, 0 for market
  std::uint8_t last_price_hundredths;  // of 1/10,000, see fill_of()
  std::uint8_t reserved[3];
};
static_assert(std::is_trivially_copyable_v<OrderReport>);
static_assert(sizeof(OrderReport) == 64 && offsetof(OrderReport, instrument_id) == 32 &&
              offsetof(OrderReport, kind) == 52 &&
              offsetof(OrderReport, last_price_hundredths) == 60);

// A fill, its cancellation or its correction, as the position has it.
constexpr trading::Fill fill_of(const OrderReport& report) noexcept {
  return {report.side,
          report.last_shares,
          {report.last_price, report.last_price_hundredths},
          report.kind != ReportKind::kFillCanceled};
}

// oeg -> strategy, as an OrderReport of kind kPosition: what the strategy holds in one instrument,
// every fill included that was reported before it. It replaces what the strategy knew: a strategy
// that was restarted, or that lost reports with a connection, is right again.
//  0 position_shares | 8 cash | 16 symbol | 24 fills | 32 instrument_id | 36 reserved | 52 kind
// 53 reserved | 55 strategy_id | 56 epoch
//
// A position. In a pair of oegs only the one that leads sends positions, and the highest epoch says
// which one that is. kPositionsEnd has the epoch of the positions before it.
struct PositionReport {
  std::int64_t position_shares;  // bought less sold
  std::int64_t cash;             // 1/10,000: sold less bought
  std::uint64_t symbol;          // as NamedPosition has it
  std::uint64_t fills;
  std::uint32_t instrument_id;
  std::uint32_t reserved0[4];
  ReportKind kind;
  std::uint8_t reserved1[2];
  std::uint8_t strategy_id;
  std::uint64_t epoch;  // Leadership::epoch; 0: an oeg without a standby
};
static_assert(std::is_trivially_copyable_v<PositionReport>);
static_assert(sizeof(PositionReport) == sizeof(OrderReport) &&
              offsetof(PositionReport, kind) == offsetof(OrderReport, kind) &&
              offsetof(PositionReport, strategy_id) == offsetof(OrderReport, strategy_id) &&
              offsetof(PositionReport, instrument_id) == offsetof(OrderReport, instrument_id) &&
              offsetof(PositionReport, epoch) == 56);

// oeg -> strategy, as an OrderReport of kind kText: the venue's reason (Text, 58) for a refusal or
// for the end of an order. A long text comes in parts, one right behind the other.
//  0 order_id | 8 text | 52 kind | 53 length | 54 last | 55 strategy_id | 56 reserved
struct TextReport {
  static constexpr std::size_t kTextBytes = 44;
  std::uint64_t order_id;  // the request or the live order, as OrderReport::order_id
  char text[kTextBytes];
  ReportKind kind;
  std::uint8_t length;  // of text
  std::uint8_t last;    // 1: no further part follows
  std::uint8_t strategy_id;
  std::uint8_t reserved[8];
};
static_assert(std::is_trivially_copyable_v<TextReport>);
static_assert(sizeof(TextReport) == sizeof(OrderReport) &&
              offsetof(TextReport, kind) == offsetof(OrderReport, kind) &&
              offsetof(TextReport, strategy_id) == offsetof(OrderReport, strategy_id));

}  // namespace tickpath::wire
