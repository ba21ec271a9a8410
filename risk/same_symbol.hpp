// Which rows of a strategy are of one symbol: over several venues its ids differ, its name does
// not.
//
// Two rows are of one symbol where their names are equal (wire::symbol_word()): what oeg says that
// it holds, or, until then, what mdh's directory calls the id. A name that begins with '#' stands
// for another one at its venue alone (control/long_names.hpp) and equals none elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/id_map.hpp"
#include "risk/row.hpp"

namespace tickpath::risk {

// Datapath thread; preallocated. Rows are those of the ledger, by index.
class SameSymbol {
 public:
  static constexpr std::uint32_t kNone = IdMap::kNone;

  // rows: kept up by the ledger; outlives this. rows_max: 0 for one venue, where nothing is filed.
  SameSymbol(std::vector<Row>& rows, std::uint32_t rows_max, std::uint32_t strategies_max);
  SameSymbol(const SameSymbol&) = delete;  // it refers to one ledger's rows
  SameSymbol& operator=(const SameSymbol&) = delete;

  // A row that was just made. name 0: not known yet.
  void add(std::uint32_t row, std::uint64_t name) noexcept;
  // True: it is another name than before.
  bool rename(std::uint32_t row, std::uint64_t name) noexcept;
  // Before the rows are cleared.
  void forget() noexcept;

  // visit(row) for each of the same strategy and symbol, itself among them. One that has no name
  // yet is alone.
  template <class Visit>
  void for_each(const Row& row, Visit&& visit) const noexcept {
    visit(row);
    if (row.filed == 0) return;
    for (const Row* other = &rows_[row.same]; other != &row; other = &rows_[other->same])
      visit(*other);
  }
  // visit(row) for each of a strategy that has no name yet: it may be of any symbol.
  template <class Visit>
  void for_each_unnamed(std::uint32_t strategy, Visit&& visit) const noexcept {
    for (std::uint32_t at = unnamed_[strategy]; at != kNone; at = rows_[at].same) visit(rows_[at]);
  }

 private:
  bool is_alone(std::uint64_t name) const noexcept;
  void leave(std::uint32_t row) noexcept;
  void leave_names(std::uint32_t row) noexcept;

  std::vector<Row>& rows_;
  std::vector<std::uint32_t> unnamed_;  // by strategy: the first; Row::same leads to the next
  IdMap names_;                         // the first row of a name; Row::next_named to the next
};

}  // namespace tickpath::risk
