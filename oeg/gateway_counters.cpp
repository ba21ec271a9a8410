#include "oeg/gateway_counters.hpp"

namespace tickpath::oeg {
namespace {

// visit(the counter, its number) for each pair.
template <class Counters, class Counts, class Visit>
void match_recovered(Counters& counters, Counts& counts, Visit&& visit) noexcept {
  const auto flow = [&](auto& live, auto& kept) {
    visit(live.received, kept.received);
    visit(live.refused, kept.refused);
    visit(live.sent, kept.sent);
    visit(live.accepted, kept.accepted);
    visit(live.rejected, kept.rejected);
    visit(live.own, kept.own);
    visit(live.own_answered, kept.own_answered);
  };
  flow(counters.orders, counts.orders);
  flow(counters.changes, counts.changes);
  visit(counters.reports.received, counts.reports_received);
  visit(counters.reports.fills, counts.fills);
}

}  // namespace

bool answers_request(const Order& order, const LedgerReport& report) noexcept {
  const std::uint64_t id = report.request_id;
  return id != 0 && (id == order.pending_id || id == order.second_cancel_id) &&
         !wire::is_execution(report.kind);
}

void count_answer(GatewayCounters& counters, const Order& order,
                  const LedgerReport& report) noexcept {
  if (answers_request(order, report)) {
    FlowCounters& flow = counters.changes;
    (is_own(order, report.request_id)       ? flow.own_answered
     : wire::is_request_reject(report.kind) ? flow.rejected
                                            : flow.accepted)
        .add();
  }
  // The first word about a new order, whatever it is, answers it.
  if (order.state != trading::OrderState::kPendingNew || wire::is_request_reject(report.kind))
    return;
  (report.kind == wire::ReportKind::kRejected ? counters.orders.rejected : counters.orders.accepted)
      .add();
}

void count_unsent(GatewayCounters& counters, const Order& order, std::uint64_t request_id,
                  wire::ReportKind kind) noexcept {
  const bool own = is_own(order, request_id);
  FlowCounters& flow = kind == wire::ReportKind::kRejected ? counters.orders : counters.changes;
  Counter& counted = own ? flow.own : flow.sent;
  counted.set(counted.get() - 1);
  if (!own) flow.refused.add();
}

void count_recovered_request(GatewayCounters& counters, const JournalRecord& record) noexcept {
  FlowCounters& flow =
      record.event.request_kind == wire::RequestKind::kNew ? counters.orders : counters.changes;
  if (record.own != 0) {
    flow.own.add();
    return;
  }
  flow.received.add();
  flow.sent.add();
}

void count_recovered_report(GatewayCounters& counters, const Order& order,
                            const JournalRecord& record) noexcept {
  const wire::OrderEvent& event = record.event;
  if (record.fix_seq == 0) return count_unsent(counters, order, event.order_id, event.report_kind);
  if (event.report_kind == wire::ReportKind::kFill) counters.reports.fills.add();
  LedgerReport report;
  report.kind = event.report_kind;
  report.request_id = event.order_id;
  count_answer(counters, order, report);
}

void RecoveredCounts::take(const GatewayCounters& counters) noexcept {
  match_recovered(counters, *this,
                  [](const Counter& live, std::uint64_t& kept) { kept = live.get(); });
}

void RecoveredCounts::give(GatewayCounters& counters) const noexcept {
  match_recovered(counters, *this,
                  [](Counter& live, const std::uint64_t& kept) { live.set(kept); });
}

}  // namespace tickpath::oeg
