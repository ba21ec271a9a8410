#include "risk/monitor.hpp"

#include "common/base/check.hpp"

namespace tickpath::risk {
namespace {

bool is_request_reject(wire::ReportKind kind) noexcept {
  return kind == wire::ReportKind::kCancelRejected || kind == wire::ReportKind::kReplaceRejected;
}
bool names_target(wire::ReportKind kind) noexcept {
  return kind == wire::ReportKind::kCanceled || kind >= wire::ReportKind::kReplaced;
}
std::uint64_t bits(Int128 value) noexcept { return static_cast<std::uint64_t>(saturate(value)); }

}  // namespace

Monitor::Monitor(const MonitorOptions& options, MonitorObserver* observer)
    : options_(options),
      observer_(observer),
      ledger_(options.instruments_max, options.strategies_max, options.rows_max),
      orders_(options.orders_max),
      open_order_ids_(options.orders_max),
      block_(options.order_limits) {
  free_.reserve(options.orders_max);
  for (std::uint32_t i = options.orders_max; i-- > 0;) free_.push_back(i);
  for (StrategyState& state : states_) state.limits = options.strategy;
}

void Monitor::set_limits(std::uint8_t strategy, const StrategyLimits& limits) {
  states_[strategy].limits = limits;
}

// ---------------------------------------------------------------------------------- drop copy

void Monitor::on_event(const wire::OrderEvent& event) noexcept {
  counters_.events.add();
  Row* const row = ledger_.row(event.strategy_id, event.instrument_id);
  if (row == nullptr) {
    counters_.beyond.add();
    return;
  }
  ++row->events;
  StrategyState& state = states_[event.strategy_id];
  StrategyView& view = views_[event.strategy_id];
  switch (event.event) {
    case wire::EventKind::kRequested:
      on_requested(*row, state, event);
      break;
    case wire::EventKind::kRefused:
      counters_.refused.add(event.request_kind == wire::RequestKind::kNew ? 1 : 0);
      state.requests.add(now_ns_);
      state.rejects.add(now_ns_);
      view.requests.add();
      view.rejects.add();
      break;
    case wire::EventKind::kReported:
      on_reported(*row, state, event);
      break;
  }
  judge(*row);
}

void Monitor::on_requested(Row& row, StrategyState& state, const wire::OrderEvent& event) noexcept {
  state.requests.add(now_ns_);
  views_[event.strategy_id].requests.add();
  if (event.request_kind == wire::RequestKind::kNew) insert_order(row, state, event);
}

void Monitor::insert_order(Row& row, StrategyState& state, const wire::OrderEvent& event) noexcept {
  if (free_.empty() || event.order_id == 0 ||
      !open_order_ids_.insert(event.order_id, free_.back())) {
    counters_.beyond.add();
    return;
  }
  OpenOrder& order = orders_[free_.back()];
  free_.pop_back();
  order = {event.order_id, static_cast<std::uint32_t>(&row - ledger_.rows().data()), 0, event.side,
           wire::OrderState::kPendingNew};
  set_leaves(order, event.shares);
  ++state.open_orders;
}

void Monitor::set_leaves(OpenOrder& order, std::uint32_t leaves) noexcept {
  Row& row = ledger_.rows()[order.row];
  (order.side == Side::kBuy ? row.open_buy_shares : row.open_sell_shares) += leaves - order.leaves;
  order.leaves = leaves;
}

void Monitor::remove_order(std::uint32_t slot) noexcept {
  OpenOrder& order = orders_[slot];
  set_leaves(order, 0);
  const Row& row = ledger_.rows()[order.row];
  --states_[ledger_.strategies()[row.strategy].id].open_orders;
  open_order_ids_.erase(order.id);
  free_.push_back(slot);
  order = {};
}

void Monitor::on_reported(Row& row, StrategyState& state, const wire::OrderEvent& event) noexcept {
  if (event.report_kind == wire::ReportKind::kFill) {
    // Whatever we know of the order: the venue's word moves the position.
    ledger_.fill(row, event.side, event.shares, event.price);
    counters_.fills.add();
    views_[event.strategy_id].fills.add();
  }
  if (event.report_kind == wire::ReportKind::kRejected || is_request_reject(event.report_kind)) {
    state.rejects.add(now_ns_);
    views_[event.strategy_id].rejects.add();
  }
  std::uint32_t slot = IdMap::kNone;
  if (names_target(event.report_kind)) slot = open_order_ids_.find(event.target_order_id);
  if (slot == IdMap::kNone) slot = open_order_ids_.find(event.order_id);
  if (slot == IdMap::kNone) {
    // The reject of a cancel that crossed a fill finds no order, and that is in order.
    if (!is_request_reject(event.report_kind)) counters_.events_unknown.add();
    return;
  }
  OpenOrder& order = orders_[slot];
  if (!wire::apply(order.state, event.report_kind, event.leaves_shares, event.cumulative_shares)) {
    counters_.events_impossible.add();
    return;
  }
  if (wire::is_final(order.state)) {
    remove_order(slot);
  } else if (event.report_kind == wire::ReportKind::kReplaced) {
    open_order_ids_.erase(order.id);
    TICKPATH_CHECK(open_order_ids_.insert(event.order_id, slot), "an id was just freed");
    order.id = event.order_id;
    set_leaves(order, event.leaves_shares);
  } else if (event.report_kind == wire::ReportKind::kFill ||
             event.report_kind == wire::ReportKind::kRestated) {
    set_leaves(order, event.leaves_shares);
  }
}

void Monitor::on_lapped() noexcept {
  for (std::uint32_t slot = 0; slot < orders_.size(); ++slot)
    if (orders_[slot].id != 0) remove_order(slot);
}

// --------------------------------------------------------------------------------------- market

void Monitor::on_update(const wire::BookUpdate& update) noexcept {
  const bool trade =
      update.kind == wire::UpdateKind::kExecute || update.kind == wire::UpdateKind::kTrade;
  if (update.instrument_id >= ledger_.instruments_max()) {
    if (update.instrument_id != wire::kNoInstrument) counters_.beyond.add();
    return;
  }
  if (!ledger_.quote(update.instrument_id, update.best_bid, update.best_ask,
                     trade ? update.price : 0))
    return;
  for (Row* row = ledger_.first_row(update.instrument_id); row != nullptr;
       row = ledger_.next_row(*row))
    judge(*row);
}

void Monitor::on_image(const wire::BookImage& image) noexcept {
  if (!ledger_.quote(image.instrument_id, image.bids[0].price, image.asks[0].price,
                     image.last_trade_price))
    return;
  for (Row* row = ledger_.first_row(image.instrument_id); row != nullptr;
       row = ledger_.next_row(*row))
    judge(*row);
}

// ------------------------------------------------------------------------------- reconciliation

// Equal event counts mean that both sides have seen the same: then everything must be equal.
// Unequal ones mean that events are on their way, unless both counts are what they were one pass
// ago: then nothing moves and we missed some. Either way oeg is right, it is the one that trades.
void Monitor::on_remote_row(const wire::PositionRow& theirs) noexcept {
  Row* const row = ledger_.row(theirs.strategy_id, theirs.instrument_id);
  if (row == nullptr) {
    counters_.beyond.add();
    return;
  }
  counters_.compared.add();
  const bool equal = row->position == theirs.position_shares && row->cash == theirs.cash;
  const bool open_equal = row->open_buy_shares == theirs.open_buy_shares &&
                          row->open_sell_shares == theirs.open_sell_shares;
  const bool same_events = row->events == theirs.events;
  const bool at_rest =
      row->compared_events == row->events && row->compared_remote_events == theirs.events;
  row->compared_events = row->events;
  row->compared_remote_events = theirs.events;
  if (same_events && equal && open_equal) return;
  if (!same_events && !at_rest) {
    counters_.in_flight.add();
    return;
  }
  if (!equal) {
    counters_.mismatches.add();
    if (observer_ != nullptr) observer_->on_mismatch(*row, theirs);
  }
  counters_.adopted.add();
  ledger_.adopt(*row, theirs);
  row->compared_events = row->events;
  judge(*row);
}

// --------------------------------------------------------------------------------------- limits

void Monitor::judge(const Row& row) noexcept {
  const StrategySums& sums = ledger_.strategies()[row.strategy];
  const StrategyLimits& limits = states_[sums.id].limits;
  over(sums.id, LimitKind::kPositionShares, magnitude(row.position), limits.position_shares_max);
  over(sums.id, LimitKind::kPositionValue, row.notional, limits.position_value_max);
  judge_strategy(sums.id, sums);
  judge_total();
  show(sums);
}

void Monitor::judge_strategy(std::uint8_t id, const StrategySums& sums) noexcept {
  StrategyState& state = states_[id];
  const StrategyLimits& limits = state.limits;
  over(id, LimitKind::kLoss, -sums.pnl, limits.loss_max);
  over(id, LimitKind::kGrossNotional, sums.gross_notional, limits.gross_notional_max);
  over(id, LimitKind::kOpenOrders, state.open_orders, limits.open_orders_max);
  if (limits.requests_per_second_max != 0)
    over(id, LimitKind::kRequestRate, state.requests.sum(now_ns_), limits.requests_per_second_max);
  if (limits.rejects_per_second_max != 0)
    over(id, LimitKind::kRejectRate, state.rejects.sum(now_ns_), limits.rejects_per_second_max);
}

void Monitor::judge_total() noexcept {
  const StrategySums& total = ledger_.total();
  over(kAll, LimitKind::kTotalLoss, -total.pnl, options_.total.loss_max);
  over(kAll, LimitKind::kTotalGrossNotional, total.gross_notional,
       options_.total.gross_notional_max);
}

bool Monitor::over(std::uint32_t id, LimitKind kind, Int128 value, std::int64_t limit) noexcept {
  if (limit == 0 || value <= limit) return false;
  if (views_[id].killed.get() == 0) {
    counters_.breaches.add();
    kill(id, {kind, saturate(value), limit});
  }
  return true;
}

void Monitor::kill(std::uint32_t id, const Breach& why) noexcept {
  StrategyView& view = views_[id];
  view.breach_value.set(static_cast<std::uint64_t>(why.value));
  view.breach_limit.set(static_cast<std::uint64_t>(why.limit));
  view.breach_kind.set(static_cast<std::uint64_t>(why.kind));
  view.known.set(1);
  if (view.killed.get() != 0) return;
  view.killed.set(1);
  counters_.kills.add();
  if (observer_ != nullptr) observer_->on_kill(id, why);
  if (id == kAll) {
    block_.kill_all = 1;
  } else {
    block_.kill_strategy[id >> 6] |= std::uint64_t{1} << (id & 63);
  }
  ++block_version_;
}

void Monitor::unkill(std::uint32_t id) noexcept {
  if (views_[id].killed.get() == 0) return;
  if (observer_ != nullptr) observer_->on_unkill(id);
  views_[id].killed.set(0);
  views_[id].breach_kind.set(static_cast<std::uint64_t>(LimitKind::kNone));
  if (id == kAll) {
    block_.kill_all = 0;
  } else {
    block_.kill_strategy[id >> 6] &= ~(std::uint64_t{1} << (id & 63));
  }
  ++block_version_;
}

void Monitor::show(const StrategySums& sums) noexcept {
  StrategyView& view = views_[sums.id];
  view.known.set(1);
  view.pnl.set(bits(sums.pnl));
  view.realised.set(bits(sums.realised));
  view.gross_notional.set(bits(sums.gross_notional));
  view.open_orders.set(states_[sums.id].open_orders);
  StrategyView& all = views_[kAll];
  all.pnl.set(bits(ledger_.total().pnl));
  all.realised.set(bits(ledger_.total().realised));
  all.gross_notional.set(bits(ledger_.total().gross_notional));
  all.fills.set(ledger_.total().fills);
}

}  // namespace tickpath::risk
