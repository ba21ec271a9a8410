// The checks of an order, in this order; the first that fails names the reject reason:
//
//   - malformed, unknown instrument, duplicate id, unknown order, exception
//   - room in the tables and in the journal
//   - the limits, in the order of TICKPATH_ORDER_LIMITS
//   - kill switch, session down, venue gap, risk absent
//
// A cancel reduces risk: it must be well-formed and name a live order of its strategy, nothing
// else.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/cpu.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/order_id.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_terms.hpp"
#include "oeg/instruments.hpp"
#include "oeg/ledger.hpp"
#include "oeg/limits.hpp"

namespace tickpath::oeg {

// What holds for all orders at a moment.
struct Conditions {
  bool accepting = true;    // false: oeg is stopping
  bool session_up = false;  // FIX is logged on
  bool behind_gap = false;  // of reports that are missing: who knows what has been filled
  bool risk_alive = false;  // or not required
};

// What is asked for, whether by a new order or a replacement.
struct Demand {
  std::uint32_t price;         // 0: market
  std::uint32_t shares;        // the order's size
  std::uint32_t added_shares;  // beyond what this order already has open
  Side side;
  bool pegged;               // never trades against the other side on arrival
  std::uint32_t stop_price;  // 0: it does not wait for one
};

inline Demand demand_of(const wire::OrderRequest& request, std::uint32_t added_shares) noexcept {
  return {static_cast<std::uint32_t>(request.price.value),
          request.shares,
          added_shares,
          request.side,
          request.type == trading::OrderType::kPegged,
          request.stop_price};
}

// Looks at the fields of one request alone. A strategy may only use ids of its own.
inline bool malformed(const wire::OrderRequest& request, std::uint8_t strategy) noexcept {
  using wire::RequestKind;
  const bool id_ok = request.order_id >> 56 == 0 && request.order_id != 0 &&
                     wire::OrderId::strategy(request.order_id) == strategy;
  if (!id_ok) return true;
  if (request.kind == RequestKind::kCancel) return request.target_order_id == 0;
  if (!wire::terms_agree(request)) return true;
  if (request.kind == RequestKind::kReplace)
    return !trading::is_replaceable(request.type) || request.target_order_id == 0;
  return request.kind != RequestKind::kNew || request.target_order_id != 0;
}

// The price that is worse than `price` by so much for an order of that side; at least 1.
inline std::uint64_t worse_by(Side side, std::uint32_t price, std::uint32_t basis_points) noexcept {
  if (side == Side::kBuy) return price * (std::uint64_t{10'000} + basis_points) / 10'000;
  if (basis_points >= 10'000) return 1;
  return (price * (std::uint64_t{10'000} - basis_points) + 9'999) / 10'000;
}

// The worst limit price that the collar allows against the opposite best price, on the price grid
// of Regulation NMS rule 612 (cents from a dollar on, 1/10,000 below), never on the far side of
// `best`.
inline std::uint32_t collar_price(Side side, std::uint32_t best,
                                  std::uint32_t basis_points) noexcept {
  constexpr std::uint64_t kDollar = 10'000;
  constexpr std::uint64_t kCent = 100;
  const std::uint64_t exact = worse_by(side, best, basis_points);
  if (side == Side::kBuy) {
    const std::uint64_t on_grid = exact < kDollar ? exact : exact / kCent * kCent;
    const std::uint64_t price = on_grid < best ? best : on_grid;
    return static_cast<std::uint32_t>(price > 0xffff'ffff ? 0xffff'ffff : price);
  }
  const std::uint64_t on_grid = exact < kDollar ? exact : (exact + kCent - 1) / kCent * kCent;
  return static_cast<std::uint32_t>(on_grid > best ? best : on_grid);
}

// The opposite best price, but no further beyond the last trade than the limit allows. A quote that
// nobody means (a stub) is not the market. Before the first trade the best price of the own side
// stands for it. 0: there is neither.
[[gnu::noinline]] inline std::uint32_t within_reference(Side side, std::uint32_t best,
                                                        const Instrument& instrument,
                                                        std::uint32_t basis_points) noexcept {
  const std::uint32_t own = side == Side::kBuy ? instrument.best_bid : instrument.best_ask;
  const std::uint32_t anchor = instrument.last_trade != 0 ? instrument.last_trade : own;
  if (anchor == 0) return 0;
  const std::uint64_t farthest = worse_by(side, anchor, basis_points);
  return static_cast<std::uint32_t>(side == Side::kBuy ? std::min<std::uint64_t>(best, farthest)
                                                       : std::max<std::uint64_t>(best, farthest));
}

// The opposite best price as far as it counts; 0: there is no market.
inline std::uint32_t credible_best(Side side, const Instrument& instrument,
                                   std::uint32_t basis_points) noexcept {
  const std::uint32_t best = side == Side::kBuy ? instrument.best_ask : instrument.best_bid;
  if (!instrument.good() || best == 0) return 0;
  return basis_points == 0 ? best : within_reference(side, best, instrument, basis_points);
}

// The price that the collar is measured from: the best of the other side, or the stop price of an
// order that waits until the market is there, if that is beyond. 0: there is no market.
inline std::uint32_t reference_price(const Demand& demand, const Instrument& instrument,
                                     const Limits& limits) noexcept {
  const std::uint32_t best = credible_best(demand.side, instrument, limits.reference_basis_points);
  if (best == 0 || demand.stop_price == 0) [[likely]]
    return best;
  const bool beyond =
      demand.side == Side::kBuy ? demand.stop_price > best : demand.stop_price < best;
  return beyond ? demand.stop_price : best;
}

[[gnu::noinline]] inline std::uint32_t value_of_unpriced_buy(const Demand& demand,
                                                             const Instrument& instrument,
                                                             const Limits& limits) noexcept {
  const std::uint32_t reference = reference_price(demand, instrument, limits);
  return reference != 0 ? collar_price(Side::kBuy, reference, limits.collar_basis_points) : 0;
}

// The most that a share could be worth in a trade of this order: for a buy its limit, or without
// one (market, stop, pegged) what the collar allows now; for a sell the best bid if its limit is
// below that, the best offer while there is no bid. 0: unknown. A sell has no upper bound but the
// market: without a good one its limit says nothing of what it will bring. A pegged buy without a
// limit follows the market: give it one where that matters.
inline std::uint32_t value_price(const Demand& demand, const Instrument& instrument,
                                 const Limits& limits) noexcept {
  if (demand.side == Side::kSell) {
    if (!instrument.good()) return 0;
    const std::uint32_t market =
        instrument.best_bid != 0
            ? credible_best(Side::kSell, instrument, limits.reference_basis_points)
            : instrument.best_ask;
    if (market == 0) return 0;
    return demand.price > market ? demand.price : market;
  }
  if (demand.price != 0) [[likely]]
    return demand.price;
  return value_of_unpriced_buy(demand, instrument, limits);
}

// What the limits are asked about.
struct Asked {
  Demand demand;
  const Instrument& instrument;
  const Ledger& ledger;
  std::uint32_t row;  // of the position
  const Limits& limits;
  std::uint32_t open_orders = 0;   // of the strategy, if this one comes to them; else 0
  RateLimiter* limiter = nullptr;  // nullptr: the message was counted when it came
  std::uint64_t hz = 0;            // of the limiter's clock
  std::uint32_t price = value_price(demand, instrument, limits);

  const Position& position() const noexcept { return ledger.position(row); }
};

enum class Verdict : std::uint8_t { kWithin, kBeyond, kNoMarket };

constexpr Verdict beyond(bool is_beyond) noexcept {
  return is_beyond ? Verdict::kBeyond : Verdict::kWithin;
}

// What the strategy would hold if everything open on the order's side were filled and nothing on
// the other. Not above 0: the order goes towards zero, which is always allowed.
inline std::int64_t worst_position(const Demand& demand, const Position& position) noexcept {
  const wire::PositionRow& row = position.row;
  return demand.side == Side::kBuy ? row.position_shares + row.open_buy_shares +
                                         position.reserved_buy + demand.added_shares
                                   : -(row.position_shares - row.open_sell_shares -
                                       position.reserved_sell - std::int64_t{demand.added_shares});
}

// A check for each row of TICKPATH_ORDER_LIMITS, by its key. A limit of 0 is none.
namespace checks {

inline Verdict order_shares_max(const Asked& asked) noexcept {
  const std::uint32_t most = asked.limits.order_shares_max;
  return beyond(most != 0 && asked.demand.shares > most);
}

inline Verdict order_value_max(const Asked& asked) noexcept {
  if (asked.limits.order_value_max == 0) return Verdict::kWithin;
  if (asked.price == 0) return Verdict::kNoMarket;
  // 32 by 32 bits: fits.
  return beyond(std::uint64_t{asked.price} * asked.demand.shares > asked.limits.order_value_max);
}

// A limit may be worse than the opposite best price by so many basis points, that of a stop order
// worse than its stop price. A market or stop order only needs that there is a market, and is sent
// with the collar as its limit (OrderSender::protect()); the limit of a pegged order is no price
// that it trades at.
inline Verdict collar_basis_points(const Asked& asked) noexcept {
  const Demand& demand = asked.demand;
  const std::uint32_t basis_points = asked.limits.collar_basis_points;
  if (basis_points == 0) return Verdict::kWithin;
  const std::uint64_t best = reference_price(demand, asked.instrument, asked.limits);
  if (best == 0) return Verdict::kNoMarket;
  if (demand.price == 0 || demand.pegged) return Verdict::kWithin;
  // In units of 1/10,000 of a Price(4), so that nothing is rounded: 32 + 14 bits.
  const std::uint64_t price = std::uint64_t{demand.price} * 10'000;
  return beyond(demand.side == Side::kBuy ? price > best * (std::uint64_t{10'000} + basis_points)
                                          : price + best * basis_points < best * 10'000);
}

// No check of its own: what collar and value are taken from.
inline Verdict reference_basis_points(const Asked&) noexcept { return Verdict::kWithin; }

inline Verdict open_orders_max(const Asked& asked) noexcept {
  const std::uint32_t most = asked.limits.open_orders_max;
  return beyond(most != 0 && asked.open_orders >= most);
}

inline Verdict position_shares_max(const Asked& asked) noexcept {
  const Position& position = asked.position();
  // Open shares are 32 bits in the row, which risk reads, too.
  const std::uint64_t open =
      asked.demand.side == Side::kBuy
          ? std::uint64_t{position.row.open_buy_shares} + position.reserved_buy
          : std::uint64_t{position.row.open_sell_shares} + position.reserved_sell;
  if (open + asked.demand.added_shares > 0xffff'ffff) [[unlikely]]
    return Verdict::kBeyond;
  const std::uint32_t most = asked.limits.position_shares_max;
  return beyond(most != 0 && worst_position(asked.demand, position) > std::int64_t{most});
}

inline Verdict position_value_max(const Asked& asked) noexcept {
  const std::int64_t worst = worst_position(asked.demand, asked.position());
  const std::uint64_t most = asked.limits.position_value_max;
  if (most == 0 || worst <= 0) return Verdict::kWithin;
  if (asked.price == 0) return Verdict::kNoMarket;
  return beyond(static_cast<std::uint64_t>(worst) > most / asked.price);
}

// A sum of exposures, in which the order's row is replaced by what the order would make of it. What
// adds no exposure always passes. A row without a price makes the sum unknown.
[[gnu::noinline]] inline Verdict within_gross(const Asked& asked, std::uint64_t most, Exposure sum,
                                              std::uint32_t unpriced) noexcept {
  const Position& position = asked.position();
  Position after = position;
  (asked.demand.side == Side::kBuy ? after.reserved_buy : after.reserved_sell) +=
      asked.demand.added_shares;
  const std::uint64_t shares = after.most_shares();
  if (shares <= position.most_shares()) return Verdict::kWithin;
  if (asked.price == 0 || unpriced > (position.unpriced ? 1u : 0u)) return Verdict::kNoMarket;
  const Exposure added = Exposure{shares} * std::max(asked.price, position.price);
  return beyond(sum - position.exposure + added > most);
}

inline Verdict gross_value_max(const Asked& asked) noexcept {
  const std::uint64_t most = asked.limits.gross_value_max;
  if (most == 0) return Verdict::kWithin;
  const std::uint8_t strategy = asked.position().row.strategy_id;
  return within_gross(asked, most, asked.ledger.exposure(strategy),
                      asked.ledger.unpriced(strategy));
}

inline Verdict total_gross_value_max(const Asked& asked) noexcept {
  const std::uint64_t most = asked.limits.total_gross_value_max;
  if (most == 0) return Verdict::kWithin;
  return within_gross(asked, most, asked.ledger.exposure(), asked.ledger.unpriced());
}

// The last one: it takes a token of the limiter.
inline Verdict messages_per_second_max(const Asked& asked) noexcept {
  const std::uint32_t most = asked.limits.messages_per_second_max;
  return beyond(asked.limiter != nullptr && !asked.limiter->allow(tsc_now().value, most, asked.hz));
}

}  // namespace checks

inline trading::RejectReason check_limits(const Asked& asked) noexcept {
  using enum trading::RejectReason;
#define TICKPATH_CHECK_LIMIT(key, type, most, unit, reason, help)              \
  if (const Verdict verdict = checks::key(asked); verdict != Verdict::kWithin) \
    return verdict == Verdict::kBeyond ? reason : kNoMarket;
  TICKPATH_ORDER_LIMITS(TICKPATH_CHECK_LIMIT)
#undef TICKPATH_CHECK_LIMIT
  return kNone;
}

// Kill switch, session, risk.
inline trading::RejectReason check_conditions(const Conditions& conditions,
                                              const wire::ControlBlock& block,
                                              std::uint8_t strategy) noexcept {
  using trading::RejectReason;
  if (block.killed(strategy)) return RejectReason::kKillSwitch;
  if (!conditions.accepting || !conditions.session_up) return RejectReason::kSessionDown;
  if (conditions.behind_gap) return RejectReason::kVenueGap;
  if (!conditions.risk_alive) return RejectReason::kRiskAbsent;
  return RejectReason::kNone;
}

}  // namespace tickpath::oeg
