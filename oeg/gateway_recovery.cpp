// What a restart goes on from, in numbers: requests and answers of the last run.
#include "oeg/gateway.hpp"

namespace tickpath::oeg {

void Gateway::count_recovered_request(GatewayCounters& counters,
                                      const JournalRecord& record) noexcept {
  FlowCounters& flow =
      record.event.request_kind == wire::RequestKind::kNew ? counters.orders : counters.changes;
  if (record.own != 0) {
    flow.own.add();
    return;
  }
  flow.received.add();
  flow.sent.add();
}

void Gateway::count_unsent(GatewayCounters& counters, const Order& order, std::uint64_t request_id,
                           wire::ReportKind kind) noexcept {
  const bool own = is_own(order, request_id);
  FlowCounters& flow = kind == wire::ReportKind::kRejected ? counters.orders : counters.changes;
  Counter& counted = own ? flow.own : flow.sent;
  counted.set(counted.get() - 1);
  if (!own) flow.refused.add();
}

void Gateway::count_recovered_report(GatewayCounters& counters, const Order& order,
                                     const JournalRecord& record) noexcept {
  const wire::OrderEvent& event = record.event;
  if (record.fix_seq == 0) return count_unsent(counters, order, event.order_id, event.report_kind);
  if (event.report_kind == wire::ReportKind::kFill) counters.reports.fills.add();
  LedgerReport report;
  report.kind = event.report_kind;
  report.request_id = event.order_id;
  count_answer(counters, order, report);
}

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

void RecoveredCounts::take(const GatewayCounters& counters) noexcept {
  match_recovered(counters, *this,
                  [](const Counter& live, std::uint64_t& kept) { kept = live.get(); });
}

void RecoveredCounts::give(GatewayCounters& counters) const noexcept {
  match_recovered(counters, *this,
                  [](Counter& live, const std::uint64_t& kept) { live.set(kept); });
}

}  // namespace tickpath::oeg
