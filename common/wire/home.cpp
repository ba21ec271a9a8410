#include "common/wire/home.hpp"

#include <cstdint>

#include "common/base/saturating.hpp"

namespace tickpath::wire {
namespace {

// Its prices can be traded at: not where trading is halted or paused, or a cross is gathered, whose
// book may be crossed with itself.
bool counts(const VenueQuote& quote) noexcept {
  return quote.feed_state() == FeedState::kGood && !gathers(quote.trading_state());
}

// Adds one venue's price at one side, `better` telling which of two prices is.
template <class Better>
void add(std::uint32_t price, std::uint32_t shares, std::size_t venue, std::uint32_t& best,
         std::uint32_t& best_shares, std::uint8_t& venues, Better better) noexcept {
  if (price == 0) return;
  if (best == 0 || better(price, best)) {
    best = price;
    best_shares = 0;
    venues = 0;
  }
  if (price != best) return;
  best_shares = saturating_add(best_shares, shares);
  venues = static_cast<std::uint8_t>(venues | 1u << venue);
}

}  // namespace

void consolidate(Consolidated& book, std::uint32_t alive) noexcept {
  book.best_bid = book.best_ask = book.best_bid_shares = book.best_ask_shares = 0;
  book.bid_venues = book.ask_venues = book.flags = 0;
  for (std::size_t venue = 0; venue < kVenuesMax; ++venue) {
    const VenueQuote& quote = book.venues[venue];
    if ((alive >> venue & 1) == 0 || !counts(quote)) continue;
    add(quote.bid, quote.bid_shares, venue, book.best_bid, book.best_bid_shares, book.bid_venues,
        [](std::uint32_t a, std::uint32_t b) { return a > b; });
    add(quote.ask, quote.ask_shares, venue, book.best_ask, book.best_ask_shares, book.ask_venues,
        [](std::uint32_t a, std::uint32_t b) { return a < b; });
  }
  if (book.best_bid == 0 || book.best_ask == 0 || book.best_bid < book.best_ask) return;
  book.flags = book.best_bid == book.best_ask ? kLocked : kCrossed;
}

}  // namespace tickpath::wire
