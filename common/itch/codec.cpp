#include "common/itch/codec.hpp"

namespace tickpath::itch {

std::string_view name(DecodeStatus status) noexcept {
  switch (status) {
    case DecodeStatus::kOk:
      return "ok";
    case DecodeStatus::kEmpty:
      return "empty";
    case DecodeStatus::kUnknownType:
      return "unknown type";
    case DecodeStatus::kWrongLength:
      return "wrong length";
  }
  return "?";
}

std::size_t length_of(char type) noexcept {
  std::size_t length = 0;
  dispatch(type, [&]<class Message>() { length = Message::kLength; });
  return length;
}

std::string_view name_of(char type) noexcept {
  switch (type) {
    case 'S':
      return "System Event";
    case 'R':
      return "Stock Directory";
    case 'H':
      return "Stock Trading Action";
    case 'Y':
      return "Reg SHO Restriction";
    case 'L':
      return "Market Participant Position";
    case 'V':
      return "MWCB Decline Level";
    case 'W':
      return "MWCB Status";
    case 'K':
      return "Quoting Period Update";
    case 'J':
      return "LULD Auction Collar";
    case 'h':
      return "Operational Halt";
    case 'A':
      return "Add Order";
    case 'F':
      return "Add Order with MPID";
    case 'E':
      return "Order Executed";
    case 'C':
      return "Order Executed With Price";
    case 'X':
      return "Order Cancel";
    case 'D':
      return "Order Delete";
    case 'U':
      return "Order Replace";
    case 'P':
      return "Trade (Non-Cross)";
    case 'Q':
      return "Cross Trade";
    case 'B':
      return "Broken Trade";
    case 'I':
      return "Net Order Imbalance";
    case 'N':
      return "Retail Price Improvement";
    case 'O':
      return "Direct Listing Price Discovery";
    default:
      return "unknown";
  }
}

}  // namespace tickpath::itch
