// What the venue says, message by message: which order it is about, and what of it is booked.
// Datapath thread; the session calls it.
#pragma once

#include <cstdint>

#include "common/fix/session.hpp"
#include "common/trace/stamp.hpp"
#include "oeg/books.hpp"
#include "oeg/execution_booking.hpp"
#include "oeg/order_booking.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"
#include "oeg/report_queues.hpp"

namespace tickpath::oeg {

// What the venue's refusal of a cancel or replacement says.
trading::RejectReason reason_of(fix::CxlRejReason reason) noexcept;

class VenueReports final : public fix::Handler {
 public:
  VenueReports(Books& books, OrderChecks& checks, Recorder& recorder, const ReportQueues& queues,
               OrderBooking& orders, ExecutionBooking& executions, const JournalPort& journal,
               trace::TraceWriter& trace) noexcept
      : ledger_(books.ledger),
        slots_(books.slots),
        counters_(books.counters),
        checks_(checks),
        recorder_(recorder),
        queues_(queues),
        orders_(orders),
        executions_(executions),
        journal_(journal),
        trace_(trace) {}

  // Room for whatever the next message brings. What is not read waits in the socket, and then at
  // the venue: a strategy that reads loses nothing.
  bool ready() noexcept override { return queues_.has_room() && journal_.has_room_for_reports(); }
  void on_execution_report(const fix::ExecutionReport& report,
                           const fix::MessageInfo& info) noexcept override;
  void on_cancel_reject(const fix::OrderCancelReject& reject,
                        const fix::MessageInfo& info) noexcept override;
  void on_message_reject(const fix::MessageReject& reject,
                         const fix::MessageInfo& info) noexcept override;
  // A new day: what is open is over at the venue, unless it outlives a day. Its last reports may
  // still come; else a cancel finds out.
  void on_numbers_reset(bool new_day) noexcept override;
  // At a logon: what was sent before, and perhaps never arrived.
  bool may_resend(const fix::Resend& resend) noexcept override;
  void on_refused(const fix::RefusedMessage& refused,
                  const fix::MessageInfo& info) noexcept override;

 private:
  void take_report(const fix::ExecutionReport& report, const fix::MessageInfo& info) noexcept;
  void take_status(Order& order, const fix::ExecutionReport& report,
                   const fix::MessageInfo& info) noexcept;
  void take_cancel_reject(const fix::OrderCancelReject& reject,
                          const fix::MessageInfo& info) noexcept;
  void take_message_reject(const fix::MessageReject& reject, const fix::MessageInfo& info) noexcept;

  Ledger& ledger_;
  StrategySlots& slots_;
  GatewayCounters& counters_;
  OrderChecks& checks_;
  Recorder& recorder_;
  const ReportQueues& queues_;
  OrderBooking& orders_;
  ExecutionBooking& executions_;
  const JournalPort& journal_;
  trace::TraceWriter& trace_;
};

}  // namespace tickpath::oeg
