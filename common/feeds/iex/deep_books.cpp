#include "common/feeds/iex/deep_books.hpp"

#include <cstring>
#include <limits>

namespace tickpath::iex {
namespace {

// The reference of the one order that stands for a level: no two levels share it.
std::uint64_t reference_of(book::Locate locate, Side side, std::uint32_t price) noexcept {
  return std::uint64_t{locate} << 33 | std::uint64_t{side == Side::kSell} << 32 | price;
}

}  // namespace

std::uint64_t SymbolTable::key_of(const Symbol& symbol) noexcept {
  std::uint64_t key;
  static_assert(sizeof(key) == sizeof(symbol));
  std::memcpy(&key, &symbol, sizeof(key));
  return key;
}

std::size_t SymbolTable::cell_of(std::uint64_t key) const noexcept {
  std::size_t cell = key * 0x9e37'79b9'7f4a'7c15u >> 47;
  while (cells_[cell].locate != kNone && cells_[cell].key != key) cell = (cell + 1) % kCells;
  return cell;
}

book::Locate SymbolTable::locate(const Symbol& symbol) noexcept {
  const std::uint64_t key = key_of(symbol);
  Cell& cell = cells_[cell_of(key)];
  if (cell.locate == kNone && size() < kSymbolsMax) [[unlikely]] {
    cell = {key, static_cast<book::Locate>(names_.size())};
    names_.push_back(symbol);  // reserved
  }
  return cell.locate;
}

void DeepBooks::set_level(book::Locate locate, Side side, Price wide_price,
                          std::uint32_t size) noexcept {
  if (wide_price <= 0 || wide_price > std::numeric_limits<std::uint32_t>::max()) [[unlikely]]
    return counters_.unusable_prices.add();
  const auto price = static_cast<std::uint32_t>(wide_price);
  const std::uint64_t reference = reference_of(locate, side, price);
  const book::Handle level = books_.find(reference);
  last_.price = price;
  last_.before = level == book::kNoOrder ? 0 : books_.order(level).shares;
  if (size == 0) {
    last_.status = books_.remove(reference).status;
    if (last_.status != book::Status::kOk) [[unlikely]]
      counters_.unknown_levels.add();
    return;
  }
  book::Change change;
  if (level == book::kNoOrder) {
    change = books_.add(locate, reference, side, size, price);
  } else if (size < last_.before) {
    change = books_.reduce(reference, last_.before - size);
  } else if (size > last_.before) {
    change = books_.replace(reference, reference, size, price);
  }
  last_.status = change.status;
  if (!change.ok()) [[unlikely]]
    counters_.refused.add();
}

}  // namespace tickpath::iex
