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
      by_symbol_(std::bit_ceil(std::size_t{capacity} * 2), wire::kNoInstrument) {
  TICKPATH_CHECK(capacity >= 1 && capacity <= book::kLocatesMax, "a feed has 65,536 locates");
  by_locate_.fill(wire::kNoInstrument);
}

std::uint64_t Instruments::key_of(const itch::Stock& symbol) noexcept {
  std::uint64_t key = 0;
  static_assert(sizeof(symbol.characters) == sizeof(key));
  std::memcpy(&key, symbol.characters.data(), sizeof(key));
  return key;
}

std::uint32_t& Instruments::slot_of(std::uint64_t key) noexcept {
  const std::size_t mask = by_symbol_.size() - 1;
  // Symbols differ in a few letters only; the multiplication carries each into the top bits.
  std::size_t at = static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15) >> 32) & mask;
  while (by_symbol_[at] != wire::kNoInstrument && keys_[by_symbol_[at]] != key)
    at = (at + 1) & mask;
  return by_symbol_[at];
}

std::uint32_t Instruments::list(book::Locate locate, const itch::Stock& symbol) noexcept {
  std::uint32_t& slot = slot_of(key_of(symbol));
  if (slot == wire::kNoInstrument) {
    if (size_ == capacity()) return wire::kNoInstrument;
    name(slot, symbol);
  }
  by_locate_[locate] = slot;
  states_[slot].locate = locate;
  states_[slot].listed = true;
  entries_[slot].feed_locate = locate;
  return slot;
}

bool Instruments::remember(const itch::Stock& symbol) noexcept {
  std::uint32_t& slot = slot_of(key_of(symbol));
  if (slot != wire::kNoInstrument || size_ == capacity()) return false;
  name(slot, symbol);
  return true;
}

// The next id.
void Instruments::name(std::uint32_t& slot, const itch::Stock& symbol) noexcept {
  slot = size_++;
  keys_[slot] = key_of(symbol);
  wire::DirectoryEntry& row = entries_[slot];
  std::memset(row.symbol, ' ', sizeof(row.symbol));
  std::memcpy(row.symbol, symbol.characters.data(), symbol.characters.size());
  row.instrument_id = slot;
}

void Instruments::end_session() noexcept {
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
