#include "common/iex/codec.hpp"

namespace tickpath::iex {

std::string_view name(DecodeStatus status) noexcept {
  switch (status) {
    case DecodeStatus::kOk:
      return "ok";
    case DecodeStatus::kEmpty:
      return "empty";
    case DecodeStatus::kUnknownType:
      return "unknown type";
    case DecodeStatus::kTooShort:
      return "too short";
  }
  return "?";
}

std::string_view name_of(char type) noexcept {
  switch (type) {
    case SystemEvent::kType:
      return "System Event";
    case SecurityDirectory::kType:
      return "Security Directory";
    case TradingStatus::kType:
      return "Trading Status";
    case RetailLiquidityIndicator::kType:
      return "Retail Liquidity Indicator";
    case OperationalHaltStatus::kType:
      return "Operational Halt Status";
    case ShortSalePriceTest::kType:
      return "Short Sale Price Test Status";
    case SecurityEvent::kType:
      return "Security Event";
    case BuyLevelUpdate::kType:
      return "Price Level Update (Buy)";
    case SellLevelUpdate::kType:
      return "Price Level Update (Sell)";
    case TradeReport::kType:
      return "Trade Report";
    case OfficialPrice::kType:
      return "Official Price";
    case TradeBreak::kType:
      return "Trade Break";
    case AuctionInformation::kType:
      return "Auction Information";
    case QuoteUpdate::kType:
      return "Quote Update";
    default:
      return "unknown";
  }
}

}  // namespace tickpath::iex
