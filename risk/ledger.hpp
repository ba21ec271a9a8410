// Positions, cash and P&L of each strategy in each instrument, at average cost.
//
// Identities, exact in integers for every row at any time (fills only):
//   realised   = cash + cost          cost: what the open position cost, negative when short
//   unrealised = position x mark - cost
//   P&L        = realised + unrealised = cash + position x mark
//
// A reducing fill releases its share of the cost, rounded towards zero; what is lost in rounding
// stays in the cost of the rest, never outside the identities. The mark is the middle of the best
// bid and ask; with one side missing the last trade; before any of these the average cost, so that
// nothing unrealised is made up. At cost, too, is what oeg holds in a symbol whose id is another's.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/units.hpp"
#include "common/wire/position.hpp"
#include "risk/money.hpp"

namespace tickpath::risk {

struct Row {
  std::uint32_t instrument = 0;
  std::uint32_t strategy = 0;  // index into the ledger's strategies, not the id
  std::int64_t position = 0;
  std::int64_t cash = 0;
  Int128 cost = 0;
  Int128 pnl = 0;       // as of the last mark
  Int128 notional = 0;  // |position| x mark
  std::uint32_t open_buy_shares = 0;
  std::uint32_t open_sell_shares = 0;
  std::uint64_t events = 0;  // of oeg's count, the newest that is in this row
  bool counted = false;      // `events` is of the present connection, with no lap since
  bool whole = false;        // counted, and everything before `events` is in this row, too
  std::uint64_t fills = 0;
  std::uint32_t next = 0;    // row of the same instrument, another strategy
  std::uint64_t symbol = 0;  // wire::symbol_word() of what oeg holds; 0: not received yet
  // The directory has given the id to another symbol: its prices are not this row's.
  bool other_symbol = false;

  // Reconciliation: what was compared last, to tell "in flight" from "apart for good".
  std::uint64_t compared_events = 0;
  std::uint64_t compared_remote_events = 0;

  Int128 realised() const noexcept { return cash + cost; }
  Int128 unrealised() const noexcept { return pnl - realised(); }
};

struct StrategySums {
  std::uint8_t id = 0;
  Int128 pnl = 0;
  Int128 realised = 0;
  Int128 gross_notional = 0;
  std::uint64_t fills = 0;
};

// Datapath thread; preallocated.
class Ledger {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  Ledger(std::uint32_t instruments_max, std::uint32_t strategies_max, std::uint32_t rows_max);

  // The row of a strategy in an instrument, made when it does not exist. nullptr: a table is full
  // or the instrument is beyond it.
  Row* row(std::uint8_t strategy_id, std::uint32_t instrument) noexcept;
  // Index of the strategy; kNone when strategies_max are known already.
  std::uint32_t strategy(std::uint8_t id) noexcept;

  void fill(Row& row, Side side, std::uint32_t shares, ExecutedPrice price) noexcept;
  // The venue takes an execution back, or puts a corrected one in its place (`stands`). What it had
  // realised cannot be separated any more: the cost basis goes on as if it had been traded back.
  void change_fill(Row& row, Side side, std::uint32_t shares, ExecutedPrice price,
                   bool stands) noexcept;
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
  Row* first_row(std::uint32_t instrument) noexcept { return at(first_[instrument]); }
  Row* next_row(const Row& row) noexcept { return at(row.next); }
  const StrategySums& total() const noexcept { return total_; }
  std::uint32_t instruments_max() const noexcept {
    return static_cast<std::uint32_t>(marks_.size());
  }

 private:
  struct Mark {
    std::uint64_t doubled = 0;  // twice the mark: the middle of two prices needs the half
    std::uint32_t last_trade = 0;
    std::uint64_t symbol = 0;  // of the directory
  };
  std::uint64_t doubled_mark(const Row& row) const noexcept {
    return row.other_symbol ? 0 : marks_[row.instrument].doubled;
  }
  bool compare_symbols(Row& row) noexcept;
  Row* at(std::uint32_t index) noexcept { return index == kNone ? nullptr : &rows_[index]; }
  void trade(Row& row, Side side, std::uint32_t shares, ExecutedPrice price) noexcept;
  void revalue(Row& row) noexcept;

  std::vector<Row> rows_;
  std::vector<StrategySums> strategies_;
  StrategySums total_;
  std::uint32_t strategies_max_;
  std::vector<std::uint32_t> index_by_id_;  // 256
  std::vector<std::uint32_t> row_of_;       // strategy x instrument
  std::vector<std::uint32_t> first_;        // by instrument
  std::vector<Mark> marks_;
};

}  // namespace tickpath::risk
