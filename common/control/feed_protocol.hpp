// What the market data feed speaks: `feed.protocol`, the same in who sends it and who receives it.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"

namespace tickpath::control {

enum class FeedProtocol : std::uint8_t {
  kItch50,     // Nasdaq TotalView-ITCH 5.0 in MoldUDP64 packets: order by order
  kIexDeep10,  // IEX DEEP 1.0 in IEX-TP segments: price level by price level
};

// `key` is for something that DEEP does not have, and `text` must be empty with it.
inline void check_only_with_itch(FeedProtocol protocol, const char* key, const std::string& text,
                                 config::Problems& problems) {
  if (protocol == FeedProtocol::kIexDeep10 && !text.empty())
    problems.add(key, "is for feed.protocol = \"itch50\": of DEEP only line B fills a gap");
}

}  // namespace tickpath::control
