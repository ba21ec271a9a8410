// What the reference market refuses. Included by reference_market.hpp alone.
#pragma once

#include "reference_market.hpp"

namespace tickpath::sim {

inline Reason ReferenceMarket::change_refusal(std::uint64_t id, std::uint64_t target, Party party,
                                              unsigned locate, Side side) const {
  if (known_.contains(id)) return Reason::kDuplicateId;
  if (!known_.contains(target)) return Reason::kUnknownOrder;
  const auto at = live(target);
  if (!at) return Reason::kTooLate;
  if (orders_[*at].party.session != party.session) return Reason::kUnknownOrder;
  if (orders_[*at].locate != locate || orders_[*at].side != side) return Reason::kMismatch;
  return Reason::kNone;
}

inline Reason ReferenceMarket::replace_refusal(const ReplaceOrder& r) const {
  const Reason no = change_refusal(r.order_id, r.target_order_id, r.party, r.locate, r.side);
  if (no != Reason::kNone) return no;
  Order o = orders_[*live(r.target_order_id)];
  if (closed_) return Reason::kClosed;
  if (r.type != o.type) return Reason::kUnsupported;
  if (r.shares == 0 || r.shares > kOrderSharesMax) return Reason::kQuantity;
  if ((o.type == OrderType::kLimit || o.type == OrderType::kStopLimit) && r.price.value <= 0)
    return Reason::kPrice;
  if (o.waits() && r.stop_price.value <= 0) return Reason::kStopPrice;
  const bool priced = o.type != OrderType::kMarket && o.type != OrderType::kStop;
  if (priced && sub_penny(r.price)) return Reason::kPriceTick;
  if (o.waits() && sub_penny(r.stop_price)) return Reason::kStopTick;
  if (r.shares < o.filled) return Reason::kBelowFilled;
  if (o.on_cross) return Reason::kNone;
  if (halt_rule_ == HaltRule::kReject && !trading(r.locate)) return Reason::kNotTrading;
  if (trading(r.locate) && beyond(r)) return Reason::kPriceBand;
  const bool keeps = replaced_in_place(o, r);
  o.price = o.worst = static_cast<std::uint32_t>(r.price.value);
  if (o.post_only && trading(r.locate) && !keeps && best_counterparty(o)) return Reason::kPostOnly;
  return Reason::kNone;
}

inline Reason ReferenceMarket::refusal(const NewOrder& r) const {
  if (known_.contains(r.order_id)) return Reason::kDuplicateId;
  if (closed_) return Reason::kClosed;
  if (r.locate == wire::kNoInstrument) return Reason::kUnknownSymbol;
  if (r.shares == 0 || r.shares > kOrderSharesMax) return Reason::kQuantity;
  const bool limit = r.type == OrderType::kLimit || r.type == OrderType::kStopLimit;
  const bool stop = r.type == OrderType::kStop || r.type == OrderType::kStopLimit;
  const bool pegged = r.type == OrderType::kPegged;
  if (limit && r.price.value <= 0) return Reason::kPrice;
  if (stop && r.stop_price.value <= 0) return Reason::kStopPrice;
  if ((limit || pegged) && sub_penny(r.price)) return Reason::kPriceTick;
  if (stop && sub_penny(r.stop_price)) return Reason::kStopTick;
  const bool now = r.time_in_force == TimeInForce::kImmediateOrCancel ||
                   r.time_in_force == TimeInForce::kFillOrKill;
  if (now && (stop || pegged || r.post_only || r.display_shares != 0)) return Reason::kCombination;
  if (!now && r.minimum_shares != 0) return Reason::kCombination;
  if (r.minimum_shares > r.shares) return Reason::kCombination;
  if (r.post_only && r.type != OrderType::kLimit) return Reason::kCombination;
  if (r.display_shares != 0 && !limit && !pegged) return Reason::kCombination;
  if (joins_cross(r.time_in_force)) {
    if (stop || pegged || r.post_only || r.display_shares != 0) return Reason::kCombination;
    const bool over = crossed_.contains({r.locate, cross_of(r.time_in_force)});
    return over ? Reason::kCrossOver : Reason::kNone;
  }
  if (!trading(r.locate))
    return halt_rule_ == HaltRule::kReject ? Reason::kNotTrading : Reason::kNone;
  if (beyond(r)) return Reason::kPriceBand;
  const Order asked{.recorded = false,
                    .id = r.order_id,
                    .locate = r.locate,
                    .side = r.side,
                    .price = static_cast<std::uint32_t>(r.price.value),
                    .shares = r.shares,
                    .worst = static_cast<std::uint32_t>(r.price.value)};
  return r.post_only && best_counterparty(asked) ? Reason::kPostOnly : Reason::kNone;
}

}  // namespace tickpath::sim
