// Between the matching core's words and FIX.
#pragma once

#include "common/fix/messages.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// Requests. session: the one it came by; the strategy is read from the id (common/wire).
NewOrder to_request(const fix::NewOrderSingle& message, std::uint8_t session,
                    std::uint32_t locate) noexcept;
CancelOrder to_request(const fix::OrderCancelRequest& message, std::uint8_t session,
                       std::uint32_t locate) noexcept;
ReplaceOrder to_request(const fix::OrderCancelReplaceRequest& message, std::uint8_t session,
                        std::uint32_t locate) noexcept;
StatusQuery to_request(const fix::OrderStatusRequest& message, std::uint8_t session,
                       std::uint32_t locate) noexcept;
MassCancel to_request(const fix::OrderMassCancelRequest& message, std::uint8_t session,
                      std::uint32_t locate) noexcept;

// Reports: a reject of a change is an Order Cancel Reject, everything else an Execution Report.
constexpr bool is_cancel_reject(const Report& report) noexcept {
  return report.kind == ReportKind::kCancelRejected || report.kind == ReportKind::kReplaceRejected;
}
fix::ExecutionReport to_execution_report(const Report& report, const fix::Symbol& symbol) noexcept;
fix::OrderCancelReject to_cancel_reject(const Report& report) noexcept;
// symbol: as asked for.
fix::ExecutionReport to_status_report(const Report& report, const fix::Symbol& symbol,
                                      std::uint64_t request_id) noexcept;
// Says why not, or that it may be carried out.
fix::OrderMassCancelReport to_mass_cancel_report(const fix::OrderMassCancelRequest& message,
                                                 const MassCancel& request) noexcept;

}  // namespace tickpath::sim
