// The latency part of a page's data: what the charts of tick-to-order are drawn from.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "common/trace/analysis.hpp"
#include "common/trace/order_paths.hpp"
#include "tools/cli/trace_orders.hpp"
#include "tools/report/market_clock.hpp"

namespace tickpath::report {

// Cells of the heat map: columns over the time of the market, rows over latency.
inline constexpr std::size_t kHeatColumns = 960;
inline constexpr int kRowsPerDecade = 20;
inline constexpr int kLowestDecade = 2;  // 100 ns; what is quicker is in the lowest row
inline constexpr int kDecades = 9;       // up to 100 s
inline constexpr std::size_t kWorstOrders = 20;
// Orders on either side of a percentile whose ways are averaged, at most.
inline constexpr std::size_t kNeighboursMax = 25;

struct TimeSpan {
  double first = 0;  // market seconds
  double last = 0;
};

// {"name", "from", "to", "count", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns", "points":
// [[percent, ns]...]}: at most 400 points, evenly along -log10(1 - p). null where count is 0.
nlohmann::ordered_json percentiles_json(const trace::Interval& interval);

// {"columns", "rows", "rows_per_decade", "lowest_decade", "orders", "cells": [column, row, count,
// ...], "rate": [messages a second of each column]}. Every order is in a cell.
nlohmann::ordered_json heat_json(const trace::OrderLatencies& latencies, const MarketClock& clock,
                                 TimeSpan span);

// [{"percent", "ns", "orders", "mean_ns", "parts": [{"hop", "ns"}]}]: the mean way of the orders
// around a percentile. Parts sum up to mean_ns, but for rounding.
nlohmann::ordered_json bars_json(const trace::OrderLatencies& latencies, trace::Hop from,
                                 trace::Hop to);

// [{"id", "ns", "at", "tick", "burst", "changes", "order", "text", "symbol", "strategy", "fills":
// [{"text", "after_ns"}], "marks": [{"hop", "at", "took"}]}], the slowest first. changes: the
// request is to change or to cancel the order; "order" is that order's id, empty where none is
// known. took: null where clocks were not compared.
nlohmann::ordered_json worst_json(const trace::OrderLatencies& latencies,
                                  const cli::TradedOrders& traded, const MarketClock& clock);

// [{"name", "population", "count", "p50", "p99", "p999", "max", "error_ns"}]
nlohmann::ordered_json hops_json(const trace::Analysis& analysis);

}  // namespace tickpath::report
