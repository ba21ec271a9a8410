#include "oeg/order_checks.hpp"

#include "common/clock/clock.hpp"
#include "common/market/order_limits.hpp"

namespace tickpath::oeg {
namespace {

// Ids of one strategy rise: incarnation and counter, without the strategy's own byte.
constexpr std::uint64_t kIdSequenceMask = (std::uint64_t{1} << 48) - 1;

}  // namespace

OrderChecks::OrderChecks(const GatewayOptions& options, Books& books, const HeldSymbols& held,
                         const VenuePort& venue, const JournalPort& journal, EventPort& events)
    : options_(options),
      instruments_(books.instruments),
      ledger_(books.ledger),
      held_(held),
      venue_(venue),
      journal_(journal),
      events_(events),
      hz_(clock::tsc_hz()),
      answer_ticks_(
          clock::TickConverter{}.from_ns(static_cast<std::uint64_t>(options.answer_max_ns)).value),
      limits_(options.limits) {}

void OrderChecks::set_control_block(const wire::ControlBlock& block) noexcept {
  block_ = block;
  limits_ = market::stricter(options_.limits, block);
}

// False: the id was used before. A strategy's ids rise.
bool OrderChecks::take_id(StrategySlot& slot, std::uint64_t order_id) noexcept {
  const std::uint64_t sequence = order_id & kIdSequenceMask;
  if (sequence <= slot.last_id) return false;
  slot.last_id = sequence;
  if (slot.first_request) [[unlikely]] {
    slot.first_request = false;
    slot.floor_id = sequence - 1;
  }
  return true;
}

[[gnu::always_inline]] inline Conditions OrderChecks::conditions_now() const noexcept {
  Conditions now = conditions_;
  now.session_up = venue_.up() && venue_.takes_orders();
  now.behind_gap = venue_.behind_gap();
  return now;
}

trading::RejectReason OrderChecks::refuses_all(const StrategySlot& slot) const noexcept {
  if (!journal_.has_room()) [[unlikely]]
    return trading::RejectReason::kJournalFull;
  return check_conditions(conditions_now(), block_, slot.id);
}

trading::RejectReason OrderChecks::check_new(StrategySlot& slot, const wire::OrderRequest& request,
                                             std::uint32_t& row) noexcept {
  using trading::RejectReason;
  if (malformed(request, slot.id)) return RejectReason::kMalformed;
  const Instrument* instrument = instruments_.find(request.instrument_id);
  if (instrument == nullptr || !instrument->known()) return RejectReason::kUnknownInstrument;
  if (!take_id(slot, request.order_id)) return RejectReason::kDuplicateOrderId;
  if (held_.is_held(instrument->symbol)) [[unlikely]]
    return RejectReason::kException;
  const std::uint32_t rows = ledger_.position_count();
  row = ledger_.position_row(slot.id, request.instrument_id);
  // Readers take an empty row for the end of the table, so there are no holes. That holds also when
  // this order is refused and no event follows.
  if (row >= rows && row != IdMap::kNone) [[unlikely]]
    events_.store_position(row, ledger_.position(row).row);
  if (row == IdMap::kNone) return RejectReason::kPositionsFull;
  if (ledger_.full()) return RejectReason::kOrdersFull;
  if (!journal_.has_room()) return RejectReason::kJournalFull;

  const Asked asked{demand_of(request, request.shares), *instrument, ledger_, row, limits_,
                    ledger_.open_orders(slot.id),       &slot.rate,  hz_};
  const RejectReason limit = check_limits(asked);
  if (limit != RejectReason::kNone) return limit;
  ledger_.price_at_least(row, asked.price);
  return check_conditions(conditions_now(), block_, slot.id);
}

trading::RejectReason OrderChecks::check_change(StrategySlot& slot,
                                                const wire::OrderRequest& request,
                                                Order*& order) noexcept {
  using trading::RejectReason;
  if (malformed(request, slot.id)) return RejectReason::kMalformed;
  if (!take_id(slot, request.order_id)) return RejectReason::kDuplicateOrderId;
  order = ledger_.find(request.target_order_id);
  if (order == nullptr || order->strategy != slot.id || order->id != request.target_order_id ||
      trading::is_final(order->state)) {
    order = nullptr;
    // An id that this connection has used is an order that is done; any other was never ours.
    const std::uint64_t target = request.target_order_id & kIdSequenceMask;
    const bool used = wire::OrderId::strategy(request.target_order_id) == slot.id &&
                      target > slot.floor_id && target < slot.last_id;
    return used ? RejectReason::kTooLate : RejectReason::kUnknownOrder;
  }
  if (waits_for_answer(*order)) [[unlikely]]
    return check_second_cancel(request, *order);
  if (request.kind == wire::RequestKind::kCancel)
    return venue_.up() ? RejectReason::kNone : RejectReason::kSessionDown;

  if (request.side != order->side || request.type != order->type ||
      request.shares <= order->cumulative)
    return RejectReason::kMalformed;
  if (held_.is_held(instruments_[order->instrument].symbol)) [[unlikely]]
    return RejectReason::kException;
  const std::uint32_t present = order->cumulative + order->leaves;
  const std::uint32_t added = request.shares > present ? request.shares - present : 0;
  const Asked asked{demand_of(request, added),
                    instruments_[order->instrument],
                    ledger_,
                    order->row,
                    limits_,
                    0,
                    &slot.rate,
                    hz_};
  const RejectReason limit = check_limits(asked);
  if (limit != RejectReason::kNone) return limit;
  ledger_.price_at_least(order->row, asked.price);
  return check_conditions(conditions_now(), block_, slot.id);
}

// Limits on sums take a position at the price of its market, not at that of its last order.
void OrderChecks::value_positions() noexcept {
  if (limits_.gross_value_max == 0 && limits_.total_gross_value_max == 0) return;
  ledger_.revalue(kValueEvery, [this](std::uint32_t id) {
    const Instrument* const instrument = instruments_.find(id);
    return instrument != nullptr && instrument->good() ? instrument->mark() : 0;
  });
}

// A strategy asks for a cancel of an order that has a request on its way already.
trading::RejectReason OrderChecks::check_second_cancel(const wire::OrderRequest& request,
                                                       const Order& order) const noexcept {
  const bool may = request.kind == wire::RequestKind::kCancel && order.pending_id != 0 &&
                   order.second_cancel_id == 0 && is_overdue(order);
  if (!may) return trading::RejectReason::kPendingRequest;
  return venue_.up() ? trading::RejectReason::kNone : trading::RejectReason::kSessionDown;
}

// What the venue said before a logon is sent again after it: time counts from there.
bool OrderChecks::is_overdue(const Order& order) const noexcept {
  const std::uint64_t since = std::max(order.asked_tsc, up_since_tsc_);
  return tsc_now().value - since >= answer_ticks_;
}

trading::RejectReason OrderChecks::check_resend(const Order& order,
                                                const fix::Resend& resend) noexcept {
  using trading::RejectReason;
  if (resend.age_ns > options_.resend_age_max_ns) return RejectReason::kStale;
  const bool replacement = resend.cl_ord_id == order.pending_id;
  // What it adds stands in the ledger already.
  const Demand demand{replacement ? order.pending_price : order.price,
                      replacement ? order.pending_shares : order.shares,
                      0,
                      order.side,
                      order.type == trading::OrderType::kPegged,
                      replacement ? order.pending_stop_price : order.stop_price};
  const Instrument& instrument = instruments_[order.instrument];
  if (held_.is_held(instrument.symbol)) return RejectReason::kException;
  const RejectReason limit = check_limits({demand, instrument, ledger_, order.row, limits_});
  if (limit != RejectReason::kNone) return limit;
  // The strategy may have gone meanwhile, and the order would be cancelled at once.
  if (order.orphan) return RejectReason::kStale;
  Conditions now = conditions_;
  now.session_up = venue_.takes_orders();  // it is about to be up
  now.behind_gap = venue_.behind_gap();
  return check_conditions(now, block_, order.strategy);
}

}  // namespace tickpath::oeg
