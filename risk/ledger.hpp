// Positions, cash and P&L of each strategy in each instrument, at average cost.
//
// Identities, exact in integers for every row at any time (fills only):
//   realised   = cash + cost - fees   cost: what the open position cost, negative when short
//   unrealised = position x mark - cost
//   P&L        = realised + unrealised = cash + position x mark - fees
//
// A reducing fill releases its share of the cost, rounded towards zero; what is lost in rounding
// stays in the cost of the rest, never outside the identities. The mark is the middle of the best
// bid and ask; with one side missing the last trade; before any of these the average cost, so that
// nothing unrealised is made up. At cost, too, is what oeg holds in a symbol whose id is another's.
//
// With several venues each has instruments of its own (`listing`), with marks and rows of their
// own. Sums are over all; what a strategy holds of a symbol is looked up over its rows in it
// (same_symbol.hpp). A venue of which nothing certain is known counts against a limit and not in
// favour: a `Range` is what a sum may be at least and at most.
#pragma once

#include <cstdint>
#include <vector>

#include "common/trading/position.hpp"
#include "common/wire/position.hpp"
#include "risk/money.hpp"
#include "risk/row.hpp"
#include "risk/same_symbol.hpp"

namespace tickpath::risk {

struct StrategySums {
  std::uint8_t id = 0;
  Int128 pnl = 0;
  Int128 realised = 0;
  Int128 gross_notional = 0;
  Int128 net_notional = 0;  // several venues: bought less sold
  std::uint64_t fills = 0;
};

// Bit v: the venue at index v.
using VenueSet = std::uint32_t;
inline constexpr std::uint32_t kVenuesMax = 16;

struct Range {
  Int128 low = 0;
  Int128 high = 0;

  void add(Int128 value, bool certain) noexcept {
    if (certain || value > 0) high += value;
    if (certain || value < 0) low += value;
  }
  Int128 magnitude_max() const noexcept { return high > -low ? high : -low; }
};
// What one strategy holds in one symbol, over all venues.
struct Exposure {
  Range shares;
  Range value;  // at each venue's mark
};

// Datapath thread; preallocated.
class Ledger {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  // instruments_max: of each venue.
  Ledger(std::uint32_t instruments_max, std::uint32_t strategies_max, std::uint32_t rows_max,
         std::uint32_t venues = 1);

  // The index under which a venue's instrument goes by here; kNone: it is beyond the table.
  std::uint32_t listing(std::uint32_t venue, std::uint32_t instrument) const noexcept {
    return instrument < instruments_max_ ? venue * instruments_max_ + instrument : kNone;
  }
  // The venue's own id again.
  std::uint32_t instrument_of(const Row& row) const noexcept {
    return row.instrument - row.venue * instruments_max_;
  }

  // In what follows `instrument` is a listing().

  // The row of a strategy in an instrument, made when it does not exist. nullptr: a table is full
  // or the instrument is beyond it.
  Row* row(std::uint8_t strategy_id, std::uint32_t instrument) noexcept;
  // Index of the strategy; kNone when strategies_max are known already.
  std::uint32_t strategy(std::uint8_t id) noexcept;

  // An execution, a corrected one, or one that the venue takes back. What the latter had realised
  // cannot be separated any more: the cost basis goes on as if it had been traded back.
  void fill(Row& row, const trading::Fill& fill) noexcept;
  // What the venue charges for a fill, in 1/1,000,000.
  void charge(Row& row, std::int64_t fee) noexcept;
  // A new quote: bid or ask 0 is "none", last_trade 0 "unchanged". True if any position is marked
  // anew by it.
  bool quote(std::uint32_t instrument, std::uint32_t bid, std::uint32_t ask,
             std::uint32_t last_trade) noexcept;
  // What oeg holds in the row, and what the directory calls the instrument. True: a row is now
  // another symbol's, and was not before.
  bool set_symbol(Row& row, std::uint64_t symbol) noexcept;
  bool set_symbol(std::uint32_t instrument, std::uint64_t symbol) noexcept;
  // oeg's word replaces ours. The cost basis is not part of it: an unchanged position keeps its
  // own, another starts at the mark.
  void adopt(Row& row, const wire::PositionRow& theirs) noexcept;

  // As if nothing had ever been traded; marks stay.
  void forget() noexcept;

  std::vector<Row>& rows() noexcept { return rows_; }
  const std::vector<Row>& rows() const noexcept { return rows_; }
  const std::vector<StrategySums>& strategies() const noexcept { return strategies_; }
  // Twice the mark that the row is valued at; 0: at cost.
  std::uint64_t doubled_mark(const Row& row) const noexcept {
    return row.other_symbol ? 0 : marks_[row.instrument].doubled;
  }
  Row* first_row(std::uint32_t instrument) noexcept { return at(first_[instrument]); }
  Row* next_row(const Row& row) noexcept { return at(row.next); }
  // The exposure of the row's strategy in its symbol. What the venues of `doubtful` hold, and rows
  // without a name, which may be of any symbol, are not certain.
  Exposure exposure(const Row& row, VenueSet doubtful) const noexcept;
  // Several venues: the least that it may be. sums: of strategies(), or total().
  Int128 pnl_min(const StrategySums& sums, VenueSet doubtful) const noexcept;
  const StrategySums& total() const noexcept { return total_; }
  std::uint32_t instruments_max() const noexcept { return instruments_max_; }
  std::uint32_t venues() const noexcept { return venues_; }

 private:
  struct Mark {
    std::uint64_t doubled = 0;  // twice the mark: the middle of two prices needs the half
    std::uint32_t last_trade = 0;
    std::uint64_t symbol = 0;  // of the directory
  };
  bool compare_symbols(Row& row) noexcept;
  Row* at(std::uint32_t index) noexcept { return index == kNone ? nullptr : &rows_[index]; }
  void revalue(Row& row) noexcept;
  void revalue_venue(Row& row, Int128 pnl, Int128 value) noexcept;
  std::uint64_t name_of(const Row& row) const noexcept {
    return row.symbol != 0 ? row.symbol : marks_[row.instrument].symbol;
  }
  void name(Row& row) noexcept;

  std::uint32_t instruments_max_;
  std::uint32_t venues_;
  std::vector<Row> rows_;
  std::vector<StrategySums> strategies_;
  StrategySums total_;
  std::uint32_t strategies_max_;
  std::vector<std::uint32_t> index_by_id_;  // 256
  std::vector<std::uint32_t> row_of_;       // strategy x instrument
  std::vector<std::uint32_t> first_;        // by instrument
  std::vector<Mark> marks_;
  SameSymbol same_;                // several venues
  std::vector<Int128> venue_pnl_;  // likewise, strategy x venue, then of all strategies by venue
};

}  // namespace tickpath::risk
