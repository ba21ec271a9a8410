// What a run has traded, from oeg's order journal: while it goes on, or after its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/units.hpp"
#include "common/control/long_names.hpp"
#include "common/wire/order_event.hpp"

namespace tickpath::cli {

// An order of the day that the journal is in. Prices are Price(4), times CLOCK_REALTIME in
// nanoseconds.
struct TradedOrder {
  std::uint64_t id = 0;  // of the order as its strategy sent it; replacements have others
  std::int64_t sent_ns = 0;
  std::uint64_t trace_id = 0;  // the tick that caused it; 0: none
  std::string symbol;
  std::uint8_t strategy = 0;
  Side side = Side::kBuy;
  trading::OrderType type = trading::OrderType::kLimit;
  trading::TimeInForce time_in_force = trading::TimeInForce::kDay;
  std::uint32_t price = 0;   // in effect; 0: none
  std::uint32_t shares = 0;  // in effect
  std::uint32_t filled = 0;
  trading::OrderState state = trading::OrderState::kPendingNew;
  trading::RejectReason reason = trading::RejectReason::kNone;
  bool triggered = false;    // a stop order, and the venue told that its price was reached
  std::string venue_text{};  // what the venue said last of it or of a request to change it
  // The exchange's time of day when it was sent, by the feed as oeg had it; 0: not known.
  std::uint64_t exchange_time_ns = 0;
};

struct TradedFill {
  std::uint64_t sequence = 0;  // of its record
  std::int64_t time_ns = 0;
  std::uint64_t order_id = 0;  // as TradedOrder::id; 0: its order is not in the journal any more
  std::uint64_t execution_id = 0;
  std::string symbol;
  std::uint8_t strategy = 0;
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
  ExecutedPrice price;
  wire::ReportKind kind = wire::ReportKind::kFill;  // or kFillCanceled, kFillCorrected
  std::uint64_t exchange_time_ns = 0;               // as an order's, when its report came
  std::uint64_t trace_id = 0;                       // of its order
  std::int64_t fee = 0;                             // 1/1,000,000; below 0: a rebate
};

// What a strategy held before the first fill that is listed.
struct CarriedPosition {
  std::uint8_t strategy = 0;
  std::string symbol;
  std::int64_t shares = 0;
  std::int64_t cash = 0;  // 1/10,000
};

// A request to replace or to cancel an order.
struct TradedChange {
  std::uint64_t id = 0;        // of the request
  std::uint64_t order_id = 0;  // as TradedOrder::id
  wire::RequestKind kind = wire::RequestKind::kReplace;
};

struct Trades {
  std::vector<TradedOrder> orders;  // in the order in which oeg took them
  std::vector<TradedFill> fills;
  std::vector<TradedChange> changes;     // in their order; without those of unknown orders
  std::vector<CarriedPosition> carried;  // of earlier days; none that is flat
};

// `journal`: the segment in use (run/oeg.journal); those before it of the same day are read as
// well. Of the orders that oeg's checks refused a bounded number is in it, the first ones. Throws
// SystemError, Error.
Trades read_trades(const std::string& journal);

// Symbols give way to the names that they stand for.
void show_names(Trades& trades, const control::LongNames& names);

// What it does to a position.
trading::Fill fill_of(const TradedFill& fill);

}  // namespace tickpath::cli
