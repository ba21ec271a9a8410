// P&L and exposure of each strategy over a run, and what it did in single instruments.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/cli/run_results.hpp"
#include "tools/report/market_clock.hpp"
#include "tools/report/prices.hpp"

namespace tickpath::report {

inline constexpr std::size_t kInstruments = 12;     // with a chart of their own: the most filled
inline constexpr std::size_t kPointsOfOne = 1'000;  // fills, and orders, of one of these

// Where somebody had a fill or holds a position.
std::set<Listing> traded_listings(std::span<const cli::VenueTrades> venues);

// {"times": [...], "strategies": [{"name", "pnl", "net", "gross"}]}, in currency units. P&L is cash
// and shares at their price, less fees. Exposure is shares at their price: net, and the sum of long
// and short. Where `paths` has no price of a symbol, its last fill's stands for it.
nlohmann::ordered_json curves_json(std::span<const cli::VenueTrades> venues,
                                   const MarketClock& clock, const Grid& grid,
                                   const PricePaths& paths);

// [{"symbol" ("ZAAA", of several venues "ZAAA at venue 2"), "fills_all", "orders_all", "mid":
// [price at each time], "fills": [[time, price, shares, strategy, order]...], "orders": [[time,
// price, shares, strategy]...], "held": [[time, strategy, shares]...]}]; of more than kPointsOfOne
// evenly spread ones. Sold shares are below 0.
nlohmann::ordered_json instruments_json(std::span<const cli::VenueTrades> venues,
                                        const MarketClock& clock, const Grid& grid,
                                        const PricePaths& paths);

}  // namespace tickpath::report
