#include <cstdint>

#include <gtest/gtest.h>

#include "common/wire/home.hpp"

namespace tickpath::wire {
namespace {

VenueQuote quote(std::uint32_t bid, std::uint32_t ask, TradingState trading,
                 std::uint32_t shares = 100) {
  VenueQuote quote{};
  quote.set(Writer{}, static_cast<std::uint8_t>(static_cast<unsigned>(FeedState::kGood) |
                                                static_cast<unsigned>(trading) << 4));
  quote.bid = bid;
  quote.ask = ask;
  quote.bid_shares = quote.ask_shares = shares;
  return quote;
}

// Its book may be crossed with itself then, and nobody trades at it.
TEST(Consolidated, LeavesOutAVenueWhoseOrdersGather) {
  for (const TradingState state :
       {TradingState::kHalted, TradingState::kPaused, TradingState::kQuotationOnly}) {
    Consolidated book{};
    book.venues[0] = quote(100'0000, 100'0100, TradingState::kTrading);
    book.venues[1] = quote(105'0000, 95'0000, state);
    consolidate(book, 3);
    EXPECT_EQ(book.best_bid, 100'0000u);
    EXPECT_EQ(book.best_ask, 100'0100u);
    EXPECT_EQ(book.bid_venues, 1u);
    EXPECT_EQ(book.flags, 0u);
  }
}

TEST(Consolidated, SharesOfAllVenuesDoNotWrapAround) {
  Consolidated book{};
  for (VenueQuote& each : book.venues)
    each = quote(10'0000, 10'0100, TradingState::kTrading, 4'000'000'000);
  consolidate(book, 3);
  EXPECT_EQ(book.best_bid_shares, UINT32_MAX);
  EXPECT_EQ(book.best_ask_shares, UINT32_MAX);
}

}  // namespace
}  // namespace tickpath::wire
