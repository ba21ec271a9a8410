// The life of an order: one machine for strategy, oeg, risk and sim.
#pragma once

#include <cstdint>

#include "common/wire/order_messages.hpp"

namespace tickpath::wire {

// What a report does to an order. `leaves` is the report's leaves_shares (looked at for fills
// and replacements only). Returns false, and leaves `state` alone, where the report cannot follow
// the state: the caller counts it as a protocol violation.
//
//              accepted  rejected  fill         canceled  expired  replaced   *-rejected
// (restated: as replaced, but never down to nothing, and the state stays; triggered: as replaced,
// but the state stays; a fill canceled or
// corrected: by what is left and filled after it, also nothing; an order that is final stays so)
// PendingNew   Working   Rejected  Partly/Full  Canceled  Expired  -          same
// Working      -         -         Partly/Full  Canceled  Expired  by leaves  same
// PartlyFilled -         -         Partly/Full  Canceled  Expired  by leaves  same
// final        -         -         -            -         -        -          same
constexpr bool apply(trading::OrderState& state, ReportKind kind, std::uint32_t leaves,
                     std::uint32_t cumulative) noexcept {
  using trading::OrderState;
  if (is_request_reject(kind)) return true;
  if (is_final(state)) return changes_fill(kind);
  const bool pending = state == OrderState::kPendingNew;
  switch (kind) {
    case ReportKind::kAccepted:
      if (!pending) return false;
      state = OrderState::kWorking;
      return true;
    case ReportKind::kRejected:
      if (!pending) return false;
      state = OrderState::kRejected;
      return true;
    case ReportKind::kFill:
      state = leaves == 0 ? OrderState::kFilled : OrderState::kPartlyFilled;
      return true;
    case ReportKind::kCanceled:
      state = OrderState::kCanceled;
      return true;
    case ReportKind::kExpired:
      state = OrderState::kExpired;
      return true;
    case ReportKind::kReplaced:
      if (pending) return false;
      state = leaves == 0       ? OrderState::kFilled
              : cumulative == 0 ? OrderState::kWorking
                                : OrderState::kPartlyFilled;
      return true;
    case ReportKind::kRestated:
      return !pending && leaves != 0;
    case ReportKind::kTriggered:
      return !pending;
    case ReportKind::kFillCanceled:
    case ReportKind::kFillCorrected:
      if (pending) return false;
      state = leaves == 0       ? (kind == ReportKind::kFillCanceled ? OrderState::kCanceled
                                                                     : OrderState::kFilled)
              : cumulative == 0 ? OrderState::kWorking
                                : OrderState::kPartlyFilled;
      return true;
    default:
      return false;
  }
}

}  // namespace tickpath::wire
