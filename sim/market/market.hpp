// Feeds the matching core with the recorded market, message by message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/counter.hpp"
#include "common/itch/codec.hpp"
#include "sim/market/symbols.hpp"
#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

struct MarketCounters {
  Counter messages;
  Counter undecodable;    // not a message of ITCH 5.0: sent on as recorded, without effect here
  Counter broken_trades;  // 'B': our fills stand
};

// Datapath thread.
class Market {
 public:
  explicit Market(Matcher& matcher) noexcept : matcher_(matcher) {}

  // One ITCH 5.0 message.
  void apply(std::span<const std::byte> message) noexcept;

  const Symbols& symbols() const noexcept { return symbols_; }
  const MarketCounters& counters() const noexcept { return counters_; }

 private:
  struct Handler;

  Matcher& matcher_;
  Symbols symbols_;
  MarketCounters counters_;
};

}  // namespace tickpath::sim
