#include "oeg/recorder.hpp"

#include <algorithm>
#include <cstring>

#include "common/clock/clock.hpp"

namespace tickpath::oeg {

void Recorder::journal(const wire::OrderEvent& event, const Order& order, std::uint32_t fix_seq,
                       std::uint64_t execution_id, bool more, std::int64_t fee) noexcept {
  JournalRecord record{};
  record.event = event;
  record.realtime_ns = clock::realtime_ns();
  record.execution_id = execution_id;
  record.fix_seq = fix_seq;
  record.order_shares = event.shares;
  record.limit_price = event.price;
  record.type = order.type;
  record.time_in_force = order.time_in_force;
  record.own = is_own(order, event.order_id) ? 1 : 0;
  if (event.event == wire::EventKind::kRequested) {
    record.display_shares = order.display_shares;
    record.minimum_shares = order.minimum_shares;
  } else {
    record.set_fee(fee);
  }
  record.stop_price =
      order.pending_id == event.order_id ? order.pending_stop_price : order.stop_price;
  record.instructions = order.instructions;
  const fix::Symbol& symbol = instruments_[order.instrument].symbol;
  std::memcpy(record.symbol, symbol.text, symbol.length);
  record.set_exchange_time(instruments_.exchange_time_ns());
  append(record, more);
}

void Recorder::end_entry() noexcept {
  if (in_entry_) [[unlikely]] {
    JournalRecord end{};
    end.part = EntryPart::kEndsOnly;
    append(end, false);
  }
  for (std::size_t i = 0; i < noted_; ++i) events_.note_exception(notes_[i]);
  noted_ = 0;
}

void Recorder::publish(const wire::OrderEvent& event, std::uint32_t row) noexcept {
  counters_.events.add();
  if (row == IdMap::kNone) return events_.publish(event);
  wire::PositionRow& position = ledger_.position(row).row;
  wire::OrderEvent numbered = event;
  numbered.row_event = static_cast<std::uint32_t>(++position.events);
  events_.publish(numbered);
  events_.store_position(row, position);
}

void Recorder::except(ExceptionKind kind, const Order* order, const fix::ExecutionReport& report,
                      const fix::MessageInfo& info) noexcept {
  counters_.exceptions.add();
  ExceptionNote note;
  note.kind = kind;
  note.strategy = order != nullptr ? order->strategy : strategy_of(report.cl_ord_id);
  note.fix_seq = info.seq_num;
  note.order_id = report.cl_ord_id;
  note.symbol = order != nullptr ? instruments_[order->instrument].symbol : report.symbol;
  note.length = static_cast<std::uint16_t>(std::min(info.text.size(), ExceptionNote::kTextMax));
  if (note.length != 0) std::memcpy(note.text, info.text.data(), note.length);

  wire::OrderEvent event{};
  event.order_id = report.cl_ord_id;
  event.instrument_id =
      order != nullptr ? order->instrument : instruments_.id_of(note.symbol.view());
  event.shares = report.last_shares;
  if (is_price(report)) {
    event.price = price_of(report).price;
    event.price_hundredths = price_of(report).hundredths;
  }
  event.event = wire::EventKind::kException;
  event.side = report.side;
  event.strategy_id = note.strategy;
  journal(note, event, report);
  if (holds_symbol(kind)) held_.hold(note.symbol);
  if (in_entry_ && noted_ < notes_.size())
    notes_[noted_++] = note;
  else
    events_.note_exception(note);
  publish(event, IdMap::kNone);
}

// By the order's id, though it is not open any more. One that no strategy here gave has none.
std::uint8_t Recorder::strategy_of(std::uint64_t id) const noexcept {
  const std::uint8_t strategy = wire::OrderId::strategy(id);
  return id >> 56 == 0 && slots_.has(strategy) ? strategy : kUnknownStrategy;
}

// Before the session counts the report: a crash from here on does not lose it.
void Recorder::journal(ExceptionNote& note, const wire::OrderEvent& event,
                       const fix::ExecutionReport& report) noexcept {
  JournalRecord record{};
  record.event = event;
  record.realtime_ns = note.realtime_ns = clock::realtime_ns();
  record.execution_id = report.exec_id;
  record.fix_seq = note.fix_seq;
  record.exception = static_cast<std::uint8_t>(note.kind);
  std::memcpy(record.symbol, note.symbol.text, note.symbol.length);
  if (append(record, is_booked(note.kind))) note.journal_sequence = record.sequence;
}

}  // namespace tickpath::oeg
