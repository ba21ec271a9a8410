// What the matching core tells a venue's market data: each call is one thing that subscribers must
// hear, in the order in which they must hear it.
#pragma once

#include <cstdint>

#include "sim/matching/live_orders.hpp"

namespace tickpath::sim {

// Order reference and match numbers with this bit are ours; a recording's are without it.
inline constexpr std::uint64_t kOwnNumbers = std::uint64_t{1} << 63;

// What the recorded event at hand does to the order that it is about. On display are the shares of
// a recorded order that we have not taken.
struct RecordedChange {
  bool touched = false;      // we have taken shares of it: its message may not hold as recorded
  std::uint32_t before = 0;  // shares on display
  std::uint32_t after = 0;   // a replacement: of the new order
  Locate locate = 0;
  Side side = Side::kBuy;
  std::uint64_t added = 0;  // a cross: shares that ours traded in it
};

// A cross of ours, after its trades. Price 0: nothing traded.
struct CrossTold {
  Locate locate = 0;
  CrossKind kind = CrossKind::kOpening;
  std::uint32_t price = 0;
  std::uint64_t shares = 0;
};

// A trade of what is on display, at the order's price or, in a cross, at another.
struct DisplayedTrade {
  std::uint64_t reference = 0;
  std::uint32_t shares = 0;
  std::uint32_t price = 0;
  Locate locate = 0;
  bool in_cross = false;
};

// The thread that owns the matcher. Must not call back into the core.
class FeedSink {
 public:
  virtual ~FeedSink() = default;
  // At most once an event: its own message has its place here, before what follows from it.
  virtual void on_recorded(const RecordedChange& change) noexcept = 0;
  virtual void on_trade(const DisplayedTrade& trade) noexcept = 0;
  virtual void on_cross(const CrossTold& cross) noexcept = 0;
  // Ours, as it is on the feed from now on. `replaced`: the reference that it had, 0: none.
  virtual void on_shown(const LiveOrder& order, const ShownOrder& shown,
                        std::uint64_t replaced) noexcept = 0;
  virtual void on_shown_less(Locate locate, std::uint64_t reference,
                             std::uint32_t shares) noexcept = 0;
  virtual void on_hidden(Locate locate, std::uint64_t reference) noexcept = 0;
};

}  // namespace tickpath::sim
