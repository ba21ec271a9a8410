// Opening, closing and reopening crosses: ours, and those of the recording that our orders join.
#include <algorithm>

#include "common/base/saturating.hpp"
#include "sim/matching/matcher.hpp"
#include "sim/matching/matcher_cursor.hpp"

namespace tickpath::sim {
namespace {

constexpr std::uint8_t bit_of(CrossKind kind) noexcept {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
}

bool is_for(const LiveOrder& order, CrossKind kind) noexcept {
  return order.time_in_force == (kind == CrossKind::kOpening   ? TimeInForce::kAtTheOpening
                                 : kind == CrossKind::kClosing ? TimeInForce::kAtTheClose
                                                               : TimeInForce::kDay);
}

bool accepts(const LiveOrder& order, std::uint32_t price) noexcept {
  return !better(order.side, price, order.worst_price());
}

}  // namespace

bool Matcher::cross_is_over(std::uint32_t locate, TimeInForce time) const noexcept {
  const CrossKind kind =
      time == TimeInForce::kAtTheOpening ? CrossKind::kOpening : CrossKind::kClosing;
  return ((instruments_[locate].crosses | crosses_of_day_) & bit_of(kind)) != 0;
}

// The first of a queue of on-cross orders, from `node` on, that is for this cross.
std::uint32_t Matcher::next_for(std::uint32_t node, CrossKind kind) const noexcept {
  while (node != LiveOrders::kNone && !is_for(live_[node], kind)) node = live_[node].next;
  return node;
}

bool Matcher::awaits_cross(Locate locate, CrossKind kind) const noexcept {
  if (kind == CrossKind::kHalt) return !trading(locate) && live_in_book(locate);
  for (const Side side : {Side::kBuy, Side::kSell})
    if (next_for(live_.front(locate, side, Place::kAuction), kind) != LiveOrders::kNone)
      return true;
  return false;
}

// continuous: the book, recorded and ours, takes part; what our orders do not show, too.
void Matcher::gather(Locate locate, CrossKind kind, bool continuous) noexcept {
  auction_.clear();
  for (const Side side : {Side::kBuy, Side::kSell}) {
    for (std::uint32_t node = next_for(live_.front(locate, side, Place::kAuction), kind);
         node != LiveOrders::kNone; node = next_for(live_[node].next, kind))
      auction_.add(side, live_[node].price, live_[node].leaves());
    if (!continuous) continue;
    for (std::uint32_t node = live_.front(locate, side); node != LiveOrders::kNone;
         node = live_[node].next)
      auction_.add(side, live_[node].price, live_[node].leaves());
    for (std::uint32_t rank = 0; rank < book_.depth(locate, side); ++rank) {
      const book::LevelView level = book_.level(locate, side, rank);
      std::uint64_t taken = 0;
      for (book::Handle at = book_.front(locate, side, level.price); at != book::kNoOrder;
           at = book_.next(at))
        taken += taken_of(book_.user(at));
      if (level.shares != taken) auction_.add(side, level.price, level.shares - taken);
    }
  }
}

// The last trade; before the first, the middle of the recorded market.
std::uint32_t Matcher::reference_price(Locate locate) const noexcept {
  if (instruments_[locate].last != 0) return instruments_[locate].last;
  const std::uint32_t bid = book_.best(locate, Side::kBuy).price;
  const std::uint32_t offer = book_.best(locate, Side::kSell).price;
  return bid == 0 || offer == 0 ? 0 : bid / 2 + offer / 2 + (bid & offer & 1);
}

// 0: nobody. Recorded shares that we have taken are not looked for.
std::uint32_t Matcher::best_displayed(Locate locate, Side side) const noexcept {
  const std::uint32_t recorded = book_.best(locate, side).price;
  const std::uint32_t front = live_.front(locate, side);
  const std::uint32_t ours = front == LiveOrders::kNone ? 0 : live_[front].price;
  if (recorded == 0 || ours == 0) return recorded + ours;
  return better(side, ours, recorded) ? ours : recorded;
}

Imbalance Matcher::imbalance(Locate locate, CrossKind kind) noexcept {
  Imbalance result;
  const std::uint32_t reference = reference_price(locate);
  gather(locate, kind, true);
  result.near_price = auction_.outcome(reference).price;
  // Within the market, as far as there is one: the reference price of the feed's message (1.6).
  std::uint32_t at = result.near_price != 0 ? result.near_price : reference;
  const std::uint32_t bid = best_displayed(locate, Side::kBuy);
  const std::uint32_t offer = best_displayed(locate, Side::kSell);
  if (bid != 0 && bid < offer) at = std::clamp(at, bid, offer);
  result.at_reference = auction_.at(at);
  gather(locate, kind, false);
  result.far_price = auction_.outcome(reference).price;
  return result;
}

// ---------------------------------------------------------------------- allocation

// Hands `budget` shares of one side at the cross price to whoever accepts it, best limit first,
// then earliest arrival. Ours are filled; what falls to recorded orders stays with them. Returns
// what went to ours.
std::uint64_t Matcher::allot(Locate locate, CrossKind kind, Side side, std::uint32_t price,
                             std::uint64_t budget, bool continuous) noexcept {
  struct Claim {
    std::uint32_t price = 0;
    std::uint32_t arrival = 0;  // 0: nobody
  };
  const auto ahead = [side](const Claim& a, const Claim& b) {
    if (a.arrival == 0 || b.arrival == 0) return a.arrival != 0;
    return a.price == b.price ? a.arrival < b.arrival : better(side, a.price, b.price);
  };
  const auto claim_of = [&](std::uint32_t node) {
    if (node == LiveOrders::kNone || !accepts(live_[node], price)) return Claim{};
    return Claim{live_[node].worst_price(), live_[node].arrival};
  };
  Cursor cursor{locate, side};
  std::uint32_t waiting = next_for(live_.front(locate, side, Place::kAuction), kind);
  std::uint64_t ours = 0;
  while (budget != 0) {
    const Claim on_cross = claim_of(waiting);
    const std::uint32_t resting = live_.front(locate, side);
    const Claim in_book = continuous ? claim_of(resting) : Claim{};
    Claim recorded;
    if (continuous && next_available(cursor, price))
      recorded = {cursor.price, arrival_of(book_.user(cursor.handle))};
    if (ahead(recorded, on_cross) && ahead(recorded, in_book)) {
      const book::OrderView order = book_.order(cursor.handle);
      budget -= std::min<std::uint64_t>(budget, order.shares - taken_of(order.user));
      cursor.handle = book_.next(cursor.handle);
      continue;
    }
    const bool of_book = ahead(in_book, on_cross);
    if (!of_book && on_cross.arrival == 0) break;
    const std::uint32_t node = of_book ? resting : waiting;
    if (!of_book) waiting = next_for(live_[node].next, kind);
    const auto shares =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(budget, live_[node].leaves()));
    budget -= shares;
    ours += shares;
    fill(node, shares, price, FillSource::kCross, Liquidity::kCross);
    after_slice(node);
  }
  return ours;
}

// Recorded orders of a side give what ours of the other have from them.
void Matcher::take_in_cross(Locate locate, Side side, std::uint32_t price,
                            std::uint64_t shares) noexcept {
  Cursor cursor{locate, side};
  while (shares != 0 && next_available(cursor, price)) {
    const book::OrderView order = book_.order(cursor.handle);
    const auto taken = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(shares, order.shares - taken_of(order.user)));
    shares -= taken;
    book_.set_user(cursor.handle, order.user + taken);
    counters_.taken.add(taken);
    if (feed_ != nullptr) take_on_feed(order, taken, price, true);
  }
}

// One price: ours trade with each other, and what is left over of one side with the recording.
void Matcher::book_cross(Locate locate, std::uint32_t price, std::uint64_t bought,
                         std::uint64_t sold) noexcept {
  const std::uint64_t between = std::min(bought, sold);
  counters_.traded_live.add(between);
  counters_.bought_from_recorded.add(bought - between);
  counters_.sold_to_recorded.add(sold - between);
  counters_.filled_shares[static_cast<std::size_t>(FillSource::kCross)].add(std::max(bought, sold));
  RecordedAccount& account = accounts_[locate];
  const auto net = static_cast<std::int64_t>(sold) - static_cast<std::int64_t>(bought);
  account.position_shares = saturating_add(account.position_shares, net);
  account.cash = saturating_subtract(account.cash, std::int64_t{price} * net);
}

// On-cross orders do not outlive their cross.
void Matcher::end_cross(Locate locate, CrossKind kind) noexcept {
  instruments_[locate].crosses |= bit_of(kind);
  take_out(
      locate,
      [kind](const LiveOrder& order) {
        return order.place == Place::kAuction && is_for(order, kind);
      },
      [this](std::uint32_t node) { expire(node, Reason::kRemainder); });
}

// ---------------------------------------------------------------------- crosses

CrossResult Matcher::cross(Locate locate, CrossKind kind) noexcept {
  CrossResult result;
  if (closed_) return result;
  gather(locate, kind, true);
  const AuctionOutcome outcome = auction_.outcome(reference_price(locate));
  if (outcome.price != 0) {
    const std::uint32_t price = outcome.price;
    const auto side = [&](Side of) {
      return allot(locate, kind, of, price, outcome.paired_shares, true);
    };
    const std::uint64_t bought = side(Side::kBuy);
    const std::uint64_t sold = side(Side::kSell);
    const Side giving = bought > sold ? Side::kSell : Side::kBuy;
    take_in_cross(locate, giving, price, std::max(bought, sold) - std::min(bought, sold));
    book_cross(locate, price, bought, sold);
    result = {price, std::max(bought, sold)};
  }
  if (result.shares == 0) result.price = 0;  // the recording's own affair, if anybody's
  counters_.crosses.add();
  if (feed_ != nullptr) feed_->on_cross({locate, kind, result.price, result.shares});
  end_cross(locate, kind);
  settle(locate);
  return result;
}

void Matcher::cross_all(CrossKind kind) noexcept {
  if (!own_crosses_ || closed_) return;
  for (std::uint32_t locate = 0; locate < locates_; ++locate)
    if (awaits_cross(static_cast<Locate>(locate), kind)) cross(static_cast<Locate>(locate), kind);
  crosses_of_day_ |= bit_of(kind);
}

void Matcher::on_imbalance(Locate locate, CrossKind kind, Side side,
                           std::uint64_t shares) noexcept {
  imbalances_[locate] = {shares, kind, side};
}

// What ours have in common trades at the recorded price, and what is left over of one side with
// those whom the last imbalance message told of: orders that wanted to trade and found nobody.
void Matcher::on_cross(Locate locate, CrossKind kind, std::uint32_t price) noexcept {
  if (own_crosses_ || closed_ || kind == CrossKind::kHalt) {
    tell({});
    return;
  }
  std::uint64_t ours = 0;
  gather(locate, kind, false);
  (void)auction_.outcome(0);
  const AuctionOutcome all = price == 0 ? AuctionOutcome{} : auction_.at(price);
  const RecordedImbalance& told = imbalances_[locate];
  std::uint64_t extra = 0;
  if (told.kind == kind && told.side != all.imbalance_side)
    extra = std::min(told.shares, all.imbalance_shares);
  if (all.paired_shares + extra != 0) {
    const auto side = [&](Side of) {
      return allot(locate, kind, of, price,
                   all.paired_shares + (of == all.imbalance_side ? extra : 0), false);
    };
    const std::uint64_t bought = side(Side::kBuy);
    const std::uint64_t sold = side(Side::kSell);
    book_cross(locate, price, bought, sold);
    ours = std::max(bought, sold);
  }
  tell({.touched = ours != 0, .locate = locate, .added = ours});
  imbalances_[locate] = {};
  end_cross(locate, kind);
  settle(locate);
}

}  // namespace tickpath::sim
