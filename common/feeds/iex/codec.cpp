#include "common/feeds/iex/codec.hpp"

#include "common/base/names.hpp"

namespace tickpath::iex {

std::string_view name(DecodeStatus status) noexcept {
  using enum DecodeStatus;
  return name_in(
      status,
      {{kOk, "ok"}, {kEmpty, "empty"}, {kUnknownType, "unknown type"}, {kTooShort, "too short"}});
}

std::string_view name_of(char type) noexcept {
  return name_in(type,
                 {{SystemEvent::kType, "System Event"},
                  {SecurityDirectory::kType, "Security Directory"},
                  {TradingStatus::kType, "Trading Status"},
                  {RetailLiquidityIndicator::kType, "Retail Liquidity Indicator"},
                  {OperationalHaltStatus::kType, "Operational Halt Status"},
                  {ShortSalePriceTest::kType, "Short Sale Price Test Status"},
                  {SecurityEvent::kType, "Security Event"},
                  {BuyLevelUpdate::kType, "Price Level Update (Buy)"},
                  {SellLevelUpdate::kType, "Price Level Update (Sell)"},
                  {TradeReport::kType, "Trade Report"},
                  {OfficialPrice::kType, "Official Price"},
                  {TradeBreak::kType, "Trade Break"},
                  {AuctionInformation::kType, "Auction Information"},
                  {QuoteUpdate::kType, "Quote Update"}},
                 "unknown");
}

}  // namespace tickpath::iex
