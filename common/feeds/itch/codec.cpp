#include "common/feeds/itch/codec.hpp"

#include "common/base/names.hpp"

namespace tickpath::itch {

std::string_view name(DecodeStatus status) noexcept {
  using enum DecodeStatus;
  return name_in(status, {{kOk, "ok"},
                          {kEmpty, "empty"},
                          {kUnknownType, "unknown type"},
                          {kWrongLength, "wrong length"}});
}

std::size_t length_of(char type) noexcept {
  std::size_t length = 0;
  dispatch(type, [&]<class Message>() { length = Message::kLength; });
  return length;
}

std::string_view name_of(char type) noexcept {
  return name_in(type,
                 {{'S', "System Event"},
                  {'R', "Stock Directory"},
                  {'H', "Stock Trading Action"},
                  {'Y', "Reg SHO Restriction"},
                  {'L', "Market Participant Position"},
                  {'V', "MWCB Decline Level"},
                  {'W', "MWCB Status"},
                  {'K', "Quoting Period Update"},
                  {'J', "LULD Auction Collar"},
                  {'h', "Operational Halt"},
                  {'A', "Add Order"},
                  {'F', "Add Order with MPID"},
                  {'E', "Order Executed"},
                  {'C', "Order Executed With Price"},
                  {'X', "Order Cancel"},
                  {'D', "Order Delete"},
                  {'U', "Order Replace"},
                  {'P', "Trade (Non-Cross)"},
                  {'Q', "Cross Trade"},
                  {'B', "Broken Trade"},
                  {'I', "Net Order Imbalance"},
                  {'N', "Retail Price Improvement"},
                  {'O', "Direct Listing Price Discovery"}},
                 "unknown");
}

}  // namespace tickpath::itch
