// What a run has traded, as tables: CSV for programs, HTML for the report, text for its end.
#pragma once

#include <string>
#include <vector>

#include "common/control/summary.hpp"
#include "tools/cli/trades.hpp"

namespace tickpath::cli {

// "ZVZZT buy 100 at 12.3400, limit, day, by strategy 1: filled 100, done".
std::string order_text(const TradedOrder& order);
// "filled 100 at 12.3400", and what a corrected or a cancelled one is.
std::string fill_text(const TradedFill& fill);
// "17"; where there are several venues with the venue's number, "2:17". "0": no tick is known.
std::string tick_text(std::uint64_t tick);

// What risk has come to, by the names of its instruments; empty until it ended.
std::vector<control::ProfitSummary> profits_of(const std::vector<control::Summary>& summaries,
                                               const control::LongNames& names);

// A header line and a line a row; money in currency units.
std::string orders_csv(const Trades& trades);
std::string fills_csv(const Trades& trades);
// By strategy and symbol: held, of that carried from earlier days, bought, sold, cash; with
// realised and unrealised P&L where risk has left them at its end.
std::string positions_csv(const Trades& trades, const std::vector<control::ProfitSummary>& profits);

// Sections of a page: orders, fills and positions by strategy and symbol, then the single orders
// and fills, of each the last `rows_max`.
std::string trades_html(const Trades& trades, const std::vector<control::ProfitSummary>& profits,
                        std::size_t rows_max);

// What a run has come to, by strategy, from the summaries of oeg and risk; empty without risk's.
std::string results_text(const std::vector<control::Summary>& summaries);

}  // namespace tickpath::cli
