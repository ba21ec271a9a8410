#include "mdh/instruments.hpp"

#include <bit>
#include <cstring>

#include "common/base/check.hpp"

namespace tickpath::mdh {

Instruments::Instruments(std::uint32_t capacity)
    : states_(capacity),
      entries_(capacity),
      keys_(capacity),
      by_locate_owner_(std::make_unique<std::array<std::uint32_t, book::kLocatesMax>>()),
      by_locate_(*by_locate_owner_),
      by_symbol_(std::bit_ceil(std::size_t{capacity} * 2), wire::kNoInstrument),
      row_of_(capacity, kNoRow) {
  TICKPATH_CHECK(capacity >= 1 && capacity <= book::kLocatesMax, "a feed has 65,536 locates");
  by_locate_.fill(wire::kNoInstrument);
  kept_.reserve(capacity);
}

std::uint64_t Instruments::key_of(const itch::Stock& symbol) noexcept {
  std::uint64_t key = 0;
  static_assert(sizeof(symbol.characters) == sizeof(key));
  std::memcpy(&key, symbol.characters.data(), sizeof(key));
  return key;
}

std::size_t Instruments::home_of(std::uint64_t key) const noexcept {
  // Symbols differ in a few letters only; the multiplication carries each into the top bits.
  return static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15) >> 32) & (by_symbol_.size() - 1);
}

std::uint32_t& Instruments::slot_of(std::uint64_t key) noexcept {
  const std::size_t mask = by_symbol_.size() - 1;
  std::size_t at = home_of(key);
  while (by_symbol_[at] != wire::kNoInstrument && keys_[by_symbol_[at]] != key)
    at = (at + 1) & mask;
  return by_symbol_[at];
}

std::uint32_t Instruments::list(book::Locate locate, const itch::Stock& symbol) noexcept {
  std::uint32_t id = slot_of(key_of(symbol));
  if (id == wire::kNoInstrument) {
    id = free_id();
    if (id == wire::kNoInstrument) return id;
    name(id, symbol);
  }
  if (row_of_[id] == kNoRow) row_of_[id] = rows_++;
  by_locate_[locate] = id;
  states_[id].locate = locate;
  states_[id].listed = true;
  entries_[id].feed_locate = locate;
  entries_[id].listed_in = period_;
  return id;
}

bool Instruments::remember(const itch::Stock& symbol, bool listed) noexcept {
  if (slot_of(key_of(symbol)) != wire::kNoInstrument || size_ == capacity()) return false;
  const std::uint32_t id = size_++;
  name(id, symbol);
  if (listed)
    row_of_[id] = rows_++;
  else
    kept_.push_back(id);
  return true;
}

// One that no symbol had comes first: nobody can take it for another's.
std::uint32_t Instruments::free_id() noexcept {
  if (size_ != capacity()) return size_++;
  while (kept_next_ != kept_.size()) {
    const std::uint32_t id = kept_[kept_next_++];
    if (row_of_[id] != kNoRow) continue;  // its symbol has come back
    forget(id);
    return id;
  }
  return wire::kNoInstrument;
}

void Instruments::name(std::uint32_t id, const itch::Stock& symbol) noexcept {
  keys_[id] = key_of(symbol);
  slot_of(keys_[id]) = id;
  wire::DirectoryEntry& row = entries_[id];
  std::memset(row.symbol, ' ', sizeof(row.symbol));
  std::memcpy(row.symbol, symbol.characters.data(), symbol.characters.size());
  row.instrument_id = id;
}

// Takes the id's symbol out of the table. Those behind it that could not be found past the hole
// move up (Knuth, volume 3, 6.4, algorithm R).
void Instruments::forget(std::uint32_t id) noexcept {
  const std::size_t mask = by_symbol_.size() - 1;
  auto hole = static_cast<std::size_t>(&slot_of(keys_[id]) - by_symbol_.data());
  for (std::size_t at = (hole + 1) & mask; by_symbol_[at] != wire::kNoInstrument;
       at = (at + 1) & mask) {
    const std::size_t home = home_of(keys_[by_symbol_[at]]);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    by_symbol_[hole] = by_symbol_[at];
    hole = at;
  }
  by_symbol_[hole] = wire::kNoInstrument;
}

void Instruments::end_session() noexcept {
  ++period_;
  by_locate_.fill(wire::kNoInstrument);
  for (std::uint32_t id = 0; id < size_; ++id) {
    const bool dirty = states_[id].dirty;
    const std::uint64_t ring_sequence = states_[id].ring_sequence;
    states_[id] = {};
    states_[id].dirty = dirty;
    states_[id].ring_sequence = ring_sequence;
    entries_[id].feed_locate = 0;
  }
}

}  // namespace tickpath::mdh
