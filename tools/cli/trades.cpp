#include "tools/cli/trades.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "oeg/checkpoint.hpp"
#include "oeg/venue_texts.hpp"
#include "tools/history/journal_files.hpp"

namespace tickpath::cli {
namespace {

using oeg::JournalRecord;

class Reader {
 public:
  explicit Reader(std::unordered_map<std::uint64_t, std::string> texts)
      : texts_(std::move(texts)) {}
  void take(const JournalRecord& record) {
    if (record.event.event == wire::EventKind::kRequested) requested(record);
    if (record.event.event == wire::EventKind::kReported) reported(record);
    if (record.event.event == wire::EventKind::kRefused) refused(record);
  }
  Trades take_trades() { return std::move(trades_); }

 private:
  void requested(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    if (event.request_kind == wire::RequestKind::kReplace)
      pending_[event.order_id] = {event.price, record.order_shares};
    if (event.request_kind != wire::RequestKind::kNew) return changed(event);
    index_[event.order_id] = trades_.orders.size();
    add_order(record);
  }

  void changed(const wire::OrderEvent& event) {
    if (const TradedOrder* const order = order_of(event); order != nullptr)
      trades_.changes.push_back({event.order_id, order->id, event.request_kind});
  }

  // Its id is not indexed: a strategy may have sent one that was used before.
  void refused(const JournalRecord& record) {
    add_order(record);
    trades_.orders.back().reason = record.event.reason;
  }

  void add_order(const JournalRecord& record) {
    const wire::OrderEvent& event = record.event;
    trades_.orders.push_back({event.order_id, record.realtime_ns, event.trace_id, symbol(record),
                              event.strategy_id, event.side, record.type, record.time_in_force,
                              event.price, record.order_shares, 0, event.state,
                              trading::RejectReason::kNone});
    trades_.orders.back().exchange_time_ns = record.exchange_time_ns();
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
      trades_.fills.push_back(
          {record.sequence, record.realtime_ns, order == nullptr ? 0 : order->id,
           record.execution_id, symbol(record), event.strategy_id, event.side, event.shares,
           wire::fill_of(event).price, event.report_kind, record.exchange_time_ns(),
           order == nullptr ? 0 : order->trace_id, record.fee()});
    if (order == nullptr) return;
    if (const auto said = texts_.find(event.order_id); said != texts_.end())
      order->venue_text = said->second;
    order->state = event.state;
    order->filled = std::max(order->filled, event.cumulative_shares);
    if (event.report_kind == wire::ReportKind::kRejected) order->reason = event.reason;
    if (event.report_kind == wire::ReportKind::kReplaced) {
      index_[event.order_id] = static_cast<std::size_t>(order - trades_.orders.data());
      if (const auto asked = pending_.find(event.order_id); asked != pending_.end())
        std::tie(order->price, order->shares) = asked->second;
    }
    order->triggered |= event.report_kind == wire::ReportKind::kTriggered;
    if (event.report_kind == wire::ReportKind::kRestated)
      order->shares = event.leaves_shares + event.cumulative_shares;
  }

  static std::string symbol(const JournalRecord& record) {
    return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
  }

  Trades trades_;
  std::unordered_map<std::uint64_t, std::string> texts_;  // of the venue, by request
  std::unordered_map<std::uint64_t, std::size_t> index_;  // every id that an order has had
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> pending_;
};

// What the checkpoint holds, less those of the listed fills that are in it.
std::vector<CarriedPosition> carried_of(const Trades& trades,
                                        const oeg::CheckpointHoldings& before) {
  std::map<std::uint32_t, std::string> symbols;
  for (const oeg::CheckpointInstrument& each : before.instruments)
    symbols[each.id] = {each.symbol, ::strnlen(each.symbol, sizeof(each.symbol))};
  std::map<std::pair<std::uint8_t, std::string>, CarriedPosition> held;
  for (const wire::PositionRow& row : before.positions) {
    const std::string& symbol = symbols[row.instrument_id];
    held[{row.strategy_id, symbol}] = {row.strategy_id, symbol, row.position_shares, row.cash};
  }
  for (const TradedFill& fill : trades.fills) {
    if (fill.sequence > before.sequence) continue;
    CarriedPosition& position = held[{fill.strategy, fill.symbol}];
    position.strategy = fill.strategy;
    position.symbol = fill.symbol;
    trading::Fill undone = fill_of(fill);
    undone.stands = !undone.stands;
    trading::apply_fill(undone, position.shares, position.cash);
  }
  std::vector<CarriedPosition> carried;
  for (const auto& [key, position] : held)
    if (position.shares != 0) carried.push_back(position);
  return carried;
}

}  // namespace

Trades read_trades(const std::string& journal) {
  // First: all that it holds is then in records that are read after it.
  const oeg::CheckpointHoldings before = oeg::read_checkpoint_holdings(journal + ".checkpoint");
  Reader reader(oeg::read_venue_texts(journal));
  history::for_each_record(journal, [&](const JournalRecord& record) { reader.take(record); });
  Trades trades = reader.take_trades();
  trades.carried = carried_of(trades, before);
  return trades;
}

void show_names(Trades& trades, const control::LongNames& names) {
  const auto show = [&](auto& rows) {
    for (auto& row : rows) row.symbol = std::string(names.name_of(row.symbol));
  };
  show(trades.orders);
  show(trades.fills);
  show(trades.carried);
}

trading::Fill fill_of(const TradedFill& fill) {
  return {fill.side, fill.shares, fill.price, fill.kind != wire::ReportKind::kFillCanceled};
}

}  // namespace tickpath::cli
