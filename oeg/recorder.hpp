// What each change leaves behind, in this order: a record of the journal, an event of the drop copy
// and the position's row. Also exceptions. Datapath thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/fix/session.hpp"
#include "common/wire/order_event.hpp"
#include "oeg/books.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/held_symbols.hpp"
#include "oeg/ports.hpp"

namespace tickpath::oeg {

class Recorder {
 public:
  Recorder(Books& books, HeldSymbols& held, EventPort& events, JournalPort& journal) noexcept
      : instruments_(books.instruments),
        ledger_(books.ledger),
        slots_(books.slots),
        counters_(books.counters),
        held_(held),
        events_(events),
        journal_(journal) {}

  // more: the same message of the venue may bring another record.
  void journal(const wire::OrderEvent& event, const Order& order, std::uint32_t fix_seq,
               std::uint64_t execution_id, bool more = false, std::int64_t fee = 0) noexcept;
  // The only place that appends. False: no room, and the change is counted as lost.
  bool append(JournalRecord& record, bool more) noexcept;
  // After each message of the venue.
  void end_entry() noexcept;
  // A message of the venue is recorded in part: until it is recorded as a whole nothing of it may
  // take effect outside.
  bool in_entry() const noexcept { return in_entry_; }
  // row: IdMap::kNone: of no position.
  void publish(const wire::OrderEvent& event, std::uint32_t row) noexcept;
  // order: that it is about; nullptr: unknown.
  void except(ExceptionKind kind, const Order* order, const fix::ExecutionReport& report,
              const fix::MessageInfo& info) noexcept;

 private:
  std::uint8_t strategy_of(std::uint64_t id) const noexcept;
  void journal(ExceptionNote& note, const wire::OrderEvent& event,
               const fix::ExecutionReport& report) noexcept;

  const Instruments& instruments_;
  Ledger& ledger_;
  const StrategySlots& slots_;
  GatewayCounters& counters_;
  HeldSymbols& held_;
  EventPort& events_;
  JournalPort& journal_;
  bool in_entry_ = false;  // the last record is not the last one of its entry
  // Exceptions of that entry, for a person: as many as a message can bring beside what is booked.
  std::array<ExceptionNote, 3> notes_;
  std::size_t noted_ = 0;
};

inline bool Recorder::append(JournalRecord& record, bool more) noexcept {
  if (in_entry_) record.part |= EntryPart::kContinues;
  if (more) record.part |= EntryPart::kMore;
  in_entry_ = more;
  if (journal_.append(record)) return true;
  counters_.journal_lost.add();
  return false;
}

// The price of an execution can be one.
inline bool is_price(const fix::ExecutionReport& report) noexcept {
  const std::int64_t price = report.last_price.value;
  return price <= 0xffff'ffff && (price > 0 || (price == 0 && report.last_price_hundredths > 0));
}

inline ExecutedPrice price_of(const fix::ExecutionReport& report) noexcept {
  return {static_cast<std::uint32_t>(report.last_price.value), report.last_price_hundredths};
}

}  // namespace tickpath::oeg
