#include "oeg/ledger.hpp"

#include "common/base/check.hpp"
#include "common/wire/control_block.hpp"

namespace tickpath::oeg {

Ledger::Ledger(std::uint32_t orders_max, std::uint32_t positions_max)
    : orders_(orders_max, wire::kMaxStrategies),
      positions_(positions_max),
      rows_(positions_max),
      open_of_(wire::kMaxStrategies),
      unanswered_of_(wire::kMaxStrategies) {}

Order& Ledger::add(const Order& order) noexcept {
  Order* const inserted = orders_.insert(order, order.strategy);
  TICKPATH_CHECK(inserted != nullptr, "room was checked, and ids are unique");
  Order& added = *inserted;
  added.leaves = 0;
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
  orders_.set_pending(added, order.pending_id);
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
  orders_.set_pending(order, request_id);
  order.pending_trace_id = trace_id;
  order.pending_kind = kind;
  order.pending_own = own;
  order.pending_price = price;
  order.pending_shares = shares;
  ++unanswered_of_[order.strategy];
  if (kind == wire::RequestKind::kReplace) reserve(order);
}

void Ledger::clear_pending(Order& order) noexcept {
  if (order.pending_id == 0) return;
  release_pending(order);
  orders_.clear_pending(order);
}

void Ledger::release_pending(Order& order) noexcept {
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
  clear_pending(order);
  orders_.erase(order, order.strategy);
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
      release_pending(order);
      orders_.promote_pending(order);
      order.trace_id = order.pending_trace_id;
      order.price = order.pending_price;
      order.shares = order.pending_shares;
      order.cumulative = report.cumulative;
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
  if (wire::is_final(order.state) && order.pending_id == 0) orders_.erase(order, order.strategy);
}

void Ledger::set_leaves(Order& order, std::uint32_t leaves) noexcept {
  wire::PositionRow& row = positions_[order.row].row;
  (order.side == Side::kBuy ? row.open_buy_shares : row.open_sell_shares) += leaves - order.leaves;
  order.leaves = leaves;
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
