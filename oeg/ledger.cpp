#include "oeg/ledger.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/wire/control_block.hpp"

namespace tickpath::oeg {
namespace {

// A venue that leaves more requests than this unanswered is down, and a person has been called.
constexpr std::uint32_t kSecondCancelsMax = 1u << 14;

}  // namespace

Ledger::Ledger(std::uint32_t orders_max, std::uint32_t positions_max)
    : orders_(orders_max, wire::kMaxStrategies),
      second_cancels_(std::min(orders_max, kSecondCancelsMax)),
      positions_(positions_max),
      rows_(positions_max),
      open_of_(wire::kMaxStrategies),
      unanswered_of_(wire::kMaxStrategies),
      exposure_of_(wire::kMaxStrategies),
      unpriced_of_(wire::kMaxStrategies) {}

Order& Ledger::add(const Order& order) noexcept {
  Order* const inserted = orders_.insert(order, order.strategy);
  TICKPATH_CHECK(inserted != nullptr, "room was checked, and ids are unique");
  Order& added = *inserted;
  added.leaves = 0;
  ++open_;
  ++open_of_[added.strategy];
  if (order.state == trading::OrderState::kPendingNew) ++unanswered_of_[added.strategy];
  set_leaves(added, order.shares);
  return added;
}

bool Ledger::restore(const Order& order) noexcept {
  if (full() || order.id == 0 || find(order.id) != nullptr || order.row >= position_count_ ||
      order.pending_id == order.id || find(order.pending_id) != nullptr)
    return false;
  Order& added = add(order);
  set_leaves(added, order.leaves);
  if (trading::is_final(order.state)) {
    --open_;
    --open_of_[order.strategy];
  }
  added.second_cancel_id = 0;
  if (order.second_cancel_id != 0 &&
      !set_second_cancel(added, order.second_cancel_id, order.second_cancel_own))
    return false;
  added.second_cancel_stale = order.second_cancel_stale;
  if (order.pending_id == 0) return true;
  orders_.set_pending(added, order.pending_id);
  ++unanswered_of_[order.strategy];
  Position& position = positions_[order.row];
  (order.side == Side::kBuy ? position.reserved_buy : position.reserved_sell) +=
      order.reserved_shares;
  value(position);
  return true;
}

bool Ledger::restore(const wire::PositionRow& row) noexcept {
  const std::uint32_t at = position_row(row.strategy_id, row.instrument_id);
  if (at == IdMap::kNone) return false;
  wire::PositionRow& restored = positions_[at].row;
  restored = row;
  restored.open_buy_shares = restored.open_sell_shares = 0;
  value(positions_[at]);
  return true;
}

bool Ledger::take(const Ledger& other) noexcept {
  if (positions_max() < other.position_count_ || !orders_.take(other.orders_)) return false;
  for (std::uint32_t at = 0; at < other.position_count_; ++at) {
    const Position& position = other.positions_[at];
    (void)position_row(position.row.strategy_id, position.row.instrument_id);
    positions_[at] = position;
  }
  open_ = other.open_;
  open_of_ = other.open_of_;
  unanswered_of_ = other.unanswered_of_;
  exposure_of_ = other.exposure_of_;
  unpriced_of_ = other.unpriced_of_;
  exposure_ = other.exposure_;
  unpriced_ = other.unpriced_;
  return other.second_cancels_.size() == 0 || take_second_cancels();
}

bool Ledger::take_second_cancels() noexcept {
  bool room = true;
  for (std::size_t strategy = 0; strategy < open_of_.size(); ++strategy)
    orders_.for_each(strategy, [&](const Order& order) {
      if (order.second_cancel_id != 0)
        room &= second_cancels_.insert(order.second_cancel_id, orders_.index(order));
    });
  return room;
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

bool Ledger::set_second_cancel(Order& order, std::uint64_t request_id, bool own) noexcept {
  if (order.second_cancel_id != 0 || find(request_id) != nullptr ||
      !second_cancels_.insert(request_id, orders_.index(order)))
    return false;
  order.second_cancel_id = request_id;
  order.second_cancel_own = own;
  order.second_cancel_stale = false;
  ++unanswered_of_[order.strategy];
  return true;
}

void Ledger::clear_second_cancel(Order& order) noexcept {
  second_cancels_.erase(order.second_cancel_id);
  order.second_cancel_id = 0;
  --unanswered_of_[order.strategy];
}

void Ledger::release_pending(Order& order) noexcept {
  --unanswered_of_[order.strategy];
  Position& position = positions_[order.row];
  (order.side == Side::kBuy ? position.reserved_buy : position.reserved_sell) -=
      order.reserved_shares;
  order.reserved_shares = 0;
  value(position);
}

void Ledger::undo_add(Order& order) noexcept {
  set_leaves(order, 0);
  --open_;
  --open_of_[order.strategy];
  --unanswered_of_[order.strategy];
  clear_pending(order);
  orders_.erase(order, order.strategy);
}

bool Ledger::apply(Order& order, const LedgerReport& report, trading::OrderState& state) noexcept {
  const bool was_final = trading::is_final(order.state);
  const bool was_unanswered = order.state == trading::OrderState::kPendingNew;
  if (!wire::apply(order.state, report.kind, report.leaves, report.cumulative)) {
    state = order.state;
    return false;
  }
  if (was_unanswered && order.state != trading::OrderState::kPendingNew)
    --unanswered_of_[order.strategy];
  const bool execution = wire::is_execution(report.kind);
  if (execution)
    trade(order.row, {order.side, report.last_shares, report.last_price,
                      report.kind != wire::ReportKind::kFillCanceled});
  if (execution && !was_final) {
    order.cumulative = report.cumulative;
    set_leaves(order, report.leaves);
  }
  if (report.kind == wire::ReportKind::kRestated) restate(order, report.leaves);
  if (!execution) answer_request(order, report);
  state = order.state;
  if (trading::is_final(state) && !was_final) {
    set_leaves(order, 0);
    --open_;
    --open_of_[order.strategy];
  }
  release_if_done(order);
  return true;
}

// The report may be the answer to a request that is on its way.
void Ledger::answer_request(Order& order, const LedgerReport& report) noexcept {
  if (order.second_cancel_id != 0 && report.request_id == order.second_cancel_id) [[unlikely]]
    return clear_second_cancel(order);
  if (order.pending_id == 0 || report.request_id != order.pending_id) return;
  order.id_unknown = false;
  if (report.kind != wire::ReportKind::kReplaced) return clear_pending(order);
  release_pending(order);
  orders_.promote_pending(order);
  order.trace_id = order.pending_trace_id;
  order.price = order.pending_price;
  order.stop_price = order.pending_stop_price;
  order.shares = order.pending_shares;
  order.cumulative = report.cumulative;
  order.second_cancel_stale = order.second_cancel_id != 0;
  set_leaves(order, report.leaves);
}

void Ledger::trade(std::uint32_t at, const trading::Fill& fill) noexcept {
  wire::PositionRow& row = positions_[at].row;
  trading::apply_fill(fill, row.position_shares, row.cash, row.fills);
  value(positions_[at]);
}

void Ledger::charge(std::uint32_t at, std::int64_t fee) noexcept {
  std::int64_t& fees = positions_[at].row.fees;
  fees = saturating_add(fees, fee);
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
  value(position);
}

// A final order stays findable while an answer about it is still to come.
void Ledger::release_if_done(Order& order) noexcept {
  if (trading::is_final(order.state) && order.pending_id == 0 && order.second_cancel_id == 0)
    orders_.erase(order, order.strategy);
}

void Ledger::set_leaves(Order& order, std::uint32_t leaves) noexcept {
  wire::PositionRow& row = positions_[order.row].row;
  (order.side == Side::kBuy ? row.open_buy_shares : row.open_sell_shares) += leaves - order.leaves;
  order.leaves = leaves;
  value(positions_[order.row]);
}

// Brings the sums up to date with a row.
void Ledger::value(Position& position) noexcept {
  const std::uint8_t strategy = position.row.strategy_id;
  const std::uint64_t shares = position.most_shares();
  const bool unpriced = shares != 0 && position.price == 0;
  if (unpriced != position.unpriced) [[unlikely]] {
    const std::uint32_t change = unpriced ? 1 : ~0u;  // modulo 2^32
    unpriced_ += change;
    unpriced_of_[strategy] += change;
    position.unpriced = unpriced;
  }
  const Exposure value = Exposure{shares} * position.price;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::uint64_t exposure = value > kMost ? kMost : static_cast<std::uint64_t>(value);
  exposure_ += Exposure{exposure} - position.exposure;
  exposure_of_[strategy] += Exposure{exposure} - position.exposure;
  position.exposure = exposure;
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
