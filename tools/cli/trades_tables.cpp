#include "tools/cli/trades_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/format.hpp"
#include "common/base/utc.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/names.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using Row = std::vector<std::string>;

const char* text(Side side) { return side == Side::kBuy ? "buy" : "sell"; }

// "09:30:00.000000001"; empty: not known.
std::string time_of_day(std::uint64_t ns) { return ns == 0 ? std::string() : time_of_day_text(ns); }

// A value of 1/10,000: "12.3400", with two more digits where they say something.
std::string money(std::int64_t value, unsigned hundredths = 0) {
  const std::uint64_t size =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const std::string digits =
      formatted("%s%llu.%04u", value < 0 ? "-" : "", static_cast<unsigned long long>(size / 10'000),
                static_cast<unsigned>(size % 10'000));
  return hundredths == 0 ? digits : digits + formatted("%02u", hundredths % 100);
}

// -------------------------------------------------------------------------------------- tables

}  // namespace

TextTable orders_table(const Trades& trades) {
  TextTable table{{"sent_utc", "exchange_time", "strategy", "order_id", "symbol", "side", "type",
                   "time_in_force", "price", "shares", "filled", "state", "reason", "tick",
                   "triggered", "venue_text"},
                  {}};
  for (const TradedOrder& order : trades.orders)
    table.rows.push_back(
        {utc_text_ns(order.sent_ns, 9), time_of_day(order.exchange_time_ns),
         std::to_string(order.strategy), std::to_string(order.id), order.symbol, text(order.side),
         std::string(trading::name(order.type)), std::string(trading::name(order.time_in_force)),
         order.price == 0 ? "" : money(order.price), std::to_string(order.shares),
         std::to_string(order.filled), std::string(trading::name(order.state)),
         order.reason == trading::RejectReason::kNone ? ""
                                                      : std::string(trading::name(order.reason)),
         tick_text(order.trace_id), order.triggered ? "yes" : "", order.venue_text});
  return table;
}

TextTable fills_table(const Trades& trades) {
  TextTable table{{"time_utc", "exchange_time", "strategy", "order_id", "symbol", "side", "shares",
                   "price", "execution_id", "kind", "tick"},
                  {}};
  for (const TradedFill& fill : trades.fills)
    table.rows.push_back(
        {utc_text_ns(fill.time_ns, 9), time_of_day(fill.exchange_time_ns),
         std::to_string(fill.strategy), fill.order_id == 0 ? "" : std::to_string(fill.order_id),
         fill.symbol, text(fill.side), std::to_string(fill.shares),
         money(fill.price.price, fill.price.hundredths), std::to_string(fill.execution_id),
         std::string(wire::name(fill.kind)), tick_text(fill.trace_id)});
  return table;
}

namespace {

struct Traded {
  std::int64_t shares = 0;  // sold: below 0
  std::int64_t cash = 0;    // 1/10,000; bought: below 0
};

// Sums of one strategy in one symbol. What fills add is taken back by their cancellations.
struct Held {
  std::uint64_t orders = 0, refused = 0, rejected = 0;
  std::int64_t fills = 0;
  Traded carried, bought, sold;

  std::int64_t shares() const { return carried.shares + bought.shares + sold.shares; }
  std::int64_t cash() const { return carried.cash + bought.cash + sold.cash; }
};

using HeldByKey = std::map<std::pair<std::uint8_t, std::string>, Held>;

HeldByKey held_of(const Trades& trades) {
  HeldByKey all;
  for (const CarriedPosition& carried : trades.carried)
    all[{carried.strategy, carried.symbol}].carried = {carried.shares, carried.cash};
  for (const TradedFill& fill : trades.fills) {
    Held& held = all[{fill.strategy, fill.symbol}];
    Traded& traded = fill.side == Side::kBuy ? held.bought : held.sold;
    trading::apply_fill(fill_of(fill), traded.shares, traded.cash, held.fills);
  }
  return all;
}

void count_orders(const Trades& trades, HeldByKey& all) {
  for (const TradedOrder& order : trades.orders) {
    Held& held = all[{order.strategy, order.symbol}];
    ++held.orders;
    if (order.state != trading::OrderState::kRejected) continue;
    const bool by_venue = order.reason == trading::RejectReason::kVenue;
    ++(by_venue ? held.rejected : held.refused);
  }
}

// Realised, unrealised and their sum; empty without them.
Row profit_cells(const std::vector<control::ProfitSummary>& profits, std::uint8_t strategy,
                 const std::string& symbol) {
  for (const control::ProfitSummary& each : profits)
    if (each.strategy_id == strategy && each.symbol == symbol)
      return {money(each.realised), money(each.unrealised), money(each.realised + each.unrealised)};
  return {"", "", ""};
}

void add_cells(Row& row, const Row& cells) { row.insert(row.end(), cells.begin(), cells.end()); }

TextTable positions_table(const Trades& trades,
                          const std::vector<control::ProfitSummary>& profits) {
  TextTable table{{"strategy", "symbol", "shares", "carried", "bought", "sold", "fills", "cash",
                   "realised", "unrealised", "pnl"},
                  {}};
  for (const auto& [key, held] : held_of(trades)) {
    Row row{std::to_string(key.first),          key.second,
            std::to_string(held.shares()),      std::to_string(held.carried.shares),
            std::to_string(held.bought.shares), std::to_string(-held.sold.shares),
            std::to_string(held.fills),         money(held.cash())};
    add_cells(row, profit_cells(profits, key.first, key.second));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string average(std::int64_t value, std::int64_t shares) {
  return shares == 0 ? "" : money(value / shares);
}

}  // namespace

TextTable overview_table(const Trades& trades, const std::vector<control::ProfitSummary>& profits) {
  TextTable table{
      {"strategy", "symbol", "orders", "refused by oeg", "rejected by venue", "fills", "bought",
       "bought at", "sold", "sold at", "carried", "held", "cash", "realised", "unrealised", "P&L"},
      {}};
  HeldByKey all = held_of(trades);
  count_orders(trades, all);
  for (const auto& [key, held] : all) {
    Row row{std::to_string(key.first),
            key.second,
            std::to_string(held.orders),
            std::to_string(held.refused),
            std::to_string(held.rejected),
            std::to_string(held.fills),
            std::to_string(held.bought.shares),
            average(-held.bought.cash, held.bought.shares),
            std::to_string(-held.sold.shares),
            average(held.sold.cash, -held.sold.shares),
            std::to_string(held.carried.shares),
            std::to_string(held.shares()),
            money(held.cash())};
    add_cells(row, profit_cells(profits, key.first, key.second));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Rejected orders by reason, and by what the venue said; the most frequent first.
TextTable refusals_table(const Trades& trades) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const TradedOrder& order : trades.orders)
    if (order.state == trading::OrderState::kRejected)
      ++counts[{std::string(trading::name(order.reason)), order.venue_text}];
  std::vector<std::pair<std::pair<std::string, std::string>, std::uint64_t>> sorted(counts.begin(),
                                                                                    counts.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  TextTable table{{"reason", "the venue's words", "orders"}, {}};
  for (const auto& [why, count] : sorted)
    table.rows.push_back({why.first, why.second, std::to_string(count)});
  return table;
}

namespace {

// --------------------------------------------------------------------------------- as text

// RFC 4180: names of instruments may have commas.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char each : text) quoted += each == '"' ? "\"\"" : std::string(1, each);
  return quoted + "\"";
}

std::string csv(const TextTable& table) {
  const auto line = [](const Row& cells) {
    std::string text;
    for (const std::string& cell : cells)
      text += (&cell == cells.data() ? "" : ",") + csv_cell(cell);
    return text + "\n";
  };
  std::string text = line(table.header);
  for (const Row& row : table.rows) text += line(row);
  return text;
}

std::string line(const std::string& name, const StrategyResult& result) {
  return formatted("  %-8s %9llu %9lld %15s %15s %15s\n", name.c_str(),
                   static_cast<unsigned long long>(result.orders),
                   static_cast<long long>(result.fills), money(result.realised).c_str(),
                   money(result.unrealised).c_str(),
                   money(result.realised + result.unrealised).c_str());
}

}  // namespace

std::vector<control::ProfitSummary> profits_of(const std::vector<control::Summary>& summaries,
                                               const control::LongNames& names) {
  std::vector<control::ProfitSummary> profits;
  for (const control::Summary& summary : summaries)
    profits.insert(profits.end(), summary.profits.begin(), summary.profits.end());
  for (control::ProfitSummary& each : profits)
    each.symbol = std::string(names.name_of(each.symbol));
  return profits;
}

std::string tick_text(std::uint64_t tick) {
  const std::string sequence = std::to_string(trace::sequence_of_tick(tick));
  const unsigned venue = trace::venue_of_tick(tick);
  return venue == 0 ? sequence : std::to_string(venue) + ":" + sequence;
}

std::string order_text(const TradedOrder& order) {
  return order.symbol + " " + text(order.side) + " " + std::to_string(order.shares) +
         (order.price == 0 ? "" : " at " + money(order.price)) + ", " +
         std::string(name(order.type)) + ", " + std::string(name(order.time_in_force)) +
         ", by strategy " + std::to_string(order.strategy) + ": filled " +
         std::to_string(order.filled) + ", " + std::string(name(order.state));
}

std::string fill_text(const TradedFill& fill) {
  const bool plain = fill.kind == wire::ReportKind::kFill;
  return (plain ? "filled" : std::string(name(fill.kind))) + " " + std::to_string(fill.shares) +
         " at " + money(fill.price.price, fill.price.hundredths);
}

std::string orders_csv(const Trades& trades) { return csv(orders_table(trades)); }
std::string fills_csv(const Trades& trades) { return csv(fills_table(trades)); }
std::string positions_csv(const Trades& trades,
                          const std::vector<control::ProfitSummary>& profits) {
  return csv(positions_table(trades, profits));
}

std::optional<ResultsByStrategy> results_of(const std::vector<control::Summary>& summaries) {
  ResultsByStrategy results;
  bool known = false;
  for (const control::Summary& summary : summaries) {
    if (summary.program == "oeg")
      for (const control::StrategyFlow& each : summary.strategies)
        results[each.strategy_id].orders += each.orders;
    if (summary.program != "risk") continue;
    known = true;
    for (const control::PositionSummary& each : summary.positions)
      results[each.strategy_id].fills += each.fills;
    for (const control::ProfitSummary& each : summary.profits) {
      results[each.strategy_id].realised += each.realised;
      results[each.strategy_id].unrealised += each.unrealised;
    }
  }
  if (!known) return std::nullopt;
  return results;
}

std::string results_text(const std::vector<control::Summary>& summaries) {
  const auto results = results_of(summaries);
  if (!results) return {};
  std::string text =
      "result, in currency units, by risk's last marks\n"
      "  strategy    orders     fills        realised      unrealised             P&L\n";
  StrategyResult all;
  for (const auto& [strategy, result] : *results) {
    text += line(std::to_string(strategy), result);
    all = {all.orders + result.orders, all.fills + result.fills, all.realised + result.realised,
           all.unrealised + result.unrealised};
  }
  return text + line("all", all) +
         "  by instrument: tickpath positions; and tickpath orders, tickpath fills\n";
}

}  // namespace tickpath::cli
