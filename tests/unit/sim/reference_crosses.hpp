// Crosses of the reference market. Included by reference_market.hpp alone.
#pragma once

#include "reference_market.hpp"

namespace tickpath::sim {

inline std::uint32_t limit_of(const ReferenceOrder& o) {
  if (o.type != OrderType::kMarket) return o.price;
  return o.side == Side::kBuy ? UINT32_MAX : 0;
}
inline bool would_pay(const ReferenceOrder& o, std::uint32_t price) {
  return o.side == Side::kBuy ? limit_of(o) >= price : limit_of(o) <= price;
}
// What a cross can have of an order: also what it does not show.
inline std::uint32_t all_of(const ReferenceOrder& o) {
  return o.recorded ? o.shares - o.taken : o.shares;
}

// Everybody who would take part at the price, in order of priority.
inline void ReferenceMarket::cross(Locate locate, CrossKind kind) {
  if (closed_) return;
  const auto joins = [&](const Order& o) {
    return o.locate == locate && (o.recorded || o.in_book || (o.on_cross && *o.on_cross == kind));
  };
  const auto [price, volume] = auction_price(joins, reference(locate));
  if (volume != 0) trade_at(joins, price, volume, volume);
  end_cross(locate, kind);
}

inline void ReferenceMarket::on_cross(Locate locate, CrossKind kind, std::uint32_t price) {
  if (closed_ || crosses_ == CrossRule::kOwn || kind == CrossKind::kHalt) return;
  const auto joins = [&](const Order& o) {
    return o.locate == locate && o.on_cross && *o.on_cross == kind;
  };
  if (price != 0) {
    std::uint64_t buys = interest(joins, Side::kBuy, price);
    std::uint64_t sells = interest(joins, Side::kSell, price);
    const auto& [of, side, shares] = imbalances_[locate];
    // Orders for the imbalance alone come last on their side.
    const std::uint64_t others = of == kind ? shares : 0;
    const std::uint64_t offered = sells + (side == Side::kSell ? others : 0);
    const std::uint64_t wanted = buys + (side == Side::kBuy ? others : 0);
    trade_at(joins, price, std::min(buys, offered), std::min(sells, wanted));
  }
  imbalances_.erase(locate);
  end_cross(locate, kind);
}

inline std::uint64_t ReferenceMarket::interest(const Joins& joins, Side side,
                                               std::uint32_t price) const {
  std::uint64_t sum = 0;
  for (const Order& o : orders_)
    if (joins(o) && o.side == side && would_pay(o, price)) sum += all_of(o);
  return sum;
}

inline std::uint32_t ReferenceMarket::reference(unsigned locate) {
  if (tapes_[locate].last != 0) return tapes_[locate].last;
  std::uint32_t bid = 0;
  std::uint32_t offer = 0;
  for (const Order& o : orders_) {
    if (!o.recorded || o.locate != locate) continue;
    if (o.side == Side::kBuy) bid = std::max(bid, o.price);
    if (o.side == Side::kSell && (offer == 0 || o.price < offer)) offer = o.price;
  }
  return bid == 0 || offer == 0 ? 0 : (bid + offer) / 2;
}

// Tries every price that somebody named.
inline std::pair<std::uint32_t, std::uint64_t> ReferenceMarket::auction_price(
    const Joins& joins, std::uint32_t reference) const {
  std::set<std::uint32_t> prices;
  if (reference != 0) prices.insert(reference);
  for (const Order& o : orders_)
    if (joins(o) && all_of(o) != 0 && o.type != OrderType::kMarket) prices.insert(o.price);
  std::pair<std::uint32_t, std::uint64_t> best{0, 0};
  std::tuple<std::int64_t, std::uint64_t, std::uint32_t> rank;
  for (const std::uint32_t price : prices) {
    const std::uint64_t buys = interest(joins, Side::kBuy, price);
    const std::uint64_t sells = interest(joins, Side::kSell, price);
    const std::uint64_t volume = std::min(buys, sells);
    const std::tuple<std::int64_t, std::uint64_t, std::uint32_t> here{
        -static_cast<std::int64_t>(volume), std::max(buys, sells) - volume,
        price > reference ? price - reference : reference - price};
    if (best.first != 0 && here >= rank) continue;
    rank = here;
    best = {price, volume};
  }
  return best;
}

inline void ReferenceMarket::trade_at(const Joins& joins, std::uint32_t price, std::uint64_t buys,
                                      std::uint64_t sells) {
  const std::uint64_t bought = fill_side(joins, Side::kBuy, price, buys);
  const std::uint64_t sold = fill_side(joins, Side::kSell, price, sells);
  // Recorded orders give what is left over of our other side, best first.
  const Side giving = bought > sold ? Side::kSell : Side::kBuy;
  std::uint64_t net = bought > sold ? bought - sold : sold - bought;
  while (net != 0) {
    const auto at = best_of([&](const Order& o) {
      return joins(o) && o.recorded && o.side == giving && all_of(o) != 0 && would_pay(o, price);
    });
    if (!at) break;  // hidden ones: those of the recorded imbalance
    const auto shares =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(net, all_of(orders_[*at])));
    orders_[*at].taken += shares;
    net -= shares;
  }
}

// Returns what of it went to live orders.
inline std::uint64_t ReferenceMarket::fill_side(const Joins& joins, Side side, std::uint32_t price,
                                                std::uint64_t budget) {
  std::vector<Order> line;
  for (const Order& o : orders_)
    if (joins(o) && o.side == side && would_pay(o, price)) line.push_back(o);
  std::ranges::sort(line, [](Order a, Order b) {
    a.price = limit_of(a);
    b.price = limit_of(b);
    return before(a, b);
  });
  std::uint64_t ours = 0;
  for (const Order& next : line) {
    const auto shares = static_cast<std::uint32_t>(std::min<std::uint64_t>(budget, all_of(next)));
    budget -= shares;
    if (next.recorded || shares == 0) continue;
    ours += shares;
    const std::size_t at = *live(next.id);
    orders_[at].slice -= std::min(orders_[at].slice, shares);
    record_fill(orders_[at], shares, price, FillSource::kCross);
    show_next_slice(at);
  }
  return ours;
}

inline void ReferenceMarket::end_cross(unsigned locate, CrossKind kind) {
  crossed_.insert({locate, kind});
  const auto over = [&](const Order& o) {
    return o.locate == locate && o.on_cross && *o.on_cross == kind;
  };
  for (const Order& o : take_out(over)) end(o, ReportKind::kExpired, Reason::kRemainder);
  settle(locate);
}

}  // namespace tickpath::sim
