// Executions: what is a new one, what takes one back, and what cannot be. Datapath thread.
#pragma once

#include "common/fix/session.hpp"
#include "oeg/books.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/order_booking.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"
#include "oeg/report_queues.hpp"

namespace tickpath::oeg {

class ExecutionBooking {
 public:
  ExecutionBooking(Books& books, Recorder& recorder, ReportQueues& queues, OrderBooking& orders,
                   const JournalPort& journal) noexcept
      : instruments_(books.instruments),
        ledger_(books.ledger),
        slots_(books.slots),
        executions_(books.executions),
        own_ids_(books.own_ids),
        counters_(books.counters),
        recorder_(recorder),
        queues_(queues),
        orders_(orders),
        journal_(journal) {}

  // order: that it is about; nullptr: none that is known.
  void book_fill(Order* order, const fix::ExecutionReport& report,
                 const fix::MessageInfo& info) noexcept;
  void change_execution(Order* order, const fix::ExecutionReport& report,
                        const fix::MessageInfo& info) noexcept;
  // A person books a trade, with no order. The position moves; the journal, risk and the strategy
  // get a corrected fill. The strategy has a slot.
  ManualResult book_by_hand(const ManualTrade& trade) noexcept;
  // False: of another symbol or side than the order, which is an exception.
  bool is_about(const Order& order, const fix::ExecutionReport& report,
                const fix::MessageInfo& info) noexcept;

 private:
  bool is_new(const fix::ExecutionReport& report, const fix::MessageInfo& info) noexcept;
  bool has_price(const Order* order, const fix::ExecutionReport& report,
                 const fix::MessageInfo& info) noexcept;
  void change_fill(const Execution& execution, Order* order, const VenueReport& report) noexcept;

  const Instruments& instruments_;
  Ledger& ledger_;
  StrategySlots& slots_;
  Executions& executions_;
  OwnIds& own_ids_;
  GatewayCounters& counters_;
  Recorder& recorder_;
  ReportQueues& queues_;
  OrderBooking& orders_;
  const JournalPort& journal_;
};

}  // namespace tickpath::oeg
