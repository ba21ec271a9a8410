// Feeds the matching core with the recorded market, message by message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/counter.hpp"
#include "common/book/lookahead.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "sim/market/published_feed.hpp"
#include "sim/market/symbols.hpp"
#include "sim/matching/matcher.hpp"

namespace tickpath::sim {

struct MarketCounters {
  TICKPATH_COUNTERS(
      messages,
      undecodable,  // not a message of ITCH 5.0: sent on as recorded, without effect here
      states_by_hand,
      unknown_by_hand,  // symbols
      broken_trades);   // 'B': our fills stand
};

// Datapath thread.
class Market {
 public:
  explicit Market(Matcher& matcher) noexcept : matcher_(matcher), lookahead_(matcher.book()) {}

  // Before anything else: from then on every message, and what our orders do, goes to `outlet`, as
  // subscribers are to see it. Set-up, allocates.
  // imbalance_interval_ns: of recorded time, between two imbalance messages of an instrument that
  // awaits a cross of ours; 0: none.
  void publish_to(FeedOutlet& outlet, std::uint64_t imbalance_interval_ns = 0);
  bool publishing() const noexcept { return published_ != nullptr; }
  // nullptr unless publishing.
  const PublishedFeed* published() const noexcept { return published_.get(); }

  // One ITCH 5.0 message.
  void apply(std::span<const std::byte> message) noexcept;
  // By hand, as a message of the recording would; published when our orders are. `state`: of
  // itch::StockTradingAction. An unknown symbol is counted.
  void set_trading_state(const itch::Stock& symbol, char state) noexcept;
  // Several, one after the other; knowing what comes makes each cheaper.
  void apply(std::span<const std::span<const std::byte>> messages) noexcept;

  const Symbols& symbols() const noexcept { return symbols_; }
  const MarketCounters& counters() const noexcept { return counters_; }

 private:
  struct Handler;
  void happen(std::span<const std::byte> message) noexcept;
  void tell_imbalances() noexcept;

  Matcher& matcher_;
  book::Lookahead<book::BookSet> lookahead_;
  Symbols symbols_;
  itch::TradingDay day_;
  std::unique_ptr<PublishedFeed> published_;
  std::uint64_t imbalance_interval_ns_ = 0;
  std::uint64_t imbalances_due_ns_ = 0;
  MarketCounters counters_;
};

}  // namespace tickpath::sim
