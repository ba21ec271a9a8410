#include "common/feeds/live/live_format.hpp"

#include <array>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/itch/codec.hpp"

namespace tickpath::feeds {
namespace {

constexpr std::array kFormats{
    // Nasdaq TotalView-ITCH 5.0 in MoldUDP64 packets.
    LiveFormat{.protocol = FeedProtocol::kItch50,
               .key = "itch50",
               .text = "ITCH 5.0 over MoldUDP64",
               .transport = Transport::kMoldUdp64,
               .recoverable = true,
               .has_orders = true,
               .wide_prices = false,
               .symbol_at = 0,
               .types_of_no_symbol = "SVW",
               .is_type = [](char type) { return itch::length_of(type) > 0; }},
    // IEX DEEP 1.0 in IEX-TP segments.
    LiveFormat{.protocol = FeedProtocol::kIexDeep10,
               .key = "iex_deep10",
               .text = "IEX DEEP 1.0 over IEX-TP",
               .transport = Transport::kIexTp,
               .recoverable = false,
               .has_orders = false,
               .wide_prices = true,
               .symbol_at = 10,
               .types_of_no_symbol = "S",
               .is_type = [](char type) { return iex::name_of(type) != iex::name_of('\0'); }},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    if (kFormats[i].protocol != static_cast<FeedProtocol>(i)) return false;
  return true;
}
static_assert(in_order(), "format_of() takes the row by its number");

}  // namespace

std::span<const LiveFormat> live_formats() noexcept { return kFormats; }

}  // namespace tickpath::feeds
