// What the feed shows of our orders: an order is on it while it is in the book, with the shares
// that it shows and in the place that its arrival gives it.
#include <algorithm>

#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

// An order that is in the book. Whoever has kept its place and shows fewer shares is told of as
// reduced; whoever arrived anew, or shows more, comes under a new reference, behind the others.
void Matcher::update_feed(const LiveOrder& order) noexcept {
  ShownOrder& shown = live_.shown(order);
  const std::uint32_t shares = order.shown();
  if (shown.reference != 0 && order.arrival == shown.arrival && shares <= shown.shares) {
    if (shares != shown.shares)
      feed_->on_shown_less(order.locate, shown.reference, shown.shares - shares);
    shown.shares = shares;
    return;
  }
  const std::uint64_t replaced = shown.reference;
  shown = {kOwnNumbers | ++references_, shares, order.arrival};
  feed_->on_shown(order, shown, replaced);
}

void Matcher::remove_from_feed(const LiveOrder& order) noexcept {
  ShownOrder& shown = live_.shown(order);
  if (shown.reference == 0) return;
  feed_->on_hidden(order.locate, shown.reference);
  shown = {};
}

// shares: of the order; what it does not show can trade in a cross, and nobody hears of that.
void Matcher::trade_on_feed(const LiveOrder& order, std::uint32_t shares, std::uint32_t price,
                            bool in_cross) noexcept {
  ShownOrder& shown = live_.shown(order);
  if (shown.reference == 0) return;
  const std::uint32_t displayed = std::min(shares, shown.shares);
  feed_->on_trade({shown.reference, displayed, price, order.locate, in_cross});
  shown.shares -= displayed;
  if (shown.shares == 0) shown.reference = 0;  // the last share takes the order off the feed
}

void Matcher::take_on_feed(const book::OrderView& order, std::uint32_t shares, std::uint32_t price,
                           bool in_cross) noexcept {
  feed_->on_trade({order.reference, shares, price, order.locate, in_cross});
}

// The end of the day: orders good till cancelled are shown again when the next one begins.
void Matcher::hide_all(std::uint32_t locate) noexcept {
  for (const Side side : {Side::kBuy, Side::kSell})
    for (std::uint32_t node = live_.front(locate, side); node != LiveOrders::kNone;
         node = live_[node].next)
      hide(live_[node]);
}

}  // namespace tickpath::sim
