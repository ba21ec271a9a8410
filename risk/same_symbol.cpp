#include "risk/same_symbol.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/wire/directory.hpp"

namespace tickpath::risk {

SameSymbol::SameSymbol(std::vector<Row>& rows, std::uint32_t rows_max, std::uint32_t strategies_max)
    : rows_(rows), unnamed_(rows_max == 0 ? 0 : strategies_max, kNone), names_(rows_max) {}

bool SameSymbol::is_alone(std::uint64_t name) const noexcept {
  return wire::symbol_text(name).starts_with('#');
}

bool SameSymbol::rename(std::uint32_t row, std::uint64_t name) noexcept {
  if (rows_[row].filed == name) return false;
  leave(row);
  add(row, name);
  return true;
}

void SameSymbol::add(std::uint32_t row, std::uint64_t name) noexcept {
  Row& own = rows_[row];
  own.filed = name;
  own.same = row;
  own.next_named = kNone;
  if (name == 0) {
    own.same = unnamed_[own.strategy];
    unnamed_[own.strategy] = row;
    return;
  }
  if (is_alone(name)) return;
  const std::uint32_t first = names_.find(name);
  if (first == kNone) {
    TICKPATH_CHECK(names_.insert(name, row), "a name a row at most");
    return;
  }
  own.next_named = rows_[first].next_named;
  rows_[first].next_named = row;
  for (std::uint32_t at = first; at != kNone; at = rows_[at].next_named) {
    if (at == row || rows_[at].strategy != own.strategy) continue;
    own.same = rows_[at].same;
    rows_[at].same = row;
    return;
  }
}

void SameSymbol::leave(std::uint32_t row) noexcept {
  Row& own = rows_[row];
  if (own.filed == 0) {
    std::uint32_t* link = &unnamed_[own.strategy];
    while (*link != row) link = &rows_[*link].same;
    *link = own.same;
    return;
  }
  std::uint32_t before = row;
  while (rows_[before].same != row) before = rows_[before].same;
  rows_[before].same = own.same;
  if (!is_alone(own.filed)) leave_names(row);
}

void SameSymbol::leave_names(std::uint32_t row) noexcept {
  const Row& own = rows_[row];
  const std::uint32_t first = names_.find(own.filed);
  if (first != row) {
    std::uint32_t at = first;
    while (rows_[at].next_named != row) at = rows_[at].next_named;
    rows_[at].next_named = own.next_named;
    return;
  }
  names_.erase(own.filed);
  if (own.next_named == kNone) return;
  TICKPATH_CHECK(names_.insert(own.filed, own.next_named), "in the place of the one that left");
}

void SameSymbol::forget() noexcept {
  for (const Row& row : rows_) names_.erase(row.filed);
  std::ranges::fill(unnamed_, kNone);
}

}  // namespace tickpath::risk
