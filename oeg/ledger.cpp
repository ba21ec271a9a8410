#include "oeg/ledger.hpp"

#include "common/wire/control_block.hpp"

namespace tickpath::oeg {

Ledger::Ledger(std::uint32_t orders_max, std::uint32_t positions_max)
    : orders_(orders_max),
      ids_(std::size_t{orders_max} * 2),  // live id and pending id
      positions_(positions_max),
      rows_(positions_max),
      open_of_(wire::kMaxStrategies),
      unanswered_of_(wire::kMaxStrategies),
      oldest_(wire::kMaxStrategies, IdMap::kNone),
      newest_(wire::kMaxStrategies, IdMap::kNone) {
  free_.reserve(orders_max);
  for (std::uint32_t at = orders_max; at-- > 0;) free_.push_back(at);
}

Order* Ledger::find(std::uint64_t id) noexcept {
  if (id == 0) return nullptr;
  const std::uint32_t at = ids_.find(id);
  return at == IdMap::kNone ? nullptr : &orders_[at];
}

Order& Ledger::add(const Order& order) noexcept {
  const std::uint32_t at = free_.back();
  free_.pop_back();
  Order& added = orders_[at];
  added = order;
  added.leaves = 0;
  (void)ids_.insert(added.id, at);
  link(added);
  ++open_;
  ++open_of_[added.strategy];
  if (order.state == wire::OrderState::kPendingNew) ++unanswered_of_[added.strategy];
  set_leaves(added, order.shares);
  return added;
}

bool Ledger::restore(const Order& order) noexcept {
  if (full() || order.id == 0 || find(order.id) != nullptr || order.row >= position_count_ ||
      order.pending_id == order.id || find(order.pending_id) != nullptr)
    return false;
  Order& added = add(order);
  set_leaves(added, order.leaves);
  if (wire::is_final(order.state)) {
    --open_;
    --open_of_[order.strategy];
  }
  if (order.pending_id == 0) return true;
  (void)ids_.insert(order.pending_id, index(added));
  ++unanswered_of_[order.strategy];
  Position& position = positions_[order.row];
  (order.side == Side::kBuy ? position.reserved_buy : position.reserved_sell) +=
      order.reserved_shares;
  return true;
}

bool Ledger::restore(const wire::PositionRow& row) noexcept {
  const std::uint32_t at = position_row(row.strategy_id, row.instrument_id);
  if (at == IdMap::kNone) return false;
  wire::PositionRow& restored = positions_[at].row;
  restored = row;
  restored.open_buy_shares = restored.open_sell_shares = 0;
  return true;
}

void Ledger::set_pending(Order& order, wire::RequestKind kind, std::uint64_t request_id,
                         std::uint64_t trace_id, std::uint32_t price, std::uint32_t shares,
                         bool own) noexcept {
  order.pending_id = request_id;
  order.pending_trace_id = trace_id;
  order.pending_kind = kind;
  order.pending_own = own;
  order.pending_price = price;
  order.pending_shares = shares;
  (void)ids_.insert(request_id, index(order));
  ++unanswered_of_[order.strategy];
  if (kind == wire::RequestKind::kReplace) reserve(order);
}

void Ledger::clear_pending(Order& order) noexcept {
  if (order.pending_id == 0) return;
  ids_.erase(order.pending_id);
  order.pending_id = 0;
  --unanswered_of_[order.strategy];
  Position& position = positions_[order.row];
  (order.side == Side::kBuy ? position.reserved_buy : position.reserved_sell) -=
      order.reserved_shares;
  order.reserved_shares = 0;
}

void Ledger::undo_add(Order& order) noexcept {
  set_leaves(order, 0);
  --open_;
  --open_of_[order.strategy];
  --unanswered_of_[order.strategy];
  remove(order);
}

bool Ledger::apply(Order& order, const LedgerReport& report, wire::OrderState& state) noexcept {
  const bool was_final = wire::is_final(order.state);
  const bool was_unanswered = order.state == wire::OrderState::kPendingNew;
  if (!wire::apply(order.state, report.kind, report.leaves, report.cumulative)) {
    state = order.state;
    return false;
  }
  if (was_unanswered && order.state != wire::OrderState::kPendingNew)
    --unanswered_of_[order.strategy];
  const bool execution = wire::is_execution(report.kind);
  if (execution)
    trade(order.row, order.side, report.last_shares, report.last_price,
          report.kind != wire::ReportKind::kFillCanceled);
  if (execution && !was_final) {
    order.cumulative = report.cumulative;
    set_leaves(order, report.leaves);
  }
  if (report.kind == wire::ReportKind::kRestated) restate(order, report.leaves);
  if (order.pending_id != 0 && report.request_id == order.pending_id && !execution) {
    if (report.kind == wire::ReportKind::kReplaced) {
      const std::uint64_t new_id = order.pending_id;
      clear_pending(order);
      ids_.erase(order.id);
      order.id = new_id;
      order.trace_id = order.pending_trace_id;
      order.price = order.pending_price;
      order.shares = order.pending_shares;
      order.cumulative = report.cumulative;
      (void)ids_.insert(new_id, index(order));
      set_leaves(order, report.leaves);
    } else {
      clear_pending(order);
    }
  }
  state = order.state;
  if (wire::is_final(state) && !was_final) {
    set_leaves(order, 0);
    --open_;
    --open_of_[order.strategy];
  }
  release_if_done(order);
  return true;
}

void Ledger::trade(std::uint32_t at, Side side, std::uint32_t shares, ExecutedPrice price,
                   bool stands) noexcept {
  wire::PositionRow& row = positions_[at].row;
  const auto value = static_cast<std::int64_t>(executed_value(shares, price));
  const bool gains = (side == Side::kBuy) == stands;  // shares, for cash
  row.position_shares += gains ? std::int64_t{shares} : -std::int64_t{shares};
  row.cash += gains ? -value : value;
  row.fills += stands ? 1 : ~std::uint64_t{0};  // unsigned: wraps to one less
}

// What the order loses, a replacement that is on its way may bring back: it names a total.
void Ledger::restate(Order& order, std::uint32_t leaves) noexcept {
  set_leaves(order, leaves);
  order.shares = order.cumulative + leaves;
  if (order.pending_id == 0 || order.pending_kind != wire::RequestKind::kReplace) return;
  reserve(order);
}

void Ledger::reserve(Order& order) noexcept {
  const std::uint32_t known = order.cumulative + order.leaves;
  const std::uint32_t needed = order.pending_shares > known ? order.pending_shares - known : 0;
  Position& position = positions_[order.row];
  (order.side == Side::kBuy ? position.reserved_buy : position.reserved_sell) +=
      needed - order.reserved_shares;
  order.reserved_shares = needed;
}

// A final order stays findable while an answer about it is still to come.
void Ledger::release_if_done(Order& order) noexcept {
  if (wire::is_final(order.state) && order.pending_id == 0) remove(order);
}

void Ledger::remove(Order& order) noexcept {
  clear_pending(order);
  ids_.erase(order.id);
  unlink(order);
  free_.push_back(index(order));
}

void Ledger::set_leaves(Order& order, std::uint32_t leaves) noexcept {
  wire::PositionRow& row = positions_[order.row].row;
  (order.side == Side::kBuy ? row.open_buy_shares : row.open_sell_shares) += leaves - order.leaves;
  order.leaves = leaves;
}

void Ledger::link(Order& order) noexcept {
  const std::uint32_t at = index(order);
  std::uint32_t& newest = newest_[order.strategy];
  order.older = newest;
  order.newer = IdMap::kNone;
  (newest == IdMap::kNone ? oldest_[order.strategy] : orders_[newest].newer) = at;
  newest = at;
}

void Ledger::unlink(Order& order) noexcept {
  (order.older == IdMap::kNone ? oldest_[order.strategy] : orders_[order.older].newer) =
      order.newer;
  (order.newer == IdMap::kNone ? newest_[order.strategy] : orders_[order.newer].older) =
      order.older;
}

std::uint32_t Ledger::position_row(std::uint8_t strategy, std::uint32_t instrument) noexcept {
  // Never 0: ids of the table must not be.
  const std::uint64_t key = std::uint64_t{instrument} << 8 | strategy | std::uint64_t{1} << 63;
  const std::uint32_t known = rows_.find(key);
  if (known != IdMap::kNone) return known;
  if (position_count_ == positions_.size()) return IdMap::kNone;
  const std::uint32_t row = position_count_++;
  (void)rows_.insert(key, row);
  positions_[row].row.instrument_id = instrument;
  positions_[row].row.strategy_id = strategy;
  return row;
}

}  // namespace tickpath::oeg
