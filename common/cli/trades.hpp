// What a run has traded, from oeg's order journal: while it goes on, or after its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/units.hpp"
#include "common/control/summary.hpp"
#include "common/wire/order_event.hpp"

namespace tickpath::cli {

// Of the day that the journal is in. Prices are Price(4), times CLOCK_REALTIME in nanoseconds.
struct TradedOrder {
  std::uint64_t id = 0;  // of the order as it was sent; replacements have others
  std::int64_t sent_ns = 0;
  std::uint64_t trace_id = 0;  // the tick that caused it; 0: none
  std::string symbol;
  std::uint8_t strategy = 0;
  Side side = Side::kBuy;
  wire::OrderType type = wire::OrderType::kLimit;
  wire::TimeInForce time_in_force = wire::TimeInForce::kDay;
  std::uint32_t price = 0;   // in effect; 0: none
  std::uint32_t shares = 0;  // in effect
  std::uint32_t filled = 0;
  wire::OrderState state = wire::OrderState::kPendingNew;
  wire::RejectReason reason = wire::RejectReason::kNone;
};

struct TradedFill {
  std::int64_t time_ns = 0;
  std::uint64_t order_id = 0;  // as TradedOrder::id; 0: its order is not in the journal any more
  std::uint64_t execution_id = 0;
  std::string symbol;
  std::uint8_t strategy = 0;
  Side side = Side::kBuy;
  std::uint32_t shares = 0;
  ExecutedPrice price;
  wire::ReportKind kind = wire::ReportKind::kFill;  // or kFillCanceled, kFillCorrected
};

struct Trades {
  std::vector<TradedOrder> orders;  // in the order in which they were sent
  std::vector<TradedFill> fills;
};

// `journal`: the segment in use (run/oeg.journal); those before it of the same day are read as
// well. Orders that oeg's checks refused are not in it. Throws SystemError, Error.
Trades read_trades(const std::string& journal);

// A header line and a line a row; money in currency units.
std::string orders_csv(const Trades& trades);
std::string fills_csv(const Trades& trades);
// By strategy and symbol: bought, sold, held, cash; with realised and unrealised P&L where risk has
// left them at its end.
std::string positions_csv(const Trades& trades, const std::vector<control::ProfitSummary>& profits);

// What a run has come to, by strategy, from the summaries of oeg and risk; empty without risk's.
std::string results_text(const std::vector<control::Summary>& summaries);

}  // namespace tickpath::cli
