// Books what the venue says of an open order: ledger, journal, drop copy and strategy. Datapath
// thread.
#pragma once

#include <cstdint>

#include "common/wire/order_event.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/recorder.hpp"
#include "oeg/report_queues.hpp"

namespace tickpath::oeg {

// A venue's report, whatever FIX message it was.
struct VenueReport {
  LedgerReport ledger;
  std::uint64_t execution_id = 0;
  trading::RejectReason reason = trading::RejectReason::kNone;
  std::uint32_t fix_seq = 0;  // 0: ours, the request never came to the venue
  bool repeated = false;      // PossDup or PossResend
  bool more = false;          // the same message may bring another record
  std::int64_t fee = 0;       // of a fill, 1/1,000,000
};

class OrderBooking {
 public:
  OrderBooking(Books& books, Recorder& recorder, ReportQueues& queues) noexcept;

  void book(Order& order, const VenueReport& report) noexcept;
  // The order is over, by whatever the venue has said.
  void book_end(Order& order, wire::ReportKind kind, trading::RejectReason reason,
                std::uint32_t fix_seq) noexcept;
  // The cancel or replacement on its way is refused, or finds no answer of its own kind.
  void book_unanswered(Order& order, std::uint64_t request_id, trading::RejectReason reason,
                       std::uint32_t fix_seq, bool more = false) noexcept;
  // Reports come in sequence. So an order that is open here and unknown there was lost when the
  // venue was started anew, and nothing will ever be heard of it again.
  void expire_unknown(std::uint64_t order_id, std::uint32_t fix_seq) noexcept;

 private:
  void charge(const wire::OrderEvent& fill, std::uint32_t row, std::int64_t fee) noexcept;
  void settle_overdue(const Order& before, std::uint32_t fix_seq) noexcept;

  Ledger& ledger_;
  StrategySlots& slots_;
  Executions& executions_;
  GatewayCounters& counters_;
  Recorder& recorder_;
  ReportQueues& queues_;
  const std::uint64_t hz_;
};

}  // namespace tickpath::oeg
