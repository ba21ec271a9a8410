// What one strategy holds in one instrument of one venue, as risk's ledger keeps it.
#pragma once

#include <cstdint>

#include "risk/money.hpp"

namespace tickpath::risk {

struct Row {
  std::uint32_t instrument = 0;  // of several venues Ledger::listing()
  std::uint32_t strategy = 0;    // index into the ledger's strategies, not the id
  std::int64_t position = 0;
  std::int64_t cash = 0;
  std::int64_t fees = 0;    // 1/1,000,000, paid to the venue; in no cash
  std::uint64_t filed = 0;  // several venues: the name under which SameSymbol has it; 0: none yet
  Int128 cost = 0;
  Int128 pnl = 0;       // as of the last mark
  Int128 notional = 0;  // |position| x mark
  std::uint32_t open_buy_shares = 0;
  std::uint32_t open_sell_shares = 0;
  std::uint64_t events = 0;  // of oeg's count, the newest that is in this row
  bool counted = false;      // `events` is of the present connection, with no overrun since
  bool whole = false;        // counted, and everything before `events` is in this row, too
  std::uint8_t venue = 0;    // index into the configuration's list
  bool is_short = false;     // several venues: `notional` is of shares sold
  std::uint64_t fills = 0;
  std::uint32_t next = 0;    // row of the same instrument, another strategy
  std::uint32_t same = 0;    // several venues: SameSymbol's
  std::uint64_t symbol = 0;  // wire::symbol_word() of what oeg holds; 0: not received yet
  // The directory has given the id to another symbol: its prices are not this row's.
  bool other_symbol = false;
  std::uint32_t next_named = 0;  // several venues: SameSymbol's

  // Reconciliation: what was compared last, to tell "in flight" from "apart for good".
  std::uint64_t compared_events = 0;
  std::uint64_t compared_remote_events = 0;

  // In 1/10,000, a part of it counted as a whole one that was paid.
  Int128 fee_cash() const noexcept {
    return fees > 0 ? (Int128{fees} + 99) / 100 : Int128{fees} / 100;
  }
  Int128 realised() const noexcept { return cash + cost - fee_cash(); }
  Int128 unrealised() const noexcept { return pnl - realised(); }
  Int128 value() const noexcept { return is_short ? -notional : notional; }
};

}  // namespace tickpath::risk
