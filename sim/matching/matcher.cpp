#include "sim/matching/matcher.hpp"

#include <limits>

#include "common/base/check.hpp"
#include "common/base/error.hpp"
#include "common/trading/position.hpp"

namespace tickpath::sim {

Matcher::Matcher(const MatcherOptions& options, ReportSink& sink)
    : halt_rule_(options.halt_rule),
      self_match_(options.self_match),
      display_shares_min_(options.display_shares_min),
      band_basis_points_(options.band_basis_points),
      own_crosses_(options.crosses == CrossRule::kOwn),
      ticks_(options.ticks),
      incarnation_bits_(std::uint64_t{options.incarnation} << 48),
      sink_(sink),
      book_(options.book),
      live_(options.live_orders_max),
      ids_(options.order_ids_max),
      instruments_(std::make_unique<Instrument[]>(book::kLocatesMax)),
      accounts_(std::make_unique<RecordedAccount[]>(book::kLocatesMax)),
      imbalances_(std::make_unique<RecordedImbalance[]>(book::kLocatesMax)),
      auction_(std::size_t{options.book.levels_max} + options.live_orders_max + 1) {
  if (band_basis_points_ > 10'000) throw Error("matching: price bands are at most 100 %");
}

std::uint32_t Matcher::next_arrival() noexcept {
  // 2^32 arrivals are eight times the messages of the busiest day; a wrapped one would jump queues.
  TICKPATH_CHECK(arrivals_ != std::numeric_limits<std::uint32_t>::max(), "arrivals exhausted");
  return ++arrivals_;
}

const LiveOrder* Matcher::find_live(std::uint64_t order_id) noexcept {
  const IdTable::Entry* entry = ids_.find(order_id);
  return entry != nullptr && IdTable::live(*entry) ? &live_[entry->node] : nullptr;
}

std::uint64_t Matcher::taken_in_book() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate) {
    for (const Side side : {Side::kBuy, Side::kSell}) {
      const auto at = static_cast<Locate>(locate);
      for (std::uint32_t rank = 0; rank < book_.depth(at, side); ++rank) {
        book::Handle handle = book_.front(at, side, book_.level(at, side, rank).price);
        for (; handle != book::kNoOrder; handle = book_.next(handle))
          sum += taken_of(book_.user(handle));
      }
    }
  }
  return sum;
}

Report Matcher::report_of(const LiveOrder& order, ReportKind kind) noexcept {
  Report report;
  report.order_id = order.order_id;
  report.exchange_order_id = incarnation_bits_ | order.number;
  report.filled_value = order.filled_value;
  report.locate = order.locate;
  report.shares = order.shares;
  report.limit_price = order.price;
  report.leaves_shares = order.leaves();
  report.cumulative_shares = order.cumulative;
  report.party = order.party;
  report.side = order.side;
  report.kind = kind;
  report.state = order.leaves() == 0     ? OrderState::kFilled
                 : order.cumulative != 0 ? OrderState::kPartlyFilled
                                         : OrderState::kWorking;
  return report;
}

void Matcher::emit(const Report& report) noexcept {
  Report numbered = report;
  numbered.execution_id = next_execution_id();
  sink_.on_report(numbered);
}

void Matcher::fill(std::uint32_t node, std::uint32_t shares, std::uint32_t price, FillSource source,
                   Liquidity liquidity) noexcept {
  LiveOrder& order = live_[node];
  TICKPATH_CHECK(shares != 0 && shares <= order.leaves(), "a fill is part of its order");
  order.cumulative += shares;
  order.slice -= std::min(order.slice, shares);
  order.filled_value += std::int64_t{price} * shares;
  if (feed_ != nullptr) [[unlikely]]
    trade_on_feed(order, shares, price, source == FillSource::kCross);
  Report report = report_of(order, ReportKind::kFill);
  report.last_shares = shares;
  report.last_price = price;
  report.source = source;
  report.liquidity = liquidity;
  counters_.fills.add();
  counters_.traded_shares[static_cast<std::size_t>(liquidity)].add(shares);
  print(order.locate, price);
  emit(report);
}

void Matcher::fill_recorded(std::uint32_t node, std::uint32_t shares, std::uint32_t price,
                            FillSource source) noexcept {
  const LiveOrder& order = live_[node];
  RecordedAccount& account = accounts_[order.locate];
  trading::apply_fill({opposite(order.side), shares, {price}}, account.position_shares,
                      account.cash);
  (order.side == Side::kBuy ? counters_.bought_from_recorded : counters_.sold_to_recorded)
      .add(shares);
  counters_.filled_shares[static_cast<std::size_t>(source)].add(shares);
  // Whatever else the recording does to an order of ours, that one stood in the book.
  fill(node, shares, price, source,
       source == FillSource::kDisplayed ? Liquidity::kRemoved : Liquidity::kAdded);
}

void Matcher::expire(std::uint32_t node, Reason reason) noexcept {
  Report report = report_of(live_[node], ReportKind::kExpired);
  report.state = OrderState::kExpired;
  report.reason = reason;
  report.leaves_shares = 0;
  counters_.expired.add();
  emit(report);
  finish(node, OrderState::kExpired);
}

// Gives the node back; the order must not be in a queue any more.
void Matcher::finish(std::uint32_t node, OrderState state) noexcept {
  LiveOrder& order = live_[node];
  hide(order);
  IdTable::Entry* entry = ids_.find(order.order_id);
  TICKPATH_CHECK(entry != nullptr && entry->node == node, "an order has its id");
  entry->node = IdTable::closed(state, order.cumulative);
  if (order.type == OrderType::kPegged) live_.unlink_peg(node);
  if (order.type == OrderType::kPegged || order.waits()) --instruments_[order.locate].watched;
  live_.free(node);
}

}  // namespace tickpath::sim
