#include "common/cli/trades.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/base/error.hpp"
#include "common/wire/names.hpp"
#include "oeg/journal_segment.hpp"

namespace tickpath::cli {
namespace {

namespace fs = std::filesystem;
using oeg::JournalRecord;
using oeg::JournalSegment;
using oeg::SegmentHeader;

constexpr std::streamoff kRecordsAt = 4096;  // behind the header page (oeg/journal_segment.hpp)

struct SegmentFile {
  std::string path;
  SegmentHeader header{};
};

// False: none, or not finished.
bool look(const std::string& path, std::map<std::uint64_t, SegmentFile>& found) {
  SegmentFile file{path, {}};
  switch (JournalSegment::examine(path, file.header)) {
    case oeg::SegmentKind::kSegment:
      found.insert_or_assign(file.header.number, file);
      return true;
    case oeg::SegmentKind::kUnfinished:
      return false;
    default:
      throw Error(path + " is no order journal of this version");
  }
}

// The segments of the day, oldest first: back to one whose predecessor was ended in order, or is
// not kept any more.
std::vector<SegmentFile> segments_of_day(const std::string& journal) {
  std::map<std::uint64_t, SegmentFile> all;
  if (!look(journal, all)) throw Error(journal + " is empty: oeg has not begun");
  const std::uint64_t newest = all.begin()->first;
  const std::string prefix = fs::path(journal).filename().string() + ".";
  const fs::path parent = fs::path(journal).parent_path();
  for (const auto& entry : fs::directory_iterator(parent.empty() ? "." : parent)) {
    const std::string name = entry.path().filename();
    const bool former = name.size() > prefix.size() && name.starts_with(prefix) &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                                    name.end(), [](unsigned char c) { return std::isdigit(c); });
    if (former) (void)look(entry.path(), all);
  }
  std::vector<SegmentFile> day{all.at(newest)};
  for (std::uint64_t number = newest - 1; all.contains(number) && all.at(number).header.closed == 0;
       --number)
    day.insert(day.begin(), all.at(number));
  return day;
}

class Reader {
 public:
  void read(const SegmentFile& file) {
    std::ifstream in(file.path, std::ios::binary);
    in.seekg(kRecordsAt);
    std::uint64_t next = file.header.first_sequence;
    for (JournalRecord record; next < file.header.first_sequence + file.header.capacity; ++next) {
      // The one that is being written has no sequence yet.
      if (!in.read(reinterpret_cast<char*>(&record), sizeof(record)) || record.sequence != next)
        return;
      take(record);
    }
  }
  Trades take_trades() { return std::move(trades_); }

 private:
  void take(const JournalRecord& record) {
    if (record.event.event == wire::EventKind::kRequested) requested(record);
    if (record.event.event == wire::EventKind::kReported) reported(record);
  }

  void requested(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    if (event.request_kind == wire::RequestKind::kReplace)
      pending_[event.order_id] = {event.price, record.order_shares};
    if (event.request_kind != wire::RequestKind::kNew) return;
    index_[event.order_id] = trades_.orders.size();
    trades_.orders.push_back({event.order_id, record.realtime_ns, event.trace_id, symbol(record),
                              event.strategy_id, event.side, record.type, record.time_in_force,
                              event.price, record.order_shares, 0, event.state,
                              wire::RejectReason::kNone});
  }

  TradedOrder* order_of(const wire::OrderEvent& event) {
    auto found = index_.find(event.target_order_id);
    if (found == index_.end()) found = index_.find(event.order_id);
    return found == index_.end() ? nullptr : &trades_.orders[found->second];
  }

  void reported(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    TradedOrder* const order = order_of(event);
    if (wire::is_execution(event.report_kind))
      trades_.fills.push_back({record.realtime_ns, order == nullptr ? 0 : order->id,
                               record.execution_id, symbol(record), event.strategy_id, event.side,
                               event.shares, wire::executed_price(event), event.report_kind});
    if (order == nullptr) return;
    order->state = event.state;
    order->filled = std::max(order->filled, event.cumulative_shares);
    if (event.report_kind == wire::ReportKind::kRejected) order->reason = event.reason;
    if (event.report_kind == wire::ReportKind::kReplaced) {
      index_[event.order_id] = static_cast<std::size_t>(order - trades_.orders.data());
      if (const auto asked = pending_.find(event.order_id); asked != pending_.end())
        std::tie(order->price, order->shares) = asked->second;
    }
    if (event.report_kind == wire::ReportKind::kRestated)
      order->shares = event.leaves_shares + event.cumulative_shares;
  }

  static std::string symbol(const JournalRecord& record) {
    return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
  }

  Trades trades_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // every id that an order has had
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> pending_;
};

const char* text(Side side) { return side == Side::kBuy ? "buy" : "sell"; }

const char* text(wire::OrderType type) {
  switch (type) {
    case wire::OrderType::kMarket:
      return "market";
    case wire::OrderType::kLimit:
      return "limit";
    case wire::OrderType::kStop:
      return "stop";
    case wire::OrderType::kStopLimit:
      return "stop_limit";
    case wire::OrderType::kPegged:
      return "pegged";
  }
  return "?";
}

const char* text(wire::TimeInForce time) {
  switch (time) {
    case wire::TimeInForce::kDay:
      return "day";
    case wire::TimeInForce::kGoodTillCancel:
      return "gtc";
    case wire::TimeInForce::kAtTheOpening:
      return "at_the_opening";
    case wire::TimeInForce::kImmediateOrCancel:
      return "ioc";
    case wire::TimeInForce::kFillOrKill:
      return "fok";
    case wire::TimeInForce::kAtTheClose:
      return "at_the_close";
  }
  return "?";
}

// UTC, ISO 8601 with nanoseconds.
std::string time_text(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm day{};
  ::gmtime_r(&seconds, &day);
  char head[32];
  std::strftime(head, sizeof(head), "%Y-%m-%dT%H:%M:%S", &day);
  char all[64];
  std::snprintf(all, sizeof(all), "%s.%09dZ", head, static_cast<int>(ns % 1'000'000'000));
  return all;
}

// Of 1/10,000; "12.3400", with two more digits where they say something.
std::string money(std::int64_t value, unsigned hundredths = 0) {
  const std::uint64_t size =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  char digits[48];
  std::snprintf(digits, sizeof(digits), "%s%llu.%04u", value < 0 ? "-" : "",
                static_cast<unsigned long long>(size / 10'000),
                static_cast<unsigned>(size % 10'000));
  if (hundredths == 0) return digits;
  char more[8];
  std::snprintf(more, sizeof(more), "%02u", hundredths % 100);
  return std::string(digits) + more;
}

std::string joined(std::initializer_list<std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
  return line + "\n";
}

struct Held {
  std::uint64_t bought = 0, sold = 0, fills = 0;
  std::int64_t cash = 0;
};

using Key = std::pair<std::uint8_t, std::string>;

std::map<Key, Held> held_of(const Trades& trades) {
  std::map<Key, Held> all;
  for (const TradedFill& fill : trades.fills) {
    Held& held = all[{fill.strategy, fill.symbol}];
    const bool stands = fill.kind != wire::ReportKind::kFillCanceled;
    const std::int64_t sign = stands ? 1 : -1;
    std::uint64_t& side = fill.side == Side::kBuy ? held.bought : held.sold;
    side += static_cast<std::uint64_t>(sign * std::int64_t{fill.shares});  // modulo: taken back
    held.fills += static_cast<std::uint64_t>(sign);
    const auto value = static_cast<std::int64_t>(executed_value(fill.shares, fill.price));
    held.cash += (fill.side == Side::kBuy ? -sign : sign) * value;
  }
  return all;
}

struct Result {
  std::uint64_t orders = 0;
  std::int64_t fills = 0, realised = 0, unrealised = 0;
};

std::string line(const std::string& name, const Result& result) {
  char text[128];
  std::snprintf(text, sizeof(text), "  %-8s %9llu %9lld %15s %15s %15s\n", name.c_str(),
                static_cast<unsigned long long>(result.orders),
                static_cast<long long>(result.fills), money(result.realised).c_str(),
                money(result.unrealised).c_str(),
                money(result.realised + result.unrealised).c_str());
  return text;
}

}  // namespace

Trades read_trades(const std::string& journal) {
  Reader reader;
  for (const SegmentFile& file : segments_of_day(journal)) reader.read(file);
  return reader.take_trades();
}

std::string orders_csv(const Trades& trades) {
  std::string csv =
      "sent_utc,strategy,order_id,symbol,side,type,time_in_force,price,shares,filled,state,reason,"
      "tick\n";
  for (const TradedOrder& order : trades.orders)
    csv += joined(
        {time_text(order.sent_ns), std::to_string(order.strategy), std::to_string(order.id),
         order.symbol, text(order.side), text(order.type), text(order.time_in_force),
         order.price == 0 ? "" : money(order.price), std::to_string(order.shares),
         std::to_string(order.filled), std::string(wire::name(order.state)),
         order.reason == wire::RejectReason::kNone ? "" : std::string(wire::name(order.reason)),
         std::to_string(order.trace_id)});
  return csv;
}

std::string fills_csv(const Trades& trades) {
  std::string csv = "time_utc,strategy,order_id,symbol,side,shares,price,execution_id,kind\n";
  for (const TradedFill& fill : trades.fills)
    csv += joined({time_text(fill.time_ns), std::to_string(fill.strategy),
                   fill.order_id == 0 ? "" : std::to_string(fill.order_id), fill.symbol,
                   text(fill.side), std::to_string(fill.shares),
                   money(fill.price.price, fill.price.hundredths),
                   std::to_string(fill.execution_id), std::string(wire::name(fill.kind))});
  return csv;
}

std::string positions_csv(const Trades& trades,
                          const std::vector<control::ProfitSummary>& profits) {
  std::string csv = "strategy,symbol,shares,bought,sold,fills,cash,realised,unrealised,pnl\n";
  for (const auto& [key, held] : held_of(trades)) {
    std::string realised, unrealised, pnl;
    for (const control::ProfitSummary& each : profits) {
      if (each.strategy_id != key.first || each.symbol != key.second) continue;
      realised = money(each.realised);
      unrealised = money(each.unrealised);
      pnl = money(each.realised + each.unrealised);
    }
    const auto shares =
        static_cast<std::int64_t>(held.bought) - static_cast<std::int64_t>(held.sold);
    csv += joined({std::to_string(key.first), key.second, std::to_string(shares),
                   std::to_string(held.bought), std::to_string(held.sold),
                   std::to_string(held.fills), money(held.cash), realised, unrealised, pnl});
  }
  return csv;
}

std::string results_text(const std::vector<control::Summary>& summaries) {
  std::map<std::uint8_t, Result> results;
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
  if (!known) return {};
  std::string text =
      "result, in currency units, by risk's last marks\n"
      "  strategy    orders     fills        realised      unrealised             P&L\n";
  Result all;
  for (const auto& [strategy, result] : results) {
    text += line(std::to_string(strategy), result);
    all = {all.orders + result.orders, all.fills + result.fills, all.realised + result.realised,
           all.unrealised + result.unrealised};
  }
  return text + line("all", all) +
         "  by instrument: tickpath positions; and tickpath orders, tickpath fills\n";
}

}  // namespace tickpath::cli
