// Between the matching core's words and FIX.
#pragma once

#include "common/fix/messages.hpp"
#include "sim/matching/live_orders.hpp"
#include "sim/matching/types.hpp"
#include "sim/orders/fees.hpp"

namespace tickpath::sim {

// What the gateway has made of a request's names: the core knows numbers.
struct Asked {
  std::uint64_t order_id = 0;  // of ClOrdID (11); 0: there is no room for it, or it is unknown
  std::uint64_t target_order_id = 0;  // of OrigClOrdID (41); 0: unknown
  std::uint32_t locate = wire::kNoInstrument;
  Party party{};
  Reason refusal = Reason::kNone;  // the core need not be asked
};

NewOrder to_request(const fix::NewOrderSingle& message, const Asked& asked) noexcept;
CancelOrder to_request(const fix::OrderCancelRequest& message, const Asked& asked) noexcept;
ReplaceOrder to_request(const fix::OrderCancelReplaceRequest& message, const Asked& asked) noexcept;
StatusQuery to_request(const fix::OrderStatusRequest& message, const Asked& asked) noexcept;
MassCancel to_request(const fix::OrderMassCancelRequest& message, const Asked& asked) noexcept;

// What a replacement leaves as it is in an order, and says otherwise; empty: nothing.
std::string_view kept_term(const fix::OrderCancelReplaceRequest& message,
                           const LiveOrder& order) noexcept;
// What the order has and a replacement does not repeat; empty: nothing.
std::string_view dropped_term(const fix::OrderCancelReplaceRequest& message,
                              const LiveOrder& order) noexcept;

// Reports: a reject of a change is an Order Cancel Reject, everything else an Execution Report.
constexpr bool is_cancel_reject(const Report& report) noexcept {
  return report.kind == ReportKind::kCancelRejected || report.kind == ReportKind::kReplaceRejected;
}
// A fill has what the venue charges for it, if it charges anything at all. change: of that fill; it
// is corrected to what it was, or a fill that was never reported is canceled.
fix::ExecutionReport to_execution_report(
    const Report& report, std::string_view symbol, const FeeSchedule& fees = {},
    fix::TradeChange change = fix::TradeChange::kNone) noexcept;
fix::OrderCancelReject to_cancel_reject(const Report& report) noexcept;
// symbol: as asked for.
fix::ExecutionReport to_status_report(const Report& report, std::string_view symbol,
                                      std::string_view request_id) noexcept;
// Says why not, or that it may be carried out.
fix::OrderMassCancelReport to_mass_cancel_report(const fix::OrderMassCancelRequest& message,
                                                 const MassCancel& request) noexcept;

}  // namespace tickpath::sim
