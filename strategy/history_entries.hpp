// Between the price store's entries and a plugin's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strategy/plugin.h"
#include "strategy/ports.hpp"

namespace tickpath::strategy {

inline constexpr std::size_t kHistoryEntriesMax = 4'096;  // plugin.h says so

inline prices::RangeRequest history_range(const tickpath_history_request& request,
                                          std::size_t capacity) noexcept {
  prices::RangeRequest range;
  range.kind = static_cast<wire::HistoryKind>(request.kind);
  range.from_ns = request.from_ns;
  if (request.to_ns != 0) range.to_ns = request.to_ns;
  range.last_ns = request.last_ns;
  range.newest = std::min(capacity, kHistoryEntriesMax);
  return range;
}

inline tickpath_history_entry history_bar(const wire::PriceBar& bar, bool final) noexcept {
  tickpath_history_entry entry{};
  entry.time_ns = bar.start_ns;
  entry.open = bar.open;
  entry.high = bar.high;
  entry.low = bar.low;
  entry.close = bar.close;
  entry.volume = bar.volume;
  entry.vwap = bar.vwap();
  entry.trades = bar.trades;
  entry.final = final ? 1 : 0;
  return entry;
}

inline tickpath_history_entry history_entry(const wire::HistoryLine& line,
                                            wire::HistoryKind kind) noexcept {
  tickpath_history_entry entry{};
  if (kind == wire::HistoryKind::kTrades) {
    wire::PriceTrade trade;
    std::memcpy(&trade, line.payload.data(), sizeof(trade));
    entry.time_ns = trade.time_ns;
    entry.trace_id = trade.trace_id;
    entry.price = trade.price;
    entry.shares = trade.shares;
  } else if (kind == wire::HistoryKind::kQuotes) {
    wire::PriceQuote quote;
    std::memcpy(&quote, line.payload.data(), sizeof(quote));
    entry.time_ns = quote.time_ns;
    entry.trace_id = quote.trace_id;
    entry.bid = quote.bid;
    entry.ask = quote.ask;
    entry.bid_shares = quote.bid_shares;
    entry.ask_shares = quote.ask_shares;
  } else {
    wire::PriceBar bar;
    std::memcpy(&bar, line.payload.data(), sizeof(bar));
    entry = history_bar(bar, true);
  }
  return entry;
}

// entries: room for as many as history_range() asked for. A tickpath_status.
inline std::int32_t take_history(const HistoryRead& read, wire::HistoryKind kind,
                                 std::size_t capacity, tickpath_history_entry* entries,
                                 tickpath_history& answer) noexcept {
  using prices::PriceStatus;
  if (read.status == PriceStatus::kPending) return TICKPATH_NOT_YET;
  if (read.status == PriceStatus::kUnknownSymbol) return TICKPATH_UNKNOWN_SYMBOL;
  if (read.status == PriceStatus::kNothingYet) return TICKPATH_OK;
  if (read.status != PriceStatus::kOk) return TICKPATH_NO_DATA;
  // The bar that may still grow comes in addition, and is the newest.
  const std::size_t current = read.answer.current.trades != 0 ? 1 : 0;
  const std::size_t room = std::min(capacity, kHistoryEntriesMax) - current;
  const std::size_t kept = std::min(read.lines.size(), room);
  for (const wire::HistoryLine& line : read.lines.last(kept))
    entries[answer.count++] = history_entry(line, kind);
  if (current != 0)
    entries[answer.count++] = history_bar(read.answer.current, read.answer.current_final);
  answer.clock_ns = read.answer.clock_ns;
  answer.overwritten = read.answer.overwritten ? 1 : 0;
  return TICKPATH_OK;
}

}  // namespace tickpath::strategy
