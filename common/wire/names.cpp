#include "common/wire/names.hpp"

#include <array>

namespace tickpath::wire {

std::string_view name(UpdateKind value) noexcept {
  switch (value) {
    case UpdateKind::kNone:
      return "none";
    case UpdateKind::kAdd:
      return "add";
    case UpdateKind::kExecute:
      return "execute";
    case UpdateKind::kCancel:
      return "cancel";
    case UpdateKind::kDelete:
      return "delete";
    case UpdateKind::kReplace:
      return "replace";
    case UpdateKind::kTrade:
      return "trade";
    case UpdateKind::kTradingState:
      return "trading_state";
    case UpdateKind::kDirectory:
      return "directory";
    case UpdateKind::kFeedState:
      return "feed_state";
    case UpdateKind::kBookCleared:
      return "book_cleared";
    case UpdateKind::kInformation:
      return "information";
    case UpdateKind::kImbalance:
      return "imbalance";
  }
  return "?";
}

std::string_view name(FeedState value) noexcept {
  switch (value) {
    case FeedState::kUnknown:
      return "unknown";
    case FeedState::kGood:
      return "good";
    case FeedState::kStale:
      return "stale";
    case FeedState::kEnded:
      return "ended";
  }
  return "?";
}

std::string_view name(TradingState value) noexcept {
  switch (value) {
    case TradingState::kUnknown:
      return "unknown";
    case TradingState::kHalted:
      return "halted";
    case TradingState::kPaused:
      return "paused";
    case TradingState::kQuotationOnly:
      return "quotation_only";
    case TradingState::kTrading:
      return "trading";
  }
  return "?";
}

std::string_view name(RequestKind value) noexcept {
  switch (value) {
    case RequestKind::kNew:
      return "new";
    case RequestKind::kCancel:
      return "cancel";
    case RequestKind::kReplace:
      return "replace";
  }
  return "?";
}

std::string_view name(ReportKind value) noexcept {
  switch (value) {
    case ReportKind::kAccepted:
      return "accepted";
    case ReportKind::kRejected:
      return "rejected";
    case ReportKind::kFill:
      return "fill";
    case ReportKind::kCanceled:
      return "canceled";
    case ReportKind::kExpired:
      return "expired";
    case ReportKind::kReplaced:
      return "replaced";
    case ReportKind::kCancelRejected:
      return "cancel_rejected";
    case ReportKind::kReplaceRejected:
      return "replace_rejected";
    case ReportKind::kPosition:
      return "position";
    case ReportKind::kPositionsEnd:
      return "positions_end";
    case ReportKind::kRestated:
      return "restated";
    case ReportKind::kFillCanceled:
      return "fill_canceled";
    case ReportKind::kFillCorrected:
      return "fill_corrected";
  }
  return "?";
}

std::string_view name(RejectReason value) noexcept {
  switch (value) {
    case RejectReason::kNone:
      return "none";
    case RejectReason::kOrderSize:
      return "order_size";
    case RejectReason::kOrderValue:
      return "order_value";
    case RejectReason::kPriceCollar:
      return "price_collar";
    case RejectReason::kOpenOrders:
      return "open_orders";
    case RejectReason::kPositionLimit:
      return "position_limit";
    case RejectReason::kMessageRate:
      return "message_rate";
    case RejectReason::kKillSwitch:
      return "kill_switch";
    case RejectReason::kUnknownInstrument:
      return "unknown_instrument";
    case RejectReason::kUnknownOrder:
      return "unknown_order";
    case RejectReason::kDuplicateOrderId:
      return "duplicate_order_id";
    case RejectReason::kMalformed:
      return "malformed";
    case RejectReason::kSessionDown:
      return "session_down";
    case RejectReason::kRiskAbsent:
      return "risk_absent";
    case RejectReason::kNoMarket:
      return "no_market";
    case RejectReason::kCapacity:
      return "capacity";
    case RejectReason::kStale:
      return "stale";
    case RejectReason::kException:
      return "exception";
    case RejectReason::kVenue:
      return "venue";
    case RejectReason::kTooLate:
      return "too_late";
    case RejectReason::kPendingRequest:
      return "pending_request";
    case RejectReason::kOrdersFull:
      return "orders_full";
    case RejectReason::kPositionsFull:
      return "positions_full";
    case RejectReason::kJournalFull:
      return "journal_full";
    case RejectReason::kVenueGap:
      return "venue_gap";
  }
  return "?";
}

std::string_view name(KillCause value) noexcept {
  constexpr std::array<std::string_view, 12> kNames{"none",
                                                    "loss_max",
                                                    "gross_notional_max",
                                                    "position_value_max",
                                                    "position_shares_max",
                                                    "open_orders_max",
                                                    "requests_per_second_max",
                                                    "rejects_per_second_max",
                                                    "total.loss_max",
                                                    "total.gross_notional_max",
                                                    "operator",
                                                    "unknown"};
  const auto at = static_cast<std::size_t>(value);
  return at < kNames.size() ? kNames[at] : "?";
}

std::string_view name(OrderState value) noexcept {
  switch (value) {
    case OrderState::kPendingNew:
      return "pending_new";
    case OrderState::kWorking:
      return "working";
    case OrderState::kPartlyFilled:
      return "partly_filled";
    case OrderState::kFilled:
      return "filled";
    case OrderState::kCanceled:
      return "canceled";
    case OrderState::kRejected:
      return "rejected";
    case OrderState::kExpired:
      return "expired";
  }
  return "?";
}

std::string_view name(OrderType value) noexcept {
  switch (value) {
    case OrderType::kMarket:
      return "market";
    case OrderType::kLimit:
      return "limit";
    case OrderType::kStop:
      return "stop";
    case OrderType::kStopLimit:
      return "stop_limit";
    case OrderType::kPegged:
      return "pegged";
  }
  return "?";
}

std::string_view name(TimeInForce value) noexcept {
  switch (value) {
    case TimeInForce::kDay:
      return "day";
    case TimeInForce::kGoodTillCancel:
      return "gtc";
    case TimeInForce::kAtTheOpening:
      return "at_the_opening";
    case TimeInForce::kImmediateOrCancel:
      return "ioc";
    case TimeInForce::kFillOrKill:
      return "fok";
    case TimeInForce::kAtTheClose:
      return "at_the_close";
  }
  return "?";
}

std::string_view name(Role value) noexcept {
  switch (value) {
    case Role::kMdh:
      return "mdh";
    case Role::kStrategy:
      return "strategy";
    case Role::kOeg:
      return "oeg";
    case Role::kRisk:
      return "risk";
    case Role::kSim:
      return "sim";
    case Role::kTool:
      return "tool";
  }
  return "?";
}

std::string_view name(Service value) noexcept {
  switch (value) {
    case Service::kBookUpdates:
      return "book_updates";
    case Service::kOrders:
      return "orders";
    case Service::kDropCopy:
      return "drop_copy";
    case Service::kRemoteTables:
      return "remote_tables";
  }
  return "?";
}

}  // namespace tickpath::wire
