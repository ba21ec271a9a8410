#include "tools/cli/prices_output.hpp"

#include <cstring>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/names.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {
namespace {

using wire::HistoryKind;

template <class Entry>
Entry entry_of(const wire::HistoryLine& line) {
  Entry entry;
  std::memcpy(&entry, line.payload.data(), sizeof(entry));
  return entry;
}

// A price of 1/10,000; "-": none.
std::string price_text(std::uint64_t price) {
  if (price == 0) return "-";
  return formatted("%llu.%04u", static_cast<unsigned long long>(price / 10'000),
                   static_cast<unsigned>(price % 10'000));
}
std::string side_text(std::uint32_t price, std::uint32_t shares) {
  return price == 0 ? "-" : price_text(price) + " x " + std::to_string(shares);
}
double price_number(std::uint64_t price) { return static_cast<double>(price) / kPriceScale; }

control::Json time_json(std::uint64_t ns) { return {{"ns", ns}, {"text", time_of_day_text(ns)}}; }

// ---------------------------------------------------------------------------------------- JSON

control::Json trade_json(const wire::PriceTrade& trade) {
  return {{"time", time_json(trade.time_ns)},
          {"price", price_number(trade.price)},
          {"shares", trade.shares},
          {"trace_id", trade.trace_id}};
}

control::Json quote_json(const wire::PriceQuote& quote) {
  const auto side = [](std::uint32_t price, std::uint32_t shares) {
    return price == 0 ? control::Json(nullptr)
                      : control::Json{{"price", price_number(price)}, {"shares", shares}};
  };
  return {{"time", time_json(quote.time_ns)},
          {"bid", side(quote.bid, quote.bid_shares)},
          {"ask", side(quote.ask, quote.ask_shares)},
          {"state", wire::name(quote.feed_state())},
          {"trace_id", quote.trace_id}};
}

control::Json bar_json(const wire::PriceBar& bar) {
  return {{"start", time_json(bar.start_ns)}, {"open", price_number(bar.open)},
          {"high", price_number(bar.high)},   {"low", price_number(bar.low)},
          {"close", price_number(bar.close)}, {"volume", bar.volume},
          {"vwap", price_number(bar.vwap())}, {"trades", bar.trades}};
}

// ---------------------------------------------------------------------------------------- text

std::string trade_line(const wire::PriceTrade& trade) {
  return formatted("  %s  %12s x %-8u  message %llu\n", time_of_day_text(trade.time_ns).c_str(),
                   price_text(trade.price).c_str(), trade.shares,
                   static_cast<unsigned long long>(trade.trace_id));
}

std::string quote_line(const wire::PriceQuote& quote) {
  return formatted("  %s  bid %-20s  ask %-20s  %s\n", time_of_day_text(quote.time_ns).c_str(),
                   side_text(quote.bid, quote.bid_shares).c_str(),
                   side_text(quote.ask, quote.ask_shares).c_str(),
                   std::string(wire::name(quote.feed_state())).c_str());
}

std::string bar_line(const wire::PriceBar& bar, const char* note) {
  return formatted("  %s  open %s  high %s  low %s  close %s  volume %s  vwap %s  trades %s%s\n",
                   time_of_day_text(bar.start_ns).substr(0, 8).c_str(),
                   price_text(bar.open).c_str(), price_text(bar.high).c_str(),
                   price_text(bar.low).c_str(), price_text(bar.close).c_str(),
                   grouped(bar.volume).c_str(), price_text(bar.vwap()).c_str(),
                   grouped(bar.trades).c_str(), note);
}

std::string one_text(const ShownLatest& row) {
  std::string text = row.symbol + "\n";
  const wire::LatestPrices& prices = row.prices;
  if (prices.trade.price != 0) text += "  last   " + trade_line(prices.trade).substr(2);
  if (prices.quote.time_ns != 0) text += "  quote  " + quote_line(prices.quote).substr(2);
  if (prices.day_bar.trades != 0) text += "  day    " + bar_line(prices.day_bar, "").substr(2);
  return text;
}

}  // namespace

std::string latest_text(const std::vector<ShownLatest>& rows) {
  std::string text;
  for (const ShownLatest& row : rows)
    if (row.problem.empty()) text += one_text(row);
  return text;
}

control::Json latest_json(const std::vector<ShownLatest>& rows) {
  control::Json all = control::Json::array();
  for (const ShownLatest& row : rows) {
    control::Json one{{"symbol", row.symbol}};
    if (!row.problem.empty()) {
      one["problem"] = row.problem;
    } else {
      if (row.prices.trade.price != 0) one["trade"] = trade_json(row.prices.trade);
      if (row.prices.quote.time_ns != 0) one["quote"] = quote_json(row.prices.quote);
      if (row.prices.day_bar.trades != 0) one["day"] = bar_json(row.prices.day_bar);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string range_text(const ShownRange& range) {
  if (!range.problem.empty()) return {};
  std::string text = range.symbol + "\n";
  if (range.answer.overwritten) text += "  (what was before is no longer kept)\n";
  for (const wire::HistoryLine& line : range.lines) {
    if (range.kind == HistoryKind::kTrades)
      text += trade_line(entry_of<wire::PriceTrade>(line));
    else if (range.kind == HistoryKind::kQuotes)
      text += quote_line(entry_of<wire::PriceQuote>(line));
    else
      text += bar_line(entry_of<wire::PriceBar>(line), "");
  }
  if (range.answer.current.trades != 0)
    text += bar_line(range.answer.current, range.answer.current_final ? "" : "  (so far)");
  if (range.lines.empty() && range.answer.current.trades == 0) text += "  none in this time\n";
  return text;
}

control::Json range_json(const ShownRange& range) {
  control::Json one{{"symbol", range.symbol}};
  if (!range.problem.empty()) {
    one["problem"] = range.problem;
    return one;
  }
  control::Json entries = control::Json::array();
  for (const wire::HistoryLine& line : range.lines) {
    if (range.kind == HistoryKind::kTrades) {
      entries.push_back(trade_json(entry_of<wire::PriceTrade>(line)));
    } else if (range.kind == HistoryKind::kQuotes) {
      entries.push_back(quote_json(entry_of<wire::PriceQuote>(line)));
    } else {
      entries.push_back(bar_json(entry_of<wire::PriceBar>(line)));
      entries.back()["final"] = true;
    }
  }
  if (range.answer.current.trades != 0) {
    entries.push_back(bar_json(range.answer.current));
    entries.back()["final"] = range.answer.current_final;
  }
  const char* const name = range.kind == HistoryKind::kTrades   ? "trades"
                           : range.kind == HistoryKind::kQuotes ? "quotes"
                                                                : "bars";
  one["first_index"] = range.answer.first;
  one["overwritten_before"] = range.answer.overwritten;
  one["exchange_clock"] = time_json(range.answer.clock_ns);
  one[name] = std::move(entries);
  return one;
}

}  // namespace tickpath::cli
