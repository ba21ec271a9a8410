#include "risk/ledger.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/base/memory.hpp"

namespace tickpath::risk {

Ledger::Ledger(std::uint32_t instruments_max, std::uint32_t strategies_max, std::uint32_t rows_max,
               std::uint32_t venues)
    : instruments_max_(instruments_max),
      venues_(venues),
      strategies_max_(strategies_max),
      index_by_id_(256, kNone),
      row_of_(std::size_t{instruments_max} * venues * strategies_max, kNone),
      first_(std::size_t{instruments_max} * venues, kNone),
      marks_(std::size_t{instruments_max} * venues),
      same_(rows_, venues > 1 ? rows_max : 0, strategies_max),
      venue_pnl_(venues > 1 ? std::size_t{strategies_max + 1} * venues : 0) {
  TICKPATH_CHECK(venues != 0 && venues <= kVenuesMax, "a bit of VenueSet for each");
  reserve_touched(rows_, rows_max);
  strategies_.reserve(strategies_max);
}

std::uint32_t Ledger::strategy(std::uint8_t id) noexcept {
  std::uint32_t& index = index_by_id_[id];
  if (index == kNone && strategies_.size() < strategies_max_) {
    index = static_cast<std::uint32_t>(strategies_.size());
    strategies_.emplace_back().id = id;
  }
  return index;
}

Row* Ledger::row(std::uint8_t strategy_id, std::uint32_t instrument) noexcept {
  if (instrument >= marks_.size()) return nullptr;
  const std::uint32_t index = strategy(strategy_id);
  if (index == kNone) return nullptr;
  std::uint32_t& found = row_of_[std::size_t{index} * marks_.size() + instrument];
  if (found == kNone) {
    if (rows_.size() == rows_.capacity()) return nullptr;
    found = static_cast<std::uint32_t>(rows_.size());
    Row& made = rows_.emplace_back();
    made.instrument = instrument;
    made.strategy = index;
    made.next = first_[instrument];
    first_[instrument] = found;
    if (venues_ > 1) {
      made.venue = static_cast<std::uint8_t>(instrument / instruments_max_);
      same_.add(found, name_of(made));
    }
  }
  return &rows_[found];
}

void Ledger::charge(Row& row, std::int64_t fee) noexcept {
  const Int128 realised_before = row.realised();
  row.fees = saturating_add(row.fees, fee);
  const Int128 realised = row.realised() - realised_before;
  strategies_[row.strategy].realised += realised;
  total_.realised += realised;
  revalue(row);
}

namespace {

// The cost of what is held after the fill, before which the row stands.
Int128 cost_after(const Row& row, const trading::Fill& fill) noexcept {
  const Int128 sign = fill.adds_shares() ? 1 : -1;  // paid; negative: received
  if (row.position == 0 || (row.position > 0) == fill.adds_shares())
    return row.cost + sign * executed_value(fill.shares, fill.price);
  const Int128 held = magnitude(row.position);
  const Int128 closed = fill.shares < held ? Int128{fill.shares} : held;
  // Through zero: the rest opens a position on the other side.
  const auto opened = static_cast<std::uint32_t>(Int128{fill.shares} - closed);
  return row.cost - row.cost * closed / held + sign * executed_value(opened, fill.price);
}

}  // namespace

void Ledger::fill(Row& row, const trading::Fill& fill) noexcept {
  const Int128 realised_before = row.realised();
  const std::uint64_t fills_before = row.fills;
  row.cost = cost_after(row, fill);
  trading::apply_fill(fill, row.position, row.cash, row.fills);
  const Int128 realised = row.realised() - realised_before;
  for (StrategySums* sums : {&strategies_[row.strategy], &total_}) {
    sums->realised += realised;
    sums->fills += row.fills - fills_before;  // unsigned: may be one less
  }
  revalue(row);
}

void Ledger::forget() noexcept {
  same_.forget();
  std::ranges::fill(venue_pnl_, 0);
  for (const Row& row : rows_) {
    row_of_[std::size_t{row.strategy} * marks_.size() + row.instrument] = kNone;
    first_[row.instrument] = kNone;
  }
  for (const StrategySums& sums : strategies_) index_by_id_[sums.id] = kNone;
  rows_.clear();
  strategies_.clear();
  total_ = {};
}

bool Ledger::quote(std::uint32_t instrument, std::uint32_t bid, std::uint32_t ask,
                   std::uint32_t last_trade) noexcept {
  if (instrument >= marks_.size()) return false;
  Mark& mark = marks_[instrument];
  if (last_trade != 0) mark.last_trade = last_trade;
  const std::uint64_t doubled =
      bid != 0 && ask != 0 ? std::uint64_t{bid} + ask : std::uint64_t{mark.last_trade} * 2;
  if (doubled == 0 || doubled == mark.doubled) return false;
  mark.doubled = doubled;
  bool any = false;
  for (Row* row = first_row(instrument); row != nullptr; row = next_row(*row)) {
    if (row->position == 0) continue;
    revalue(*row);
    any = true;
  }
  return any;
}

// Recomputes what depends on the mark and carries the difference into the sums.
void Ledger::revalue(Row& row) noexcept {
  const std::uint64_t doubled = doubled_mark(row);
  const Int128 value = doubled != 0 ? Int128{row.position} * doubled / 2 : row.cost;
  const Int128 pnl = row.cash + value - row.fee_cash();
  const Int128 notional = magnitude(value);
  if (venues_ > 1) revalue_venue(row, pnl, value);
  StrategySums& sums = strategies_[row.strategy];
  sums.pnl += pnl - row.pnl;
  total_.pnl += pnl - row.pnl;
  sums.gross_notional += notional - row.notional;
  total_.gross_notional += notional - row.notional;
  row.pnl = pnl;
  row.notional = notional;
}

// Before the row has the new ones.
void Ledger::revalue_venue(Row& row, Int128 pnl, Int128 value) noexcept {
  StrategySums& sums = strategies_[row.strategy];
  sums.net_notional += value - row.value();
  total_.net_notional += value - row.value();
  row.is_short = value < 0;
  venue_pnl_[std::size_t{row.strategy} * venues_ + row.venue] += pnl - row.pnl;
  venue_pnl_[std::size_t{strategies_max_} * venues_ + row.venue] += pnl - row.pnl;
}

Exposure Ledger::exposure(const Row& row, VenueSet doubtful) const noexcept {
  Exposure sum;
  same_.for_each(row, [&](const Row& each) {
    const bool certain = each.filed != 0 && (doubtful >> each.venue & 1) == 0;
    sum.shares.add(each.position, certain);
    sum.value.add(each.value(), certain);
  });
  same_.for_each_unnamed(row.strategy, [&](const Row& each) {
    if (&each == &row) return;
    sum.shares.add(each.position, false);
    sum.value.add(each.value(), false);
  });
  return sum;
}

Int128 Ledger::pnl_min(const StrategySums& sums, VenueSet doubtful) const noexcept {
  const auto index =
      &sums == &total_ ? strategies_max_ : static_cast<std::uint32_t>(&sums - strategies_.data());
  Range pnl;
  for (std::uint32_t venue = 0; venue < venues_; ++venue)
    pnl.add(venue_pnl_[std::size_t{index} * venues_ + venue], (doubtful >> venue & 1) == 0);
  return pnl.low;
}

void Ledger::name(Row& row) noexcept {
  if (venues_ > 1) same_.rename(static_cast<std::uint32_t>(&row - rows_.data()), name_of(row));
}

bool Ledger::set_symbol(Row& row, std::uint64_t symbol) noexcept {
  row.symbol = symbol;
  name(row);
  return compare_symbols(row);
}

bool Ledger::set_symbol(std::uint32_t instrument, std::uint64_t symbol) noexcept {
  if (instrument >= marks_.size()) return false;
  marks_[instrument].symbol = symbol;
  bool any = false;
  for (Row* row = first_row(instrument); row != nullptr; row = next_row(*row)) {
    name(*row);
    any |= compare_symbols(*row);
  }
  return any;
}

bool Ledger::compare_symbols(Row& row) noexcept {
  const std::uint64_t listed = marks_[row.instrument].symbol;
  const bool other = row.symbol != 0 && listed != 0 && row.symbol != listed;
  if (other == row.other_symbol) return false;
  row.other_symbol = other;
  revalue(row);
  return other;
}

void Ledger::adopt(Row& row, const wire::PositionRow& theirs) noexcept {
  const Int128 realised_before = row.realised();
  StrategySums& sums = strategies_[row.strategy];
  sums.fills += theirs.fills - row.fills;
  total_.fills += theirs.fills - row.fills;
  if (row.position != theirs.position_shares) {
    const std::uint64_t doubled = doubled_mark(row);
    // Without a mark the cash is all we know: as if every fill had opened.
    row.cost = theirs.position_shares == 0 ? 0
               : doubled != 0              ? Int128{theirs.position_shares} * doubled / 2
                                           : -Int128{theirs.cash};
  }
  row.position = theirs.position_shares;
  row.cash = theirs.cash;
  row.fees = theirs.fees;
  row.open_buy_shares = theirs.open_buy_shares;
  row.open_sell_shares = theirs.open_sell_shares;
  row.events = theirs.events;
  row.counted = row.whole = true;
  row.fills = theirs.fills;
  sums.realised += row.realised() - realised_before;
  total_.realised += row.realised() - realised_before;
  revalue(row);
}

}  // namespace tickpath::risk
