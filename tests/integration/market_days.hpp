// A made-up market of several days, in no format, with the prices and trades of each day: what a
// test expects of every tool.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/units.hpp"

namespace tickpath::test_support {

struct DayEvent {
  enum class What : std::uint8_t { kAdd, kExecute, kHidden, kCancel, kDelete };

  std::uint64_t after_open_ns = 0;
  What what{};
  std::string symbol;
  std::uint64_t order = 0;  // 0: of kHidden
  Side side{};
  std::uint32_t price = 0;   // of the order; of kHidden the trade's
  std::uint32_t shares = 0;  // that it adds, trades or takes
};

// Best prices, and the trades of the day.
struct SymbolDay {
  std::uint32_t bid = 0, bid_shares = 0, ask = 0, ask_shares = 0;
  std::uint32_t open = 0, high = 0, low = 0, close = 0;  // trades
  std::uint64_t volume = 0, trades = 0;
  std::uint64_t last_trade_after_open_ns = 0;
  // The best one behind the day's first event that leaves any.
  std::uint32_t first_ask = 0;
  std::uint64_t first_ask_after_open_ns = 0;
};

struct MarketDay {
  std::string date;
  std::uint64_t midnight_ns = 0;    // UTC, since the Unix epoch
  std::uint64_t open_local_ns = 0;  // since midnight, where the venue is
  std::uint64_t open_utc_ns = 0;
  std::vector<std::string> symbols;
  std::vector<DayEvent> events;
  std::uint64_t quiet_ns = 0;  // after the open: behind it nothing happens for a minute
  std::map<std::string, SymbolDay> at_quiet;
};

// Each day has its own symbols and an empty book. Daylight-saving time begins between the first and
// the second day, and a weekend lies between them.
std::vector<MarketDay> market_of_days(const std::vector<std::vector<std::string>>& symbols);

// One trading day of two symbols, over a midnight. One of them ends before it, and another one
// begins behind it. What rests of the third one rests on.
std::vector<MarketDay> market_of_a_night();

}  // namespace tickpath::test_support
