#include "common/wire/names.hpp"

#include "common/base/names.hpp"

namespace tickpath::wire {

// Several to a line.
// clang-format off

std::string_view name(UpdateKind value) noexcept {
  using enum UpdateKind;
  return name_in(value, {
      {kNone, "none"}, {kAdd, "add"}, {kExecute, "execute"}, {kCancel, "cancel"},
      {kDelete, "delete"}, {kReplace, "replace"}, {kTrade, "trade"},
      {kTradingState, "trading_state"}, {kDirectory, "directory"}, {kFeedState, "feed_state"},
      {kBookCleared, "book_cleared"}, {kInformation, "information"}, {kImbalance, "imbalance"}});
}

std::string_view name(FeedState value) noexcept {
  using enum FeedState;
  return name_in(value, {
      {kUnknown, "unknown"}, {kGood, "good"}, {kStale, "stale"}, {kEnded, "ended"}});
}

std::string_view name(TradingState value) noexcept {
  using enum TradingState;
  return name_in(value, {
      {kUnknown, "unknown"}, {kHalted, "halted"}, {kPaused, "paused"},
      {kQuotationOnly, "quotation_only"}, {kTrading, "trading"}});
}

std::string_view name(RequestKind value) noexcept {
  using enum RequestKind;
  return name_in(value, {{kNew, "new"}, {kCancel, "cancel"}, {kReplace, "replace"}});
}

std::string_view name(ReportKind value) noexcept {
  using enum ReportKind;
  return name_in(value, {
      {kAccepted, "accepted"}, {kRejected, "rejected"}, {kFill, "fill"}, {kCanceled, "canceled"},
      {kExpired, "expired"}, {kReplaced, "replaced"}, {kCancelRejected, "cancel_rejected"},
      {kReplaceRejected, "replace_rejected"}, {kPosition, "position"},
      {kPositionsEnd, "positions_end"}, {kRestated, "restated"}, {kFillCanceled, "fill_canceled"},
      {kFillCorrected, "fill_corrected"}, {kLeads, "leads"}, {kText, "text"}, {kTriggered, "triggered"},
      {kAccepting, "accepting"}, {kHeld, "held"}});
}

std::string_view name(KillCause value) noexcept {
  using enum KillCause;
  return name_in(value, {
      {kNone, "none"}, {kLoss, "loss_max"}, {kGrossNotional, "gross_notional_max"},
      {kPositionValue, "position_value_max"}, {kPositionShares, "position_shares_max"},
      {kOpenOrders, "open_orders_max"}, {kRequestRate, "requests_per_second_max"},
      {kRejectRate, "rejects_per_second_max"}, {kTotalLoss, "total.loss_max"},
      {kTotalGrossNotional, "total.gross_notional_max"}, {kOperator, "operator"},
      {kUnknown, "unknown"}});
}

std::string_view name(Role value) noexcept {
  using enum Role;
  return name_in(value, {
      {kMdh, "mdh"}, {kStrategy, "strategy"}, {kOeg, "oeg"}, {kRisk, "risk"}, {kSim, "sim"},
      {kTool, "tool"}});
}

std::string_view name(Service value) noexcept {
  using enum Service;
  return name_in(value, {
      {kBookUpdates, "book_updates"}, {kOrders, "orders"}, {kDropCopy, "drop_copy"},
      {kRemoteTables, "remote_tables"}, {kWitness, "witness"}, {kStandby, "standby"},
      {kSnapshot, "snapshot"}, {kPrices, "prices"}, {kHome, "home"}, {kHomeWrite, "home_write"}, {kValues, "values"}});
}

// clang-format on

}  // namespace tickpath::wire
