// What a run has traded, as tables: CSV for programs, cells for the report, text for its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// As a page shows them; money in currency units.
struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
TextTable orders_table(const Trades& trades);
TextTable fills_table(const Trades& trades);
// By strategy and symbol: orders, refusals, fills, what was bought and sold, P&L by risk's marks.
TextTable overview_table(const Trades& trades, const std::vector<control::ProfitSummary>& profits);
// Rejected orders by reason, and by what the venue said; the most frequent first.
TextTable refusals_table(const Trades& trades);

struct StrategyResult {
  std::uint64_t orders = 0;
  std::int64_t fills = 0;
  std::int64_t realised = 0, unrealised = 0;  // 1/10,000
};
using ResultsByStrategy = std::map<std::uint8_t, StrategyResult>;
// From the summaries of oeg and risk; nullopt without risk's.
std::optional<ResultsByStrategy> results_of(const std::vector<control::Summary>& summaries);
// The same as text.
std::string results_text(const std::vector<control::Summary>& summaries);

}  // namespace tickpath::cli
