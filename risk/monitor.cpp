#include "risk/monitor.hpp"

#include <algorithm>
#include <utility>

#include "common/clock/clock.hpp"
#include "common/wire/order_id.hpp"

namespace tickpath::risk {
namespace {

// A cancel by oeg itself: the strategy did not ask, and is not to be killed for their number.
bool is_own(const wire::OrderEvent& event) noexcept {
  return wire::OrderId::strategy(event.order_id) == wire::kOwnStrategyId;
}
std::uint64_t bits(Int128 value) noexcept { return static_cast<std::uint64_t>(saturate(value)); }

}  // namespace

Monitor::Monitor(const MonitorOptions& options, MonitorObserver* observer)
    : options_(options),
      observer_(observer),
      ledger_(options.instruments_max, options.strategies_max, options.rows_max, options.venues),
      standing_(options.venues, static_cast<std::uint64_t>(options.pending_max_ns)) {
  orders_.reserve(options.venues);
  for (std::uint32_t i = 0; i < options.venues; ++i) orders_.emplace_back(options.orders_max);
  market::write_to(block_, options.order_limits);
  for (StrategyState& state : states_) state.limits = options.strategy;
}

void Monitor::set_limits(std::uint8_t strategy, const StrategyLimits& limits) {
  states_[strategy].limits = limits;
}

// ---------------------------------------------------------------------------------- drop copy

void Monitor::on_event(const wire::OrderEvent& event, std::uint32_t venue) noexcept {
  if (event.event == wire::EventKind::kLeads) [[unlikely]]
    return;  // of no order: it is about the connection
  counters_.orders.events.add();
  if (event.event == wire::EventKind::kException) [[unlikely]] {
    tell_venue(venue);
    return on_exception(event);
  }
  StrategyState& state = states_[event.strategy_id];
  if (event.event == wire::EventKind::kRefused) return on_refused(state, event);
  Row* const row = ledger_.row(event.strategy_id, ledger_.listing(venue, event.instrument_id));
  if (row == nullptr) {
    counters_.orders.beyond.add();
    return;
  }
  const InRow in_row = count(*row, event);
  if (event.event == wire::EventKind::kRequested)
    on_requested(*row, state, event, in_row);
  else if (event.event == wire::EventKind::kReported)
    on_reported(*row, state, event, in_row);
  else if (event.event == wire::EventKind::kFee && in_row == InRow::kNo)
    ledger_.charge(*row, wire::fee_of(event));
  judge(*row);
}

// No row knows of it, at oeg neither: it may name an instrument that does not exist.
void Monitor::on_refused(StrategyState& state, const wire::OrderEvent& event) noexcept {
  counters_.orders.refused.add(event.request_kind == wire::RequestKind::kNew ? 1 : 0);
  state.requests.add(now_ns_);
  state.rejects.add(now_ns_);
  views_[event.strategy_id].requests.add();
  views_[event.strategy_id].rejects.add();
  const std::uint32_t index = ledger_.strategy(event.strategy_id);
  if (index == Ledger::kNone) {
    counters_.orders.beyond.add();
    return;
  }
  judge_strategy(ledger_.strategies()[index]);
  show(ledger_.strategies()[index]);
}

// Numbers are compared by their difference, so that they may wrap.
Monitor::InRow Monitor::count(Row& row, const wire::OrderEvent& event) noexcept {
  const std::uint32_t ahead = event.row_event - static_cast<std::uint32_t>(row.events);
  if (row.counted && static_cast<std::int32_t>(ahead) <= 0) return InRow::kYes;
  // One that begins here is whole from its first event on; a gap says that events were lost.
  const bool begins =
      !row.counted && row.events == 0 && row.fills == 0 && row.cash == 0 && row.fees == 0;
  if (begins) row.whole = event.row_event == 1;
  if (row.counted && ahead != 1) row.whole = false;
  row.events = event.row_event;
  row.counted = true;
  return InRow::kNo;
}

void Monitor::on_requested(Row& row, StrategyState& state, const wire::OrderEvent& event,
                           InRow in_row) noexcept {
  if (!is_own(event)) state.requests.add(now_ns_);
  views_[event.strategy_id].requests.add();
  if (event.request_kind == wire::RequestKind::kNew) insert_order(row, state, event, in_row);
}

void Monitor::insert_order(Row& row, StrategyState& state, const wire::OrderEvent& event,
                           InRow in_row) noexcept {
  OpenOrder order{event.order_id, static_cast<std::uint32_t>(&row - ledger_.rows().data()), 0,
                  event.side};
  OpenOrder* const inserted = event.order_id != 0 ? orders_[row.venue].insert(order) : nullptr;
  if (inserted == nullptr) return counters_.orders.beyond.add();
  set_leaves(*inserted, event.shares, in_row);
  ++state.open_orders;
}

void Monitor::set_leaves(OpenOrder& order, std::uint32_t leaves, InRow in_row) noexcept {
  Row& row = ledger_.rows()[order.row];
  if (in_row == InRow::kNo)
    (order.side == Side::kBuy ? row.open_buy_shares : row.open_sell_shares) +=
        leaves - order.leaves;
  order.leaves = leaves;
}

void Monitor::remove_order(OpenOrder& order, InRow in_row) noexcept {
  set_leaves(order, 0, in_row);
  const Row& row = ledger_.rows()[order.row];
  --states_[ledger_.strategies()[row.strategy].id].open_orders;
  orders_[row.venue].erase(order);
}

// The exception belongs to no row: oeg has not booked it either.
void Monitor::on_exception(const wire::OrderEvent& event) noexcept {
  counters_.orders.exceptions.add();
  if (observer_ != nullptr) observer_->on_exception(event);
}

void Monitor::on_fill(Row& row, const wire::OrderEvent& event, InRow in_row) noexcept {
  // Whatever we know of the order: the venue's word moves the position.
  if (in_row == InRow::kNo) ledger_.fill(row, wire::fill_of(event));
  counters_.orders.fills.add();
  views_[event.strategy_id].fills.add();
}

void Monitor::on_reported(Row& row, StrategyState& state, const wire::OrderEvent& event,
                          InRow in_row) noexcept {
  if (event.report_kind == wire::ReportKind::kFill) on_fill(row, event, in_row);
  if (wire::changes_fill(event.report_kind)) {
    if (in_row == InRow::kNo) ledger_.fill(row, wire::fill_of(event));
    counters_.orders.fills_changed.add();
  }
  if ((event.report_kind == wire::ReportKind::kRejected ||
       wire::is_request_reject(event.report_kind)) &&
      !is_own(event)) {
    state.rejects.add(now_ns_);
    views_[event.strategy_id].rejects.add();
  }
  Orders& orders = orders_[row.venue];
  OpenOrder* found = nullptr;
  if (wire::names_target(event.report_kind)) found = orders.find(event.target_order_id);
  if (found == nullptr) found = orders.find(event.order_id);
  if (found == nullptr) {
    // The reject of a cancel that crossed a fill finds no order, and that is in order.
    if (!wire::is_request_reject(event.report_kind) && !wire::changes_fill(event.report_kind))
      counters_.orders.events_unknown.add();
    return;
  }
  OpenOrder& order = *found;
  if (!wire::apply(order.state, event.report_kind, event.leaves_shares, event.cumulative_shares)) {
    counters_.orders.events_impossible.add();
    return;
  }
  if (trading::is_final(order.state)) {
    remove_order(order, in_row);
  } else if (event.report_kind == wire::ReportKind::kReplaced) {
    if (!orders.rename(order, event.order_id)) counters_.orders.events_impossible.add();
    set_leaves(order, event.leaves_shares, in_row);
  } else if (event.report_kind == wire::ReportKind::kFill ||
             event.report_kind == wire::ReportKind::kRestated ||
             wire::changes_fill(event.report_kind)) {
    set_leaves(order, event.leaves_shares, in_row);
  }
}

void Monitor::forget_orders(std::uint32_t venue) noexcept {
  orders_[venue].for_each([this](OpenOrder& order) { remove_order(order, InRow::kNo); });
}

void Monitor::on_overrun(std::uint32_t venue) noexcept {
  forget_orders(venue);
  for (Row& row : ledger_.rows())
    if (row.venue == venue) row.counted = row.whole = false;
  standing_.pending(venue, now_ns_);
}

void Monitor::forget() noexcept {
  for (std::uint32_t venue = 0; venue < options_.venues; ++venue) forget_orders(venue);
  ledger_.forget();
  standing_.forget();
  for (std::uint32_t id = 0; id <= kAll; ++id) {
    StrategyView& view = views_[id];
    for (Counter* const counter :
         {&view.pnl, &view.realised, &view.gross_notional, &view.net_notional, &view.open_orders,
          &view.requests, &view.fills, &view.rejects})
      counter->set(0);
    if (view.killed.get() == 0) view.known.set(0);
  }
  for (StrategyState& state : states_) state.requests = state.rejects = {};
  behind_ = true;
  unheard_ = {};
  kills_.publish(0, command_);  // so in the file, too: older than any
}

// --------------------------------------------------------------------------------------- market

void Monitor::on_update(const wire::BookUpdate& update, std::uint32_t venue) noexcept {
  if (update.instrument_id >= ledger_.instruments_max()) {
    if (update.instrument_id != wire::kNoInstrument) counters_.orders.beyond.add();
    return;
  }
  if (update.feed_state() != wire::FeedState::kGood) return counters_.feed.stale.add();
  const std::uint32_t listing = ledger_.listing(venue, update.instrument_id);
  if (ledger_.quote(listing, update.best_bid, update.best_ask,
                    update.is_trade() ? update.price : 0))
    judge_rows(listing);
}

void Monitor::on_image(const wire::BookImage& image, std::uint32_t venue) noexcept {
  if (image.feed_state() != wire::FeedState::kGood) return counters_.feed.stale.add();
  const std::uint32_t listing = ledger_.listing(venue, image.instrument_id);
  if (ledger_.quote(listing, image.bids[0].price, image.asks[0].price, image.last_trade_price))
    judge_rows(listing);
}

void Monitor::judge_rows(std::uint32_t listing) noexcept {
  for (Row* row = ledger_.first_row(listing); row != nullptr; row = ledger_.next_row(*row))
    judge(*row);
}

void Monitor::on_directory(const wire::DirectoryEntry& entry, std::uint32_t venue) noexcept {
  const std::uint32_t listing = ledger_.listing(venue, entry.instrument_id);
  if (ledger_.set_symbol(listing, wire::symbol_word(entry.name())))
    tell_other_symbol(entry.instrument_id, venue);
  // A name brings rows of several venues together.
  if (options_.venues > 1 && listing != Ledger::kNone) judge_rows(listing);
}

void Monitor::tell_other_symbol(std::uint32_t instrument, std::uint32_t venue) noexcept {
  counters_.feed.other_symbols.add();
  if (observer_ == nullptr) return;
  tell_venue(venue);
  observer_->on_other_symbol(instrument);
}

// ------------------------------------------------------------------------------- reconciliation

// A row that is not whole becomes so by adopting oeg's with its count: events up to that count,
// which may still lie in the ring, are not applied again. A whole row follows by events alone.
// Equal counts then mean that everything must be equal; unequal ones that events are on their way,
// unless both counts are what they were one pass ago: then nothing moves and we missed some. Either
// way oeg is right, it is the one that trades.
bool Monitor::on_remote_row(const wire::PositionRow& theirs, std::uint64_t symbol,
                            std::uint32_t venue) noexcept {
  Row* const row = ledger_.row(theirs.strategy_id, ledger_.listing(venue, theirs.instrument_id));
  if (row == nullptr) {
    counters_.orders.beyond.add();
    return true;  // another READ would not help
  }
  counters_.reconcile.compared.add();
  const std::uint64_t filed = row->filed;
  if (ledger_.set_symbol(*row, symbol)) [[unlikely]]
    tell_other_symbol(theirs.instrument_id, venue);
  if (row->filed != filed) [[unlikely]]
    judge(*row);  // a name brings rows of several venues together
  const auto ahead =
      static_cast<std::int32_t>(theirs.events - static_cast<std::uint32_t>(row->events));
  const bool at_rest =
      row->compared_events == row->events && row->compared_remote_events == theirs.events;
  row->compared_events = row->events;
  row->compared_remote_events = theirs.events;
  if (!row->whole) {
    if (row->counted && ahead < 0) {  // the READ is older than what came by events meanwhile
      counters_.reconcile.in_flight.add();
      return false;
    }
    take_over(*row, theirs);
    return true;
  }
  const bool equal = row->position == theirs.position_shares && row->cash == theirs.cash &&
                     row->fees == theirs.fees;
  const bool open_equal = row->open_buy_shares == theirs.open_buy_shares &&
                          row->open_sell_shares == theirs.open_sell_shares;
  if (ahead == 0 && equal && open_equal) return true;
  if (ahead != 0 && !at_rest) {
    counters_.reconcile.in_flight.add();
    return true;
  }
  if (!equal) {
    counters_.reconcile.mismatches.add();
    tell_venue(venue);
    if (observer_ != nullptr) observer_->on_mismatch(*row, theirs);
  }
  take_over(*row, theirs);
  return true;
}

void Monitor::take_over(Row& row, const wire::PositionRow& theirs) noexcept {
  counters_.reconcile.adopted.add();
  ledger_.adopt(row, theirs);
  row.compared_events = row.events;
  judge(row);
}

// --------------------------------------------------------------------------------------- limits

void Monitor::judge(const Row& row) noexcept {
  const StrategySums& sums = ledger_.strategies()[row.strategy];
  judge_position(row, sums.id, states_[sums.id].limits);
  judge_strategy(sums);
  judge_total();
  show(sums);
}

void Monitor::judge_position(const Row& row, std::uint8_t id,
                             const StrategyLimits& limits) noexcept {
  if (options_.venues == 1) {
    over(id, LimitKind::kPositionShares, magnitude(row.position), limits.position_shares_max);
    over(id, LimitKind::kPositionValue, row.notional, limits.position_value_max);
    return;
  }
  const bool limited = limits.position_shares_max != 0 || limits.position_value_max != 0;
  if (!limited || standing_.waits()) return;
  const Exposure all = ledger_.exposure(row, standing_.doubtful());
  over(id, LimitKind::kPositionShares, all.shares.magnitude_max(), limits.position_shares_max);
  over(id, LimitKind::kPositionValue, all.value.magnitude_max(), limits.position_value_max);
}

bool Monitor::pnl_to_judge(const StrategySums& sums, Int128& pnl) const noexcept {
  pnl = sums.pnl;
  if (standing_.certain()) [[likely]]
    return true;
  pnl = ledger_.pnl_min(sums, standing_.doubtful());
  return !standing_.waits();
}

void Monitor::judge_strategy(const StrategySums& sums) noexcept {
  const std::uint8_t id = sums.id;
  StrategyState& state = states_[id];
  const StrategyLimits& limits = state.limits;
  if (Int128 pnl; pnl_to_judge(sums, pnl)) over(id, LimitKind::kLoss, -pnl, limits.loss_max);
  over(id, LimitKind::kGrossNotional, sums.gross_notional, limits.gross_notional_max);
  over(id, LimitKind::kOpenOrders, state.open_orders, limits.open_orders_max);
  if (limits.requests_per_second_max != 0)
    over(id, LimitKind::kRequestRate, state.requests.sum(now_ns_), limits.requests_per_second_max);
  if (limits.rejects_per_second_max != 0)
    over(id, LimitKind::kRejectRate, state.rejects.sum(now_ns_), limits.rejects_per_second_max);
}

void Monitor::judge_total() noexcept {
  if (Int128 pnl; pnl_to_judge(ledger_.total(), pnl))
    over(kAll, LimitKind::kTotalLoss, -pnl, options_.total.loss_max);
  over(kAll, LimitKind::kTotalGrossNotional, ledger_.total().gross_notional,
       options_.total.gross_notional_max);
}

// What is known of a venue counts otherwise than a moment ago.
void Monitor::judge_all() noexcept {
  for (const Row& row : ledger_.rows()) judge(row);
}

void Monitor::on_doubtful() noexcept {
  for (std::uint32_t venue = 0; venue < options_.venues; ++venue)
    if (observer_ != nullptr && (standing_.became_doubtful() >> venue & 1) != 0)
      observer_->on_doubtful(venue);
  judge_all();
}

bool Monitor::over(std::uint32_t id, LimitKind kind, Int128 value, std::int64_t limit) noexcept {
  if (limit == 0 || value <= limit) return false;
  // Whom a person has stopped without cancelling his orders, a limit stops altogether.
  if (!kills_.killed(id) || (kills_[id].keep_orders != 0 && options_.cancel_on_breach &&
                             kills_[id].cause == LimitKind::kOperator)) {
    counters_.limits.breaches.add();
    kill(id, {kind, saturate(value), limit}, {}, !options_.cancel_on_breach);
  }
  return true;
}

// ---------------------------------------------------------------------------------- kill switch

void Monitor::kill(std::uint32_t id, const Breach& why, std::string_view operator_name,
                   bool keep_orders) noexcept {
  if (kills_.killed(id) && (keep_orders || kills_[id].keep_orders == 0)) return;
  counters_.limits.kills.add();
  if (observer_ != nullptr) observer_->on_kill(id, why);
  wire::KillRecord record{};
  record.since_ns = clock::realtime_ns();
  record.value = why.value;
  record.limit = why.limit;
  operator_name.copy(record.operator_name, sizeof(record.operator_name) - 1);
  record.id = static_cast<std::uint16_t>(id);
  record.cause = why.kind;
  record.keep_orders = keep_orders ? 1 : 0;
  take_kill(record);
  for (Unheard& unheard : unheard_) unheard.killed.set(id);
  ++block_.kill_version;
  kills_.publish(block_.kill_version, command_);
}

void Monitor::take_kill(const wire::KillRecord& record) noexcept {
  StrategyView& view = views_[record.id];
  view.breach_value.set(static_cast<std::uint64_t>(record.value));
  view.breach_limit.set(static_cast<std::uint64_t>(record.limit));
  view.breach_kind.set(static_cast<std::uint64_t>(record.cause));
  view.known.set(1);
  view.killed.set(1);
  kills_.set(record);
  for (Unheard& unheard : unheard_) unheard.lifted.reset(record.id);
  block_.set_kill(record.id, true, record.keep_orders == 0);
  tell_next_ = record.id;
  ++block_version_;
}

void Monitor::unkill(std::uint32_t id) noexcept {
  if (!kills_.killed(id)) return;
  lift(id);
  for (Unheard& unheard : unheard_) unheard.lifted.set(id);
  ++block_.kill_version;
  kills_.publish(block_.kill_version, command_);
}

void Monitor::lift(std::uint32_t id) noexcept {
  if (observer_ != nullptr) observer_->on_unkill(id);
  views_[id].killed.set(0);
  views_[id].breach_kind.set(static_cast<std::uint64_t>(LimitKind::kNone));
  kills_.clear(id);
  for (Unheard& unheard : unheard_) unheard.killed.reset(id);
  block_.set_kill(id, false, false);
  ++block_version_;
}

void Monitor::command_done(std::uint64_t command) noexcept {
  command_ = command;
  kills_.publish(block_.kill_version, command_);
}

void Monitor::restore_kills(std::span<const wire::KillRecord> kills, std::uint64_t version) {
  for (const wire::KillRecord& kill : kills) take_kill(kill);
  // A switch that kills has a version, so that it is kept wherever it is written to.
  block_.kill_version = kills.empty() ? version : std::max<std::uint64_t>(version, 1);
  kills_.publish(block_.kill_version, command_);
}

// True: any was.
bool Monitor::drop_lifted(const wire::ControlBlock& found, const Unheard& unheard) noexcept {
  bool any = false;
  for (std::uint32_t id = 0; id < wire::kKillIds; ++id) {
    if (!kills_.killed(id) || found.kill_bit(id) || unheard.killed[id]) continue;
    lift(id);
    any = true;
  }
  return any;
}

void Monitor::adopt_kills(const wire::ControlBlock& found, std::uint32_t venue) noexcept {
  const bool newer =
      found.kill_version != 0 && (behind_ || found.kill_version > block_.kill_version);
  const Unheard& unheard = unheard_[venue];
  bool changed = newer && drop_lifted(found, unheard);
  for (std::uint32_t id = 0; id < wire::kKillIds; ++id) {
    // A person who lifted it here did so before another risk had it anew.
    const bool lifted = unheard.lifted[id] && !newer;
    if (!found.kill_bit(id) || kills_.killed(id) || lifted) continue;
    wire::KillRecord record = found.kill;
    if (record.id != id || record.cause == LimitKind::kNone)
      record = control::KillTable::undescribed(id, !found.cancel_bit(id));
    counters_.limits.kills.add();
    if (observer_ != nullptr) observer_->on_kill(id, {LimitKind::kUnknown, 0, 0});
    take_kill(record);
    for (std::uint32_t other = 0; other < options_.venues; ++other)
      if (other != venue) unheard_[other].killed.set(id);
    changed = true;
  }
  const bool was_behind = std::exchange(behind_, false);
  // A version that oeg has seen already would say that it has this block.
  if (!changed && !was_behind && found.kill_version <= block_.kill_version) return;
  block_.kill_version = std::max(block_.kill_version, found.kill_version) + 1;
  ++block_version_;
  kills_.publish(block_.kill_version, command_);
}

wire::KillRecord Monitor::kill_to_tell() noexcept {
  const std::uint32_t id = kills_.next_killed(tell_next_);
  if (id == wire::kKillIds) return {};
  tell_next_ = (id + 1) % wire::kKillIds;
  return kills_[id];
}

void Monitor::show(const StrategySums& sums) noexcept {
  StrategyView& view = views_[sums.id];
  view.known.set(1);
  view.pnl.set(bits(sums.pnl));
  view.realised.set(bits(sums.realised));
  view.gross_notional.set(bits(sums.gross_notional));
  view.net_notional.set(bits(sums.net_notional));
  view.open_orders.set(states_[sums.id].open_orders);
  StrategyView& all = views_[kAll];
  all.pnl.set(bits(ledger_.total().pnl));
  all.realised.set(bits(ledger_.total().realised));
  all.gross_notional.set(bits(ledger_.total().gross_notional));
  all.net_notional.set(bits(ledger_.total().net_notional));
  all.fills.set(ledger_.total().fills);
}

}  // namespace tickpath::risk
