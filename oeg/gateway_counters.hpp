// What a gateway counts, and what of it a restart goes on from: requests and answers match over
// both runs.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/counter.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/journal_record.hpp"
#include "oeg/ledger.hpp"

namespace tickpath::oeg {

// Counters of one kind of request: new orders, or cancels with replacements.
struct FlowCounters {
  TICKPATH_COUNTERS(
      received, refused, sent, accepted,
      rejected,  // by the venue
      // Cancels by oeg itself, for strategies that are gone or at its end; in no figure above.
      own, own_answered);
};

struct GatewayCounters {
  FlowCounters orders;
  FlowCounters changes;
  std::array<Counter, trading::kRejectReasonValues> refused_for;  // by RejectReason
  struct Reports {
    TICKPATH_COUNTERS(received,    // from the venue
                      sent,        // into strategies' channels, oeg's own answers included
                      queued,      // waited for credits first
                      dropped,     // for strategies that are gone
                      venue_held,  // times that a strategy's full queue made the venue wait
                      fills,
                      restated,        // orders that lost shares at the venue without a trade
                      triggered,       // stop orders whose price was reached, as the venue told
                      unknown,         // about no order that we know
                      impossible,      // that cannot follow the order's state
                      lost_by_venue,   // open here, unknown there: expired
                      ignored,         // pending-new and the like: nothing changes
                      status,          // answers to status requests: nothing has happened
                      repeated,        // PossDup or PossResend of what was booked before
                      fills_changed);  // executions that the venue took back or corrected
  } reports;
  Counter exceptions;          // oeg/exceptions.hpp
  Counter commissions;         // fills with a Commission (12)
  Counter overdue;             // orders canceled though a request had no answer
  Counter not_resent;          // orders and replacements too old, or not allowed any more
  Counter orphaned_orders;     // open when their strategy left
  Counter open_at_day_end;     // orders that the venue had not ended with the session's day
  Counter strategies_dropped;  // did not read their reports
  Counter journal_lost;        // changes that the journal had no room for
  Counter events;
};

// What of them a restart goes on from, as numbers: the checkpoint of the journal keeps it. 16 of
// them, in this order.
struct RecoveredCounts {
  struct Flow {
    std::uint64_t received, refused, sent, accepted, rejected, own, own_answered;
  };
  Flow orders;
  Flow changes;
  std::uint64_t reports_received;
  std::uint64_t fills;

  void take(const GatewayCounters& counters) noexcept;
  void give(GatewayCounters& counters) const noexcept;
};
static_assert(sizeof(RecoveredCounts) == 16 * 8);

// The report answers a request of the order that was on its way.
bool answers_request(const Order& order, const LedgerReport& report) noexcept;
// A report of the venue, before it is applied to `order`.
void count_answer(GatewayCounters& counters, const Order& order,
                  const LedgerReport& report) noexcept;
// What was counted as sent was not, after all.
void count_unsent(GatewayCounters& counters, const Order& order, std::uint64_t request_id,
                  wire::ReportKind kind) noexcept;

// Records of the last run; a report is not applied to `order` yet.
void count_recovered_request(GatewayCounters& counters, const JournalRecord& record) noexcept;
void count_recovered_report(GatewayCounters& counters, const Order& order,
                            const JournalRecord& record) noexcept;

}  // namespace tickpath::oeg
